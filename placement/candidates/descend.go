package candidates

import "math/rand/v2"

// reopen is open, and cheap when the tree is open already.
func (c *combiner) reopen(slot int) bool {
	if !c.opened || c.slot != slot {
		return c.open(slot)
	}
	for c.depth > 0 {
		c.withdraw()
	}
	return true
}

// descend gives each part of the tree that is open, one after the other, a random
// one of the providers that it can have, and leaves the combination in picks. It
// returns how many there were of those, multiplied; 0 when it came to a dead end.
func (c *combiner) descend(rng *rand.Rand) uint64 {
	weight := uint64(1)
	for c.depth < len(c.domains) {
		c.choice = c.choice[:0]
		d := &c.domains[c.depth]
		t := &c.parts[d.part]
		for at := d.from; at < d.to; at++ {
			if c.placeable(d.part, t, at) {
				c.choice = append(c.choice, int32(at))
			}
		}
		switch len(c.choice) {
		case 0:
			return 0
		case 1:
			d.pos = int(c.choice[0])
		default:
			d.pos = int(c.choice[rng.IntN(len(c.choice))])
		}
		weight *= uint64(len(c.choice))
		c.place(d.pos)
	}
	return weight
}
