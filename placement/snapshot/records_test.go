package snapshot_test

import (
	"fmt"
	"maps"
	"slices"
	"time"

	"github.com/berthcloud/berth/placement"
	"github.com/berthcloud/berth/placement/snapshot"
)

// A record is a provider in the simplest form: the reference that snapshots are
// compared with.
type record struct {
	id     int64
	uuid   placement.UUID
	name   string
	parent int64 // 0 for a root
	gen    placement.Generation
	invs   map[placement.ClassID]placement.InventoryRow
	traits map[placement.TraitID]bool
	aggs   map[placement.AggregateID]bool
}

// records are all providers by id, with what is needed to add others.
type records struct {
	all    map[int64]*record
	lastID int64
}

func newRecords() *records { return &records{all: make(map[int64]*record)} }

// add makes a provider; the numbers of its UUID and name may have been in use
// before.
func (b *records) add(uuid, name string, parent int64) *record {
	b.lastID++
	p := &record{
		id: b.lastID, uuid: placement.UUID(uuid), name: name, parent: parent,
		invs:   make(map[placement.ClassID]placement.InventoryRow),
		traits: make(map[placement.TraitID]bool),
		aggs:   make(map[placement.AggregateID]bool),
	}
	b.all[p.id] = p
	return p
}

func (b *records) root(id int64) int64 {
	for b.all[id].parent != 0 {
		id = b.all[id].parent
	}
	return id
}

// below reports whether a provider is another one or under it.
func (b *records) below(id, top int64) bool {
	for ; id != 0; id = b.all[id].parent {
		if id == top {
			return true
		}
	}
	return false
}

func (b *records) hasChildren(id int64) bool {
	for _, p := range b.all {
		if p.parent == id {
			return true
		}
	}
	return false
}

// ids lists the providers in order.
func (b *records) ids() []int64 { return slices.Sorted(maps.Keys(b.all)) }

// rows returns the rows of the trees with those roots, of all when roots is
// nil.
func (b *records) rows(roots map[int64]bool) placement.TreeRows {
	var rows placement.TreeRows
	for _, id := range b.ids() {
		p, root := b.all[id], b.root(id)
		if roots != nil && !roots[root] {
			continue
		}
		rows.Providers = append(rows.Providers, placement.ProviderRow{
			ID: id, UUID: p.uuid, Name: p.name, Generation: p.gen, Parent: p.parent, Root: root,
		})
		for _, class := range slices.Sorted(maps.Keys(p.invs)) {
			rows.Inventories = append(rows.Inventories, p.invs[class])
		}
		for _, t := range slices.Sorted(maps.Keys(p.traits)) {
			rows.Traits = append(rows.Traits, placement.ProviderTraitRow{Provider: id, Trait: t})
		}
		for _, a := range slices.Sorted(maps.Keys(p.aggs)) {
			rows.Aggregates = append(rows.Aggregates, placement.AggregateRow{Provider: id, ID: a, UUID: aggregateUUID(a)})
		}
	}
	return rows
}

func aggregateUUID(id placement.AggregateID) placement.UUID {
	return placement.UUID(fmt.Sprintf("aggregate-%d", id))
}

// The names of the random snapshots: few, so that they meet.
const (
	bookClasses    = 4
	bookTraits     = 4 // the first is SharesViaAggregate
	bookAggregates = 3
)

func bookCatalogs() (classes, traits []placement.Named) {
	for i := range int32(bookClasses) {
		classes = append(classes, placement.Named{ID: i, Name: fmt.Sprintf("CLASS_%d", i)})
	}
	traits = append(traits, placement.Named{ID: 1, Name: placement.SharesViaAggregate})
	for i := int32(2); i <= bookTraits; i++ {
		traits = append(traits, placement.Named{ID: i, Name: fmt.Sprintf("TRAIT_%d", i)})
	}
	return classes, traits
}

// expect says what must be seen of a snapshot with these records, apart from what
// only snapshots know.
func (b *records) expect() (byName map[string]placement.UUID, roots int) {
	byName = make(map[string]placement.UUID)
	for _, p := range b.all {
		byName[p.name] = p.uuid
		if p.parent == 0 {
			roots++
		}
	}
	return byName, roots
}

func fresh(b *records) *snapshot.Snapshot {
	classes, traits := bookCatalogs()
	return snapshot.New(classes, traits, b.rows(nil), time.Unix(0, 0))
}
