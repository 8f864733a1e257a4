package candidates

import (
	"slices"

	"github.com/berthcloud/berth/placement"
)

// A builder makes candidates of combinations and holds the memory of the one
// that is being yielded.
type builder struct {
	uses   []Use
	locals []int32 // the number of each use's provider
	// owner tells for each provider which use is its own, noUse between
	// candidates.
	owner []int32

	mapped   []*placement.Provider   // by part
	mappings [][]*placement.Provider // by group
}

const noUse = -1

// reserve makes room for the candidates of a plan.
func (b *builder) reserve(p *plan) {
	b.mapped = resize(b.mapped, len(p.parts))
	b.mappings = b.mappings[:0]
	for k := 0; k < len(p.parts); {
		from := k
		for k < len(p.parts) && p.parts[k].group == p.parts[from].group {
			k++
		}
		b.mappings = append(b.mappings, b.mapped[from:k:k])
	}
}

// forget drops what the builder refers to.
func (b *builder) forget() {
	for i := range b.uses[:cap(b.uses)] {
		u := &b.uses[:cap(b.uses)][i]
		u.Provider, u.Tree = nil, nil
	}
	clear(b.mapped[:cap(b.mapped)])
}

// candidate makes a candidate of the combination in picks.
func (c *combiner) candidate() Candidate {
	b := &c.builder
	c.collect(c.picks)
	c.mapSpread()
	return Candidate{Anchor: c.tree, Uses: b.uses, Mappings: b.mappings}
}

// collect lists what is taken from each provider.
func (c *combiner) collect(picks []int32) {
	b := &c.builder
	for len(b.owner) < c.locals() {
		b.owner = append(b.owner, noUse)
	}
	b.uses, b.locals = b.uses[:0], b.locals[:0]
	for k, local := range picks {
		p, tree := c.provider(local)
		b.mapped[k] = p
		if len(c.parts[k].needs) == 0 {
			continue
		}
		if b.owner[local] == noUse {
			b.owner[local] = int32(len(b.uses))
			b.locals = append(b.locals, local)
			b.addUse(Use{Provider: p, Tree: tree, Index: c.index(local)})
		}
		u := &b.uses[b.owner[local]]
		for i := range c.parts[k].needs {
			u.Amounts = c.parts[k].needs[i].addTo(u.Amounts)
		}
	}
	for _, local := range b.locals {
		b.owner[local] = noUse
	}
}

// addUse adds a use, whose amounts take the memory of those of an earlier candidate.
func (b *builder) addUse(u Use) {
	n := len(b.uses)
	if n < cap(b.uses) {
		u.Amounts = b.uses[:n+1][n].Amounts[:0]
	}
	b.uses = append(b.uses, u)
}

// addTo adds a need to amounts.
func (n *need) addTo(amounts []Amount) []Amount {
	for i := range amounts {
		if amounts[i].Class == n.class {
			amounts[i].Amount += n.amount
			return amounts
		}
	}
	return append(amounts, Amount{n.class, n.amount})
}

// mapSpread lists each provider of the unsuffixed group once. (A suffixed group
// is one part and has one provider.)
func (c *combiner) mapSpread() {
	b := &c.builder
	for k := 0; k < len(c.parts); {
		group := c.parts[k].group
		from := k
		for k < len(c.parts) && c.parts[k].group == group {
			k++
		}
		if k-from < 2 {
			continue
		}
		once := b.mapped[from : from+1]
		for _, p := range b.mapped[from+1 : k] {
			if !slices.Contains(once, p) {
				once = append(once, p)
			}
		}
		b.mappings[group] = once[: len(once) : k-from]
	}
}
