package candidates

// constraints are what the requests of a query demand of a tree between them: that there is enough
// for all on one provider, that isolated groups have different providers, that the providers of
// the unsuffixed group have the required traits between them, and that the sets of same_subtree
// are in one subtree each.
type constraints struct {
	treeOptions
	stop

	// left is what remains of each common class on each provider, and taken marks the
	// providers that serve a suffixed group already.
	remaining []int64
	taken     []bool

	// words is how many words a set of compiledQuery.required takes. has are those that each option
	// satisfies; missing those that are not satisfied yet at each depth, and reach those that
	// the domains from a depth on could satisfy.
	words               int
	has, missing, reach []uint64

	subtrees subtreeState
}

// A stop ends a search that is not waited for any more.
type stop struct {
	done  <-chan struct{} // nil: never
	ended bool            // since done was found closed: the search finds nothing more, in any tree
	steps int
}

// stepsBetween is how many steps a search takes before it reads its channel again.
const stepsBetween = 64

// stopped counts a step, and reports whether the search has to end.
func (s *stop) stopped() bool {
	if s.steps++; s.steps%stepsBetween == 0 {
		select {
		case <-s.done:
			s.ended = true
		default:
		}
	}
	return s.ended
}

// prepare begins with the options that were listed, and reports false when the required traits
// are out of reach.
func (c *constraints) prepare() bool {
	if c.commonClasses > 0 {
		c.remaining = resize(c.remaining, c.count()*c.commonClasses)
		for _, d := range c.domains {
			for _, n := range c.requests[d.request].common {
				for _, number := range c.providers[d.from:d.to] {
					p, _ := c.provider(number)
					s := p.Inventory(n.class)
					// One candidate may take max_unit at most, among however many groups it is divided.
					c.remaining[int(number)*c.commonClasses+n.common] = min(s.Capacity()-s.Used, s.MaxUnit)
				}
			}
		}
	}
	if c.requested.Isolate {
		c.taken = resize(c.taken, c.count())
		clear(c.taken)
	}
	if c.words = (len(c.required) + 63) >> 6; c.words > 0 && !c.prepareTraits() {
		return false
	}
	if len(c.sameSubtrees) > 0 {
		c.subtrees.prepare(&c.treeOptions)
	}
	return true
}

// prepareTraits works out which required sets each option satisfies, and each depth still can.
// Traits on the providers of suffixed groups do not count.
func (c *constraints) prepareTraits() bool {
	n, words := len(c.domains), c.words
	c.has = resize(c.has, len(c.providers)*words)
	clear(c.has)
	for _, d := range c.domains {
		if c.requests[d.request].granular {
			continue
		}
		for at := d.from; at < d.to; at++ {
			p, _ := c.provider(c.providers[at])
			for i, anyOf := range c.required {
				if hasAny(p, anyOf) {
					bitset(c.has[at*words:]).add(i)
				}
			}
		}
	}
	c.missing = resize(c.missing, (n+1)*words)
	c.reach = resize(c.reach, (n+1)*words)
	bitset(c.missing[:words]).fill(len(c.required))
	clear(c.reach[n*words:])
	for depth := n - 1; depth >= 0; depth-- {
		reach := c.reach[depth*words : (depth+1)*words]
		copy(reach, c.reach[(depth+1)*words:])
		d := c.domains[depth]
		if c.requests[d.request].granular {
			continue
		}
		for at := d.from; at < d.to; at++ {
			bitset(reach).or(c.has[at*words : (at+1)*words])
		}
	}
	return c.coverable(0)
}

// coverable reports whether the domains from depth on could satisfy what is missing there.
func (c *constraints) coverable(depth int) bool {
	for i := range c.words {
		if c.missing[depth*c.words+i]&^c.reach[depth*c.words+i] != 0 {
			return false
		}
	}
	return true
}

// cover works out which traits would still be missing with the option at a place, and reports
// whether the deeper domains could have them.
func (c *constraints) cover(depth, at int, r *request) bool {
	now, then := depth*c.words, (depth+1)*c.words
	for i := range c.words {
		c.missing[then+i] = c.missing[now+i]
		if !r.granular {
			c.missing[then+i] &^= c.has[at*c.words+i]
		}
	}
	return c.coverable(depth + 1)
}

// affords reports whether what is left on a provider is enough for a request.
func (c *constraints) affords(r *request, number int32) bool {
	for i := range r.common {
		n := &r.common[i]
		if c.remaining[int(number)*c.commonClasses+n.common] < n.amount {
			return false
		}
	}
	return true
}

// take gives a provider to a request: what it needs is subtracted from what is left.
func (c *constraints) take(r *request, number int32) { c.add(r, number, -1) }

// release takes back what take gave.
func (c *constraints) release(r *request, number int32) { c.add(r, number, 1) }

// add adds what a request needs to what is left on a provider, or subtracts it when sign is -1.
func (c *constraints) add(r *request, number int32, sign int64) {
	if r.granular && c.requested.Isolate {
		c.taken[number] = sign < 0
	}
	for i := range r.common {
		n := &r.common[i]
		c.remaining[int(number)*c.commonClasses+n.common] += sign * n.amount
	}
}
