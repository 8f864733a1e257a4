package candidates

import (
	"math/rand/v2"

	"github.com/berthcloud/berth/placement"
)

// A reservoir holds a uniform random choice of the combinations it was shown.
type reservoir struct {
	rng     *rand.Rand
	size    int // how many to keep
	seen    int
	anchors []*placement.Tree
	picks   []option // of all that are kept, one after the other
}

// maxHeld bounds how many combinations are held for the sake of their order: a
// request can have more of them than there is memory.
const maxHeld = 1 << 17

// sample yields a uniform random choice of Limit candidates in random order. It
// goes over all candidates once and holds no more than it yields. Without a
// limit that can be held, all are yielded and what is shuffled is one stretch
// of maxHeld after the other.
func (c *combiner) sample(yield func(Candidate) bool) {
	rng := rand.New(rand.NewPCG(c.query.Sample.Seed, 0))
	if limit := c.query.Limit; 0 < limit && limit <= maxHeld {
		r := &reservoir{rng: rng, size: limit}
		for w := newWalk(c); w.next(); {
			if !c.tangled(c.picks) {
				r.show(c.tree, c.picks)
			}
		}
		c.drain(r, yield)
		return
	}
	c.shuffle(&reservoir{rng: rng, size: maxHeld}, yield)
}

// shuffle yields all candidates, up to Limit, as they come but for their order
// within a reservoir.
func (c *combiner) shuffle(r *reservoir, yield func(Candidate) bool) {
	left := c.query.Limit
	counted := func(candidate Candidate) bool {
		left--
		return yield(candidate) && left != 0
	}
	for w := newWalk(c); w.next(); {
		if c.tangled(c.picks) {
			continue
		}
		r.show(c.tree, c.picks)
		if len(r.anchors) == r.size && !c.drain(r, counted) {
			return
		}
	}
	c.drain(r, counted)
}

// drain yields what the reservoir holds in random order and empties it. It
// returns false when no more is wanted.
func (c *combiner) drain(r *reservoir, yield func(Candidate) bool) bool {
	n := len(c.picks)
	for _, i := range r.rng.Perm(len(r.anchors)) {
		if !yield(c.build(r.anchors[i], r.picks[i*n:(i+1)*n])) {
			return false
		}
	}
	r.anchors, r.picks, r.seen = r.anchors[:0], r.picks[:0], 0
	return true
}

// show offers a combination to the reservoir. After n of them each is kept with
// probability size/n (Waterman's algorithm R).
func (r *reservoir) show(anchor *placement.Tree, picks []option) {
	r.seen++
	if len(r.anchors) < r.size {
		r.anchors = append(r.anchors, anchor)
		r.picks = append(r.picks, picks...)
		return
	}
	if at := r.rng.IntN(r.seen); at < r.size {
		r.anchors[at] = anchor
		copy(r.picks[at*len(picks):], picks)
	}
}
