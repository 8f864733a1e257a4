package snapshot

import (
	"slices"

	"github.com/berthcloud/berth/placement"
)

// A Tree is a root provider with all that are below it. It is immutable and
// safe for concurrent use.
type Tree struct {
	// Providers in the order of their ids, but for the root, which is first.
	Providers []*Provider
	// layout, aggregates (the sorted union over the providers) and sharing
	// are what the indexes of the snapshot know of the tree.
	layout     *Layout
	aggregates []placement.AggregateID
	sharing    bool // any provider has SharesViaAggregate
	index      int32
}

// Root returns the root provider.
func (t *Tree) Root() *Provider { return t.Providers[0] }

// Index is the place of the tree in the snapshot's order: a small number that is
// stable while the tree exists and used again after it is gone.
func (t *Tree) Index() int { return int(t.index) }

// A Provider is a resource provider in a snapshot. It is immutable
// and safe for concurrent use.
type Provider struct {
	ID         int64
	UUID       placement.UUID
	Name       string
	Generation placement.Generation
	Modified   placement.Stamp
	// Parent is the index of the parent in the tree's Providers, -1 for the
	// root.
	Parent int
	// Index is this provider's own index there.
	Index int
	// Inventories in the order of their classes.
	Inventories []Inventory
	// Traits and Aggregates in the order of their ids.
	Traits     []placement.TraitID
	Aggregates []placement.AggregateID
	parentID   int64 // as its row has it
	// Shares says that the provider has the trait SharesViaAggregate.
	Shares bool
}

// An Inventory is a provider's inventory of one class with the amount of it that is allocated. Equal
// inventories share one placement.Inventory, which therefore must not be changed.
type Inventory struct {
	Class placement.ClassID
	*placement.Inventory
	Used     int64
	Modified placement.Stamp
}

// Inventory returns what the provider offers of a class, or nil.
func (p *Provider) Inventory(class placement.ClassID) *Inventory {
	for i := range p.Inventories {
		if p.Inventories[i].Class == class {
			return &p.Inventories[i]
		}
	}
	return nil
}

// HasTrait reports whether the provider has the trait.
func (p *Provider) HasTrait(id placement.TraitID) bool {
	_, ok := slices.BinarySearch(p.Traits, id)
	return ok
}

// InAggregate reports whether the provider itself is a member of the aggregate.
func (p *Provider) InAggregate(id placement.AggregateID) bool {
	_, ok := slices.BinarySearch(p.Aggregates, id)
	return ok
}

// HasFree reports whether amount of the inventory can be allocated now: within min_unit, max_unit and
// step_size, and within the capacity with what is allocated already.
func (s *Inventory) HasFree(amount int64) bool {
	return s.Admits(amount) && s.Fits(s.Used, amount)
}

// Info describes a provider of the tree.
func (t *Tree) Info(p *Provider) placement.ProviderInfo {
	info := placement.ProviderInfo{
		UUID: p.UUID, Name: p.Name, Generation: p.Generation,
		Root: t.Root().UUID, Modified: p.Modified.Time(),
	}
	if p.Parent >= 0 {
		info.Parent = t.Providers[p.Parent].UUID
	}
	return info
}
