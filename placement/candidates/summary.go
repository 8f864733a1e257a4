package candidates

import (
	"cmp"
	"iter"
	"maps"
	"slices"

	"github.com/berthcloud/berth/placement/snapshot"
)

// A Summary collects the providers that an answer must describe besides its
// candidates: all providers of the trees that give resources, or only those that
// give them, when the query is Flat. The zero value is not useful; a Result
// makes one. It is for one goroutine.
type Summary struct {
	result *Result
	trees  bitset
	flat   bool
	used   map[position]bool // the providers that give resources, when flat
}

type position struct{ tree, provider int }

// Summary returns an empty summary for the result's candidates.
func (r *Result) Summary() *Summary {
	q := r.query
	s := &Summary{result: r, trees: newBitset(q.snapshot.IndexLimit())}
	// Upstream leaves providers out only when it knows of any nesting.
	if s.flat = q.requested.Flat && q.snapshot.Nested(); s.flat {
		s.used = make(map[position]bool)
	}
	return s
}

// Add notes what a candidate uses. Providers that only satisfy a group without
// resources do not count.
func (s *Summary) Add(c Candidate) {
	for i := range c.Uses {
		u := &c.Uses[i]
		index := u.Tree.Index()
		s.trees.add(index)
		if s.flat {
			s.used[position{index, u.Provider.Index}] = true
		}
	}
}

// Trees yields the trees that give resources, in the order of their indexes.
func (s *Summary) Trees() iter.Seq[*snapshot.Tree] {
	return func(yield func(*snapshot.Tree) bool) {
		for index := s.trees.from(0); index >= 0; index = s.trees.from(index + 1) {
			if !yield(s.snapshot().Tree(index)) {
				return
			}
		}
	}
}

// Providers yields the providers to describe, each with its tree, in the order
// of the indexes and within a tree in that of its Providers.
func (s *Summary) Providers() iter.Seq2[*snapshot.Tree, *snapshot.Provider] {
	if s.flat {
		return s.flatProviders
	}
	return func(yield func(*snapshot.Tree, *snapshot.Provider) bool) {
		for t := range s.Trees() {
			for _, p := range t.Providers {
				if !yield(t, p) {
					return
				}
			}
		}
	}
}

func (s *Summary) snapshot() *snapshot.Snapshot { return s.result.query.snapshot }

func (s *Summary) flatProviders(yield func(*snapshot.Tree, *snapshot.Provider) bool) {
	s.addCutOff()
	positions := slices.SortedFunc(maps.Keys(s.used), func(a, b position) int {
		return cmp.Or(cmp.Compare(a.tree, b.tree), cmp.Compare(a.provider, b.provider))
	})
	for _, at := range positions {
		t := s.snapshot().Tree(at.tree)
		if !yield(t, t.Providers[at.provider]) {
			return
		}
	}
}

// addCutOff adds what the candidates beyond the limit use in the trees that the
// others do. Upstream applies the limit to trees only, and this late, so that
// clients of the versions before trees see such providers described. It looks at
// a bounded number of candidates: there can be very many of them.
func (s *Summary) addCutOff() {
	if s.result.query.requested.Limit == 0 {
		return
	}
	looked := 0
	for c := range s.result.unlimited().All() {
		for i := range c.Uses {
			if index := c.Uses[i].Tree.Index(); s.trees.has(index) {
				s.used[position{index, c.Uses[i].Provider.Index}] = true
			}
		}
		if looked++; looked == maxKept {
			return
		}
	}
}
