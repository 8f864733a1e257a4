// Package racetest reports to tests whether the race detector is enabled, which makes everything
// ten times slower. Only tests import it.
package racetest

import "testing"

// Few reports whether one case of each kind is enough: under the race detector, and with
// -short. All of them are run without it.
func Few() bool { return Enabled || testing.Short() }
