package candidates

import (
	"slices"

	"github.com/berthcloud/berth/placement"
	"github.com/berthcloud/berth/placement/snapshot"
)

// A Candidate is one way to satisfy a query. Its slices belong to the loop that
// yields it and are good until the next candidate; what they point to belongs
// to the snapshot.
type Candidate struct {
	// Anchor is the tree that the candidate belongs to: its providers are in
	// that tree or share with it. A candidate of sharing providers alone may
	// have several anchors, of which this is one.
	Anchor *snapshot.Tree
	// Uses are what is taken from each provider, each provider once, in the
	// order in which the groups come to them.
	Uses []Use
	// Mappings are the providers that satisfy each group, in the order of
	// Result.Groups: one for a suffixed group, which need not be in Uses
	// when the group has no resources, and one or more for the unsuffixed
	// one.
	Mappings [][]*snapshot.Provider
}

// A Use is what a candidate takes from one provider.
type Use struct {
	Provider *snapshot.Provider
	Tree     *snapshot.Tree // the provider's own, which need not be the anchor
	Index    int            // Provider.Index, for those who need not look at the provider
	Amounts  []Amount       // each class once, summed over the groups
}

// An Amount is so much of a resource class.
type Amount struct {
	Class  placement.ClassID
	Amount int64
}

// A builder makes candidates of assignments and has the memory of the one
// that is being yielded.
type builder struct {
	uses    []Use
	numbers []int32 // of each use's provider
	// useOf has for each number the index of that provider's use, noUse between candidates.
	useOf []int32

	mapped   []*snapshot.Provider   // by request
	mappings [][]*snapshot.Provider // by group
}

// noUse is the index of no use.
const noUse = -1

// reserve makes space for the candidates of a query.
func (b *builder) reserve(q *compiledQuery) {
	b.mapped = resize(b.mapped, len(q.requests))
	b.mappings = b.mappings[:0]
	for k := 0; k < len(q.requests); {
		from := k
		for k < len(q.requests) && q.requests[k].group == q.requests[from].group {
			k++
		}
		b.mappings = append(b.mappings, b.mapped[from:k:k])
	}
}

// reset drops what the builder refers to.
func (b *builder) reset() {
	for i := range b.uses[:cap(b.uses)] {
		u := &b.uses[:cap(b.uses)][i]
		u.Provider, u.Tree = nil, nil
	}
	clear(b.mapped[:cap(b.mapped)])
}

// candidate makes the candidate of a complete assignment.
func (b *builder) candidate(a *assignment) Candidate {
	for len(b.useOf) < a.count() {
		b.useOf = append(b.useOf, noUse)
	}
	// 1. What is taken from each provider.
	b.uses, b.numbers = b.uses[:0], b.numbers[:0]
	for k, number := range a.assigned {
		p, tree := a.provider(number)
		b.mapped[k] = p
		r := &a.requests[k]
		if len(r.needs) == 0 {
			continue
		}
		if b.useOf[number] == noUse {
			b.useOf[number] = int32(len(b.uses))
			b.numbers = append(b.numbers, number)
			u := Use{Provider: p, Tree: tree, Index: p.Index}
			if n := len(b.uses); n < cap(b.uses) {
				u.Amounts = b.uses[:n+1][n].Amounts[:0] // the memory of an earlier candidate's
			}
			b.uses = append(b.uses, u)
		}
		u := &b.uses[b.useOf[number]]
		for i := range r.needs {
			u.Amounts = r.needs[i].addTo(u.Amounts)
		}
	}
	for _, number := range b.numbers {
		b.useOf[number] = noUse
	}
	// 2. Each provider of the unsuffixed group once. A suffixed group is one request and has one.
	for k := 0; k < len(a.requests); {
		group, from := a.requests[k].group, k
		for k < len(a.requests) && a.requests[k].group == group {
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
	return Candidate{Anchor: a.tree, Uses: b.uses, Mappings: b.mappings}
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
