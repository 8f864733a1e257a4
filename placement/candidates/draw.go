package candidates

// A drawer draws candidates at random without going through all trees. It takes
// a random slot and, in the tree there, a random combination, which it keeps with
// the probability that makes all combinations of all trees equally likely. Where
// few trees are live it takes one of their slots.
//
// A combination is found by giving one part after the other a random one of the
// providers that it can have. If there were b1, b2, … of those, it comes up with
// probability 1/(b1·b2·…), and is kept with (b1·b2·…)/bound: each has the same
// chance, 1/bound, in whatever tree it is.
type drawer struct {
	*combiner
	r      *reservoir
	bound  uint64
	trees  int     // how many are live
	slots  int     // how many slots there are to choose from
	few    []int32 // those slots, nil when they are all slots of the world
	budget int     // how much may be tried yet
	ofTree int     // what a live tree costs besides its slot
}

// What a look at a slot and a look into a tree cost, about, in one measure. Where
// there are trees to look into, those that the indexes decide cost as much: what a
// try costs must not depend on what it finds.
const (
	costOfSlot = 1
	costOfTree = 16
)

// draw fills the reservoir with as many different candidates as it has room for
// and reports whether it could. It does not try when going through all trees is
// likely to be cheaper, and gives up when it has tried about half as much as that
// would take; then what the reservoir holds must not be used. When it gives up
// depends on how many were found and not on which, so that what it finds is
// uniform all the same.
func (c *combiner) draw(r *reservoir) bool {
	if c.query.Max > 0 || len(c.sharers) > 0 {
		return false
	}
	bound, ok := c.envelope()
	d := drawer{combiner: c, r: r, bound: bound, trees: c.live.count(), slots: c.w.Slots(), ofTree: costOfTree}
	if !ok || d.trees == 0 {
		return false
	}
	if c.settled() {
		d.ofTree = 0
	}
	if d.trees < d.slots/8 {
		d.chooseAmongFew()
	}
	if !d.pays() {
		return false
	}
	r.index.reset(r.size)
	for d.budget > 0 && len(r.slots) < r.size {
		if weight := d.try(); weight == bound || r.rng.Uint64N(bound) < weight {
			r.holdNew(d.slot, d.picks)
		}
	}
	return len(r.slots) == r.size
}

// chooseAmongFew lists the slots of the live trees.
func (d *drawer) chooseAmongFew() {
	d.few = d.r.few[:0]
	for slot := d.live.from(0); slot >= 0; slot = d.live.from(slot + 1) {
		d.few = append(d.few, int32(slot))
	}
	d.r.few, d.slots = d.few, len(d.few)
}

// pays decides whether to draw, and sets the budget.
func (d *drawer) pays() bool {
	// In the best case every combination that is found is kept.
	share := float64(d.trees) / float64(d.slots)
	best := float64(d.r.size) * (costOfSlot/share + float64(d.ofTree))
	all := float64(d.trees * max(d.ofTree, costOfSlot))
	if 2*best <= all {
		d.budget = int(all / 2)
		return true
	}
	return d.bound >= costOfTree && d.paysInTrees(best, all)
}

// paysInTrees decides whether to draw in trees that may have many combinations
// each. It tries a few to see how many; those are not used for anything else.
func (d *drawer) paysInTrees(best, all float64) bool {
	d.budget = 16 * costOfTree
	var sum, tries float64
	for ; d.budget > 0; tries++ {
		sum += float64(d.try())
	}
	if sum == 0 {
		return false
	}
	share := float64(d.trees) / float64(d.slots)
	perSlot := sum / tries // combinations, on average
	need := best * float64(d.bound) * share / perSlot
	all += perSlot * float64(d.slots) * costOfSlot
	d.budget = int(min(all/2, 1<<40))
	return 2*need <= all
}

// try finds a random combination and returns its weight, the inverse of the
// probability with which it is found in its tree; 0 when it has none.
func (d *drawer) try() uint64 {
	d.budget -= costOfSlot
	slot := d.r.rng.IntN(d.slots)
	if d.few != nil {
		slot = int(d.few[slot])
	}
	if !d.may(slot) {
		return 0
	}
	d.budget -= d.ofTree
	if d.decided.has(slot) {
		d.openSole(slot)
		return 1
	}
	if !d.reopen(slot) {
		return 0
	}
	weight := d.descend(d.r.rng)
	if weight > 0 && d.tangled(d.picks) {
		return 0
	}
	return weight
}

// settled reports whether all live trees are decided.
func (p *plan) settled() bool { return p.decided.count() == p.live.count() }
