package snapshot_test

import (
	"fmt"
	"slices"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"github.com/google/go-cmp/cmp/cmpopts"
	"pgregory.net/rapid"

	"github.com/berthcloud/berth/placement"
	"github.com/berthcloud/berth/placement/placementtest"
	"github.com/berthcloud/berth/placement/snapshot"
)

// A history edits books and brings batches of the edits into a snapshot, as a
// service does.
type history struct {
	*records
	t        *rapid.T
	snapshot *snapshot.Snapshot
	touched  map[int64]bool
	older    []past
}

// past is a snapshot with what was seen of it when it was new.
type past struct {
	snapshot *snapshot.Snapshot
	seen     placementtest.Observation
}

// touch notes that the tree of a provider changes.
func (h *history) touch(id int64) { h.touched[h.root(id)] = true }

// pick draws a provider and touches its tree, nil when there are none.
func (h *history) pick(label string) *record {
	if len(h.all) == 0 {
		return nil
	}
	p := h.all[rapid.SampledFrom(h.ids()).Draw(h.t, label)]
	h.touch(p.id)
	p.gen++
	return p
}

// free draws one of few UUIDs or names that is not in use.
func (h *history) free(prefix string, taken func(*record) string) string {
	text := fmt.Sprintf("%s%d", prefix, rapid.IntRange(0, 30).Draw(h.t, prefix))
	for _, p := range h.all {
		if taken(p) == text {
			return ""
		}
	}
	return text
}

func bookName(p *record) string { return p.name }
func bookUUID(p *record) string { return string(p.uuid) }

func (h *history) add(*rapid.T) {
	uuid, name := h.free("uuid", bookUUID), h.free("name", bookName)
	if uuid == "" || name == "" {
		return
	}
	parent := int64(0)
	if rapid.Bool().Draw(h.t, "nested") {
		if p := h.pick("parent"); p != nil {
			parent = p.id
		}
	}
	h.touch(h.records.add(uuid, name, parent).id)
}

func (h *history) remove(*rapid.T) {
	if p := h.pick("gone"); p != nil && !h.hasChildren(p.id) {
		delete(h.all, p.id)
	}
}

func (h *history) rename(*rapid.T) {
	p, name := h.pick("renamed"), h.free("name", bookName)
	if p != nil && name != "" {
		p.name = name
	}
}

// swap is what three renames between two refreshes come to.
func (h *history) swap(*rapid.T) {
	if p, q := h.pick("one"), h.pick("other"); p != nil {
		p.name, q.name = q.name, p.name
	}
}

func (h *history) move(*rapid.T) {
	p, to := h.pick("moved"), h.pick("under")
	switch {
	case p == nil || p.id == to.id:
	case rapid.Bool().Draw(h.t, "root"):
		p.parent = 0
	case !h.below(to.id, p.id):
		p.parent = to.id
	}
	if p == nil {
		return
	}
	h.touch(p.id)
	if name := h.free("name", bookName); name != "" && rapid.Bool().Draw(h.t, "renamed") {
		p.name = name
	}
}

func (h *history) trait(*rapid.T) {
	if p := h.pick("p"); p != nil {
		flip(p.traits, placement.TraitID(rapid.IntRange(1, bookTraits).Draw(h.t, "trait")))
	}
}

func (h *history) aggregate(*rapid.T) {
	if p := h.pick("p"); p != nil {
		flip(p.aggs, placement.AggregateID(rapid.IntRange(1, bookAggregates).Draw(h.t, "aggregate")))
	}
}

func flip[K comparable](set map[K]bool, k K) {
	if set[k] {
		delete(set, k)
		return
	}
	set[k] = true
}

func (h *history) inventory(*rapid.T) {
	p := h.pick("p")
	if p == nil {
		return
	}
	class := placement.ClassID(rapid.IntRange(0, bookClasses-1).Draw(h.t, "class"))
	if _, ok := p.invs[class]; ok && rapid.Bool().Draw(h.t, "drop") {
		delete(p.invs, class)
		return
	}
	p.invs[class] = drawInventory(h.t, p.id, class)
}

func drawInventory(t *rapid.T, provider int64, class placement.ClassID) placement.InventoryRow {
	return placement.InventoryRow{
		Provider: provider, Class: class, Used: rapid.Int64Range(0, 6).Draw(t, "used"),
		Inventory: placement.Inventory{
			Total: rapid.Int64Range(1, 9).Draw(t, "total"), Reserved: rapid.Int64Range(0, 1).Draw(t, "reserved"),
			MinUnit: rapid.Int64Range(1, 2).Draw(t, "min"), MaxUnit: rapid.Int64Range(2, 9).Draw(t, "max"),
			StepSize:        rapid.Int64Range(1, 2).Draw(t, "step"),
			AllocationRatio: rapid.SampledFrom([]float64{1, 0.5, 1.5}).Draw(t, "ratio"),
		},
	}
}

// refresh brings the edits since the last one into the snapshot.
func (h *history) refresh() {
	h.older = append(h.older, past{h.snapshot, placementtest.Observe(h.snapshot)})
	var roots []int64
	for root := range h.touched {
		roots = append(roots, root)
	}
	h.snapshot = h.snapshot.WithTrees(roots, h.rows(h.touched), time.Unix(int64(len(h.older)), 0))
	h.touched = make(map[int64]bool)
}

