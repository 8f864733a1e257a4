package snapshot_test

import (
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/berthcloud/berth/placement"
	"github.com/berthcloud/berth/placement/snapshot"
)

// TestTotals adds up inventories with ratios that leave fractions, less than nothing, and
// more than can be added.
func TestTotals(t *testing.T) {
	row := func(provider int64, total, reserved int64, ratio float64, used int64) placement.InventoryRow {
		return placement.InventoryRow{Provider: provider, Class: 0, Used: used, Inventory: placement.Inventory{
			Total: total, Reserved: reserved, MinUnit: 1, MaxUnit: 100, StepSize: 1, AllocationRatio: ratio,
		}}
	}
	rows := placement.TreeRows{
		Providers: []placement.ProviderRow{
			{ID: 1, Root: 1, UUID: "u1", Name: "n1"},
			{ID: 2, Root: 2, UUID: "u2", Name: "n2"},
			{ID: 3, Root: 3, UUID: "u3", Name: "n3"},
		},
		Inventories: []placement.InventoryRow{
			row(1, 7, 0, 1.5, 3),  // 10.5
			row(2, 4, 6, 16, 0),   // reserved is more than there is
			row(3, 8, 0, 3e38, 5), // no end
		},
	}
	classes, traits := bookCatalogs()
	s := snapshot.New(classes, traits, rows, time.Unix(0, 0))
	want := []snapshot.Totals{{Class: 0, Providers: 3, Total: 19, Reserved: 6, Used: 8, Capacity: 10 + 0 + 1<<40}}
	if diff := cmp.Diff(want, s.Totals()); diff != "" {
		t.Errorf("Totals (-want +got):\n%s", diff)
	}
	s = s.WithTrees([]int64{1, 3}, placement.TreeRows{}, time.Unix(1, 0))
	want = []snapshot.Totals{{Class: 0, Providers: 1, Total: 4, Reserved: 6}}
	if diff := cmp.Diff(want, s.Totals()); diff != "" {
		t.Errorf("Totals when two providers are removed (-want +got):\n%s", diff)
	}
	if got := s.WithTrees([]int64{2}, placement.TreeRows{}, time.Unix(2, 0)).Totals(); len(got) > 0 {
		t.Errorf("Totals without providers = %v, want none", got)
	}
}
