package candidates

import (
	"github.com/berthcloud/berth/fault"
	"github.com/berthcloud/berth/placement"
	"github.com/berthcloud/berth/placement/snapshot"
)

// Search resolves a query in a snapshot and returns the candidates,
// which are generated when they are ranged over. The same arguments give the
// same candidates in the same order.
//
// An unknown resource class or trait is a fault of kind Invalid, unless a group
// before it (or root_required) already rules out every candidate: then the
// result is empty, as it is upstream. Unknown aggregates and an unknown in_tree
// provider are no faults and leave the result empty.
func Search(s *snapshot.Snapshot, query placement.Query) (*Result, error) {
	q := compile(s, query)
	if q.unknown {
		if err := q.firstFault(); err != nil {
			return nil, err
		}
		q.impossible = true
	}
	return &Result{query: q}, nil
}

// firstFault goes through a query with unknown names in upstream's order and
// returns the fault that comes first, or nil when the search has ended without
// candidates before it: when root_required is met by no root, when a group's
// aggregates have no member, or when a group by itself cannot be satisfied.
func (q *compiledQuery) firstFault() error {
	if err := q.unknownTraits(q.requested.RootRequired, q.requested.RootForbidden); err != nil {
		return err
	}
	if !q.anyRoot() {
		return nil
	}
	for i := range q.requested.Groups {
		g := &q.requested.Groups[i]
		for _, r := range g.Resources {
			if _, ok := q.snapshot.Class(r.Class); !ok {
				return fault.New(fault.Invalid, "",
					"Invalid resource class in resources parameter: No such resource class %s.", r.Class)
			}
		}
		if !q.anyMember(g) {
			return nil
		}
		if err := q.unknownTraits(append(g.Required[:len(g.Required):len(g.Required)], g.Forbidden)...); err != nil {
			return err
		}
		if !q.satisfiable(*g) {
			return nil
		}
	}
	return nil
}

// satisfiable reports whether a group has a candidate when it is requested alone, in the trees
// that root_required leaves.
func (q *compiledQuery) satisfiable(g placement.RequestGroup) bool {
	alone := Result{query: compile(q.snapshot, placement.Query{
		Groups:       []placement.RequestGroup{g},
		RootRequired: q.requested.RootRequired, RootForbidden: q.requested.RootForbidden,
		Limit: 1,
	})}
	for range alone.All() {
		return true
	}
	return false
}

// unknownTraits returns the fault of the first name that is no trait.
func (q *compiledQuery) unknownTraits(lists ...[]string) error {
	for _, names := range lists {
		for _, name := range names {
			if _, ok := q.snapshot.Trait(name); !ok {
				return fault.New(fault.Invalid, "", "No such trait(s): %s.", name)
			}
		}
	}
	return nil
}

// anyRoot reports whether root_required leaves any tree.
func (q *compiledQuery) anyRoot() bool {
	for t := range q.snapshot.Trees() {
		if q.rootQualifies(t.Root()) {
			return true
		}
	}
	return len(q.rootRequired)+len(q.rootForbidden) == 0
}

// anyMember reports whether any provider is itself in the aggregates of a
// group.
func (q *compiledQuery) anyMember(g *placement.RequestGroup) bool {
	if len(g.MemberOf) == 0 {
		return true
	}
	sets := q.memberships(g.MemberOf)
	for t := range q.snapshot.Trees() {
		for _, provider := range t.Providers {
			if memberOfAll(provider, sets) {
				return true
			}
		}
	}
	return false
}
