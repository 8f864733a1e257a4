package snapshot_test

import (
	"fmt"
	"testing"
	"time"

	"github.com/berthcloud/berth/placement"
	"github.com/berthcloud/berth/placement/snapshot"
)

// hostsWith is a snapshot of hosts with two devices each; has says which traits
// the providers have, the host being 0 and the devices 1 and 2.
func hostsWith(hosts int, has func(host, provider int) []placement.TraitID) placement.TreeRows {
	var rows placement.TreeRows
	for host := range hosts {
		root := int64(3*host + 1)
		for i := range 3 {
			id := root + int64(i)
			row := placement.ProviderRow{ID: id, UUID: placement.UUID(fmt.Sprint(id)), Name: fmt.Sprint(id), Root: root}
			if i > 0 {
				row.Parent = root
			}
			rows.Providers = append(rows.Providers, row)
			rows.Inventories = append(rows.Inventories,
				placement.InventoryRow{Provider: id, Class: placement.ClassID(i), Inventory: placement.Inventory{
					Total: 8, MinUnit: 1, MaxUnit: 8, StepSize: 1, AllocationRatio: 1,
				}})
			for _, trait := range has(host, i) {
				rows.Traits = append(rows.Traits, placement.ProviderTraitRow{Provider: id, Trait: trait})
			}
		}
	}
	return rows
}

func TestTreesAlikeShareTheirLayout(t *testing.T) {
	rows := hostsWith(4, func(host, provider int) []placement.TraitID {
		return []placement.TraitID{placement.TraitID(1 + host/3)}
	})
	s := snapshot.New(nil, nil, rows, time.Time{})
	if s.Tree(0).Layout() != s.Tree(1).Layout() || s.Tree(2).Layout() == s.Tree(3).Layout() {
		t.Error("trees share a layout that are not alike, or do not that are")
	}
	rows.Inventories[0].Used = 1
	next := s.WithTrees([]int64{1}, placement.TreeRows{
		Providers: rows.Providers[:3], Inventories: rows.Inventories[:3], Traits: rows.Traits[:3],
	}, time.Time{})
	if next.Tree(0) == s.Tree(0) || next.Tree(0).Layout() != s.Tree(0).Layout() {
		t.Error("usage changed a tree's layout")
	}
}
