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
	uses    []Use   // as many as a candidate may have
	numbers []int32 // of each use's provider

	mapped   []*snapshot.Provider   // by request
	mappings [][]*snapshot.Provider // by group: pieces of mapped, with room for one provider of each request
}

// reserve makes space for the candidates of a query.
func (b *builder) reserve(q *compiledQuery) {
	b.uses, b.mapped = resize(b.uses, len(q.requests)), resize(b.mapped, len(q.requests))
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
	// 1. What is taken from each provider.
	b.numbers = b.numbers[:0]
	for k, number := range a.assigned {
		p, tree := a.provider(number)
		b.mapped[k] = p
		r := &a.requests[k]
		if len(r.needs) == 0 {
			continue
		}
		at := slices.Index(b.numbers, number)
		if at < 0 {
			at = len(b.numbers)
			b.numbers = append(b.numbers, number)
			u := &b.uses[at] // with the memory of an earlier candidate's amounts
			u.Provider, u.Tree, u.Amounts = p, tree, u.Amounts[:0]
		}
		u := &b.uses[at]
		for i := range r.needs {
			u.Amounts = r.needs[i].addTo(u.Amounts)
		}
	}
	// 2. Each provider of the unsuffixed group once. A suffixed group is one request and has one.
	for group, own := range b.mappings {
		if own = own[:cap(own)]; len(own) < 2 {
			continue
		}
		once := own[:1]
		for _, p := range own[1:] {
			if !slices.Contains(once, p) {
				once = append(once, p)
			}
		}
		b.mappings[group] = once
	}
	return Candidate{Anchor: a.tree, Uses: b.uses[:len(b.numbers)], Mappings: b.mappings}
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
