package snapshot

import (
	"maps"
	"slices"
	"time"

	"github.com/berthcloud/berth/placement"
)

// New makes a Snapshot from the whole content of a store. Built is when it
// was read.
func New(classes, traits []placement.Named, rows placement.TreeRows, built time.Time) *Snapshot {
	s := (&Snapshot{built: built, fold: rows.FoldCase, like: rows.FoldLike}).WithCatalogs(classes, traits)
	s.addAggregates(rows.Aggregates)
	trees := buildTrees(rows, s.sharing, nil)
	e := newEdit(s)
	for index, t := range trees {
		t.index = int32(index)
		t.layout = e.layoutOf(nil, t)
		e.count(t, 1)
		e.sum(nil, t)
		e.index(nil, t)
	}
	s.trees = newPages(trees)
	s.list(trees)
	e.finish()
	return s
}

// list makes the indexes of all providers.
func (s *Snapshot) list(trees []*Tree) {
	roots := make([]indexEntry, len(trees))
	uuids, names := make([]indexEntry, 0, s.providers), make([]indexEntry, 0, s.providers)
	for i, t := range trees {
		roots[i] = indexEntry{hashID(t.Root().ID), place{t.index, 0}}
		for _, p := range t.Providers {
			at := place{t.index, int32(p.Index)}
			uuids = append(uuids, indexEntry{s.uuidHash(p), at})
			names = append(names, indexEntry{s.nameHash(p), at})
		}
	}
	s.byRoot, s.byUUID, s.byName = newIndex(roots), newIndex(uuids), newIndex(names)
}

// uuidHash and nameHash are the hashes under which a provider is in byUUID and byName.
func (s *Snapshot) uuidHash(p *Provider) uint32 { return hashText(string(s.uuidKey(p.UUID))) }

func (s *Snapshot) nameHash(p *Provider) uint32 { return hashText(s.nameKey(p.Name)) }

// WithCatalogs returns the snapshot with other catalogs of classes and traits.
func (s *Snapshot) WithCatalogs(classes, traits []placement.Named) *Snapshot {
	next := *s
	next.classes, next.traits = newCatalog(classes), newCatalog(traits)
	if s.names == nil || s.classes.renamed(next.classes) || s.traits.renamed(next.traits) {
		next.names = new(Names)
	}
	next.sharing = placement.TraitID(next.traits.id(placement.SharesViaAggregate))
	return &next
}

// WithTrees returns the snapshot in which the trees with the given root ids are
// as in rows: replaced, added, or removed when rows has no such root.
func (s *Snapshot) WithTrees(roots []int64, rows placement.TreeRows, built time.Time) *Snapshot {
	next := *s
	next.built = built
	next.addAggregates(rows.Aggregates)
	fresh := make(map[int64]*Tree)
	for _, t := range buildTrees(rows, s.sharing, s.treesOf(roots)) {
		fresh[t.Root().ID] = t
	}
	e := newEdit(&next)
	for _, root := range roots {
		if fresh[root] == nil {
			e.remove(root)
		}
	}
	// In the order of their ids, so that the same changes give the same
	// indexes.
	for _, root := range slices.Sorted(maps.Keys(fresh)) {
		e.put(fresh[root])
	}
	e.finish()
	return &next
}

// Only returns a snapshot of the trees of rows alone, which have those roots, with the
// catalogs of w.
func (s *Snapshot) Only(roots []int64, rows placement.TreeRows) *Snapshot {
	none := &Snapshot{classes: s.classes, traits: s.traits, names: s.names, sharing: s.sharing, fold: s.fold, like: s.like}
	return none.WithTrees(roots, rows, s.built)
}

// treesOf returns the trees with those roots, as far as there are any.
func (s *Snapshot) treesOf(roots []int64) []*Tree {
	var trees []*Tree
	for _, root := range roots {
		if t := s.TreeOf(root); t != nil {
			trees = append(trees, t)
		}
	}
	return trees
}

// addAggregates makes aggregates known that are not. None is ever removed, as upstream keeps the
// rows of aggregates that have no members. The maps are copied before the first change, since other
// snapshots share them.
func (s *Snapshot) addAggregates(rows []placement.AggregateRow) {
	copied := false
	for _, r := range rows {
		key := s.uuidKey(r.UUID)
		if _, ok := s.aggregateIDs[key]; ok {
			continue
		}
		if !copied {
			s.aggregateIDs, s.aggregateUUIDs = cloned(s.aggregateIDs), cloned(s.aggregateUUIDs)
			copied = true
		}
		s.aggregateIDs[key], s.aggregateUUIDs[r.ID] = r.ID, r.UUID
	}
}

