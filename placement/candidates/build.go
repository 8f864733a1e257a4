package candidates

import (
	"math/bits"
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

	alone []Amount            // of every part, one after the other
	taken map[uint64][]Amount // by Use.Parts
	molds molds
}

const noUse = -1

// maxTaken bounds the sums that a builder remembers.
const maxTaken = 1024

// maskable is how many parts the bits of Use.Parts can tell apart.
const maskable = 64

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
	b.alone = b.alone[:0]
	for i := range p.parts {
		for _, n := range p.parts[i].needs {
			b.alone = append(b.alone, Amount{n.class, n.amount})
		}
	}
}

// forget drops what the builder refers to.
func (b *builder) forget() {
	clear(b.uses[:cap(b.uses)])
	clear(b.mapped[:cap(b.mapped)])
	b.taken = cleared(b.taken)
	b.molds.forget()
}

// candidate makes a candidate of the combination in picks.
func (c *combiner) candidate() Candidate {
	b, picks := &c.builder, c.picks
	if !c.mold(picks) {
		c.collect(picks)
		c.mapSpread()
		c.keepMold(picks)
	}
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
			b.uses = append(b.uses, Use{Provider: p, Tree: tree, Index: c.index(local)})
			b.locals = append(b.locals, local)
		}
		b.uses[b.owner[local]].Parts |= 1 << (k % maskable)
	}
	for k, local := range picks {
		if len(c.parts[k].needs) == 0 && b.owner[local] != noUse {
			b.uses[b.owner[local]].Parts |= 1 << (k % maskable)
		}
	}
	for i, local := range b.locals {
		b.owner[local] = noUse
		c.sum(&b.uses[i], local, picks)
	}
}

// sum adds up what the parts take from the provider of a use.
func (c *combiner) sum(u *Use, local int32, picks []int32) {
	b := &c.builder
	switch {
	case len(c.parts) > maskable:
		u.Parts = 0
		u.Amounts = c.add(local, picks)
	case u.Parts&(u.Parts-1) == 0:
		t := &c.parts[bits.TrailingZeros64(u.Parts)]
		from, to := t.before, t.before+len(t.needs)
		u.Amounts = b.alone[from:to:to]
	default:
		amounts, ok := b.taken[u.Parts]
		if !ok {
			amounts = c.add(local, picks)
			b.remember(u.Parts, amounts)
		}
		u.Amounts = amounts
	}
}

// remember keeps the sums of some parts.
func (b *builder) remember(parts uint64, amounts []Amount) {
	if b.taken == nil || len(b.taken) == maxTaken {
		b.taken = make(map[uint64][]Amount)
	}
	b.taken[parts] = amounts
}

// add adds up what is taken from a provider, each class once.
func (c *combiner) add(local int32, picks []int32) (amounts []Amount) {
	for k := range picks {
		if picks[k] != local {
			continue
		}
		for i := range c.parts[k].needs {
			amounts = c.parts[k].needs[i].addTo(amounts)
		}
	}
	return amounts
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
