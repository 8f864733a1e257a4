package records

import (
	"cmp"
	"math"
	"slices"

	"github.com/berthcloud/berth/ops/cloud"
)

// A Usage is how much of a provider's capacity of a class is used, or how much of the whole cloud's
// a consumer or project has.
type Usage struct {
	Name     string `json:"name,omitempty"` // of the provider
	UUID     string `json:"id"`             // of the provider or the consumer, or the id of the project
	Type     string `json:"consumer_type,omitempty"`
	Project  string `json:"project_id,omitempty"` // of the consumer
	Class    string `json:"resource_class"`
	Used     int64  `json:"used"`
	Capacity int64  `json:"capacity"`
	// Percent is Used of Capacity, to a tenth. It is 100 where something is used of nothing.
	Percent float64 `json:"percent"`
}

// Fullest returns how full providers are of a class, or of all for "", the fullest first.
func Fullest(p *cloud.Placement, class string) []Usage {
	var all []Usage
	for i := range p.Providers {
		provider := &p.Providers[i]
		for _, i := range inventories(provider) {
			if class == "" || i.Class == class {
				all = append(all, Usage{
					Name: provider.Name, UUID: provider.UUID, Class: i.Class, Used: i.Used, Capacity: i.Capacity,
				})
			}
		}
	}
	return ordered(all)
}

// Largest returns how much of the cloud's capacity of a class, or of all for "", consumers have, or
// with projects their projects. The biggest shares are first.
func Largest(p *cloud.Placement, class string, projects bool) []Usage {
	capacity := map[string]int64{}
	for i := range p.Providers {
		for _, inventory := range inventories(&p.Providers[i]) {
			capacity[inventory.Class] += inventory.Capacity
		}
	}
	type key struct{ id, class string }
	index := map[key]int{}
	var all []Usage
	for _, c := range p.Consumers {
		for _, resources := range c.Allocations {
			for name, amount := range resources {
				if class != "" && name != class {
					continue
				}
				u := Usage{UUID: c.UUID, Type: c.Type, Project: c.Project, Class: name, Capacity: capacity[name]}
				if projects {
					u.UUID, u.Type, u.Project = c.Project, "", ""
				}
				k := key{u.UUID, name}
				i, ok := index[k]
				if !ok {
					i = len(all)
					index[k], all = i, append(all, u)
				}
				all[i].Used += amount
			}
		}
	}
	return ordered(all)
}

// ordered sets the percentages, and puts the highest first.
func ordered(all []Usage) []Usage {
	for i := range all {
		switch u := &all[i]; {
		case u.Capacity > 0:
			u.Percent = math.Round(1000*float64(u.Used)/float64(u.Capacity)) / 10
		case u.Used > 0:
			u.Percent = 100
		}
	}
	slices.SortFunc(all, func(a, b Usage) int {
		return cmp.Or(cmp.Compare(b.Percent, a.Percent), cmp.Compare(b.Used, a.Used), cmp.Compare(a.Name, b.Name),
			cmp.Compare(a.UUID, b.UUID), cmp.Compare(a.Class, b.Class))
	})
	return all
}
