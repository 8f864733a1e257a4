package placement

import (
	"maps"
	"slices"
	"time"
)

// NewWorld makes a World from the whole content of a store. Built is when it
// was read.
func NewWorld(classes, traits []Named, pic Picture, built time.Time) *World {
	w := (&World{built: built, fold: pic.FoldCase, like: pic.FoldLike}).WithCatalogs(classes, traits)
	w.learnAggregates(pic.Aggregates)
	trees := buildTrees(pic, w.sharing)
	e := newEdit(w)
	for slot, t := range trees {
		t.slot = int32(slot)
		e.count(t, 1)
		e.index(nil, t)
	}
	w.trees = newPages(trees)
	w.byRoot = newHamt(len(trees), func(yield func(int64, int32) bool) {
		for _, t := range trees {
			if !yield(t.Root().ID, t.slot) {
				return
			}
		}
	})
	w.byUUID = newHamt(w.providers, func(yield func(UUID, place) bool) {
		eachProvider(trees, func(t *Tree, p *Provider) bool { return yield(w.uuidKey(p.UUID), place{t.slot, int32(p.Index)}) })
	})
	w.byName = newHamt(w.providers, func(yield func(string, UUID) bool) {
		eachProvider(trees, func(_ *Tree, p *Provider) bool { return yield(w.nameKey(p.Name), p.UUID) })
	})
	e.finish()
	return w
}

func eachProvider(trees []*Tree, yield func(*Tree, *Provider) bool) {
	for _, t := range trees {
		for _, p := range t.Providers {
			if !yield(t, p) {
				return
			}
		}
	}
}

// WithCatalogs returns the picture with other catalogs of classes and traits.
func (w *World) WithCatalogs(classes, traits []Named) *World {
	next := *w
	next.classes, next.traits = newCatalog(classes), newCatalog(traits)
	next.sharing = TraitID(next.traits.id(SharesViaAggregate))
	return &next
}

