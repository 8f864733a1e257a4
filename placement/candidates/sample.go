package candidates

import (
	"math/rand/v2"
	"sync"
)

// A reservoir keeps a choice of assignments.
type reservoir struct {
	rng      *rand.Rand
	size     int // how many to keep
	seen     int
	anchors  []int32 // the anchors of those that are kept
	assigned []int32 // what is assigned in them, one after the other
}

// maxKept bounds how many assignments are kept for the sake of their order: a
// request can have more of them than there is memory.
const maxKept = 1 << 17

var reservoirs = sync.Pool{New: func() any { return new(reservoir) }}

// newReservoir takes a reservoir from the pool; it must be released.
func newReservoir(rng *rand.Rand, size int) *reservoir {
	r := reservoirs.Get().(*reservoir)
	r.rng, r.size = rng, size
	r.empty()
	return r
}

// release gives the reservoir's memory back, but for more than most need.
func (r *reservoir) release() {
	const most = 1 << 18
	if cap(r.anchors) <= most && cap(r.assigned) <= most {
		reservoirs.Put(r)
	}
}

func (r *reservoir) empty() {
	r.anchors, r.assigned, r.seen = r.anchors[:0], r.assigned[:0], 0
}

// sample yields a uniform random choice of Limit candidates in random order, and keeps no more
// than it yields. Without a limit that can be kept, all are yielded and what is shuffled is one
// stretch of maxKept after the other.
func (s *solver) sample(yield func(Candidate) bool) {
	limit := s.asked.Limit
	size := limit
	if limit <= 0 || limit > maxKept {
		size = maxKept
	}
	r := newReservoir(rand.New(rand.NewPCG(s.asked.Sample.Seed, 0)), size)
	defer r.release()
	left := limit
	counted := func(c Candidate) bool {
		left--
		return yield(c) && left != 0
	}
	for w := newWalk(&s.assignment); w.next(); {
		if s.hidden() {
			continue
		}
		r.offer(s.treeIndex, s.assigned)
		if size != limit && len(r.anchors) == size && !r.drain(s.compiledQuery, counted) {
			return
		}
	}
	r.drain(s.compiledQuery, counted)
}

// drain yields what the reservoir keeps in random order, with a solver of its own, and empties it.
// It returns false when no more is wanted.
func (r *reservoir) drain(q *compiledQuery, yield func(Candidate) bool) bool {
	s := newSolver(q)
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

// offer offers an assignment to the reservoir. After n of them each is kept with
// probability size/n (Waterman's algorithm R).
func (r *reservoir) offer(index int, assigned []int32) {
	r.seen++
	if len(r.anchors) < r.size {
		r.keep(index, assigned)
		return
	}
	if at := r.rng.IntN(r.seen); at < r.size {
		r.anchors[at] = int32(index)
		copy(r.assigned[at*len(assigned):], assigned)
	}
}

// keep adds an assignment.
func (r *reservoir) keep(index int, assigned []int32) {
	r.anchors = append(r.anchors, int32(index))
	r.assigned = append(r.assigned, assigned...)
}
