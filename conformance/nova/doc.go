// Package nova compares the dialogues in testdata with the distribution's Nova, which they were
// recorded from. Package internal/dialogue/nova runs it.
package nova
