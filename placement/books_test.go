package placement_test

import (
	"fmt"
	"maps"
	"slices"
	"time"

	"github.com/berthcloud/berth/placement"
)

// A book is a provider in the plainest form: the reference that snapshots of
// the snapshot are held against.
type book struct {
	id     int64
	uuid   placement.UUID
	name   string
	parent int64 // 0 for a root
	gen    placement.Generation
	invs   map[placement.ClassID]placement.InventoryRow
	traits map[placement.TraitID]bool
	aggs   map[placement.AggregateID]bool
}

// books are all providers by id, with what is needed to make new ones.
type books struct {
	all    map[int64]*book
	lastID int64
}

func newBooks() *books { return &books{all: make(map[int64]*book)} }

// add makes a provider; the numbers of its UUID and name may have been in use
// before.
func (b *books) add(uuid, name string, parent int64) *book {
	b.lastID++
	p := &book{
		id: b.lastID, uuid: placement.UUID(uuid), name: name, parent: parent,
		invs:   make(map[placement.ClassID]placement.InventoryRow),
		traits: make(map[placement.TraitID]bool),
		aggs:   make(map[placement.AggregateID]bool),
	}
	b.all[p.id] = p
	return p
}

func (b *books) root(id int64) int64 {
	for b.all[id].parent != 0 {
		id = b.all[id].parent
	}
	return id
}

// below reports whether a provider is another one or under it.
func (b *books) below(id, top int64) bool {
	for ; id != 0; id = b.all[id].parent {
		if id == top {
			return true
		}
	}
	return false
}

func (b *books) hasChildren(id int64) bool {
	for _, p := range b.all {
		if p.parent == id {
			return true
		}
	}
	return false
}

// ids lists the providers in order.
func (b *books) ids() []int64 { return slices.Sorted(maps.Keys(b.all)) }

// rows returns the rows of the trees with those roots, of all when roots is
// nil.
func (b *books) rows(roots map[int64]bool) placement.TreeRows {
	var pic placement.TreeRows
	for _, id := range b.ids() {
		p, root := b.all[id], b.root(id)
		if roots != nil && !roots[root] {
			continue
		}
		pic.Providers = append(pic.Providers, placement.ProviderRow{
			ID: id, UUID: p.uuid, Name: p.name, Generation: p.gen, Parent: p.parent, Root: root,
		})
		for _, class := range slices.Sorted(maps.Keys(p.invs)) {
			pic.Inventories = append(pic.Inventories, p.invs[class])
		}
		for _, t := range slices.Sorted(maps.Keys(p.traits)) {
			pic.Traits = append(pic.Traits, placement.ProviderTraitRow{Provider: id, Trait: t})
		}
		for _, a := range slices.Sorted(maps.Keys(p.aggs)) {
			pic.Aggregates = append(pic.Aggregates, placement.AggregateRow{Provider: id, ID: a, UUID: aggregateUUID(a)})
		}
	}
	return pic
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

// An observation is all that can be seen of a snapshot, but for the slots.
type observation struct {
	Len, TreeCount int
	Nested         bool
	Classes        []placement.Named
	Traits         []placement.Named
	Providers      map[placement.UUID]seen
	Trees          map[placement.UUID][]placement.UUID // by root
	WithClass      map[string][]placement.UUID         // roots
	WithTrait      map[string][]placement.UUID
	WithAggregate  map[placement.UUID][]placement.UUID
	WithSharing    []placement.UUID
	Associated     []string
	Room           map[string]map[placement.UUID]int64 // by class and root
	Totals         []placement.Totals
}

// seen is a provider without its place.
type seen struct {
	placement.ProviderInfo
	ID         int64
	Stocks     []placement.Stock
	Traits     []placement.TraitID
	Aggregates []placement.UUID
	Shares     bool
}

// observe asks a snapshot everything. What does not fit together panics.
func observe(w *placement.Snapshot) observation {
	o := observation{
		Len: w.Len(), TreeCount: w.TreeCount(), Nested: w.Nested(),
		Classes: w.Classes().List(), Traits: w.Traits().List(),
		Providers: make(map[placement.UUID]seen), Trees: make(map[placement.UUID][]placement.UUID),
		WithClass: make(map[string][]placement.UUID), WithTrait: make(map[string][]placement.UUID),
		WithAggregate: make(map[placement.UUID][]placement.UUID),
		WithSharing:   rootsOf(w, w.WithSharing()),
		Room:          make(map[string]map[placement.UUID]int64),
		Totals:        w.Totals(),
	}
	for t := range w.Trees() {
		mustBe(w.Tree(t.Slot()) == t && t.Slot() < w.Slots(), "a tree is in its slot")
		for _, p := range t.Providers {
			o.provider(w, t, p)
		}
		mustBeIndexed(w, t)
	}
	mustBe(slices.Equal(o.Totals, totalsOf(w)), "the totals are the sums of the inventories")
	for _, n := range o.Classes {
		o.WithClass[n.Name] = rootsOf(w, w.WithClass(placement.ClassID(n.ID)))
		o.Room[n.Name] = observeRoom(w, placement.ClassID(n.ID))
	}
	for _, n := range o.Traits {
		id, _ := w.Trait(n.Name)
		o.WithTrait[n.Name] = rootsOf(w, w.WithTrait(id))
		if w.TraitAssociated(id) {
			o.Associated = append(o.Associated, n.Name)
		}
	}
	return o
}

func (o *observation) provider(w *placement.Snapshot, t *placement.Tree, p *placement.Provider) {
	byUUID, in := w.Provider(p.UUID)
	mustBe(byUUID == p && in == t, "a provider is found by its UUID")
	byName, _ := w.ProviderNamed(p.Name)
	mustBe(byName == p, "a provider is found by its name")
	mustBe(t.Providers[p.Index] == p && t.Find(p.UUID) == p, "a provider is at its index")
	s := seen{ProviderInfo: t.Info(p), ID: p.ID, Stocks: p.Inventories, Traits: p.Traits, Shares: p.Shares}
	for _, id := range p.Aggregates {
		uuid := w.AggregateUUID(id)
		back, ok := w.Aggregate(uuid)
		mustBe(ok && back == id && p.InAggregate(id), "an aggregate is found by its UUID")
		s.Aggregates = append(s.Aggregates, uuid)
		o.WithAggregate[uuid] = rootsOf(w, w.WithAggregate(id))
	}
	o.Providers[p.UUID] = s
	o.Trees[t.Root().UUID] = append(o.Trees[t.Root().UUID], p.UUID)
}

func mustBe(claim bool, text string) {
	if !claim {
		panic("not so: " + text)
	}
}

// rootsOf names the trees in a bit set, sorted.
func rootsOf(w *placement.Snapshot, set []uint64) []placement.UUID {
	var roots []placement.UUID
	for i, word := range set {
		for bit := range 64 {
			if word&(1<<bit) != 0 {
				roots = append(roots, w.Tree(i*64+bit).Root().UUID)
			}
		}
	}
	slices.Sort(roots)
	return roots
}

// expect says what must be seen of a snapshot with these books, apart from what
// only snapshots know.
func (b *books) expect() (byName map[string]placement.UUID, roots int) {
	byName = make(map[string]placement.UUID)
	for _, p := range b.all {
		byName[p.name] = p.uuid
		if p.parent == 0 {
			roots++
		}
	}
	return byName, roots
}

func fresh(b *books) *placement.Snapshot {
	classes, traits := bookCatalogs()
	return placement.NewSnapshot(classes, traits, b.rows(nil), time.Unix(0, 0))
}
