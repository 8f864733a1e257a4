package candidates

import (
	"math/rand/v2"
	"sync"
)

// A reservoir holds a choice of combinations.
type reservoir struct {
	rng   *rand.Rand
	size  int // how many to hold
	seen  int
	slots []int32 // the anchors of those that are held
	picks []int32 // their picks, one after the other
}

// maxHeld bounds how many combinations are held for the sake of their order: a
// request can have more of them than there is memory.
const maxHeld = 1 << 17

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
	if cap(r.slots) <= most && cap(r.picks) <= most {
		reservoirs.Put(r)
	}
}

func (r *reservoir) empty() {
	r.slots, r.picks, r.seen = r.slots[:0], r.picks[:0], 0
}

// sample visits a uniform random choice of Limit combinations in random order,
// and holds no more than it visits. Without a limit that can be held, all are
// visited and what is shuffled is one stretch of maxHeld after the other.
func (c *combiner) sample(visit visitor) {
	limit := c.query.Limit
	size := limit
	if limit <= 0 || limit > maxHeld {
		size = maxHeld
	}
	r := newReservoir(rand.New(rand.NewPCG(c.query.Sample.Seed, 0)), size)
	defer r.release()
	if size != limit {
		c.shuffle(r, visit)
		return
	}
	for w := newWalk(c); w.next(); {
		if !c.tangled(c.picks) {
			r.show(c.slot, c.picks)
		}
	}
	r.drain(c.plan, visit)
}

// shuffle visits all combinations, up to Limit, as they come but for their order
// within a reservoir.
func (c *combiner) shuffle(r *reservoir, visit visitor) {
	left := c.query.Limit
	counted := func(c *combiner) bool {
		left--
		return visit(c) && left != 0
	}
	for w := newWalk(c); w.next(); {
		if c.tangled(c.picks) {
			continue
		}
		r.show(c.slot, c.picks)
		if len(r.slots) == r.size && !r.drain(c.plan, counted) {
			return
		}
	}
	r.drain(c.plan, counted)
}

// drain visits what the reservoir holds in random order, with a combiner of its
// own, and empties it. It returns false when no more is wanted.
func (r *reservoir) drain(p *plan, visit visitor) bool {
	c := newCombiner(p)
	defer c.release()
	n := len(c.parts)
	for _, i := range r.rng.Perm(len(r.slots)) {
		c.enter(int(r.slots[i]))
		copy(c.picks, r.picks[i*n:(i+1)*n])
		if !visit(c) {
			return false
		}
	}
	r.empty()
	return true
}

// show offers a combination to the reservoir. After n of them each is held with
// probability size/n (Waterman's algorithm R).
func (r *reservoir) show(slot int, picks []int32) {
	r.seen++
	if len(r.slots) < r.size {
		r.hold(slot, picks)
		return
	}
	if at := r.rng.IntN(r.seen); at < r.size {
		r.slots[at] = int32(slot)
		copy(r.picks[at*len(picks):], picks)
	}
}

// hold adds a combination.
func (r *reservoir) hold(slot int, picks []int32) {
	r.slots = append(r.slots, int32(slot))
	r.picks = append(r.picks, picks...)
}
