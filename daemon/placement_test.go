package daemon

import (
	"testing"

	"github.com/berthcloud/berth/config"
)

// Upstream applies the bound after it has added a candidate: 0 is 1, and only negative values are
// no bound.
func TestCandidateBound(t *testing.T) {
	for set, want := range map[int]int{-5: 0, -1: 0, 0: 1, 1: 1, 100: 100} {
		cfg := config.DefaultPlacement()
		cfg.Placement.MaxAllocationCandidates = set
		if got := candidateSettings(cfg).Max; got != want {
			t.Errorf("max_allocation_candidates = %d bounds to %d, want %d", set, got, want)
		}
	}
}
