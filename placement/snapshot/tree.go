package snapshot

import (
	"math/bits"

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
// stable while the tree exists and used again after it is deleted.
func (t *Tree) Index() int { return int(t.index) }

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

// WithClass returns the indexes of the providers that have inventory of the
// class, as a bit set that must not be changed; nil when there are none.
func (t *Tree) WithClass(id placement.ClassID) []uint64 { return t.layout.class(id) }

// WithTrait is WithClass for the providers that have the trait.
func (t *Tree) WithTrait(id placement.TraitID) []uint64 { return t.layout.trait(id) }

// Lineage returns the indexes of a provider and of all above it, as a bit set that
// must not be changed.
func (t *Tree) Lineage(index int) []uint64 { return t.layout.lineage(index) }

// freeEntry is the tree's entry for a class that one of its providers offers.
func (t *Tree) freeEntry(id placement.ClassID) (entry int32) {
	for at, word := range t.layout.class(id) {
		for ; word != 0; word &= word - 1 {
			entry = max(entry, t.Providers[at*64+bits.TrailingZeros64(word)].Inventory(id).freeEntry())
		}
	}
	return entry
}
