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
		p.Providers = append(p.Providers, cloud.TreeProviders(s, tree)...)
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