// An edit makes one state from another. Until finish no other goroutine may see the
// snapshot it works on. It copies each bit set at most once, however many trees
// change.
type edit struct {
	next       *Snapshot
	classes    map[placement.ClassID][]uint64
	traits     map[placement.TraitID][]uint64
	aggregates map[placement.AggregateID][]uint64
	sharing    []uint64 // nil until copied
	free       map[placement.ClassID]*capacityEdit
	totals     map[placement.ClassID]Totals
	unused     []int32 // indexes without a tree
}

// newEdit begins an edit of s, which is a copy that the caller made.
func newEdit(s *Snapshot) *edit {
	return &edit{
		next:       s,
		classes:    make(map[placement.ClassID][]uint64),
		traits:     make(map[placement.TraitID][]uint64),
		aggregates: make(map[placement.AggregateID][]uint64),
		free:       make(map[placement.ClassID]*capacityEdit),
		totals:     make(map[placement.ClassID]Totals),
		unused:     slices.Clone(s.unused),
	}
}

// finish puts the changed bit sets, free capacities and totals into the snapshot.
func (e *edit) finish() {
	e.next.withClass = replaceAll(e.next.withClass, e.classes)
	e.next.withTrait = replaceAll(e.next.withTrait, e.traits)
	e.next.withAggregate = replaceAll(e.next.withAggregate, e.aggregates)
	if e.sharing != nil {
		e.next.withSharing = e.sharing
	}
	if len(e.free) > 0 {
		e.next.free = cloned(e.next.free)
		for id, r := range e.free {
			e.next.free[id] = r.FreeCapacity
		}
	}
	e.next.totals = replaceAll(e.next.totals, e.totals)
	maps.DeleteFunc(e.next.totals, func(_ placement.ClassID, t Totals) bool { return t.Providers == 0 })
	slices.Sort(e.unused)
	e.next.unused = e.unused
}

// replaceAll returns a map with other values for some keys; m itself does not change.
func replaceAll[K comparable, V any](m, with map[K]V) map[K]V {
	if len(with) == 0 {
		return m
	}
	m = cloned(m)
	maps.Copy(m, with)
	return m
}

// cloned returns a copy that can be written, also of a nil map.
func cloned[K comparable, V any](m map[K]V) map[K]V {
	if m == nil {
		return make(map[K]V)
	}
	return maps.Clone(m)
}

// put adds a tree or replaces the one with the same root. The index and the layout of the tree are
// set before the indexes are brought up to date, which read both.
func (e *edit) put(t *Tree) {
	old := e.next.TreeOf(t.Root().ID)
	if old != nil {
		t.index = old.index
	} else {
		t.index = e.unusedIndex()
		e.next.byRoot = e.next.byRoot.add(hashID(t.Root().ID), place{t.index, 0})
	}
	t.layout = e.layoutOf(old, t)
	e.next.trees = e.next.trees.set(t.index, t)
	e.count(old, -1)
	e.count(t, 1)
	e.sum(old, t)
	e.index(old, t)
	e.name(old, t)
}

// unusedIndex takes an index that no tree has. Low ones are used first, which keeps bit sets short.
func (e *edit) unusedIndex() int32 {
	if len(e.unused) == 0 {
		return e.next.trees.len
	}
	index := e.unused[0]
	e.unused = e.unused[1:]
	return index
}

// remove takes out the tree with that root, if there is one.
func (e *edit) remove(root int64) {
	old := e.next.TreeOf(root)
	if old == nil {
		return
	}
	e.next.byRoot = e.next.byRoot.remove(hashID(root), place{old.index, 0})
	e.next.trees = e.next.trees.set(old.index, nil)
	e.count(old, -1)
	e.sum(old, nil)
	e.index(old, nil)
	e.name(old, nil)
	e.unused = append(e.unused, old.index)
}

// count adds the providers of a tree, which may be nil, to the totals. The sign is 1 for a tree
// that is added and -1 for one that is taken out.
func (e *edit) count(t *Tree, sign int) {
	if t == nil {
		return
	}
	e.next.size += sign
	e.next.providers += sign * len(t.Providers)
	e.next.nested += sign * (len(t.Providers) - 1)
}

// index brings the indexes from what they said of the old tree to what they
// must say of the new one. Either may be nil.
func (e *edit) index(was, cur *Tree) {
	e.measure(was, cur)
	if was == nil {
		was = &Tree{index: cur.index, layout: &noLayout}
	}
	if cur == nil {
		cur = &Tree{index: was.index, layout: &noLayout}
	}
	if was.layout != cur.layout {
		mark(e.next.withClass, e.classes, was.layout.classes, cur.layout.classes, cur.index)
		mark(e.next.withTrait, e.traits, was.layout.traits, cur.layout.traits, cur.index)
	}
	mark(e.next.withAggregate, e.aggregates, was.aggregates, cur.aggregates, cur.index)
	e.sharing = flip(e.sharing, e.next.withSharing, cur.index, was.sharing, cur.sharing)
}

