package records

import (
	"cmp"
	"math"
	"slices"

	"github.com/berthcloud/berth/ops/cloud"
)

// A Level is how full a provider is of a class, or how much of the whole cloud's capacity a holder has.
type Level struct {
	Name     string `json:"name,omitempty"` // of the provider
	UUID     string `json:"id"`             // of the provider or the consumer, or the id of the project
	Type     string `json:"consumer_type,omitempty"`
	Project  string `json:"project_id,omitempty"`
	Class    string `json:"resource_class"`
	Used     int64  `json:"used"`
	Capacity int64  `json:"capacity"`
	// Percent is Used of Capacity, to a tenth. It is 100 where something is used of nothing.
	Percent float64 `json:"percent"`
}

func newLevel(l Level) Level {
	switch {
	case l.Capacity > 0:
		l.Percent = math.Round(1000*float64(l.Used)/float64(l.Capacity)) / 10
	case l.Used > 0:
		l.Percent = 100
	}
	return l
}

// Fullest returns how full providers are of a class, or of all for "", the fullest first.
func Fullest(p *cloud.Placement, class string) []Level {
	var all []Level
	for i := range p.Providers {
		of := &p.Providers[i]
		for _, s := range stocks(of) {
			if class == "" || s.Class == class {
				all = append(all, newLevel(Level{Name: of.Name, UUID: of.UUID, Class: s.Class, Used: s.Used, Capacity: s.Capacity}))
			}
		}
	}
	return ordered(all)
}

// Biggest returns how much of the cloud's capacity of a class, or of all for "", consumers have, or with projects their projects. The
// biggest shares are first.
func Biggest(p *cloud.Placement, class string, projects bool) []Level {
	capacity := map[string]int64{}
	for i := range p.Providers {
		for _, s := range stocks(&p.Providers[i]) {
			capacity[s.Class] += s.Capacity
		}
	}
	type key struct{ id, class string }
	at := map[key]int{}
	var all []Level
	for _, c := range p.Consumers {
		for _, resources := range c.Allocations {
			for name, amount := range resources {
				if class != "" && name != class {
					continue
				}
				l := Level{UUID: c.UUID, Type: c.Type, Project: c.Project, Class: name, Capacity: capacity[name]}
				if projects {
					l.UUID, l.Type, l.Project = c.Project, "", ""
				}
				k := key{l.UUID, name}
				i, ok := at[k]
				if !ok {
					i = len(all)
					at[k], all = i, append(all, l)
				}
				all[i].Used += amount
			}
		}
	}
	for i := range all {
		all[i] = newLevel(all[i])
	}
	return ordered(all)
}

// ordered puts the highest first.
func ordered(all []Level) []Level {
	slices.SortFunc(all, func(a, b Level) int {
		return cmp.Or(cmp.Compare(b.Percent, a.Percent), cmp.Compare(b.Used, a.Used), cmp.Compare(a.Name, b.Name), cmp.Compare(a.UUID, b.UUID), cmp.Compare(a.Class, b.Class))
	})
	return all
}
