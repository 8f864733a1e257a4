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
	var pic placement.TreeRows
	for host := range hosts {
		root := int64(3*host + 1)
		for i := range 3 {
			id := root + int64(i)
			row := placement.ProviderRow{ID: id, UUID: placement.UUID(fmt.Sprint(id)), Name: fmt.Sprint(id), Root: root}
			if i > 0 {
				row.Parent = root
			}
			pic.Providers = append(pic.Providers, row)
			pic.Inventories = append(pic.Inventories, placement.InventoryRow{Provider: id, Class: placement.ClassID(i), Inventory: placement.Inventory{
				Total: 8, MinUnit: 1, MaxUnit: 8, StepSize: 1, AllocationRatio: 1,
			}})
			for _, trait := range has(host, i) {
				pic.Traits = append(pic.Traits, placement.ProviderTraitRow{Provider: id, Trait: trait})
			}
		}
	}
	return pic
}

func TestTreesAlikeShareTheirShape(t *testing.T) {
	pic := hostsWith(4, func(host, provider int) []placement.TraitID {
		return []placement.TraitID{placement.TraitID(1 + host/3)}
	})
	w := snapshot.New(nil, nil, pic, time.Time{})
	if w.Tree(0).Shape() != w.Tree(1).Shape() || w.Tree(2).Shape() == w.Tree(3).Shape() {
		t.Error("trees share a shape that are not alike, or do not that are")
	}
	pic.Inventories[0].Used = 1
	next := w.WithTrees([]int64{1}, placement.TreeRows{Providers: pic.Providers[:3], Inventories: pic.Inventories[:3], Traits: pic.Traits[:3]}, time.Time{})
	if next.Tree(0) == w.Tree(0) || next.Tree(0).Shape() != w.Tree(0).Shape() {
		t.Error("usage changed a tree's shape")
	}
}
