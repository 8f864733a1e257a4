package candidates

import (
	"context"
	"slices"

	"github.com/berthcloud/berth/placement"
	"github.com/berthcloud/berth/placement/snapshot"
)

// Counts say where the candidates of a query went: how many providers and trees each constraint
// drops.
type Counts struct {
	Providers, Trees int
	// RootRejected is how many trees root_required drops.
	RootRejected int
	// Requests are what single providers must serve: each suffixed group, and
	// each class of the unsuffixed one.
	Requests []RequestCounts
	// ServeEach is how many trees remain in which every request can be served,
	// each by itself, root_required included.
	ServeEach int
	// LackTraits is how many of those lack a trait that the unsuffixed group
	// requires of its providers between them.
	LackTraits int
	// ServeAll is how many of the others remain once the requests are
	// combined: within capacity and max_unit, with traits, isolation and
	// subtrees.
	ServeAll int
	// ServeEachRejected is how many of the trees that root_required drops could
	// otherwise serve every request.
	ServeEachRejected int
	// EmptyGroup says that a suffixed group requests nothing in particular.
	EmptyGroup bool
	// Partial says that the context ended before everything was counted: the
	// requests are those that were counted, and of the trees there are some or none.
	Partial bool
}

// A Constraint is a kind of reason why a query has no candidates.
type Constraint string

// These are all constraints. Those from NoInventory to InTree leave no provider for
// one request of the query, each by itself; the ones after them no tree.
const (
	NoProviders          Constraint = "no_providers"
	RootRequired         Constraint = "root_required"
	NoInventory          Constraint = "inventory"
	OutOfUnits           Constraint = "units" // min_unit, max_unit or step_size
	NoCapacity           Constraint = "capacity"
	RequiredTraits       Constraint = "required" // of one provider, or of a tree's between them
	ForbiddenTraits      Constraint = "forbidden"
	MemberOf             Constraint = "member_of"
	ForbiddenMemberOf    Constraint = "forbidden_member_of"
	InTree               Constraint = "in_tree"
	EmptyGroup           Constraint = "empty_group"  // a group requests nothing in particular
	OneTree              Constraint = "one_tree"     // each request can be served, but not all in one tree
	Combination          Constraint = "combination"  // group_policy, same_subtree, or capacity that requests share
	HiddenByMicroversion Constraint = "microversion" // there are some, but none that Query.Flat shows
	UnknownConstraint    Constraint = "unexplained"  // the counts are partial
)

// Constraint returns what left no candidates. It makes no sense for a query that has
// any.
func (c *Counts) Constraint() Constraint {
	request := c.unserved()
	switch {
	case c.Providers == 0:
		return NoProviders
	case c.RootRejected == c.Trees:
		return RootRequired
	case request != nil:
		return request.Drops[len(request.Drops)-1].Kind
	case c.Partial:
		return UnknownConstraint
	case c.EmptyGroup:
		return EmptyGroup
	case c.ServeEach == 0 && c.ServeEachRejected > 0:
		return RootRequired
	case c.ServeEach == 0:
		return OneTree
	case c.LackTraits == c.ServeEach:
		return RequiredTraits
	case c.ServeAll == 0:
		return Combination
	}
	return HiddenByMicroversion
}

// unserved returns the first request that no provider remains for, nil when there is none.
func (c *Counts) unserved() *RequestCounts {
	for i := range c.Requests {
		if r := &c.Requests[i]; r.Providers == 0 && len(r.Drops) > 0 {
			return r
		}
	}
	return nil
}

// RequestCounts say how many providers could serve a request, and what keeps
// the others.
type RequestCounts struct {
	Suffix string
	// Class is the one of the unsuffixed group that this is about, empty for
	// a suffixed group.
	Class string
	// Drops are the providers that each constraint drops of those that the
	// ones before it leave. Constraints that drop no provider are left out.
	Drops []DropCount
	// Providers is how many could serve the request, each at home.
	Providers int
	// Trees is how many have a provider that could, of their own or one that shares with them.
	Trees int
}

// A DropCount is how many providers a constraint rules out.
type DropCount struct {
	Kind Constraint
	// Class and Amount are what is requested, where the constraint is about a class: NoInventory,
	// OutOfUnits and NoCapacity.
	Class     string
	Amount    int64
	Providers int
	// Trees is how many trees the constraint leaves without a provider for the request, of those that
	// had one before it.
	Trees int
}

// Count counts, for a query, what every constraint drops. It gives the faults
// that Search gives. It looks at every provider of the snapshot, whatever the
// query's limits, and is meant for people who wonder why. When ctx ends, it returns
// what it has.
func Count(ctx context.Context, s *snapshot.Snapshot, query placement.Query) (Counts, error) {
	r, err := Search(s, query)
	if err != nil {
		return Counts{}, err
	}
	q, c := r.query, Counts{Providers: s.Len(), Trees: s.TreeCount()}
	for t := range s.Trees() {
		if !q.rootQualifies(t.Root()) {
			c.RootRejected++
		}
	}
	if q.unknown {
		q.countUnknown(&c)
	}
	q = q.withKnownGroups()
	for k := range q.requests {
		c.EmptyGroup = c.EmptyGroup || q.requests[k].granular && q.requests[k].vacuous()
		request, ok := q.countRequest(ctx, k)
		if !ok {
			c.Partial = true
			return c, nil
		}
		c.Requests = append(c.Requests, request)
	}
	if !q.impossible {
		q.countTrees(ctx, &c)
	}
	return c, nil
}

