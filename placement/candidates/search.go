package candidates

import (
	"github.com/berthcloud/berth/fault"
	"github.com/berthcloud/berth/placement"
)

// Search resolves a query in a snapshot and returns the candidates,
// which are generated when they are ranged over. The same arguments give the
// same candidates in the same order.
//
// An unknown resource class or trait is a fault of kind Invalid, unless a group
// before it (or root_required) already rules out every candidate: then the
// result is empty, as it is upstream. Unknown aggregates and an unknown in_tree
// provider are no faults and leave the result empty.
func Search(w *placement.Snapshot, q placement.Query) (*Result, error) {
	p := compile(w, q)
	if p.unknown {
		if err := p.firstFault(); err != nil {
			return nil, err
		}
		p.impossible = true
	}
	return newResult(p), nil
}

// unknownClass is the fault of a query that names a resource class that does
// not exist.
func unknownClass(name string) error {
	return fault.New(fault.Invalid, "", "Invalid resource class in resources parameter: No such resource class %s.", name)
}

// unknownTrait is the fault of a query that names a trait that does not exist.
func unknownTrait(name string) error {
	return fault.New(fault.Invalid, "", "No such trait(s): %s.", name)
}

// firstFault goes through a query with unknown names in upstream's order and
// returns the fault that comes first, or nil when the search has ended without
// candidates before it: when root_required is met by no root, when a group's
// aggregates have no member, or when a group by itself cannot be satisfied.
func (p *plan) firstFault() error {
	if err := p.unknownTraits(p.query.RootRequired, p.query.RootForbidden); err != nil {
		return err
	}
	if !p.anyRoot() {
		return nil
	}
	for i := range p.query.Groups {
		over, err := p.firstFaultIn(i)
		if over || err != nil {
			return err
		}
	}
	return nil
}

// firstFaultIn looks at one group. It returns true when the search ends with
// it.
func (p *plan) firstFaultIn(i int) (over bool, err error) {
	g := &p.query.Groups[i]
	for _, r := range g.Resources {
		if _, ok := p.w.Class(r.Class); !ok {
			return true, unknownClass(r.Class)
		}
	}
	if !p.anyMember(g) {
		return true, nil
	}
	if err := p.unknownTraits(append(g.Required[:len(g.Required):len(g.Required)], g.Forbidden)...); err != nil {
		return true, err
	}
	alone := p.query
	alone.Groups = p.query.Groups[i : i+1]
	alone.Isolate, alone.SameSubtrees = false, nil
	for range newResult(compile(p.w, alone)).first().All() {
		return false, nil
	}
	return true, nil
}

// unknownTraits returns the fault of the first name that is no trait.
func (p *plan) unknownTraits(lists ...[]string) error {
	for _, names := range lists {
		for _, name := range names {
			if _, ok := p.w.Trait(name); !ok {
				return unknownTrait(name)
			}
		}
	}
	return nil
}

// anyRoot reports whether root_required leaves any tree.
func (p *plan) anyRoot() bool {
	for t := range p.w.Trees() {
		if p.rootQualifies(t.Root()) {
			return true
		}
	}
	return len(p.rootRequired)+len(p.rootForbidden) == 0
}

// anyMember reports whether any provider is itself in the aggregates of a
// group.
func (p *plan) anyMember(g *placement.RequestGroup) bool {
	if len(g.MemberOf) == 0 {
		return true
	}
	sets := p.memberships(g.MemberOf)
	for t := range p.w.Trees() {
		for _, provider := range t.Providers {
			if memberOfAll(provider, sets) {
				return true
			}
		}
	}
	return false
}
