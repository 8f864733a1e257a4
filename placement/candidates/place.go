package candidates

// patience is how many dead ends in a row the search takes before it asks, for
// every step, whether the rest can be matched at all. It has no influence on what
// is found. Only a test changes it.
var patience = 16

// next moves on to the next combination of the tree and reports whether there
// is one. A combination stays in picks until next is called again.
func (c *combiner) next() bool {
	n := len(c.domains)
	if n > 0 && c.depth == n {
		c.withdraw()
	}
	for {
		if c.advance() {
			if c.depth == n {
				c.dead = 0
				return true
			}
			c.domains[c.depth].pos = c.domains[c.depth].from - 1
			continue
		}
		c.dead++
		if c.depth == 0 {
			return false
		}
		c.withdraw()
	}
}

// advance gives the part at the current depth the next provider that it can
// have, and reports whether there was one.
func (c *combiner) advance() bool {
	d := &c.domains[c.depth]
	for d.pos++; d.pos < d.to; d.pos++ {
		if !c.place(d.pos) {
			continue
		}
		if c.dead < patience || c.matchable() {
			return true
		}
		c.withdraw()
	}
	return false
}

// place gives the part at the current depth an option and goes one deeper,
// unless that would break a rule or leave another part without hope.
func (c *combiner) place(at int) bool {
	k := c.domains[c.depth].part
	t, local := &c.parts[k], c.options[at]
	if !c.placeable(k, t, at) {
		return false
	}
	if t.granular && c.isolate() {
		c.taken[local] = true
	}
	c.spend(t, local, 1)
	c.depth++
	return true
}

// placeable reports whether place would give part k, which is t, the option, and
// puts it into picks.
func (c *combiner) placeable(k int, t *part, at int) bool {
	local := c.options[at]
	if t.granular && c.isolate() && c.taken[local] {
		return false
	}
	if !c.affords(t, local) || c.words > 0 && !c.cover(at) {
		return false
	}
	c.picks[k] = local
	return !t.granular || len(c.subtrees) == 0 || c.rooted(k, c.depth+1)
}

// withdraw takes back the last option that was placed.
func (c *combiner) withdraw() {
	c.depth--
	d := &c.domains[c.depth]
	t, local := &c.parts[d.part], c.options[d.pos]
	if t.granular && c.isolate() {
		c.taken[local] = false
	}
	c.spend(t, local, -1)
}

// affords reports whether what is left on a provider is enough for a part.
func (c *combiner) affords(t *part, local int32) bool {
	for i := range t.needs {
		n := &t.needs[i]
		if n.contest >= 0 && c.left[int(local)*c.contested+n.contest] < n.amount {
			return false
		}
	}
	return true
}

// spend takes what a part needs from a provider, or gives it back when sign is
// negative.
func (c *combiner) spend(t *part, local int32, sign int64) {
	for i := range t.needs {
		if n := &t.needs[i]; n.contest >= 0 {
			c.left[int(local)*c.contested+n.contest] -= sign * n.amount
		}
	}
}

// cover works out which traits would still be missing with an option, and
// reports whether the deeper parts could have them.
func (c *combiner) cover(at int) bool {
	now, then := c.depth*c.words, (c.depth+1)*c.words
	for i := range c.words {
		c.missing[then+i] = c.missing[now+i] &^ c.masks[at*c.words+i]
	}
	return c.coverable(c.depth + 1)
}

// save writes down which options are taken, so that restore can come back to
// them after the combiner has worked on other trees.
func (c *combiner) save(to []int32) []int32 {
	to = to[:0]
	for i := range c.domains {
		to = append(to, int32(c.domains[i].pos))
	}
	return to
}

// restore takes the options that were saved, in a tree that was opened again.
func (c *combiner) restore(from []int32) {
	for i, pos := range from {
		c.domains[i].pos = int(pos)
		c.place(int(pos))
	}
}