func (h *history) compare() {
	scratch := fresh(h.records)
	got, want := placementtest.Observe(h.snapshot), placementtest.Observe(scratch)
	if diff := cmp.Diff(want, got, cmpopts.EquateEmpty()); diff != "" {
		h.t.Fatalf("the edited snapshot differs from a new one (-new +edited):\n%s", diff)
	}
	byName, roots := h.expect()
	for name, uuid := range byName {
		if p, _ := h.snapshot.ProviderNamed(name); p == nil || p.UUID != uuid {
			h.t.Fatalf("ProviderNamed(%s) = %v, want %s", name, p, uuid)
		}
	}
	if h.snapshot.Len() != len(h.all) || h.snapshot.TreeCount() != roots {
		h.t.Fatalf("%d providers in %d trees, want %d in %d", h.snapshot.Len(), h.snapshot.TreeCount(), len(h.all), roots)
	}
	h.compareAbsent()
}

// compareAbsent checks that what is gone is not found.
func (h *history) compareAbsent() {
	byName, _ := h.expect()
	for i := range 31 {
		uuid, name := placement.UUID(fmt.Sprintf("uuid%d", i)), fmt.Sprintf("name%d", i)
		known := false
		for _, p := range h.all {
			known = known || p.uuid == uuid
		}
		if p, tree := h.snapshot.Provider(uuid); (p != nil) != known || (tree != nil) != known {
			h.t.Fatalf("Provider(%s) = %v, want one: %t", uuid, p, known)
		}
		if p, _ := h.snapshot.ProviderNamed(name); (p != nil) != (byName[name] != "") {
			h.t.Fatalf("ProviderNamed(%s) = %v, want %q", name, p, byName[name])
		}
	}
	for a := placement.AggregateID(1); a <= bookAggregates; a++ {
		members := false
		for _, p := range h.all {
			members = members || p.aggs[a]
		}
		if got := slices.ContainsFunc(h.snapshot.WithAggregate(a), func(word uint64) bool {
			return word != 0
		}); got != members {
			h.t.Fatalf("WithAggregate(%d) has trees: %t, want %t", a, got, members)
		}
	}
}

func TestSnapshotEditedEqualsSnapshotBuilt(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		h := &history{records: newRecords(), t: t, touched: make(map[int64]bool)}
		h.snapshot = fresh(h.records)
		t.Repeat(map[string]func(*rapid.T){
			"add": h.add, "addMore": h.add, "remove": h.remove, "rename": h.rename, "swap": h.swap, "move": h.move,
			"moveMore": h.move, "trait": h.trait, "aggregate": h.aggregate, "inventory": h.inventory,
			"refresh": func(*rapid.T) {
				h.refresh()
				h.compare()
			},
		})
		h.refresh()
		h.compare()
		for i, p := range h.older {
			if diff := cmp.Diff(p.seen, placementtest.Observe(p.snapshot), cmpopts.EquateEmpty()); diff != "" {
				t.Fatalf("snapshot %d of %d changed (-then +now):\n%s", i, len(h.older), diff)
			}
		}
	})
}

func TestSnapshotWithCatalogsKeepsTrees(t *testing.T) {
	b := newRecords()
	p := b.add("uuid1", "name1", 0)
	p.traits[2] = true
	before := fresh(b)
	classes, traits := bookCatalogs()
	classes = append(classes, placement.Named{ID: 10000, Name: "CUSTOM_GOLD"})
	after := before.WithCatalogs(classes, traits[:2])
	if id, ok := after.Class("CUSTOM_GOLD"); !ok || id != 10000 || after.ClassName(10000) != "CUSTOM_GOLD" {
		t.Errorf("Class(CUSTOM_GOLD) = %d, %t, want 10000", id, ok)
	}
	if _, ok := before.Class("CUSTOM_GOLD"); ok {
		t.Error("the older snapshot has the new class")
	}
	if _, ok := after.Trait("TRAIT_3"); ok || after.TraitName(3) != "" {
		t.Error("the new snapshot still has TRAIT_3")
	}
	if q, _ := after.Provider("uuid1"); q == nil || !q.HasTrait(2) {
		t.Errorf("Provider(uuid1) = %+v, want it with trait 2", q)
	}
}

func TestSnapshotOfNothing(t *testing.T) {
	s := snapshot.New(nil, nil, placement.TreeRows{}, time.Unix(5, 0))
	if s.Len() != 0 || s.TreeCount() != 0 || s.Nested() || s.IndexLimit() != 0 || !s.Built().Equal(time.Unix(5, 0)) {
		t.Errorf("an empty snapshot has %d providers, %d trees, indexes up to %d, built %v", s.Len(), s.TreeCount(),
			s.IndexLimit(), s.Built())
	}
	if p, tree := s.Provider("x"); p != nil || tree != nil {
		t.Errorf("Provider(x) = %v, %v", p, tree)
	}
	if p, _ := s.ProviderNamed("x"); p != nil {
		t.Errorf("ProviderNamed(x) = %v", p)
	}
	if s.Tree(0) != nil || s.Tree(-1) != nil || s.TraitAssociated(1) {
		t.Error("an empty snapshot has a tree or a trait")
	}
}

func TestSnapshotLeavesOutTreesWithoutRoot(t *testing.T) {
	rows := placement.TreeRows{
		Providers: []placement.ProviderRow{
			{ID: 1, UUID: "a", Name: "a", Root: 1}, {ID: 3, UUID: "c", Name: "c", Parent: 2, Root: 2},
		},
		Inventories: []placement.InventoryRow{{Provider: 9, Class: 1}},
	}
	s := snapshot.New(nil, nil, rows, time.Time{})
	if p, _ := s.Provider("c"); p != nil || s.Len() != 1 {
		t.Errorf("a snapshot of %d providers has c: %v", s.Len(), p)
	}
}
