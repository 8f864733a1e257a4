package candidates

import (
	"math/rand/v2"
	"sync"
)

// A solver finds assignments and makes candidates of them. It is used by one goroutine at a time,
// and its memory is used again for the next query.
type solver struct {
	assignment
	builder
	drawn drawnTrees
}

var solvers = sync.Pool{New: func() any { return new(solver) }}

// newSolver takes a solver from the pool; it must be freed. Its search ends when done is closed.
func newSolver(q *compiledQuery, done <-chan struct{}) *solver {
	s := solvers.Get().(*solver)
	s.compiledQuery = q
	s.stop = stop{done: done}
	s.assigned = resize(s.assigned, len(q.requests))
	s.reserve(q)
	return s
}

// free gives the solver's memory back, without what it refers to.
func (s *solver) free() {
	s.compiledQuery, s.tree, s.done = nil, nil, nil
	s.reset()
	solvers.Put(s)
}

// inOrder yields the candidates in the order of a walk over the trees.
func (s *solver) inOrder(trees treeOrder, yield func(Candidate) bool) {
	remaining := s.requested.Limit
	for w := newWalk(&s.assignment, trees); w.next(); {
		if s.hidden() {
			continue
		}
		if !yield(s.candidate(&s.assignment)) {
			return
		}
		if remaining--; remaining == 0 {
			return
		}
	}
}

// sample yields a uniform random choice of Limit candidates in random order, and keeps no more
// than it yields. Without a limit that can be kept, all are yielded and what is shuffled is one
// stretch of maxKept after the other. Where no tree has two candidates, random trees are random
// candidates, and only as many trees are searched as are wanted.
func (s *solver) sample(yield func(Candidate) bool) {
	rng := rand.New(rand.NewPCG(s.requested.Sample.Seed, 0))
	if s.requested.Max == 0 && s.oneInEachTree() {
		s.drawn.fill(rng, s.compiledQuery)
		s.inOrder(&s.drawn, yield)
		return
	}
	limit := s.requested.Limit
	size := limit
	if limit <= 0 || limit > maxKept {
		size = maxKept
	}
	r := newReservoir(rng, size)
	defer r.release()
	remaining := limit
	counted := func(c Candidate) bool {
		remaining--
		return yield(c) && remaining != 0
	}
	for w := newWalk(&s.assignment, &scan{compiledQuery: s.compiledQuery}); w.next(); {
		if s.hidden() {
			continue
		}
		r.offer(s.treeIndex, s.assigned)
		if size != limit && len(r.anchors) == size && !drain(r, s.compiledQuery, counted) {
			return
		}
	}
	drain(r, s.compiledQuery, counted)
}

// drain yields what a reservoir keeps in random order, with a solver of its own, and empties it.
// It returns false when no more is wanted.
func drain(r *reservoir, q *compiledQuery, yield func(Candidate) bool) bool {
	s := newSolver(q, nil)
	defer s.free()
	n := len(q.requests)
	for _, i := range r.rng.Perm(len(r.anchors)) {
		s.enter(int(r.anchors[i]))
		copy(s.assigned, r.assigned[i*n:(i+1)*n])
		if !yield(s.candidate(&s.assignment)) {
			return false
		}
	}
	r.empty()
	return true
}
