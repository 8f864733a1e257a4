package candidates

import (
	"cmp"
	"iter"
	"slices"

	"github.com/berthcloud/berth/placement"
)

// A Summary collects the providers that an answer must describe besides its
// candidates: all providers of the trees that give resources, or only those that
// give them, when the query is Flat. The zero value is not useful; a Result
// makes one. It is for one goroutine.
type Summary struct {
	w     *placement.World
	trees bitset
	// used are the providers that give resources, unsorted and repeated;
	// nil when whole trees are wanted.
	used []place
	flat bool
}

type place struct{ slot, index int }

// Summary returns an empty summary for the result's candidates.
func (r *Result) Summary() *Summary {
	p := r.plan
	return &Summary{
		w:     p.w,
		trees: newBitset(p.w.Slots()),
		// Upstream leaves providers out only when it knows of any nesting.
		flat: p.query.Flat && p.w.Nested(),
	}
}

// Add notes what a candidate uses. Providers that only satisfy a group without
// resources do not count.
func (s *Summary) Add(c Candidate) {
	for i := range c.Uses {
		u := &c.Uses[i]
		slot := u.Tree.Slot()
		s.trees.add(slot)
		if s.flat {
			s.used = append(s.used, place{slot, u.Provider.Index})
		}
	}
}

// Trees yields the trees that give resources, in the order of their slots.
func (s *Summary) Trees() iter.Seq[*placement.Tree] {
	return func(yield func(*placement.Tree) bool) {
		for slot := s.trees.from(0); slot >= 0; slot = s.trees.from(slot + 1) {
			if !yield(s.w.Tree(slot)) {
				return
			}
		}
	}
}

// Providers yields the providers to describe, each with its tree, in the order
// of the slots and within a tree in that of its Providers.
func (s *Summary) Providers() iter.Seq2[*placement.Tree, *placement.Provider] {
	if s.flat {
		return s.flatProviders
	}
	return func(yield func(*placement.Tree, *placement.Provider) bool) {
		for t := range s.Trees() {
			for _, p := range t.Providers {
				if !yield(t, p) {
					return
				}
			}
		}
	}
}

func (s *Summary) flatProviders(yield func(*placement.Tree, *placement.Provider) bool) {
	slices.SortFunc(s.used, func(a, b place) int {
		return cmp.Or(cmp.Compare(a.slot, b.slot), cmp.Compare(a.index, b.index))
	})
	s.used = slices.Compact(s.used)
	for _, at := range s.used {
		t := s.w.Tree(at.slot)
		if !yield(t, t.Providers[at.index]) {
			return
		}
	}
}
