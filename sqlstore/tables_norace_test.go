//go:build !race

package sqlstore_test

// underRace says that everything takes ten times as long.
const underRace = false
