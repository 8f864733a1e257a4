package candidates

import (
	"math/rand/v2"

	"github.com/berthcloud/berth/placement"
)

// A reservoir holds a uniform random choice of the combinations it was shown.
type reservoir struct {
	rng     *rand.Rand
	size    int // how many to keep, 0 for all
	seen    int
	anchors []*placement.Tree
	picks   []option // of all that are kept, one after the other
}

// sample yields a uniform random choice of Limit candidates, or all of them, in
// random order. It goes over all candidates once and remembers no more than it
// yields.
func (c *combiner) sample(yield func(Candidate) bool) {
	r := &reservoir{
		rng:  rand.New(rand.NewPCG(c.query.Sample.Seed, 0)),
		size: c.query.Limit,
	}
	for w := newWalk(c); w.next(); {
		if !c.tangled(c.picks) {
			r.show(c.tree, c.picks)
		}
	}
	n := len(c.picks)
	for _, i := range r.rng.Perm(len(r.anchors)) {
		if !yield(c.build(r.anchors[i], r.picks[i*n:(i+1)*n])) {
			return
		}
	}
}

// show offers a combination to the reservoir. After n of them each is kept with
// probability size/n (Waterman's algorithm R).
func (r *reservoir) show(anchor *placement.Tree, picks []option) {
	r.seen++
	if r.size <= 0 || len(r.anchors) < r.size {
		r.anchors = append(r.anchors, anchor)
		r.picks = append(r.picks, picks...)
		return
	}
	if at := r.rng.IntN(r.seen); at < r.size {
		r.anchors[at] = anchor
		copy(r.picks[at*len(picks):], picks)
	}
}
