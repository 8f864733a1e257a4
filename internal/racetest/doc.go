// Package racetest reports to tests whether the race detector is enabled, which makes everything
// ten times slower. Only tests import it.
package racetest

import "testing"

// Few reports whether one case of each kind is enough: under the race detector, and with
// -short. All of them are run without it.
func Few() bool { return Enabled || testing.Short() }

// Skip skips a test under the race detector that could find no race: what it measures, counts or
// compares with upstream is computed by one goroutine, or is as concurrent as in other tests. The
// packages of such tests are tested without the detector too, in the same run (scripts/test).
func Skip(t testing.TB) {
	t.Helper()
	if Enabled {
		t.Skip("runs without the race detector")
	}
}
