package placement

import (
	"math"
	"math/bits"
	"slices"
)

// A Shape is what trees of hosts alike have in common: which of a tree's
// providers are below which, which offer which class and which have which trait.
// It is immutable, and the trees of a world share it where they can: what was
// worked out for one tree from those holds for all with the same pointer.
type Shape struct {
	hash    uint64
	parents []int32   // by provider, -1 for the root
	entries int       // how many classes and traits the providers have in all
	classes []ClassID // sorted
	traits  []TraitID // sorted
	// withClass and withTrait are sets of providers by their index, words to
	// each class and trait.
	words     int
	withClass []uint64
	withTrait []uint64
	lineages  []uint64 // of each provider: itself and all above it
}

// noShape is the shape of no tree.
var noShape Shape

// newShape works out the shape of a tree of these providers.
func newShape(providers []*Provider) *Shape {
	s := &Shape{words: (len(providers) + 63) >> 6}
	for _, p := range providers {
		s.parents = append(s.parents, int32(p.Parent))
		for i := range p.Inventories {
			s.classes = append(s.classes, p.Inventories[i].Class)
		}
		s.traits = append(s.traits, p.Traits...)
	}
	s.entries = len(s.classes) + len(s.traits)
	s.classes, s.traits = compactSorted(s.classes), compactSorted(s.traits)
	s.withClass = make([]uint64, len(s.classes)*s.words)
	s.withTrait = make([]uint64, len(s.traits)*s.words)
	s.lineages = make([]uint64, len(providers)*s.words)
	for i, p := range providers {
		for j := range p.Inventories {
			setBit(s.class(p.Inventories[j].Class), int32(i), true)
		}
		for _, id := range p.Traits {
			setBit(s.trait(id), int32(i), true)
		}
		for at := int32(i); at >= 0; at = s.parents[at] {
			setBit(s.lineage(i), at, true)
		}
	}
	return s
}

// lineage returns the set of a provider and all above it.
func (s *Shape) lineage(i int) []uint64 {
	return s.lineages[i*s.words : (i+1)*s.words : (i+1)*s.words]
}

// class returns the set of the providers that offer a class, nil for none.
func (s *Shape) class(id ClassID) []uint64 { return setOf(s.classes, s.withClass, s.words, id) }

// trait returns the set of the providers that have a trait, nil for none.
func (s *Shape) trait(id TraitID) []uint64 { return setOf(s.traits, s.withTrait, s.words, id) }

func setOf[K ~int32](ids []K, sets []uint64, words int, id K) []uint64 {
	i, ok := slices.BinarySearch(ids, id)
	if !ok {
		return nil
	}
	return sets[i*words : (i+1)*words : (i+1)*words]
}

// describes reports whether a tree of these providers has the shape.
func (s *Shape) describes(providers []*Provider) bool {
	if len(providers) != len(s.parents) {
		return false
	}
	entries := 0
	for i, p := range providers {
		if int32(p.Parent) != s.parents[i] {
			return false
		}
		entries += len(p.Inventories) + len(p.Traits)
		for j := range p.Inventories {
			if !member(s.class(p.Inventories[j].Class), i) {
				return false
			}
		}
		for _, id := range p.Traits {
			if !member(s.trait(id), i) {
				return false
			}
		}
	}
	return entries == s.entries
}

// member reports whether i is in a set, which may be nil.
func member(set []uint64, i int) bool { return set != nil && set[i>>6]&(1<<(i&63)) != 0 }

// hashShape hashes what a shape is made of (FNV-1a, a number at a time).
func hashShape(providers []*Provider) uint64 {
	const prime = 1099511628211
	h := uint64(14695981039346656037)
	for _, p := range providers {
		h = (h ^ uint64(uint32(p.Parent))) * prime
		for i := range p.Inventories {
			h = (h ^ uint64(uint32(p.Inventories[i].Class))) * prime
		}
		h = (h ^ 1<<40) * prime
		for _, id := range p.Traits {
			h = (h ^ uint64(uint32(id))) * prime
		}
		h = (h ^ 1<<41) * prime
	}
	return h
}