// WithTrees returns the picture in which the trees with the given root ids are
// as in pic: replaced, added, or gone when pic has no such root.
func (w *World) WithTrees(roots []int64, pic Picture, built time.Time) *World {
	next := *w
	next.built = built
	next.learnAggregates(pic.Aggregates)
	fresh := make(map[int64]*Tree)
	for _, t := range buildTrees(pic, w.sharing) {
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

func (w *World) learnAggregates(rows []AggregateRow) {
	for _, r := range rows {
		key := w.uuidKey(r.UUID)
		if _, ok := w.aggregateIDs.get(key); !ok {
			w.aggregateIDs = w.aggregateIDs.set(key, r.ID)
			w.aggregateUUIDs = w.aggregateUUIDs.set(r.ID, r.UUID)
		}
	}
}

// An edit makes one picture from another. Until finish nobody else may see the
// world it works on. It copies each bit set at most once, however many trees
// change.
type edit struct {
	w          *World
	classes    map[ClassID][]uint64
	traits     map[TraitID][]uint64
	aggregates map[AggregateID][]uint64
	sharing    []uint64 // nil until copied
	free       []int32
}

func newEdit(w *World) *edit {
	return &edit{
		w:          w,
		classes:    make(map[ClassID][]uint64),
		traits:     make(map[TraitID][]uint64),
		aggregates: make(map[AggregateID][]uint64),
		free:       slices.Clone(w.free),
	}
}

// finish puts the changed bit sets into the world.
func (e *edit) finish() {
	e.w.withClass = replaceAll(e.w.withClass, e.classes)
	e.w.withTrait = replaceAll(e.w.withTrait, e.traits)
	e.w.withAggregate = replaceAll(e.w.withAggregate, e.aggregates)
	if e.sharing != nil {
		e.w.withSharing = e.sharing
	}
	slices.Sort(e.free)
	e.w.free = e.free
}

func replaceAll[K comparable](m hamt[K, []uint64], with map[K][]uint64) hamt[K, []uint64] {
	for k, v := range with {
		m = m.set(k, v)
	}
	return m
}

// put adds a tree or replaces the one with the same root.
func (e *edit) put(t *Tree) {
	var old *Tree
	if slot, ok := e.w.byRoot.get(t.Root().ID); ok {
		t.slot = slot
		old = e.w.trees.get(slot)
	} else {
		t.slot = e.slot()
		e.w.byRoot = e.w.byRoot.set(t.Root().ID, t.slot)
	}
	e.w.trees = e.w.trees.set(t.slot, t)
	e.count(old, -1)
	e.count(t, 1)
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
	slot, ok := e.w.byRoot.get(root)
	if !ok {
		return
	}
	old := e.w.trees.get(slot)
	e.w.byRoot = e.w.byRoot.remove(root)
	e.w.trees = e.w.trees.set(slot, nil)
	e.count(old, -1)
	e.index(old, nil)
	e.name(old, nil)
	e.free = append(e.free, slot)
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

// index brings the bit sets from what they said of the old tree to what they
// must say of the new one. Either may be nil.
func (e *edit) index(old, t *Tree) {
	var was, is Tree
	if old != nil {
		was = *old
	}
	if t != nil {
		is = *t
	} else {
		is.slot = was.slot
	}
	mark(e.w.withClass, e.classes, was.classes, is.classes, is.slot)
	mark(e.w.withTrait, e.traits, was.traits, is.traits, is.slot)
	mark(e.w.withAggregate, e.aggregates, was.aggregates, is.aggregates, is.slot)
	if was.sharing != is.sharing {
		if e.sharing == nil {
			e.sharing = slices.Clone(e.w.withSharing)
		}
		e.sharing = setBit(e.sharing, is.slot, is.sharing)
	}
}

// mark sets the slot in the bit sets of the ids that came and clears it in
// those of the ids that went; was and is are sorted. Bit sets are copied from m
// to changed before they are touched.
func mark[K ~int32](m hamt[K, []uint64], changed map[K][]uint64, was, is []K, slot int32) {
	flip := func(id K, on bool) {
		words, ok := changed[id]
		if !ok {
			shared, _ := m.get(id)
			words = slices.Clone(shared)
		}
		changed[id] = setBit(words, slot, on)
	}
	for len(was) > 0 || len(is) > 0 {
		switch {
		case len(is) == 0 || len(was) > 0 && was[0] < is[0]:
			flip(was[0], false)
			was = was[1:]
		case len(was) == 0 || is[0] < was[0]:
			flip(is[0], true)
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

// name brings the maps by UUID and by name from the old tree to the new one.
// Either may be nil.
func (e *edit) name(old, t *Tree) {
	if old != nil && t != nil && sameNames(old, t) {
		return
	}
	if old != nil {
		for _, p := range old.Providers {
			e.forget(p, old.slot)
		}
	}
	if t != nil {
		for _, p := range t.Providers {
			e.w.byUUID = e.w.byUUID.set(e.w.uuidKey(p.UUID), place{t.slot, int32(p.Index)})
			e.w.byName = e.w.byName.set(e.w.nameKey(p.Name), p.UUID)
		}
	}
}

// forget takes a provider that was in the slot out of the maps. One that moved
// may already be known at its new place: that is kept.
func (e *edit) forget(p *Provider, slot int32) {
	uuid, name := e.w.uuidKey(p.UUID), e.w.nameKey(p.Name)
	at, ok := e.w.byUUID.get(uuid)
	if ok && at.slot == slot {
		e.w.byUUID = e.w.byUUID.remove(uuid)
	} else if ok && e.w.trees.get(at.slot).Providers[at.index].Name == p.Name {
		return
	}
	if whose, ok := e.w.byName.get(name); ok && whose == p.UUID {
		e.w.byName = e.w.byName.remove(name)
	}
}

// sameNames reports whether two trees have the same providers, by the same
// names, in the same places.
func sameNames(a, b *Tree) bool {
	return slices.EqualFunc(a.Providers, b.Providers, func(p, q *Provider) bool {
		return p.UUID == q.UUID && p.Name == q.Name
	})
}
