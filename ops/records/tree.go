// Package records has the operators' views of placement's records: one tree, the fullest providers
// and the biggest holders, the differences of two clouds. It reads no cloud and prints nothing.
package records

import (
	"cmp"
	"fmt"
	"maps"
	"slices"

	"github.com/berthcloud/berth/ops/cloud"
	"github.com/berthcloud/berth/placement"
)

// A Provider is one of a tree, with what it has and who uses it.
type Provider struct {
	Name       string `json:"name"`
	UUID       string `json:"uuid"`
	Parent     string `json:"parent_provider_uuid,omitempty"`
	Generation int64  `json:"generation"`
	Depth      int    `json:"depth"` // 0 for the root
	// Inventories are in the order of their classes.
	Inventories []Inventory `json:"inventories"`
	Traits      []string    `json:"traits"`
	Aggregates  []string    `json:"aggregates"`
	// Allocations are what consumers have of the provider, in the order of the consumers' UUIDs.
	Allocations []Allocation `json:"allocations"`
}

// An Inventory is what a provider has of a class, and how much of that is used. A class that is
// allocated and has no inventory has a total of 0.
type Inventory struct {
	Class    string  `json:"resource_class"`
	Total    int64   `json:"total"`
	Reserved int64   `json:"reserved"`
	Ratio    float64 `json:"allocation_ratio"`
	Capacity int64   `json:"capacity"`
	Used     int64   `json:"used"`
	// negative where more is used than there is, 0 where everything is reserved while it is in use
	Free int64 `json:"free"`
}

// An Allocation is what a consumer has of a provider.
type Allocation struct {
	Consumer  string           `json:"consumer_uuid"`
	Type      string           `json:"consumer_type,omitempty"`
	Project   string           `json:"project_id"`
	Resources map[string]int64 `json:"resources"`
}

// Tree returns the tree that has a provider of a name or UUID, parents before children and children
// by their names. It fails when there is none.
func Tree(p *cloud.Placement, host string) ([]Provider, error) {
	index := slices.IndexFunc(p.Providers, func(p cloud.Provider) bool { return p.UUID == host || p.Name == host })
	if index < 0 {
		return nil, fmt.Errorf("no provider has the name or UUID %q", host)
	}
	children := map[string][]*cloud.Provider{}
	for i := range p.Providers {
		if provider := &p.Providers[i]; provider.Root == p.Providers[index].Root {
			children[provider.Parent] = append(children[provider.Parent], provider)
		}
	}
	allocations := map[string][]Allocation{}
	for _, c := range p.Consumers {
		for provider, resources := range c.Allocations {
			allocations[provider] = append(allocations[provider], Allocation{c.UUID, c.Type, c.Project, resources})
		}
	}
	var providers []Provider
	var add func(provider *cloud.Provider, depth int)
	add = func(provider *cloud.Provider, depth int) {
		providers = append(providers, Provider{
			Name: provider.Name, UUID: provider.UUID, Parent: provider.Parent, Generation: provider.Generation, Depth: depth,
			Inventories: inventories(provider), Traits: provider.Traits,
			Aggregates: provider.Aggregates, Allocations: append([]Allocation{}, allocations[provider.UUID]...),
		})
		below := children[provider.UUID]
		slices.SortFunc(below, func(a, b *cloud.Provider) int {
			return cmp.Or(cmp.Compare(a.Name, b.Name), cmp.Compare(a.UUID, b.UUID))
		})
		delete(children, provider.UUID) // a loop in wrong records ends
		for _, child := range below {
			add(child, depth+1)
		}
	}
	for _, root := range children[""] {
		add(root, 0)
	}
	return providers, nil
}

// inventories lists those of a provider by their classes.
func inventories(provider *cloud.Provider) []Inventory {
	classes := map[string]bool{}
	for class := range provider.Inventories {
		classes[class] = true
	}
	for class := range provider.Usages {
		classes[class] = true
	}
	list := []Inventory{}
	for _, class := range slices.Sorted(maps.Keys(classes)) {
		i := placement.Inventory(provider.Inventories[class])
		capacity, used := i.Capacity(), provider.Usages[class]
		free := capacity - used
		if i.ReservedInUse(used) {
			free = 0
		}
		list = append(list, Inventory{class, i.Total, i.Reserved, i.AllocationRatio, capacity, used, free})
	}
	return list
}