// maxShapes bounds the list of shapes that a world keeps.
const maxShapes = 1024

// shapeOf finds the shape of a tree: that of the tree it replaces, which may be
// nil, or of another, or a new one.
func (e *edit) shapeOf(old, t *Tree) *Shape {
	if old != nil && old.shape.describes(t.Providers) {
		return old.shape
	}
	h := hashShape(t.Providers)
	for _, s := range e.w.shapes {
		if s.hash == h && s.describes(t.Providers) {
			return s
		}
	}
	s := newShape(t.Providers)
	s.hash = h
	e.keepShape(s)
	e.raise(s)
	return s
}

// keepShape puts a new shape on the list, as long as there is room.
func (e *edit) keepShape(s *Shape) {
	if len(e.w.shapes) == maxShapes {
		e.w.manyShapes = true
		return
	}
	e.w.shapes = append(slices.Clip(e.w.shapes), s)
}

// raise makes the bounds on how many providers a tree has with a class or a
// trait hold for a shape.
func (e *edit) raise(s *Shape) {
	for _, id := range s.classes {
		e.w.mostOffer = raised(e.w.mostOffer, id, s.class(id))
	}
	for _, id := range s.traits {
		e.w.mostHave = raised(e.w.mostHave, id, s.trait(id))
	}
}

func raised[K comparable](most hamt[K, int32], id K, set []uint64) hamt[K, int32] {
	var n int32
	for _, word := range set {
		n += int32(bits.OnesCount64(word))
	}
	if known, _ := most.get(id); known >= n {
		return most
	}
	return most.set(id, n)
}

// Shape returns the tree's shape.
func (t *Tree) Shape() *Shape { return t.shape }

// WithClass returns the indexes of the providers that have inventory of the
// class, as a bit set that must not be changed; nil when there are none.
func (t *Tree) WithClass(id ClassID) []uint64 { return t.shape.class(id) }

// WithTrait is WithClass for the providers that have the trait.
func (t *Tree) WithTrait(id TraitID) []uint64 { return t.shape.trait(id) }

// Lineage returns the indexes of a provider and of all above it, as a bit set that
// must not be changed.
func (t *Tree) Lineage(index int) []uint64 { return t.shape.lineage(index) }

// MostWith returns a number that is not exceeded by how many providers of any
// one tree have inventory of all the classes and, of each of the lists of traits,
// one at least. It may be too high, and is math.MaxInt when nothing is asked.
func (w *World) MostWith(classes []ClassID, traits [][]TraitID) int {
	// Worlds that are uniform are looked at closely.
	const few = 64
	if len(classes)+len(traits) > 0 && len(w.shapes) <= few && !w.manyShapes {
		most := 0
		for _, s := range w.shapes {
			most = max(most, s.countWith(classes, traits))
		}
		return most
	}
	most := math.MaxInt
	for _, id := range classes {
		n, _ := w.mostOffer.get(id)
		most = min(most, int(n))
	}
	for _, anyOf := range traits {
		sum := 0
		for _, id := range anyOf {
			n, _ := w.mostHave.get(id)
			sum += int(n)
		}
		most = min(most, sum)
	}
	return most
}

// countWith counts the providers that offer all the classes and have one of each
// of the lists of traits.
func (s *Shape) countWith(classes []ClassID, traits [][]TraitID) (n int) {
	for at := range s.words {
		set := ^uint64(0)
		for _, id := range classes {
			set &= wordOf(s.class(id), at)
		}
		for _, anyOf := range traits {
			var union uint64
			for _, id := range anyOf {
				union |= wordOf(s.trait(id), at)
			}
			set &= union
		}
		n += bits.OnesCount64(set)
	}
	return n
}

// wordOf returns a word of a set that may be nil.
func wordOf(set []uint64, at int) uint64 {
	if set == nil {
		return 0
	}
	return set[at]
}
