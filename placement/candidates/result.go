package candidates

import (
	"iter"

	"github.com/berthcloud/berth/placement"
)

// A Result is the answer to a query. It is safe for concurrent use, and may be
// ranged over more than once.
type Result struct {
	plan *plan
}

// A Candidate is one way to satisfy a query. Its slices belong to the loop that
// yields it and are good until the next candidate; what they point to belongs
// to the world.
type Candidate struct {
	// Anchor is the tree that the candidate belongs to: its providers are in
	// that tree or share with it. A candidate of sharing providers alone may
	// have several anchors, of which this is one.
	Anchor *placement.Tree
	// Uses are what is taken from each provider, each provider once, in the
	// order in which the groups come to them.
	Uses []Use
	// Mappings are the providers that satisfy each group, in the order of
	// Result.Groups: one for a suffixed group, which need not be in Uses
	// when the group has no resources, and one or more for the unsuffixed
	// one.
	Mappings [][]*placement.Provider
}

// A Use is what a candidate takes from one provider.
type Use struct {
	Provider *placement.Provider
	Tree     *placement.Tree // the provider's own, which need not be the anchor
	Amounts  []Amount        // each class once, summed over the groups
}

// An Amount is so much of a resource class.
type Amount struct {
	Class  placement.ClassID
	Amount int64
}

func newResult(p *plan) *Result { return &Result{p} }

// first returns the result cut to one candidate, whatever the query says.
func (r *Result) first() *Result {
	p := *r.plan
	p.query.Limit, p.query.Max = 1, 0
	p.query.Sample, p.query.BreadthFirst, p.query.Flat = nil, false, false
	return &Result{&p}
}

// unlimited returns the result with all its candidates, in the order of the
// walk.
func (r *Result) unlimited() *Result {
	p := *r.plan
	p.query.Limit, p.query.Sample = 0, nil
	return &Result{&p}
}

// Groups returns the suffixes of the groups in the order of Mappings. It must
// not be changed.
func (r *Result) Groups() []string { return r.plan.groups }

// Classes returns the resource classes that the query asks for, sorted. It must
// not be changed, and is empty when the query names something that does not
// exist.
func (r *Result) Classes() []placement.ClassID { return r.plan.classes }

// All yields the candidates. They are generated one by one, so that breaking
// off early saves the work for the rest; only a query with a Sample looks at all
// candidates before it yields the first, and holds as many as Limit allows.
func (r *Result) All() iter.Seq[Candidate] {
	return func(yield func(Candidate) bool) {
		if r.plan.impossible {
			return
		}
		c := newCombiner(r.plan)
		defer c.release()
		if r.plan.query.Sample != nil {
			c.sample(yield)
		} else {
			c.all(yield)
		}
	}
}

// all yields the candidates in the order of the walk.
func (c *combiner) all(yield func(Candidate) bool) {
	left := c.query.Limit
	w := newWalk(c)
	for w.next() {
		if c.tangled(c.picks) {
			continue
		}
		if !yield(c.build(c.tree, c.picks)) {
			return
		}
		if left--; left == 0 {
			return
		}
	}
}

// tangled reports whether a combination must be kept from clients that do not
// know of trees: when two different providers of one tree give resources.
// Upstream leaves them out after it has cut the list to Max, so that there can
// be fewer than Max even though there are more.
func (c *combiner) tangled(picks []option) bool {
	if !c.query.Flat {
		return false
	}
	for i, o := range picks {
		if len(c.parts[i].needs) == 0 {
			continue
		}
		for j, other := range picks[:i] {
			if o.tree == other.tree && o.provider != other.provider && len(c.parts[j].needs) > 0 {
				return true
			}
		}
	}
	return false
}

// A builder holds the memory of the candidate that is being yielded.
type builder struct {
	uses     []Use
	amounts  []Amount
	mapped   []*placement.Provider
	mappings [][]*placement.Provider
}

// build makes a candidate of a combination.
func (c *combiner) build(anchor *placement.Tree, picks []option) Candidate {
	b := &c.builder
	b.uses, b.amounts, b.mapped, b.mappings = b.uses[:0], b.amounts[:0], b.mapped[:0], b.mappings[:0]
	for k := range picks {
		if len(c.parts[k].needs) > 0 {
			b.use(&picks[k])
		}
	}
	for i := range b.uses {
		c.sum(&b.uses[i], picks)
	}
	for k := 0; k < len(picks); {
		k = c.mapGroup(k, picks)
	}
	return Candidate{Anchor: anchor, Uses: b.uses, Mappings: b.mappings}
}

// reserve makes room for any candidate of the plan, so that slices handed out
// while one is built are not left behind by growth.
func (b *builder) reserve(p *plan) {
	needs := 0
	for i := range p.parts {
		needs += len(p.parts[i].needs)
	}
	b.amounts = resize(b.amounts, needs)
	b.mapped = resize(b.mapped, len(p.parts))
}

// forget drops what the builder refers to.
func (b *builder) forget() {
	clear(b.uses[:cap(b.uses)])
	clear(b.mapped[:cap(b.mapped)])
}

// use adds the provider of an option, once.
func (b *builder) use(o *option) {
	for i := range b.uses {
		if b.uses[i].Provider == o.provider {
			return
		}
	}
	b.uses = append(b.uses, Use{Provider: o.provider, Tree: o.tree})
}

// sum adds up what all parts take from the provider of a use.
func (c *combiner) sum(u *Use, picks []option) {
	b := &c.builder
	from := len(b.amounts)
	for k := range picks {
		if picks[k].provider != u.Provider {
			continue
		}
		for i := range c.parts[k].needs {
			b.take(from, &c.parts[k].needs[i])
		}
	}
	u.Amounts = b.amounts[from:len(b.amounts):len(b.amounts)]
}

// take adds a need to the amounts that start at from.
func (b *builder) take(from int, n *need) {
	if n.contest >= 0 {
		for i := from; i < len(b.amounts); i++ {
			if b.amounts[i].Class == n.class {
				b.amounts[i].Amount += n.amount
				return
			}
		}
	}
	b.amounts = append(b.amounts, Amount{n.class, n.amount})
}

// mapGroup lists the providers of the group that part k begins, and returns the
// part at which the next group begins.
func (c *combiner) mapGroup(k int, picks []option) int {
	b := &c.builder
	from, group := len(b.mapped), c.parts[k].group
	for ; k < len(picks) && c.parts[k].group == group; k++ {
		known := false
		for _, p := range b.mapped[from:] {
			known = known || p == picks[k].provider
		}
		if !known {
			b.mapped = append(b.mapped, picks[k].provider)
		}
	}
	b.mappings = append(b.mappings, b.mapped[from:len(b.mapped):len(b.mapped)])
	return k
}
