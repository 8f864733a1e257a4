package candidates

import (
	"sync"

	"github.com/berthcloud/berth/placement"
)

// A combiner enumerates the combinations of one tree after another. It is used
// by one goroutine at a time, and its memory is used again for every tree.
//
// It numbers the providers that can serve: those of the tree by their index, and
// after them the sharers near the tree.
type combiner struct {
	*plan
	tree *placement.Tree // the anchor
	slot int
	near []int32 // the sharers that share with the anchor

	// options are providers that can serve a part.
	options []int32
	// masks tell for each option which sets of plan.required it satisfies,
	// words to each.
	masks []uint64
	words int
	// domains are the parts in the order in which they are given a provider;
	// the first depth of them have one.
	domains []domain
	depth   int
	// picks are the providers that the parts were given.
	picks []int32

	// left is what remains of each contested class on each provider.
	left []int64
	// taken marks the providers that serve a suffixed group already.
	taken []bool
	// missing are the sets of plan.required that are not satisfied yet,
	// words for each depth; reach those that the domains from a depth on
	// could satisfy.
	missing, reach []uint64
	subtree        subtreeCheck

	// suspect is the part that the last tree had no option for, -1 when it
	// had some for all.
	suspect int

	dead     int // dead ends since the last combination
	sketches sketches
	match    matcher
	builder  builder
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
	c.suspect = -1
	c.builder.reserve(p)
	return c
}

// release gives the combiner's memory back, without what it refers to.
func (c *combiner) release() {
	c.plan, c.tree = nil, nil
	c.builder.forget()
	c.sketches.forget()
	combiners.Put(c)
}

// open starts with another tree. It reports false when it can see that there is
// nothing to enumerate.
func (c *combiner) open(slot int) bool {
	return c.gather(slot) && c.prepare()
}

// gather lists the options in a tree and reports whether every part has any.
func (c *combiner) gather(slot int) bool {
	c.enter(slot)
	root := c.tree.Root()
	if !c.suits(root) {
		return false
	}
	c.options, c.masks, c.domains = c.options[:0], c.masks[:0], c.domains[:0]
	c.depth, c.dead = 0, 0
	if c.contested > 0 {
		c.left = resize(c.left, c.locals()*c.contested)
	}
	sketch := c.sketch()
	if !c.hopeful(root, sketch) {
		return false
	}
	for k := range c.parts {
		if !c.list(k, root, row(sketch, k)) {
			c.suspect = k
			return false
		}
	}
	c.suspect = -1
	return true
}

// hopeful looks first for what the last tree lacked: trees that lack anything
// often lack the same.
func (c *combiner) hopeful(root *placement.Provider, sketch []int32) bool {
	if c.suspect < 0 || len(c.near) > 0 {
		return true
	}
	t := &c.parts[c.suspect]
	spanned := t.spans(root)
	each := 1 + len(t.needs)
	for rest := row(sketch, c.suspect); len(rest) > 0; rest = rest[each:] {
		if p := c.tree.Providers[rest[0]]; t.affordable(p, rest[1:each]) && t.admits(p, spanned) {
			return true
		}
	}
	return false
}

// enter makes a tree the anchor.
func (c *combiner) enter(slot int) {
	c.slot, c.tree = slot, c.w.Tree(slot)
	c.near = c.near[:0]
	for i := range c.sharers {
		if s := &c.sharers[i]; s.anchors.has(slot) && s.tree != c.tree {
			c.near = append(c.near, int32(i))
		}
	}
}

// locals is how many providers can serve at this anchor.
func (c *combiner) locals() int { return len(c.tree.Providers) + len(c.near) }

// sharer returns the sharer of that number, nil when it is a provider of the
// tree.
func (c *combiner) sharer(local int32) *sharer {
	if away := int(local) - len(c.tree.Providers); away >= 0 {
		return &c.sharers[c.near[away]]
	}
	return nil
}

// provider returns the provider of that number and its tree.
func (c *combiner) provider(local int32) (*placement.Provider, *placement.Tree) {
	if int(local) < len(c.tree.Providers) {
		return c.tree.Providers[local], c.tree
	}
	s := c.sharer(local)
	return s.provider, s.tree
}

// index returns the Index of the provider of that number.
func (c *combiner) index(local int32) int {
	if int(local) < len(c.tree.Providers) {
		return int(local)
	}
	return c.sharer(local).provider.Index
}

// list finds the options of a part, those in the tree from what the sketch has
// of it, and reports whether there are any.
func (c *combiner) list(k int, root *placement.Provider, sketch []int32) bool {
	t := &c.parts[k]
	if t.like >= 0 {
		d := c.domains[t.like]
		c.domains = append(c.domains, domain{part: k, from: d.from, to: d.to, pos: d.from - 1})
		return true
	}
	if t.repels(root) {
		return false
	}
	from := len(c.options)
	if t.within(c.slot) {
		c.listHome(t, root, sketch)
	}
	for i, at := range c.near {
		if s := &c.sharers[at]; s.serves[k] {
			c.offer(t, int32(len(c.tree.Providers)+i), s.provider)
		}
	}
	c.domains = append(c.domains, domain{part: k, from: from, to: len(c.options), pos: from - 1})
	return len(c.options) > from
}

// listHome finds the options in the tree.
func (c *combiner) listHome(t *part, root *placement.Provider, sketch []int32) {
	spanned := t.spans(root)
	for each := 1 + len(t.needs); len(sketch) > 0; sketch = sketch[each:] {
		local := sketch[0]
		p := c.tree.Providers[local]
		if t.affordable(p, sketch[1:each]) && t.admits(p, spanned) {
			c.offer(t, local, p)
		}
	}
}

// offer adds an option of a part.
func (c *combiner) offer(t *part, local int32, p *placement.Provider) {
	c.options = append(c.options, local)
	if c.contested > 0 {
		c.fillLeft(t, local, p)
	}
	if c.words > 0 {
		c.maskOption(t, p)
	}
}

// fillLeft notes what a provider has of the contested classes that a part needs.
func (c *combiner) fillLeft(t *part, local int32, p *placement.Provider) {
	for i := range t.needs {
		if n := &t.needs[i]; n.contest >= 0 {
			c.left[int(local)*c.contested+n.contest] = free(p.Stock(n.class))
		}
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
