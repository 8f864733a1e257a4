//go:build race

package racetest

// Enabled says that the race detector watches.
const Enabled = true
