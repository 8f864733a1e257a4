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

// offer offers an assignment to the reservoir. After n of them each is kept with
// probability size/n (Waterman's algorithm R).
func (r *reservoir) offer(index int, assigned []int32) {
	r.seen++
	if len(r.anchors) < r.size {
		r.anchors = append(r.anchors, int32(index))
		r.assigned = append(r.assigned, assigned...)
		return
	}
	if at := r.rng.IntN(r.seen); at < r.size {
		r.anchors[at] = int32(index)
		copy(r.assigned[at*len(assigned):], assigned)
	}
}

// drawnTrees are the trees of a scan in random order.
type drawnTrees struct {
	rng       *rand.Rand
	remaining []int32 // those that have not come yet
}

// fill begins with all trees of a query's scan.
func (d *drawnTrees) fill(rng *rand.Rand, q *compiledQuery) {
	d.rng, d.remaining = rng, d.remaining[:0]
	all := scan{compiledQuery: q}
	for index := all.next(); index >= 0; index = all.next() {
		d.remaining = append(d.remaining, int32(index))
	}
}

// next draws one of those that are left.
func (d *drawnTrees) next() int {
	last := len(d.remaining) - 1
	if last < 0 {
		return -1
	}
	at := d.rng.IntN(last + 1)
	index := d.remaining[at]
	d.remaining[at], d.remaining = d.remaining[last], d.remaining[:last]
	return int(index)
}
