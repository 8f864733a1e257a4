package placement

import (
	"cmp"
	"slices"
	"time"
)

// A Tree is a root provider with all that are below it. It is immutable and
// safe for concurrent use.
type Tree struct {
	// Providers in the order of their ids, but for the root, which is first.
	Providers []*Provider
	// classes, traits and aggregates are the sorted unions over the
	// providers: what the indexes of the world know of the tree.
	classes    []ClassID
	traits     []TraitID
	aggregates []AggregateID
	sharing    bool // any provider has SharesViaAggregate
	slot       int32
}

// Root returns the root provider.
func (t *Tree) Root() *Provider { return t.Providers[0] }

// Slot is the place of the tree in the world's order: a small number that is
// stable while the tree exists and used again after it is gone.
func (t *Tree) Slot() int { return int(t.slot) }

// A Provider is a resource provider in a picture of the world. It is immutable
// and safe for concurrent use.
type Provider struct {
	ID         int64
	UUID       UUID
	Name       string
	Generation Generation
	Modified   time.Time
	// Parent is the index of the parent in the tree's Providers, -1 for the
	// root.
	Parent int
	// Index is this provider's own index there.
	Index int
	// Inventories in the order of their classes.
	Inventories []Stock
	// Traits and Aggregates in the order of their ids.
	Traits     []TraitID
	Aggregates []AggregateID
	parentID   int64 // as its row has it
	// Shares says that the provider has the trait SharesViaAggregate.
	Shares bool
}

// A Stock is an inventory with the amount of it that is allocated.
type Stock struct {
	Class ClassID
	Inventory
	Used     int64
	Modified time.Time
}

// Stock returns what the provider offers of a class, or nil.
func (p *Provider) Stock(class ClassID) *Stock {
	for i := range p.Inventories {
		if p.Inventories[i].Class == class {
			return &p.Inventories[i]
		}
	}
	return nil
}

// HasTrait reports whether the provider has the trait.
func (p *Provider) HasTrait(id TraitID) bool {
	_, ok := slices.BinarySearch(p.Traits, id)
	return ok
}

// InAggregate reports whether the provider itself is a member of the aggregate.
func (p *Provider) InAggregate(id AggregateID) bool {
	_, ok := slices.BinarySearch(p.Aggregates, id)
	return ok
}

// Room reports whether amount of the stock can be allocated now: within the
// units, the steps and what is free.
func (s *Stock) Room(amount int64) bool {
	return s.Admits(amount) && s.Fits(s.Used, amount)
}

// Find returns the provider with the UUID, or nil.
func (t *Tree) Find(uuid UUID) *Provider {
	for _, p := range t.Providers {
		if p.UUID == uuid {
			return p
		}
	}
	return nil
}

// buildTrees makes the trees of a picture, in the order of their roots' ids.
// Rows of providers that are not in the picture are left out, as are providers
// whose root is missing.
func buildTrees(pic Picture, sharing TraitID) []*Tree {
	b := treeBuilder{byID: make(map[int64]*Provider, len(pic.Providers)), sharing: sharing}
	b.group(pic.Providers)
	b.attach(pic)
	trees := make([]*Tree, 0, len(b.roots))
	for _, rows := range b.roots {
		if t := b.tree(rows); t != nil {
			trees = append(trees, t)
		}
	}
	return trees
}

type treeBuilder struct {
	byID    map[int64]*Provider
	roots   [][]ProviderRow // the rows of each tree, by root id
	sharing TraitID
}

// group sorts the rows into trees and makes their providers.
func (b *treeBuilder) group(rows []ProviderRow) {
	rows = slices.Clone(rows)
	slices.SortFunc(rows, func(x, y ProviderRow) int {
		return cmp.Or(cmp.Compare(x.Root, y.Root), cmp.Compare(rank(x), rank(y)))
	})
	start := 0
	for i, r := range rows {
		b.byID[r.ID] = &Provider{ID: r.ID, UUID: r.UUID, Name: r.Name, Generation: r.Generation, Modified: r.Modified, Parent: -1, parentID: r.Parent}
		if i+1 == len(rows) || rows[i+1].Root != r.Root {
			b.roots = append(b.roots, rows[start:i+1])
			start = i + 1
		}
	}
}

// rank orders the providers of one tree: the root before all others.
func rank(r ProviderRow) int64 {
	if r.ID == r.Root {
		return -1
	}
	return r.ID
}

// attach gives the providers their inventories, traits and aggregates.
func (b *treeBuilder) attach(pic Picture) {
	for _, r := range pic.Inventories {
		if p := b.byID[r.Provider]; p != nil {
			p.Inventories = append(p.Inventories, Stock{Class: r.Class, Inventory: r.Inventory, Used: r.Used, Modified: r.Modified})
		}
	}
	for _, r := range pic.Traits {
		if p := b.byID[r.Provider]; p != nil {
			p.Traits = append(p.Traits, r.Trait)
			p.Shares = p.Shares || r.Trait == b.sharing
		}
	}
	for _, r := range pic.Aggregates {
		if p := b.byID[r.Provider]; p != nil {
			p.Aggregates = append(p.Aggregates, r.ID)
		}
	}
}

// tree links the providers of one tree, nil when its root is missing.
func (b *treeBuilder) tree(rows []ProviderRow) *Tree {
	if rows[0].ID != rows[0].Root {
		return nil
	}
	t := &Tree{Providers: make([]*Provider, len(rows))}
	for i, r := range rows {
		p := b.byID[r.ID]
		p.Index = i
		t.Providers[i] = p
	}
	for i, r := range rows {
		if i > 0 {
			t.Providers[i].Parent = b.parentIn(t, r)
		}
		t.collect(t.Providers[i])
	}
	t.breakLoops()
	t.classes = compactSorted(t.classes)
	t.traits = compactSorted(t.traits)
	t.aggregates = compactSorted(t.aggregates)
	return t
}

// parentIn returns the index of a provider's parent, the root's when it has none
// in the tree: races of upstream's leave such rows behind.
func (b *treeBuilder) parentIn(t *Tree, r ProviderRow) int {
	if parent := b.byID[r.Parent]; parent != nil && parent.ID != r.ID && t.has(parent) {
		return parent.Index
	}
	return 0
}

// breakLoops hangs providers that are below each other to the root.
func (t *Tree) breakLoops() {
	for _, p := range t.Providers {
		at := p
		for range t.Providers {
			if at.Parent < 0 {
				break
			}
			at = t.Providers[at.Parent]
		}
		if at.Parent >= 0 {
			p.Parent = 0
		}
	}
}

// has reports whether a provider is one of the tree's.
func (t *Tree) has(p *Provider) bool {
	return p.Index < len(t.Providers) && t.Providers[p.Index] == p
}

// collect sorts what a provider has and adds it to the tree's unions.
func (t *Tree) collect(p *Provider) {
	slices.SortFunc(p.Inventories, func(a, b Stock) int { return cmp.Compare(a.Class, b.Class) })
	slices.Sort(p.Traits)
	slices.Sort(p.Aggregates)
	for i := range p.Inventories {
		t.classes = append(t.classes, p.Inventories[i].Class)
	}
	t.traits = append(t.traits, p.Traits...)
	t.aggregates = append(t.aggregates, p.Aggregates...)
	t.sharing = t.sharing || p.Shares
}

// compactSorted sorts s, drops repetitions and gives back what is too much of
// its memory.
func compactSorted[T cmp.Ordered](s []T) []T {
	slices.Sort(s)
	return slices.Clip(slices.Clone(slices.Compact(s)))
}
