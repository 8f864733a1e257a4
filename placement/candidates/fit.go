package candidates

import (
	"slices"

	"github.com/berthcloud/berth/placement"
)

// A verdict says which constraint keeps a provider from serving a part. They
// are in the order in which they are looked at.
type verdict uint8

const (
	fits         verdict = iota
	noInventory          // it offers none of a class
	noRoom               // it offers the class, but not this amount
	lacksTrait           // a required trait
	hasForbidden         // a forbidden trait
	notMember            // of the aggregates it must be in
	isMember             // of an aggregate it must not be in
)

// judge says whether a provider can serve a part, and if a class is what it
// fails by, which of the part's needs. spanned says that the root of the anchor
// is in the aggregates that the part wants, which then hold for its whole tree.
// The tree the provider is in is not looked at.
func (t *part) judge(p *placement.Provider, spanned bool) (verdict, int) {
	for i := range t.needs {
		s := p.Stock(t.needs[i].class)
		if s == nil {
			return noInventory, i
		}
		if !s.Room(t.needs[i].amount) {
			return noRoom, i
		}
	}
	switch {
	case !satisfies(p, t.required):
		return lacksTrait, -1
	case hasAny(p, t.forbidden):
		return hasForbidden, -1
	case !spanned && !memberOfAll(p, t.memberOf):
		return notMember, -1
	case memberOfAny(p, t.notMemberOf):
		return isMember, -1
	}
	return fits, -1
}

// among returns, for 64 of a tree's providers, which of them offer what a part
// needs and have the traits that it wants: what the tree's own sets say.
func (t *part) among(tree *placement.Tree, at int) uint64 {
	set := ^uint64(0)
	if rest := len(tree.Providers) - at<<6; rest < 64 {
		set = 1<<rest - 1
	}
	for i := range t.needs {
		set &= bitset(tree.WithClass(t.needs[i].class)).word(at)
	}
	for _, anyOf := range t.required {
		set &= withAny(tree, anyOf, at)
	}
	return set &^ withAny(tree, t.forbidden, at)
}

// withAny is among for providers that have any of the traits.
func withAny(tree *placement.Tree, ids []placement.TraitID, at int) (set uint64) {
	for _, id := range ids {
		set |= bitset(tree.WithTrait(id)).word(at)
	}
	return set
}

// aggregatesMatch reports whether a provider's aggregates are those that a part wants.
func (t *part) aggregatesMatch(p *placement.Provider, spanned bool) bool {
	if len(t.memberOf)+len(t.notMemberOf) == 0 {
		return true
	}
	return (spanned || memberOfAll(p, t.memberOf)) && !memberOfAny(p, t.notMemberOf)
}

// hasCapacity reports whether a provider has room for what a part needs.
func (t *part) hasCapacity(p *placement.Provider) bool {
	for i := range t.needs {
		if !p.Stock(t.needs[i].class).Room(t.needs[i].amount) {
			return false
		}
	}
	return true
}

// rootCountsForAll reports whether the root's aggregates make the whole tree a member of
// what the part wants. That holds for the unsuffixed group only.
func (t *part) rootCountsForAll(root *placement.Provider) bool {
	return !t.granular && memberOfAll(root, t.memberOf)
}

// excludesTree reports whether a tree with this root can anchor nothing for the part:
// the unsuffixed group may not be in a tree whose root is in an aggregate that
// it must avoid, not even on providers that share with the tree.
func (t *part) excludesTree(root *placement.Provider) bool {
	return !t.granular && memberOfAny(root, t.notMemberOf)
}

// within reports whether providers of the tree in that slot may serve.
func (t *part) within(slot int) bool { return t.inTree < 0 || t.inTree == slot }

// mayUseSharing reports whether providers from outside the anchor's tree may serve
// when they share. For a suffixed group in_tree is about the provider's own
// tree, for the unsuffixed one it rules out all others.
func (t *part) mayUseSharing(slot int) bool {
	if t.granular {
		return t.within(slot)
	}
	return t.inTree < 0
}

// rootQualifies reports whether the tree's root has what root_required wants.
func (p *plan) rootQualifies(root *placement.Provider) bool {
	for _, id := range p.rootRequired {
		if !root.HasTrait(id) {
			return false
		}
	}
	return !hasAny(root, p.rootForbidden)
}

// satisfies reports whether p has a trait of each set.
func satisfies(p *placement.Provider, sets [][]placement.TraitID) bool {
	for _, anyOf := range sets {
		if !hasAny(p, anyOf) {
			return false
		}
	}
	return true
}

func hasAny(p *placement.Provider, ids []placement.TraitID) bool {
	return slices.ContainsFunc(ids, p.HasTrait)
}

// memberOfAll reports whether p is in an aggregate of each set.
func memberOfAll(p *placement.Provider, sets [][]placement.AggregateID) bool {
	for _, anyOf := range sets {
		if !memberOfAny(p, anyOf) {
			return false
		}
	}
	return true
}

func memberOfAny(p *placement.Provider, ids []placement.AggregateID) bool {
	return slices.ContainsFunc(ids, p.InAggregate)
}
