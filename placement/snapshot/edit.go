package snapshot

import (
	"maps"
	"slices"
	"time"

	"github.com/berthcloud/berth/placement"
)

// New makes a Snapshot from the whole content of a store. Built is when it
// was read.
func New(classes, traits []placement.Named, pic placement.TreeRows, built time.Time) *Snapshot {
	w := (&Snapshot{built: built, fold: pic.FoldCase, like: pic.FoldLike}).WithCatalogs(classes, traits)
	w.learnAggregates(pic.Aggregates)
	trees := buildTrees(pic, w.sharing, nil)
	e := newEdit(w)
	for slot, t := range trees {
		t.slot = int32(slot)
		t.shape = e.shapeOf(nil, t)
		e.count(t, 1)
		e.sum(nil, t)
		e.index(nil, t)
	}
	w.trees = newPages(trees)
	w.list(trees)
	e.finish()
	return w
}

// list makes the indexes of all providers.
func (w *Snapshot) list(trees []*Tree) {
	roots := make([]indexEntry, len(trees))
	uuids, names := make([]indexEntry, 0, w.providers), make([]indexEntry, 0, w.providers)
	for i, t := range trees {
		roots[i] = indexEntry{hashID(t.Root().ID), place{t.slot, 0}}
		for _, p := range t.Providers {
			at := place{t.slot, int32(p.Index)}
			uuids = append(uuids, indexEntry{w.uuidHash(p), at})
			names = append(names, indexEntry{w.nameHash(p), at})
		}
	}
	w.byRoot, w.byUUID, w.byName = newIndex(roots), newIndex(uuids), newIndex(names)
}

func (w *Snapshot) uuidHash(p *Provider) uint32 { return hashText(string(w.uuidKey(p.UUID))) }
func (w *Snapshot) nameHash(p *Provider) uint32 { return hashText(w.nameKey(p.Name)) }

// WithCatalogs returns the snapshot with other catalogs of classes and traits.
func (w *Snapshot) WithCatalogs(classes, traits []placement.Named) *Snapshot {
	next := *w
	next.classes, next.traits = newCatalog(classes), newCatalog(traits)
	if w.names == nil || w.classes.renamed(next.classes) || w.traits.renamed(next.traits) {
		next.names = new(Names)
	}
	next.sharing = placement.TraitID(next.traits.id(placement.SharesViaAggregate))
	return &next
}

// WithTrees returns the snapshot in which the trees with the given root ids are
// as in pic: replaced, added, or gone when pic has no such root.
func (w *Snapshot) WithTrees(roots []int64, pic placement.TreeRows, built time.Time) *Snapshot {
	next := *w
	next.built = built
	next.learnAggregates(pic.Aggregates)
	fresh := make(map[int64]*Tree)
	for _, t := range buildTrees(pic, w.sharing, w.treesOf(roots)) {
		fresh[t.Root().ID] = t
	}
	e := newEdit(&next)
	for _, root := range roots {
		if fresh[root] == nil {
			e.remove(root)
		}
	}
	// In the order of their ids, so that the same changes give the same
	// slots.
	for _, root := range slices.Sorted(maps.Keys(fresh)) {
		e.put(fresh[root])
	}
	e.finish()
	return &next
}

// Only returns a snapshot of the trees of pic alone, which have those roots, with the
// catalogs of w.
func (w *Snapshot) Only(roots []int64, pic placement.TreeRows) *Snapshot {
	none := &Snapshot{classes: w.classes, traits: w.traits, names: w.names, sharing: w.sharing, fold: w.fold, like: w.like}
	return none.WithTrees(roots, pic, w.built)
}

// treesOf returns the trees with those roots, as far as there are any.
func (w *Snapshot) treesOf(roots []int64) []*Tree {
	var trees []*Tree
	for _, root := range roots {
		if t := w.TreeOf(root); t != nil {
			trees = append(trees, t)
		}
	}
	return trees
}

func (w *Snapshot) learnAggregates(rows []placement.AggregateRow) {
	copied := false
	for _, r := range rows {
		key := w.uuidKey(r.UUID)
		if _, ok := w.aggregateIDs[key]; ok {
			continue
		}
		if !copied {
			w.aggregateIDs, w.aggregateUUIDs = cloned(w.aggregateIDs), cloned(w.aggregateUUIDs)
			copied = true
		}
		w.aggregateIDs[key], w.aggregateUUIDs[r.ID] = r.ID, r.UUID
	}
}

// An edit makes one state from another. Until finish nobody else may see the
// snapshot it works on. It copies each bit set at most once, however many trees
// change.
type edit struct {
	w          *Snapshot
	classes    map[placement.ClassID][]uint64
	traits     map[placement.TraitID][]uint64
	aggregates map[placement.AggregateID][]uint64
	sharing    []uint64 // nil until copied
	rooms      map[placement.ClassID]*roomEdit
	totals     map[placement.ClassID]Totals
	free       []int32
}

func newEdit(w *Snapshot) *edit {
	return &edit{
		w:          w,
		classes:    make(map[placement.ClassID][]uint64),
		traits:     make(map[placement.TraitID][]uint64),
		aggregates: make(map[placement.AggregateID][]uint64),
		rooms:      make(map[placement.ClassID]*roomEdit),
		totals:     make(map[placement.ClassID]Totals),
		free:       slices.Clone(w.free),
	}
}

