package candidates

import "math/rand/v2"

// SetPatience makes the search ask after so many dead ends whether the rest can
// be matched, until restore is called.
func SetPatience(n int) (restore func()) {
	old := patience
	patience = n
	return func() { patience = old }
}

// Unaided returns the result as it is found without any index, by looking into
// every tree.
func Unaided(r *Result) *Result {
	p := *r.plan
	p.decided, p.demands = nil, nil
	p.live = newBitset(p.w.Slots())
	for t := range p.w.Trees() {
		p.live.add(t.Slot())
	}
	return &Result{&p}
}

// Decided returns how many trees are known from the indexes to anchor a
// candidate if they have room.
func Decided(r *Result) int { return r.plan.decided.count() }

// Draws reports whether a sample of the result is drawn without going through
// all trees.
func Draws(r *Result) bool {
	c := newCombiner(r.plan)
	defer c.release()
	held := newReservoir(rand.New(rand.NewPCG(r.plan.query.Sample.Seed, 0)), r.plan.query.Limit)
	defer held.release()
	return c.draw(held)
}

// Exceeds reports whether in any tree a random combination weighs more than the
// bound that samples rely on.
func Exceeds(r *Result, rng *rand.Rand) bool {
	c := newCombiner(r.plan)
	defer c.release()
	bound, ok := c.envelope()
	if !ok || len(c.sharers) > 0 {
		return false
	}
	for slot := c.live.from(0); slot >= 0; slot = c.live.from(slot + 1) {
		if c.open(slot) && c.descend(rng) > bound {
			return true
		}
	}
	return false
}
