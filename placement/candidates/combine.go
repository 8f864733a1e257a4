package candidates

import (
	"sync"

	"github.com/berthcloud/berth/placement"
)

// A combiner enumerates the combinations of one tree after another. It is used
// by one goroutine at a time, and its memory is used again for every tree.
type combiner struct {
	*plan
	tree *placement.Tree // the anchor
	slot int
	// near are the sharers that share with the anchor. Their local numbers
	// follow those of the tree's own providers.
	near []int32

	options []option
	// masks tell for each option which sets of plan.required it satisfies,
	// words to each.
	masks []uint64
	words int
	// domains are the parts in the order in which they are given a provider;
	// the first depth of them have one.
	domains []domain
	depth   int
	// picks are the options that were taken, by part.
	picks []option

	// left is what remains of each contested class on each local provider.
	left []int64
	// taken marks the local providers that serve a suffixed group already.
	taken []bool
	// missing are the sets of plan.required that are not satisfied yet,
	// words for each depth; reach those that the domains from a depth on
	// could satisfy.
	missing, reach []uint64
	// rootable is, for each same_subtree set and local provider, the last
	// domain of the set that could have the provider, or -1.
	rootable []int32

	dead    int // dead ends since the last combination
	match   matcher
	builder builder
}

// An option is a provider that can serve a part.
type option struct {
	provider *placement.Provider
	tree     *placement.Tree // the provider's own
	local    int32           // its number in this combiner
}

// A domain is the options of one part.
type domain struct {
	part     int
	from, to int // in options
	pos      int // the option that is taken or was tried last
}

var combiners = sync.Pool{New: func() any { return new(combiner) }}

// newCombiner takes a combiner from the pool; it must be released.
func newCombiner(p *plan) *combiner {
	c := combiners.Get().(*combiner)
	c.plan = p
	c.words = (len(p.required) + 63) >> 6
	c.picks = resize(c.picks, len(p.parts))
	c.domains = c.domains[:0]
	c.builder.reserve(p)
	return c
}

// release gives the combiner's memory back, without what it refers to.
func (c *combiner) release() {
	c.plan, c.tree = nil, nil
	clear(c.options[:cap(c.options)])
	clear(c.picks)
	c.builder.forget()
	combiners.Put(c)
}

// open starts with another tree. It reports false when it can see that there is
// nothing to enumerate.
func (c *combiner) open(slot int) bool {
	return c.gather(slot) && c.prepare()
}

// gather lists the options in a tree and reports whether every part has any.
func (c *combiner) gather(slot int) bool {
	c.slot, c.tree = slot, c.w.Tree(slot)
	root := c.tree.Root()
	if !c.suits(root) {
		return false
	}
	c.approach()
	c.options, c.masks, c.domains = c.options[:0], c.masks[:0], c.domains[:0]
	c.depth, c.dead = 0, 0
	for k := range c.parts {
		if !c.list(k, root) {
			return false
		}
	}
	return true
}

// approach finds the sharers near the tree and makes room for local providers.
func (c *combiner) approach() {
	c.near = c.near[:0]
	for i := range c.sharers {
		if s := &c.sharers[i]; s.anchors.has(c.slot) && s.tree != c.tree {
			c.near = append(c.near, int32(i))
		}
	}
	if c.contested > 0 {
		c.left = resize(c.left, c.locals()*c.contested)
	}
}

// locals is how many providers can serve at this anchor.
func (c *combiner) locals() int { return len(c.tree.Providers) + len(c.near) }

// list finds the options of a part and reports whether there are any.
func (c *combiner) list(k int, root *placement.Provider) bool {
	t := &c.parts[k]
	if t.repels(root) {
		return false
	}
	from := len(c.options)
	if t.within(c.slot) {
		spanned := t.spans(root)
		for _, p := range c.tree.Providers {
			if v, _ := t.judge(p, spanned); v == fits {
				c.offer(k, option{p, c.tree, int32(p.Index)})
			}
		}
	}
	for i, at := range c.near {
		if s := &c.sharers[at]; s.serves[k] {
			c.offer(k, option{s.provider, s.tree, int32(len(c.tree.Providers) + i)})
		}
	}
	c.domains = append(c.domains, domain{part: k, from: from, to: len(c.options), pos: from - 1})
	return len(c.options) > from
}

// offer adds an option of a part.
func (c *combiner) offer(k int, o option) {
	c.options = append(c.options, o)
	t := &c.parts[k]
	for i := range t.needs {
		if n := &t.needs[i]; n.contest >= 0 {
			c.left[int(o.local)*c.contested+n.contest] = free(o.provider.Stock(n.class))
		}
	}
	if c.words > 0 {
		c.maskOption(t, o.provider)
	}
}

// free is the most that one candidate may take of a stock, whatever the number
// of groups among which it is divided.
func free(s *placement.Stock) int64 {
	return min(s.Capacity()-s.Used, s.MaxUnit)
}

// maskOption notes which of the required sets a provider satisfies. Traits on
// the providers of suffixed groups do not count.
func (c *combiner) maskOption(t *part, p *placement.Provider) {
	at := len(c.masks)
	for range c.words {
		c.masks = append(c.masks, 0)
	}
	if t.granular {
		return
	}
	for i, anyOf := range c.required {
		if hasAny(p, anyOf) {
			bitset(c.masks[at:]).add(i)
		}
	}
}

// order puts the parts with the fewest options first: fewer branches end dead.
// Parts with as many options keep the order of the query.
func (c *combiner) order() {
	ds := c.domains
	for i := 1; i < len(ds); i++ {
		d := ds[i]
		j := i
		for ; j > 0 && ds[j-1].to-ds[j-1].from > d.to-d.from; j-- {
			ds[j] = ds[j-1]
		}
		ds[j] = d
	}
}

// prepare sets up what place needs for the options that were gathered, and
// reports false when the required traits are out of reach.
func (c *combiner) prepare() bool {
	c.order()
	if c.isolate() {
		c.taken = resize(c.taken, c.locals())
		clear(c.taken)
	}
	if c.words > 0 && !c.prepareTraits() {
		return false
	}
	c.prepareSubtrees()
	return true
}

// isolate reports whether suffixed groups must have different providers.
func (p *plan) isolate() bool { return p.query.Isolate }

// prepareTraits works out which required sets each depth can still satisfy.
func (c *combiner) prepareTraits() bool {
	n, words := len(c.domains), c.words
	c.missing = resize(c.missing, (n+1)*words)
	c.reach = resize(c.reach, (n+1)*words)
	bitset(c.missing[:words]).fill(len(c.required))
	clear(c.reach[n*words:])
	for d := n - 1; d >= 0; d-- {
		reach := c.reach[d*words : (d+1)*words]
		copy(reach, c.reach[(d+1)*words:])
		for o := c.domains[d].from; o < c.domains[d].to; o++ {
			bitset(reach).or(c.masks[o*words : (o+1)*words])
		}
	}
	return c.coverable(0)
}

// coverable reports whether the domains from depth on could satisfy what is
// missing there.
func (c *combiner) coverable(depth int) bool {
	for i := range c.words {
		if c.missing[depth*c.words+i]&^c.reach[depth*c.words+i] != 0 {
			return false
		}
	}
	return true
}

// resize returns a slice of length n, s itself when it has the room; its
// content is whatever was there.
func resize[T any](s []T, n int) []T {
	if cap(s) < n {
		return make([]T, n, 2*n)
	}
	return s[:n]
}
