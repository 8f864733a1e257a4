package inventory

import (
	"maps"
	"slices"

	"github.com/berthcloud/berth/placement"
	"github.com/berthcloud/berth/placement/providertree"
)

// Additions are what files (see Additional) have added to the providers of a host's tree, by the
// provider's id. Placement does not say who has added something: what leaves the files can be
// removed because it is in the Additions of an earlier sync.
type Additions map[placement.UUID]Addition

// An Addition is what files have added to one provider, each list sorted.
type Addition struct {
	Classes []string `json:"resource_classes,omitempty"`
	Traits  []string `json:"traits,omitempty"`
}

// Contains reports whether all of other is in a.
func (a Additions) Contains(other Additions) bool { return a.Equal(a.Union(other)) }

// Equal reports whether both are the same.
func (a Additions) Equal(other Additions) bool {
	return maps.EqualFunc(a, other, func(x, y Addition) bool {
		return slices.Equal(x.Classes, y.Classes) && slices.Equal(x.Traits, y.Traits)
	})
}

// Union returns what is in a or in other.
func (a Additions) Union(other Additions) Additions {
	all := maps.Clone(a)
	for id, more := range other {
		all = all.with(id, more.Classes, more.Traits)
	}
	return all
}

// with returns a, in which a provider has more; it may change a.
func (a Additions) with(id placement.UUID, classes, traits []string) Additions {
	if len(classes)+len(traits) == 0 {
		return a
	}
	if a == nil {
		a = Additions{}
	}
	a[id] = Addition{
		Classes: providertree.SortedSet(slices.Concat(a[id].Classes, classes)),
		Traits:  providertree.SortedSet(slices.Concat(a[id].Traits, traits)),
	}
	return a
}

// strip returns a copy of a provider without what files have added to it.
func (a Additions) strip(p providertree.Provider) providertree.Provider {
	p = p.Clone()
	for _, class := range a[p.ID].Classes {
		delete(p.Inventories, class)
	}
	p.Traits = slices.DeleteFunc(p.Traits, func(name string) bool { return slices.Contains(a[p.ID].Traits, name) })
	return p
}
