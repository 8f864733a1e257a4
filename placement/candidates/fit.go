package candidates

import (
	"slices"

	"github.com/berthcloud/berth/placement/snapshot"

	"github.com/berthcloud/berth/placement"
)

// A mismatch is the constraint that keeps a provider from serving a request, or fits. They
// are in the order in which they are looked at.
type mismatch uint8

const (
	fits         mismatch = iota
	noInventory           // it offers none of a class
	outOfUnits            // it offers the class, but never this amount in one allocation
	noCapacity            // it has not this amount free
	lacksTrait            // a required trait
	hasForbidden          // a forbidden trait
	notMember             // of the aggregates it must be in
	isMember              // of an aggregate it must not be in
)

// mismatch returns why a provider cannot serve a request, or fits, and if a class is what it
// fails by, which of the request's needs. rootMember says that the root of the anchor
// is in the aggregates that the request wants, which then hold for its whole tree.
// The tree the provider is in is not looked at.
func (r *request) mismatch(p *snapshot.Provider, rootMember bool) (mismatch, int) {
	for i := range r.needs {
		s := p.Inventory(r.needs[i].class)
		if s == nil {
			return noInventory, i
		}
		if !s.HasFree(r.needs[i].amount) {
			if !s.Admits(r.needs[i].amount) {
				return outOfUnits, i
			}
			return noCapacity, i
		}
	}
	switch {
	case !satisfies(p, r.required):
		return lacksTrait, -1
	case hasAny(p, r.forbidden):
		return hasForbidden, -1
	case !rootMember && !memberOfAll(p, r.memberOf):
		return notMember, -1
	case memberOfAny(p, r.notMemberOf):
		return isMember, -1
	}
	return fits, -1
}

// among returns, for 64 of a tree's providers, which of them offer what a request
// needs and have the traits that it wants: what the tree's own sets say.
func (r *request) among(tree *snapshot.Tree, at int) uint64 {
	set := ^uint64(0)
	if rest := len(tree.Providers) - at<<6; rest < 64 {
		set = 1<<rest - 1
	}
	for i := range r.needs {
		set &= bitset(tree.WithClass(r.needs[i].class)).word(at)
	}
	for _, anyOf := range r.required {
		set &= withAny(tree, anyOf, at)
	}
	return set &^ withAny(tree, r.forbidden, at)
}

// withAny is among for providers that have any of the traits.
func withAny(tree *snapshot.Tree, ids []placement.TraitID, at int) (set uint64) {
	for _, id := range ids {
		set |= bitset(tree.WithTrait(id)).word(at)
	}
	return set
}

// aggregatesMatch reports whether a provider's aggregates are those that a request wants.
func (r *request) aggregatesMatch(p *snapshot.Provider, rootMember bool) bool {
	if len(r.memberOf)+len(r.notMemberOf) == 0 {
		return true
	}
	return (rootMember || memberOfAll(p, r.memberOf)) && !memberOfAny(p, r.notMemberOf)
}

// hasCapacity reports whether a provider has the free capacity for what a request needs.
func (r *request) hasCapacity(p *snapshot.Provider) bool {
	for i := range r.needs {
		if !p.Inventory(r.needs[i].class).HasFree(r.needs[i].amount) {
			return false
		}
	}
	return true
}

// rootCountsForAll reports whether the root's aggregates make the whole tree a member of
// what the request wants. That holds for the unsuffixed group only.
func (r *request) rootCountsForAll(root *snapshot.Provider) bool {
	return !r.granular && memberOfAll(root, r.memberOf)
}

// excludesTree reports whether a tree with this root can anchor nothing for the request:
// the unsuffixed group may not be in a tree whose root is in an aggregate that
// it must avoid, not even on providers that share with the tree.
func (r *request) excludesTree(root *snapshot.Provider) bool {
	return !r.granular && memberOfAny(root, r.notMemberOf)
}

// within reports whether providers of the tree at that index may serve.
func (r *request) within(index int) bool { return r.inTree < 0 || r.inTree == index }

// mayUseSharing reports whether providers from outside the anchor's tree may serve
// when they share. For a suffixed group in_tree is about the provider's own
// tree, for the unsuffixed one it rules out all others.
func (r *request) mayUseSharing(index int) bool {
	if r.granular {
		return r.within(index)
	}
	return r.inTree < 0
}

// rootQualifies reports whether the tree's root has what root_required wants.
func (q *compiledQuery) rootQualifies(root *snapshot.Provider) bool {
	for _, id := range q.rootRequired {
		if !root.HasTrait(id) {
			return false
		}
	}
	return !hasAny(root, q.rootForbidden)
}

// satisfies reports whether p has a trait of each set.
func satisfies(p *snapshot.Provider, sets [][]placement.TraitID) bool {
	for _, anyOf := range sets {
		if !hasAny(p, anyOf) {
			return false
		}
	}
	return true
}

// hasAny reports whether p has one of the traits; of none it has none.
func hasAny(p *snapshot.Provider, ids []placement.TraitID) bool {
	return slices.ContainsFunc(ids, p.HasTrait)
}

// memberOfAll reports whether p is in an aggregate of each set.
func memberOfAll(p *snapshot.Provider, sets [][]placement.AggregateID) bool {
	for _, anyOf := range sets {
		if !memberOfAny(p, anyOf) {
			return false
		}
	}
	return true
}

// memberOfAny reports whether p itself is a member of one of the aggregates.
func memberOfAny(p *snapshot.Provider, ids []placement.AggregateID) bool {
	return slices.ContainsFunc(ids, p.InAggregate)
}