// countUnknown counts for the first group that names what does not exist, if the search was over at
// that group: it was for aggregates without members then.
func (q *compiledQuery) countUnknown(c *Counts) {
	if at := q.resolved; at < len(q.requested.Groups) && !q.anyMember(&q.requested.Groups[at]) {
		c.Requests = append(c.Requests, RequestCounts{
			Suffix: q.requested.Groups[at].Suffix,
			Drops:  []DropCount{{Kind: MemberOf, Providers: c.Providers, Trees: c.Trees}},
		})
	}
}

// withKnownGroups returns a query of which every request can be compared: without the groups from
// the first on that names what does not exist, since the search was over there at the latest, and
// with the sharing providers, which a query that is impossible by itself was compiled without.
func (q *compiledQuery) withKnownGroups() *compiledQuery {
	if q.unknown {
		known := q.requested
		known.Groups = known.Groups[:q.resolved]
		q = compile(q.snapshot, known)
	}
	if q.impossible {
		whole := *q
		whole.findSharingProviders()
		q = &whole
	}
	return q
}

// countRequest sends all providers through the constraints of one request. It returns
// false when ctx ends before that.
func (q *compiledQuery) countRequest(ctx context.Context, k int) (RequestCounts, bool) {
	r := &q.requests[k]
	c := RequestCounts{Suffix: q.groups[r.group]}
	if !r.granular {
		c.Class = q.snapshot.ClassName(r.needs[0].class)
	}
	f := newFunnel(q, r)
	o := treeOptions{compiledQuery: q}
	for tree := range q.snapshot.Trees() {
		if ctx.Err() != nil {
			return c, false
		}
		rootMember, excluded := r.rootCountsForAll(tree.Root()), r.excludesTree(tree.Root())
		furthest := 0
		for _, provider := range tree.Providers {
			v, need := r.mismatch(provider, rootMember)
			if v == fits && excluded {
				v = isMember
			}
			furthest = max(furthest, f.count(v, need, r.within(tree.Index())))
		}
		o.enter(tree.Index())
		if !excluded && slices.ContainsFunc(o.sharing, func(at int32) bool { return q.sharingProviders[at].serves[k] }) {
			furthest = len(f.steps) - 1
		}
		f.steps[furthest].Trees++
	}
	c.Drops, c.Providers, c.Trees = f.drops()
	return c, true
}

// A funnel counts what each constraint drops, in the order of the constraints.
type funnel struct {
	steps []DropCount // the last has those that remain
	needs int
}

// newFunnel returns a funnel with three steps for each need, one for each other constraint, and one
// for what remains; count relies on this order.
func newFunnel(q *compiledQuery, r *request) *funnel {
	f := &funnel{needs: len(r.needs)}
	for _, n := range r.needs {
		class := q.snapshot.ClassName(n.class)
		for _, kind := range []Constraint{NoInventory, OutOfUnits, NoCapacity} {
			f.steps = append(f.steps, DropCount{Kind: kind, Class: class, Amount: n.amount})
		}
	}
	for _, kind := range []Constraint{RequiredTraits, ForbiddenTraits, MemberOf, ForbiddenMemberOf, InTree} {
		f.steps = append(f.steps, DropCount{Kind: kind})
	}
	f.steps = append(f.steps, DropCount{})
	return f
}

// count puts a provider where it was dropped, or at the end, and returns that step.
func (f *funnel) count(v mismatch, need int, within bool) int {
	at := len(f.steps) - 1
	switch {
	case v == fits && within:
	case v == fits:
		at--
	case v <= noCapacity:
		at = 3*need + int(v-noInventory)
	default:
		at = 3*f.needs + int(v-lacksTrait)
	}
	f.steps[at].Providers++
	return at
}

// drops returns the steps that dropped any, and how many providers and trees remain. The funnel
// is of no use after it.
func (f *funnel) drops() (drops []DropCount, providers, trees int) {
	last := f.steps[len(f.steps)-1]
	return slices.DeleteFunc(f.steps[:len(f.steps)-1], func(d DropCount) bool { return d.Providers == 0 }),
		last.Providers, last.Trees
}

// countTrees counts the trees that can serve all requests.
func (q *compiledQuery) countTrees(ctx context.Context, c *Counts) {
	rootless := *q // so that trees count which have what is requested, but for their roots
	rootless.rootRequired, rootless.rootForbidden = nil, nil
	s := newSolver(&rootless, ctx.Done())
	defer s.free()
	for t := range q.snapshot.Trees() {
		switch {
		case ctx.Err() != nil:
			c.Partial = true
			return
		case !s.open(t.Index()):
			continue
		case !q.rootQualifies(t.Root()):
			c.ServeEachRejected++
			continue
		}
		c.ServeEach++
		if !s.prepare() {
			c.LackTraits++
		} else if s.start(); s.next() {
			c.ServeAll++
		}
	}
	c.Partial = s.ended
}
