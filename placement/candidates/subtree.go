package candidates

// A subtreeCheck holds what is needed to say whether same_subtree sets can still
// hold. Sets of providers have a bit for each number of the combiner.
type subtreeCheck struct {
	words int
	// pending are, for each same_subtree set and depth, the providers that
	// the domains of the set from the depth on could have.
	pending []uint64
	// shared are the lineages of the sharers near the tree.
	shared []uint64
}

// prepareSubtrees notes which providers could be the common ancestor that each
// same_subtree set needs, and until which depth.
func (c *combiner) prepareSubtrees() {
	if len(c.subtrees) == 0 {
		return
	}
	s := &c.subtree
	s.words = (c.locals() + 63) >> 6
	s.pending = resize(s.pending, len(c.subtrees)*(len(c.domains)+1)*s.words)
	for set := range c.subtrees {
		clear(c.pending(set, len(c.domains)))
		for d := len(c.domains) - 1; d >= 0; d-- {
			now := bitset(c.pending(set, d))
			copy(now, c.pending(set, d+1))
			if c.subtrees[set].has(c.domains[d].part) {
				for _, local := range c.options[c.domains[d].from:c.domains[d].to] {
					now.add(int(local))
				}
			}
		}
	}
	if len(c.near) > 0 {
		c.prepareShared()
	}
}

// pending returns the providers that the domains of a set from a depth on could
// have.
func (c *combiner) pending(set, depth int) bitset {
	words := c.subtree.words
	at := (set*(len(c.domains)+1) + depth) * words
	return c.subtree.pending[at : at+words]
}

// prepareShared works out the lineages of the sharers near the tree. Only those
// above them that are sharers near the tree themselves are of interest.
func (c *combiner) prepareShared() {
	s := &c.subtree
	s.shared = resize(s.shared, len(c.near)*s.words)
	clear(s.shared)
	for i, at := range c.near {
		for j, other := range c.near {
			a, b := &c.sharers[at], &c.sharers[other]
			if a.tree == b.tree && bitset(a.tree.Lineage(a.provider.Index)).has(b.provider.Index) {
				c.lineage(len(c.tree.Providers) + i).add(len(c.tree.Providers) + j)
			}
		}
	}
}

// lineage returns a provider and those above it.
func (c *combiner) lineage(local int) bitset {
	if local < len(c.tree.Providers) {
		return c.tree.Lineage(local)
	}
	at := (local - len(c.tree.Providers)) * c.subtree.words
	return c.subtree.shared[at : at+c.subtree.words]
}

// rooted reports whether the same_subtree sets that a part is in can still hold
// with the option that is in its picks: the providers of the groups of a set
// must all be below one of them, or be it. The domains from open on are those
// that may still bring that one.
func (c *combiner) rooted(part, open int) bool {
	for i, set := range c.subtrees {
		if set.has(part) && !c.holds(i, part, open) {
			return false
		}
	}
	return true
}

// holds is rooted for one set.
func (c *combiner) holds(i, part, open int) bool {
	pending, top := c.pending(i, open), int(c.picks[part])
	for at := range pending {
		// of are the providers that belong to the set or may come to, above
		// those that all that belong to it are below.
		of, above := pending[at]|wordWith(top, at), c.lineage(top).word(at)
		for d := 0; d < c.depth && above != 0; d++ {
			if k := c.domains[d].part; c.subtrees[i].has(k) {
				local := int(c.picks[k])
				of |= wordWith(local, at)
				above &= c.lineage(local).word(at)
			}
		}
		if above&of != 0 {
			return true
		}
	}
	return false
}

// wordWith returns word at of the set of one provider.
func wordWith(local, at int) uint64 {
	if local>>6 != at {
		return 0
	}
	return 1 << (local & 63)
}
