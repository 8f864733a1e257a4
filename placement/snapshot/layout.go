package snapshot

import (
	"cmp"
	"slices"

	"github.com/berthcloud/berth/placement"
)

// A Layout is what trees of hosts alike have in common: which of a tree's
// providers are below which, which offer which class and which have which trait.
// It is immutable, and the trees of a snapshot share it where they can.
type Layout struct {
	hash    uint64
	parents []int32             // by provider, -1 for the root
	entries int                 // how many classes and traits the providers have in all
	classes []placement.ClassID // sorted
	traits  []placement.TraitID // sorted
	// withClass and withTrait are sets of providers by their index, words to
	// each class and trait.
	words     int
	withClass []uint64
	withTrait []uint64
	lineages  []uint64 // of each provider: itself and all above it
}

// noLayout is the layout of no tree.
var noLayout Layout

// newLayout works out the layout of a tree of these providers.
func newLayout(providers []*Provider) *Layout {
	s := &Layout{words: (len(providers) + 63) >> 6}
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
func (s *Layout) lineage(i int) []uint64 {
	return s.lineages[i*s.words : (i+1)*s.words : (i+1)*s.words]
}

// class returns the set of the providers that offer a class, nil for none.
func (s *Layout) class(id placement.ClassID) []uint64 {
	return setOf(s.classes, s.withClass, s.words, id)
}

// trait returns the set of the providers that have a trait, nil for none.
func (s *Layout) trait(id placement.TraitID) []uint64 {
	return setOf(s.traits, s.withTrait, s.words, id)
}

// setOf returns the set of an id among sets of the same number of words, whose ids are sorted. It
// is a view, with no capacity beyond its end.
func setOf[K ~int32](ids []K, sets []uint64, words int, id K) []uint64 {
	i, ok := slices.BinarySearch(ids, id)
	if !ok {
		return nil
	}
	return sets[i*words : (i+1)*words : (i+1)*words]
}

// describes reports whether a tree of these providers has the layout. Sets are compared rather than
// hashes: trees of equal hashes may differ.
func (s *Layout) describes(providers []*Provider) bool {
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

// hashLayout hashes what a layout is made of (FNV-1a, a number at a time).
func hashLayout(providers []*Provider) uint64 {
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

// setBit sets or clears a bit in words, which it may grow.
func setBit(words []uint64, index int32, on bool) []uint64 {
	word, bit := int(index>>6), uint64(1)<<(index&63)
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

// compactSorted sorts s, drops repetitions and gives back what is too much of
// its memory.
func compactSorted[T cmp.Ordered](s []T) []T {
	slices.Sort(s)
	return slices.Clip(slices.Clone(slices.Compact(s)))
}