// finish puts the changed bit sets, rooms and totals into the snapshot.
func (e *edit) finish() {
	e.w.withClass = replaceAll(e.w.withClass, e.classes)
	e.w.withTrait = replaceAll(e.w.withTrait, e.traits)
	e.w.withAggregate = replaceAll(e.w.withAggregate, e.aggregates)
	if e.sharing != nil {
		e.w.withSharing = e.sharing
	}
	if len(e.rooms) > 0 {
		e.w.rooms = cloned(e.w.rooms)
		for id, r := range e.rooms {
			e.w.rooms[id] = r.Room
		}
	}
	e.w.totals = replaceAll(e.w.totals, e.totals)
	maps.DeleteFunc(e.w.totals, func(_ placement.ClassID, t Totals) bool { return t.Providers == 0 })
	slices.Sort(e.free)
	e.w.free = e.free
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

// put adds a tree or replaces the one with the same root.
func (e *edit) put(t *Tree) {
	old := e.w.TreeOf(t.Root().ID)
	if old != nil {
		t.slot = old.slot
	} else {
		t.slot = e.slot()
		e.w.byRoot = e.w.byRoot.add(hashID(t.Root().ID), place{t.slot, 0})
	}
	t.shape = e.shapeOf(old, t)
	e.w.trees = e.w.trees.set(t.slot, t)
	e.count(old, -1)
	e.count(t, 1)
	e.sum(old, t)
	e.index(old, t)
	e.name(old, t)
}

// slot finds an empty slot.
func (e *edit) slot() int32 {
	if len(e.free) == 0 {
		return e.w.trees.len
	}
	slot := e.free[0]
	e.free = e.free[1:]
	return slot
}

// remove takes out the tree with that root, if there is one.
func (e *edit) remove(root int64) {
	old := e.w.TreeOf(root)
	if old == nil {
		return
	}
	e.w.byRoot = e.w.byRoot.remove(hashID(root), place{old.slot, 0})
	e.w.trees = e.w.trees.set(old.slot, nil)
	e.count(old, -1)
	e.sum(old, nil)
	e.index(old, nil)
	e.name(old, nil)
	e.free = append(e.free, old.slot)
}

// count adds the providers of a tree, which may be nil, to the totals.
func (e *edit) count(t *Tree, sign int) {
	if t == nil {
		return
	}
	e.w.size += sign
	e.w.providers += sign * len(t.Providers)
	e.w.nested += sign * (len(t.Providers) - 1)
}

// index brings the indexes from what they said of the old tree to what they
// must say of the new one. Either may be nil.
func (e *edit) index(was, is *Tree) {
	e.measure(was, is)
	if was == nil {
		was = &Tree{slot: is.slot, shape: &noShape}
	}
	if is == nil {
		is = &Tree{slot: was.slot, shape: &noShape}
	}
	if was.shape != is.shape {
		mark(e.w.withClass, e.classes, was.shape.classes, is.shape.classes, is.slot)
		mark(e.w.withTrait, e.traits, was.shape.traits, is.shape.traits, is.slot)
	}
	mark(e.w.withAggregate, e.aggregates, was.aggregates, is.aggregates, is.slot)
	e.sharing = flip(e.sharing, e.w.withSharing, is.slot, was.sharing, is.sharing)
}

// flip returns set with the slot brought from what it was to what it is. A set
// that is nil is copied from shared when there is something to change.
func flip(set, shared []uint64, slot int32, was, is bool) []uint64 {
	if was == is {
		return set
	}
	if set == nil {
		set = slices.Clone(shared)
	}
	return setBit(set, slot, is)
}

// mark sets the slot in the bit sets of the ids that came and clears it in
// those of the ids that went; was and is are sorted. Bit sets are copied from m
// to changed before they are touched.
func mark[K ~int32](m, changed map[K][]uint64, was, is []K, slot int32) {
	put := func(id K, on bool) {
		words, ok := changed[id]
		if !ok {
			words = slices.Clone(m[id])
		}
		changed[id] = setBit(words, slot, on)
	}
	for len(was) > 0 || len(is) > 0 {
		switch {
		case len(is) == 0 || len(was) > 0 && was[0] < is[0]:
			put(was[0], false)
			was = was[1:]
		case len(was) == 0 || is[0] < was[0]:
			put(is[0], true)
			is = is[1:]
		default:
			was, is = was[1:], is[1:]
		}
	}
}

// setBit sets or clears a bit in words, which it may grow.
func setBit(words []uint64, slot int32, on bool) []uint64 {
	word, bit := int(slot>>6), uint64(1)<<(slot&63)
	for len(words) <= word {
		words = append(words, 0)
	}
	if on {
		words[word] |= bit
	} else {
		words[word] &^= bit
	}
	return words
}

// name brings the indexes by UUID and by name from the old tree to the new one.
// Either may be nil.
func (e *edit) name(old, t *Tree) {
	if old != nil && t != nil && sameNames(old, t) {
		return
	}
	if old != nil {
		for _, p := range old.Providers {
			at := place{old.slot, int32(p.Index)}
			e.w.byUUID = e.w.byUUID.remove(e.w.uuidHash(p), at)
			e.w.byName = e.w.byName.remove(e.w.nameHash(p), at)
		}
	}
	if t != nil {
		for _, p := range t.Providers {
			at := place{t.slot, int32(p.Index)}
			e.w.byUUID = e.w.byUUID.add(e.w.uuidHash(p), at)
			e.w.byName = e.w.byName.add(e.w.nameHash(p), at)
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
