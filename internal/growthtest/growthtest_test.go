package growthtest

import (
	"slices"
	"testing"

	"github.com/berthcloud/berth/internal/racetest"
)

// TestNearLinear distinguishes a search through a list for each of its items from one through a
// map.
func TestNearLinear(t *testing.T) {
	racetest.Skip(t)
	var found int
	linear := func(n int) {
		seen := make(map[int]bool)
		for i := range 20 * n {
			seen[i] = true
		}
		found += len(seen)
	}
	quadratic := func(n int) {
		var seen []int
		for i := range n {
			if !slices.Contains(seen, i) {
				seen = append(seen, i)
			}
		}
		found += len(seen)
	}
	NearLinear(t, 5000, linear)
	few, many := spent(func() { quadratic(5000) }), spent(func() { quadratic(factor * 5000) })
	if many < short || many < most*few {
		t.Error("quadratic work passes: ", growth(5000, few, many))
	}
}
