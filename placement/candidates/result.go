package candidates

import (
	"iter"
	"sync"

	"github.com/berthcloud/berth/placement"
	"github.com/berthcloud/berth/placement/snapshot"
)

// A Result is the answer to a query. It is safe for concurrent use, and may be
// ranged over more than once.
type Result struct {
	query *compiledQuery
}

// A Candidate is one way to satisfy a query. Its slices belong to the loop that
// yields it and are good until the next candidate; what they point to belongs
// to the snapshot.
type Candidate struct {
	// Anchor is the tree that the candidate belongs to: its providers are in
	// that tree or share with it. A candidate of sharing providers alone may
	// have several anchors, of which this is one.
	Anchor *snapshot.Tree
	// Uses are what is taken from each provider, each provider once, in the
	// order in which the groups come to them.
	Uses []Use
	// Mappings are the providers that satisfy each group, in the order of
	// Result.Groups: one for a suffixed group, which need not be in Uses
	// when the group has no resources, and one or more for the unsuffixed
	// one.
	Mappings [][]*snapshot.Provider
}

// A Use is what a candidate takes from one provider.
type Use struct {
	Provider *snapshot.Provider
	Tree     *snapshot.Tree // the provider's own, which need not be the anchor
	Index    int            // Provider.Index, for those who need not look at the provider
	Amounts  []Amount       // each class once, summed over the groups
}

// An Amount is so much of a resource class.
type Amount struct {
	Class  placement.ClassID
	Amount int64
}

func newResult(q *compiledQuery) *Result { return &Result{q} }

// first returns the result cut to one candidate, whatever the query says.
func (r *Result) first() *Result {
	q := *r.query
	q.asked.Limit, q.asked.Max = 1, 0
	q.asked.Sample, q.asked.BreadthFirst, q.asked.Flat = nil, false, false
	return &Result{&q}
}

// unlimited returns the result with all its candidates, in the order of the
// walk.
func (r *Result) unlimited() *Result {
	q := *r.query
	q.asked.Limit, q.asked.Sample = 0, nil
	return &Result{&q}
}

// Groups returns the suffixes of the groups in the order of Mappings. It must
// not be changed.
func (r *Result) Groups() []string { return r.query.groups }

// Classes returns the resource classes that the query asks for, sorted. It must
// not be changed, and is empty when the query names something that does not
// exist.
func (r *Result) Classes() []placement.ClassID { return r.query.classes }

// All yields the candidates. They are generated one by one, so that breaking
// off early saves the work for the rest; only a query with a Sample chooses all
// that it yields before it yields the first, and keeps as many as Limit allows.
func (r *Result) All() iter.Seq[Candidate] {
	return func(yield func(Candidate) bool) {
		if r.query.impossible {
			return
		}
		s := newSolver(r.query)
		defer s.free()
		if r.query.asked.Sample != nil {
			s.sample(yield)
		} else {
			s.inOrder(yield)
		}
	}
}

// A solver finds assignments and makes candidates of them. It is used by one goroutine at a time,
// and its memory is used again for the next query.
type solver struct {
	assignment
	builder
}

var solvers = sync.Pool{New: func() any { return new(solver) }}

// newSolver takes a solver from the pool; it must be freed.
func newSolver(q *compiledQuery) *solver {
	s := solvers.Get().(*solver)
	s.compiledQuery = q
	s.assigned = resize(s.assigned, len(q.requests))
	s.reserve(q)
	return s
}

// free gives the solver's memory back, without what it refers to.
func (s *solver) free() {
	s.compiledQuery, s.tree = nil, nil
	s.reset()
	solvers.Put(s)
}

// inOrder yields the candidates in the order of the walk.
func (s *solver) inOrder(yield func(Candidate) bool) {
	left := s.asked.Limit
	for w := newWalk(&s.assignment); w.next(); {
		if s.hidden() {
			continue
		}
		if !yield(s.candidate(&s.assignment)) {
			return
		}
		if left--; left == 0 {
			return
		}
	}
}

// hidden reports whether an assignment must be kept from clients that do not know of trees: when
// two different providers of one tree give resources. Upstream leaves them out after it has cut the
// list to Max, so that there can be fewer than Max even though there are more.
func (a *assignment) hidden() bool {
	if !a.asked.Flat {
		return false
	}
	for i, number := range a.assigned {
		if len(a.requests[i].needs) == 0 {
			continue
		}
		_, tree := a.provider(number)
		for j, other := range a.assigned[:i] {
			if other == number || len(a.requests[j].needs) == 0 {
				continue
			}
			if _, its := a.provider(other); its == tree {
				return true
			}
		}
	}
	return false
}