// flip returns set with the index brought from what it was to what it is. A set
// that is nil is copied from shared when there is something to change.
func flip(set, shared []uint64, index int32, was, cur bool) []uint64 {
	if was == cur {
		return set
	}
	if set == nil {
		set = slices.Clone(shared)
	}
	return setBit(set, index, cur)
}

// mark sets the index in the bit sets of the ids that came and clears it in
// those of the ids that went; was and is are sorted. Bit sets are copied from m
// to changed before they are touched.
func mark[K ~int32](m, changed map[K][]uint64, was, cur []K, index int32) {
	put := func(id K, on bool) {
		words, ok := changed[id]
		if !ok {
			words = slices.Clone(m[id])
		}
		changed[id] = setBit(words, index, on)
	}
	for len(was) > 0 || len(cur) > 0 {
		switch {
		case len(cur) == 0 || len(was) > 0 && was[0] < cur[0]:
			put(was[0], false)
			was = was[1:]
		case len(was) == 0 || cur[0] < was[0]:
			put(cur[0], true)
			cur = cur[1:]
		default:
			was, cur = was[1:], cur[1:]
		}
	}
}

// name brings the indexes by UUID and by name from the old tree to the new one.
// Either may be nil.
func (e *edit) name(old, t *Tree) {
	if old != nil && t != nil && sameNames(old, t) {
		return
	}
	if old != nil {
		for _, p := range old.Providers {
			at := place{old.index, int32(p.Index)}
			e.next.byUUID = e.next.byUUID.remove(e.next.uuidHash(p), at)
			e.next.byName = e.next.byName.remove(e.next.nameHash(p), at)
		}
	}
	if t != nil {
		for _, p := range t.Providers {
			at := place{t.index, int32(p.Index)}
			e.next.byUUID = e.next.byUUID.add(e.next.uuidHash(p), at)
			e.next.byName = e.next.byName.add(e.next.nameHash(p), at)
		}
	}
}

// sameNames reports whether two trees have the same providers, by the same
// names, in the same places.
func sameNames(a, b *Tree) bool {
	return slices.EqualFunc(a.Providers, b.Providers, func(p, q *Provider) bool {
		return p.UUID == q.UUID && p.Name == q.Name
	})
}

// measure brings the free capacities from what they said of the old tree to what they must
// say of the new one. Either may be nil.
func (e *edit) measure(was, cur *Tree) {
	if was != nil {
		for _, id := range was.layout.classes {
			if cur == nil || cur.layout.class(id) == nil {
				e.setFree(id, was.index, 0)
			}
		}
	}
	if cur == nil {
		return
	}
	for _, id := range cur.layout.classes {
		e.setFree(id, cur.index, cur.freeEntry(id))
	}
}

// setFree puts an entry, and copies nothing when it is there already.
func (e *edit) setFree(id placement.ClassID, index, entry int32) {
	r := e.free[id]
	if r == nil {
		shared := e.next.free[id]
		if shared.entry(index) == entry {
			return
		}
		r = newCapacityEdit(shared)
		e.free[id] = r
	}
	r.set(index, entry)
}

// maxLayouts bounds the list of layouts that a snapshot keeps. Trees beyond them have layouts of
// their own, which costs memory and nothing else.
const maxLayouts = 1024

// layoutOf finds the layout of a tree: that of the tree it replaces, which may be
// nil, or of another, or a new one.
func (e *edit) layoutOf(old, t *Tree) *Layout {
	if old != nil && old.layout.describes(t.Providers) {
		return old.layout
	}
	h := hashLayout(t.Providers)
	for _, s := range e.next.layouts {
		if s.hash == h && s.describes(t.Providers) {
			return s
		}
	}
	s := newLayout(t.Providers)
	s.hash = h
	if len(e.next.layouts) < maxLayouts {
		e.next.layouts = append(slices.Clip(e.next.layouts), s)
	}
	return s
}

// sum brings the totals from what the old tree adds to them to what the new one does.
// Either may be nil. Providers that both have are passed over.
func (e *edit) sum(was, cur *Tree) {
	if was != nil {
		e.sumOf(was, cur, -1)
	}
	if cur != nil {
		e.sumOf(cur, was, 1)
	}
}

// sumOf adds the providers of a tree, but for those that the other has in the same place. Providers
// are shared by pointer between a tree and what claims make of it, so that a claim costs as much as
// the providers it touches.
func (e *edit) sumOf(t, other *Tree, sign int64) {
	for i, p := range t.Providers {
		if other != nil && i < len(other.Providers) && other.Providers[i] == p {
			continue
		}
		for j := range p.Inventories {
			s := &p.Inventories[j]
			totals, ok := e.totals[s.Class]
			if !ok {
				totals = e.next.totals[s.Class]
			}
			totals.add(s, sign)
			e.totals[s.Class] = totals
		}
	}
}
