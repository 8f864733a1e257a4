package snapshot_test

import (
	"fmt"
	"math"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/berthcloud/berth/placement"
	"github.com/berthcloud/berth/placement/placementtest"
	"github.com/berthcloud/berth/placement/snapshot"
)

// The numbers where integers, floats and the entries of free capacities end.
func TestFreeCapacityIsRightAtTheEnds(t *testing.T) {
	const big = math.MaxInt32
	for _, inv := range []placement.Inventory{
		{Total: 10, MaxUnit: 10, AllocationRatio: math.NaN()},
		{Total: 10, MaxUnit: 10, AllocationRatio: math.Inf(1)},
		{Total: 10, MaxUnit: 10, AllocationRatio: math.Inf(-1)},
		{Total: big, MaxUnit: big, AllocationRatio: 3.4e38},
		{Total: big, MaxUnit: math.MaxInt64, AllocationRatio: 3.4e38},
		{Total: 0, Reserved: big, MaxUnit: big, AllocationRatio: 3.4e38},
		{Total: big, MaxUnit: big, AllocationRatio: 1},
		{Total: 1, MaxUnit: 1, AllocationRatio: 0.999999},
		{Total: 3, MaxUnit: 9, AllocationRatio: 1.67},
		{Total: 1 << 53, MaxUnit: 7, AllocationRatio: 1},
		{Total: 10, MaxUnit: -1, AllocationRatio: 1},
	} {
		inv.StepSize = 1
		for _, used := range []int64{0, 1, 4, 5, big - 1, big, 1 << 51, 1<<53 - 1, 1 << 53} {
			t.Run(fmt.Sprintf("%v/%d", inv, used), func(t *testing.T) {
				s := snapshot.New(nil, nil, placement.TreeRows{
					Providers:   []placement.ProviderRow{{ID: 1, UUID: "a", Name: "a", Root: 1}},
					Inventories: []placement.InventoryRow{{Provider: 1, Class: 1, Used: used, Inventory: inv}},
				}, time.Time{})
				for _, amount := range []int64{1, 2, 5, 6, 7, 10, 11, big - 2, big - 1, big, big + 1} {
					inventory := s.Tree(0).Root().Inventory(1)
					free, says := inventory.HasFree(amount), s.FreeCapacity(1).Word(0, 1, amount) == 1
					if free && !says {
						t.Errorf("HasFree(%d) is %t, the index says %t", amount, free, says)
					}
				}
			})
		}
	}
}

// Snapshots of several pages, of which an edit copies only some.
func TestFreeCapacityOverPages(t *testing.T) {
	const hosts = 1000
	var rows placement.TreeRows
	for id := int64(1); id <= hosts; id++ {
		name := fmt.Sprint(id)
		rows.Providers = append(rows.Providers, placement.ProviderRow{
			ID: id, UUID: placement.UUID(name), Name: name, Root: id,
		})
		rows.Inventories = append(rows.Inventories,
			placement.InventoryRow{Provider: id, Class: 1, Inventory: placement.Inventory{
				Total: id % 20, MinUnit: 1, MaxUnit: 20, StepSize: 1, AllocationRatio: 1,
			}})
	}
	classes := []placement.Named{{ID: 1, Name: "VCPU"}}
	before := snapshot.New(classes, nil, rows, time.Time{})
	was := placementtest.Observe(before)
	var part placement.TreeRows
	for _, id := range []int64{300, 301, 999} {
		part.Providers = append(part.Providers, rows.Providers[id-1])
		row := rows.Inventories[id-1]
		row.Used = 1
		part.Inventories = append(part.Inventories, row)
		rows.Inventories[id-1].Used = 1
	}
	after := before.WithTrees([]int64{300, 301, 999}, part, time.Time{})
	if diff := cmp.Diff(placementtest.Observe(snapshot.New(classes, nil, rows, time.Time{})),
		placementtest.Observe(after)); diff != "" {
		t.Errorf("the edited snapshot (-new +edited):\n%s", diff)
	}
	if diff := cmp.Diff(was, placementtest.Observe(before)); diff != "" {
		t.Errorf("the older snapshot changed:\n%s", diff)
	}
}
