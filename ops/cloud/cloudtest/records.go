// Package cloudtest makes records of clouds for tests of the operators' tools.
package cloudtest

import (
	"github.com/berthcloud/berth/ops/cloud"
	"github.com/berthcloud/berth/placement/snapshot"
)

// Records returns the records of the providers in a snapshot, without consumers.
func Records(s *snapshot.Snapshot) *cloud.Placement {
	p := &cloud.Placement{Classes: names(s.Classes()), Traits: names(s.Traits())}
	for tree := range s.Trees() {
		for _, rp := range tree.Providers {
			provider := cloud.Provider{
				UUID: string(rp.UUID), Name: rp.Name, Generation: int64(rp.Generation), Root: string(tree.Root().UUID),
				Inventories: map[string]cloud.Inventory{}, Usages: map[string]int64{},
			}
			if rp.Parent >= 0 {
				provider.Parent = string(tree.Providers[rp.Parent].UUID)
			}
			for i := range rp.Inventories {
				stock := &rp.Inventories[i]
				class := s.ClassName(stock.Class)
				provider.Inventories[class] = cloud.Inventory(*stock.Inventory)
				provider.Usages[class] = stock.Used
			}
			for _, id := range rp.Traits {
				provider.Traits = append(provider.Traits, s.TraitName(id))
			}
			for _, id := range rp.Aggregates {
				provider.Aggregates = append(provider.Aggregates, string(s.AggregateUUID(id)))
			}
			p.Providers = append(p.Providers, provider)
		}
	}
	p.Sort()
	return p
}

// names lists the names in a catalog.
func names(c snapshot.Catalog) (list []string) {
	for _, n := range c.List() {
		list = append(list, n.Name)
	}
	return list
}
