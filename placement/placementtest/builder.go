// Package placementtest helps to test what works on placement's snapshots: a builder that makes a
// snapshot in a few lines, a small language of scenarios for the search, and the suite that every
// store must pass. It is imported by tests only, and is not the place for tests of its own users.
package placementtest

import (
	"fmt"
	"path"
	"slices"
	"time"

	"github.com/berthcloud/berth/placement"
	"github.com/berthcloud/berth/placement/snapshot"
)

// A Builder collects the rows of a snapshot. Providers are named by their path from
// the root ("cn1/numa0/nic"), which is also their UUID, and aggregates by any
// name, so that what comes out of a test can be read. Classes and traits come
// into being when they are first named, besides the standard classes and the
// trait that marks sharing providers. Mistakes panic.
type Builder struct {
	classes    []placement.Named
	traits     []placement.Named
	aggregates []placement.UUID
	rows       placement.TreeRows
	ids        map[string]int64
}

// NewBuilder returns a builder of an empty snapshot.
func NewBuilder() *Builder {
	b := &Builder{ids: make(map[string]int64)}
	for i, name := range placement.StandardClasses {
		b.classes = append(b.classes, placement.Named{ID: int32(i), Name: name})
	}
	b.Trait(placement.SharesViaAggregate)
	return b
}

// Snapshot returns a snapshot of what was built so far. The builder can go on.
func (b *Builder) Snapshot() *snapshot.Snapshot {
	return b.SnapshotOf(func(name string) placement.UUID { return placement.UUID(name) })
}

// SnapshotOf is Snapshot with other UUIDs for the providers: what uuid makes of their
// names.
func (b *Builder) SnapshotOf(uuid func(name string) placement.UUID) *snapshot.Snapshot {
	rows := placement.TreeRows{
		Providers:   slices.Clone(b.rows.Providers),
		Inventories: slices.Clone(b.rows.Inventories),
		Traits:      slices.Clone(b.rows.Traits),
		Aggregates:  slices.Clone(b.rows.Aggregates),
	}
	for i := range rows.Providers {
		rows.Providers[i].UUID = uuid(rows.Providers[i].Name)
	}
	return snapshot.New(b.classes, b.traits, rows, time.Unix(0, 0))
}

// Provider adds a provider; the one above it in its path must be there.
func (b *Builder) Provider(name string) *ProviderBuilder {
	if _, ok := b.ids[name]; ok {
		panic(fmt.Sprintf("provider %s is there already", name))
	}
	id := int64(len(b.rows.Providers) + 1)
	row := placement.ProviderRow{ID: id, UUID: placement.UUID(name), Name: name, Root: id}
	if parent := path.Dir(name); parent != "." {
		row.Parent = b.id(parent)
		row.Root = b.rows.Providers[row.Parent-1].Root
	}
	b.ids[name] = id
	b.rows.Providers = append(b.rows.Providers, row)
	return &ProviderBuilder{b, id}
}

// Class returns the id of a resource class, which is made when it is new.
func (b *Builder) Class(name string) placement.ClassID {
	if i := named(b.classes, name); i >= 0 {
		return placement.ClassID(b.classes[i].ID)
	}
	id := int32(placement.FirstCustomClass) + int32(len(b.classes))
	b.classes = append(b.classes, placement.Named{ID: id, Name: name})
	return placement.ClassID(id)
}

// Trait returns the id of a trait, which is made when it is new.
func (b *Builder) Trait(name string) placement.TraitID {
	if i := named(b.traits, name); i >= 0 {
		return placement.TraitID(b.traits[i].ID)
	}
	id := int32(len(b.traits) + 1)
	b.traits = append(b.traits, placement.Named{ID: id, Name: name})
	return placement.TraitID(id)
}

// Use raises what is allocated of a class on a provider.
func (b *Builder) Use(provider string, class placement.ClassID, amount int64) {
	b.inventory(provider, class).Used += amount
}

// Enlarge raises the total, and the largest unit, of a class on a provider.
func (b *Builder) Enlarge(provider string, class placement.ClassID, by int64) {
	s := b.inventory(provider, class)
	s.Total += by
	s.MaxUnit += by
}

// Empty takes all inventory from a provider.
func (b *Builder) Empty(provider string) {
	id := b.id(provider)
	b.rows.Inventories = slices.DeleteFunc(b.rows.Inventories, func(r placement.InventoryRow) bool {
		return r.Provider == id
	})
}

// Clone returns a builder that starts with the same rows.
func (b *Builder) Clone() *Builder {
	c := *b
	c.rows.Inventories = slices.Clone(b.rows.Inventories)
	c.rows.Providers = slices.Clip(b.rows.Providers)
	c.rows.Traits = slices.Clip(b.rows.Traits)
	c.rows.Aggregates = slices.Clip(b.rows.Aggregates)
	c.classes, c.traits = slices.Clip(b.classes), slices.Clip(b.traits)
	c.aggregates = slices.Clip(b.aggregates)
	c.ids = make(map[string]int64, len(b.ids))
	for name, id := range b.ids {
		c.ids[name] = id
	}
	return &c
}

func (b *Builder) id(name string) int64 {
	id, ok := b.ids[name]
	if !ok {
		panic("no provider " + name)
	}
	return id
}

func (b *Builder) inventory(provider string, class placement.ClassID) *placement.InventoryRow {
	id := b.id(provider)
	for i := range b.rows.Inventories {
		if r := &b.rows.Inventories[i]; r.Provider == id && r.Class == class {
			return r
		}
	}
	panic(fmt.Sprintf("no inventory of class %d on %s", class, provider))
}

func named(list []placement.Named, name string) int {
	return slices.IndexFunc(list, func(n placement.Named) bool { return n.Name == name })
}

// A ProviderBuilder adds to one provider. Its methods return it, so that they
// can be chained.
type ProviderBuilder struct {
	b  *Builder
	id int64
}

// Inventory adds inventory of a class: total of it, nothing reserved or used, in
// units of any size. Options change the row.
func (p *ProviderBuilder) Inventory(
	class string, total int64, options ...func(*placement.InventoryRow),
) *ProviderBuilder {
	row := placement.InventoryRow{
		Provider: p.id,
		Class:    p.b.Class(class),
		Inventory: placement.Inventory{
			Total: total, MinUnit: 1, MaxUnit: placement.MaxInt, StepSize: 1, AllocationRatio: 1,
		},
	}
	for _, option := range options {
		option(&row)
	}
	p.b.rows.Inventories = append(p.b.rows.Inventories, row)
	return p
}

// Traits gives the provider traits.
func (p *ProviderBuilder) Traits(names ...string) *ProviderBuilder {
	for _, name := range names {
		p.b.rows.Traits = append(p.b.rows.Traits, placement.ProviderTraitRow{Provider: p.id, Trait: p.b.Trait(name)})
	}
	return p
}

// Shares marks the provider as one that shares via its aggregates.
func (p *ProviderBuilder) Shares() *ProviderBuilder {
	return p.Traits(placement.SharesViaAggregate)
}

// Aggregates makes the provider a member of aggregates.
func (p *ProviderBuilder) Aggregates(names ...string) *ProviderBuilder {
	for _, name := range names {
		uuid := placement.UUID(name)
		i := slices.Index(p.b.aggregates, uuid)
		if i < 0 {
			i = len(p.b.aggregates)
			p.b.aggregates = append(p.b.aggregates, uuid)
		}
		row := placement.AggregateRow{Provider: p.id, ID: placement.AggregateID(i + 1), UUID: uuid}
		p.b.rows.Aggregates = append(p.b.rows.Aggregates, row)
	}
	return p
}
