package candidates

import (
	"slices"

	"github.com/berthcloud/berth/placement"
)

// prepareSubtrees notes which local providers could be the common ancestor that
// each same_subtree set needs, and until which depth.
func (c *combiner) prepareSubtrees() {
	if len(c.subtrees) == 0 {
		return
	}
	locals := c.locals()
	c.rootable = resize(c.rootable, len(c.subtrees)*locals)
	for i := range c.rootable {
		c.rootable[i] = -1
	}
	for s, set := range c.subtrees {
		for d := range c.domains {
			if !slices.Contains(set, c.domains[d].part) {
				continue
			}
			for _, local := range c.options[c.domains[d].from:c.domains[d].to] {
				c.rootable[s*locals+int(local)] = int32(d)
			}
		}
	}
}

// rooted reports whether the same_subtree sets that a part is in can still hold
// with the option that is in its picks: the providers of the groups of a set
// must all be below one of them, or be it. The domains from open on are those
// that may still bring that one.
func (c *combiner) rooted(part, open int) bool {
	for s, set := range c.subtrees {
		if slices.Contains(set, part) && !c.holds(s, part, open) {
			return false
		}
	}
	return true
}

// holds is rooted for one set.
func (c *combiner) holds(s, part, open int) bool {
	set := c.subtrees[s]
	top, tree := c.provider(c.picks[part])
	for d := range c.depth {
		if k := c.domains[d].part; slices.Contains(set, k) {
			other, its := c.provider(c.picks[k])
			if its != tree {
				return false
			}
			top = meet(tree, top, other)
		}
	}
	// top is the lowest provider that is above all; it or one above it must
	// belong to the set.
	for {
		local := c.localOf(top)
		if local >= 0 && (c.picked(set, part, local) || c.pending(s, local, open)) {
			return true
		}
		if top.Parent < 0 {
			return false
		}
		top = tree.Providers[top.Parent]
	}
}

// picked reports whether a part of the set has the provider already.
func (c *combiner) picked(set []int, part int, local int32) bool {
	if c.picks[part] == local {
		return true
	}
	for d := range c.depth {
		if k := c.domains[d].part; c.picks[k] == local && slices.Contains(set, k) {
			return true
		}
	}
	return false
}

// pending reports whether a part of the set in the domains from open on could
// have the provider.
func (c *combiner) pending(s int, local int32, open int) bool {
	return int(c.rootable[s*c.locals()+int(local)]) >= open
}

// localOf returns the number of a provider in the combiner, -1 when it has none.
func (c *combiner) localOf(p *placement.Provider) int32 {
	if c.tree.Has(p) {
		return int32(p.Index)
	}
	for i, at := range c.near {
		if c.sharers[at].provider == p {
			return int32(len(c.tree.Providers) + i)
		}
	}
	return -1
}

// meet returns the lowest provider that is a and b or above them.
func meet(t *placement.Tree, a, b *placement.Provider) *placement.Provider {
	for {
		if above(t, a, b) {
			return a
		}
		a = t.Providers[a.Parent]
	}
}

// above reports whether a is b or an ancestor of it.
func above(t *placement.Tree, a, b *placement.Provider) bool {
	for a != b {
		if b.Parent < 0 {
			return false
		}
		b = t.Providers[b.Parent]
	}
	return true
}
