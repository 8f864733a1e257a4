// Package racetest tells tests whether the race detector watches, under which everything
// takes ten times as long. It is imported by tests only.
package racetest

import "testing"

// Few reports whether one case of each kind is enough: under the race detector, and with
// -short. All of them are run without it.
func Few() bool { return Enabled || testing.Short() }
