package candidates

import (
	"context"
	"fmt"
	"slices"
	"strings"

	"github.com/berthcloud/berth/placement/snapshot"

	"github.com/berthcloud/berth/placement"
)

// An Explanation says where the candidates of a query went.
type Explanation struct {
	Providers, Trees int
	// BadRoots is how many trees root_required drops.
	BadRoots int
	// Requests are what single providers must serve: each suffixed group, and
	// each class of the unsuffixed one.
	Requests []RequestExplanation
	// Alone is how many trees are left in which every request can be served,
	// each by itself, root_required included.
	Alone int
	// Untraited is how many of those lack a trait that the unsuffixed group
	// requires of its providers between them.
	Untraited int
	// Together is how many of the others are left once the requests are
	// combined: within capacity and max_unit, with traits, isolation and
	// subtrees.
	Together int
	// Unrooted is how many of the trees that root_required drops could
	// otherwise serve every request.
	Unrooted int
	// Vacuous says that a suffixed group requests nothing in particular.
	Vacuous bool
	// Partial says that the context ended before everything was counted: the
	// requests are those that were counted, and of the trees there are some or none.
	Partial bool
}

// A Constraint is a kind of reason why a query has no candidates.
type Constraint string

// These are all constraints. Those from NoInventory to InTree leave no provider for
// one request of the query, each by itself; the ones after them no tree.
const (
	NoProviders       Constraint = "no_providers"
	RootRequired      Constraint = "root_required"
	NoInventory       Constraint = "inventory"
	OutOfUnits        Constraint = "units" // min_unit, max_unit or step_size
	NoCapacity        Constraint = "capacity"
	RequiredTraits    Constraint = "required" // of one provider, or of a tree's between them
	ForbiddenTraits   Constraint = "forbidden"
	MemberOf          Constraint = "member_of"
	ForbiddenMemberOf Constraint = "forbidden_member_of"
	InTree            Constraint = "in_tree"
	EmptyGroup        Constraint = "empty_group"  // a group requests nothing in particular
	OneTree           Constraint = "one_tree"     // each request can be served, but not all in one tree
	Combination       Constraint = "combination"  // group_policy, same_subtree, or capacity that requests share
	BeforeTrees       Constraint = "microversion" // there are some, but none that Query.Flat shows
	UnknownConstraint Constraint = "unexplained"  // the explanation is partial
)

// Constraint returns what left no candidates. It makes no sense for a query that has
// any.
func (e *Explanation) Constraint() Constraint {
	emptied := e.emptied()
	switch {
	case e.Providers == 0:
		return NoProviders
	case e.BadRoots == e.Trees:
		return RootRequired
	case emptied != nil:
		return emptied.Drops[len(emptied.Drops)-1].Kind
	case e.Partial:
		return UnknownConstraint
	case e.Vacuous:
		return EmptyGroup
	case e.Alone == 0 && e.Unrooted > 0:
		return RootRequired
	case e.Alone == 0:
		return OneTree
	case e.Untraited == e.Alone:
		return RequiredTraits
	case e.Together == 0:
		return Combination
	}
	return BeforeTrees
}

// Reason says in one line what Constraint is derived from: where no provider is left for a
// request, that request, else everything.
func (e *Explanation) Reason() string {
	if p := e.emptied(); p != nil && e.BadRoots < e.Trees {
		return strings.TrimSpace(p.String())
	}
	return strings.ReplaceAll(strings.TrimSpace(e.String()), "\n", "; ")
}

// emptied returns the first request that no provider is left for, nil when there is none.
func (e *Explanation) emptied() *RequestExplanation {
	for i := range e.Requests {
		if p := &e.Requests[i]; p.Left == 0 && len(p.Drops) > 0 {
			return p
		}
	}
	return nil
}

// A RequestExplanation says how many providers could serve a request, and what keeps
// the others.
type RequestExplanation struct {
	Suffix string
	// Class is the one of the unsuffixed group that this is about, empty for
	// a suffixed group.
	Class string
	// Drops are the providers that each constraint drops of those that the
	// ones before it leave. Constraints that drop no provider are left out.
	Drops []Drop
	// Left is how many providers could serve the request, each at home.
	Left int
	// LeftTrees is how many trees have one that could, of their own or one that shares with them.
	LeftTrees int
}

// A Drop is how many providers a constraint rules out.
type Drop struct {
	Kind       Constraint
	Constraint string // with the class and the amount
	Providers  int
	// Trees is how many trees the constraint leaves without a provider for the request, of those that
	// had one before it.
	Trees int
}

// Explain counts, for a query, what every constraint drops. It gives the faults
// that Search gives. It looks at every provider of the snapshot, whatever the
// query's limits, and is meant for people who wonder why. When ctx ends, it returns
// what it has.
func Explain(ctx context.Context, s *snapshot.Snapshot, query placement.Query) (Explanation, error) {
	r, err := Search(s, query)
	if err != nil {
		return Explanation{}, err
	}
	q, e := r.query, Explanation{Providers: s.Len(), Trees: s.TreeCount()}
	for t := range s.Trees() {
		if !q.rootQualifies(t.Root()) {
			e.BadRoots++
		}
	}
	if q.unknown {
		q.explainUnknown(&e)
	}
	q = q.explicable()
	for k := range q.requests {
		e.Vacuous = e.Vacuous || q.requests[k].granular && q.requests[k].vacuous()
		request, ok := q.explainRequest(ctx, k)
		if !ok {
			e.Partial = true
			return e, nil
		}
		e.Requests = append(e.Requests, request)
	}
	if !q.impossible {
		q.explainTrees(ctx, &e)
	}
	return e, nil
}

// explainUnknown explains the first group that names what does not exist, if the search was over at
// that group: it was for aggregates without members then.
func (q *compiledQuery) explainUnknown(e *Explanation) {
	if at := q.resolved; at < len(q.requested.Groups) && !q.anyMember(&q.requested.Groups[at]) {
		e.Requests = append(e.Requests, RequestExplanation{
			Suffix: q.requested.Groups[at].Suffix, Drops: []Drop{{MemberOf, "member_of", e.Providers, e.Trees}},
		})
	}
}

// explicable returns a query of which every request can be judged: without the groups from the
// first on that names what does not exist, since the search was over there at the latest, and with
// the sharing providers, which a query that is impossible by itself was compiled without.
func (q *compiledQuery) explicable() *compiledQuery {
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

// explainRequest sends all providers through the constraints of one request. It returns
// false when ctx ends before that.
func (q *compiledQuery) explainRequest(ctx context.Context, k int) (RequestExplanation, bool) {
	r := &q.requests[k]
	e := RequestExplanation{Suffix: q.groups[r.group]}
	if !r.granular {
		e.Class = q.snapshot.ClassName(r.needs[0].class)
	}
	f := newFunnel(q, r)
	o := treeOptions{compiledQuery: q}
	for tree := range q.snapshot.Trees() {
		if ctx.Err() != nil {
			return e, false
		}
		rootMember, excluded := r.rootCountsForAll(tree.Root()), r.excludesTree(tree.Root())
		furthest := 0
		for _, provider := range tree.Providers {
			v, need := r.judge(provider, rootMember)
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
	e.Drops, e.Left, e.LeftTrees = f.drops()
	return e, true
}

// A funnel counts what each constraint drops, in the order of the constraints.
type funnel struct {
	steps []Drop // the last has those that are left
	needs int
}

// newFunnel returns a funnel with three steps for each need, one for each other constraint, and one
// for what is left; count relies on this order.
func newFunnel(q *compiledQuery, r *request) *funnel {
	f := &funnel{needs: len(r.needs)}
	for _, n := range r.needs {
		class := q.snapshot.ClassName(n.class)
		f.steps = append(f.steps, Drop{Kind: NoInventory, Constraint: "no inventory of " + class},
			Drop{Kind: OutOfUnits, Constraint: fmt.Sprintf("min_unit, max_unit or step_size for %s:%d", class, n.amount)},
			Drop{Kind: NoCapacity, Constraint: fmt.Sprintf("no free capacity for %s:%d", class, n.amount)})
	}
	g := &q.requested.Groups[r.group]
	f.steps = append(f.steps,
		Drop{Kind: RequiredTraits, Constraint: "required traits " + someOfEach(g.Required)},
		Drop{Kind: ForbiddenTraits, Constraint: "forbidden traits " + some(g.Forbidden, ", ")},
		Drop{Kind: MemberOf, Constraint: "member_of " + someOfEach(g.MemberOf)},
		Drop{Kind: ForbiddenMemberOf, Constraint: "forbidden aggregates " + some(g.NotMemberOf, ", ")},
		Drop{Kind: InTree, Constraint: "in_tree " + string(g.InTree)}, Drop{})
	return f
}

// some names a few of what a query lists, which may be hundreds of aggregates.
func some[S ~string](list []S, between string) string {
	const few = 5
	var names []string
	for _, name := range list[:min(len(list), few)] {
		names = append(names, string(name))
	}
	text := strings.Join(names, between)
	if more := len(list) - few; more > 0 {
		text += fmt.Sprintf(" and %d more", more)
	}
	return text
}

// someOfEach is some for a list of which each element is met by one of several names.
func someOfEach[S ~string](list [][]S) string {
	each := make([]string, len(list))
	for i, anyOf := range list {
		each[i] = some(anyOf, " or ")
	}
	return some(each, ", ")
}

// count puts a provider where it was dropped, or at the end, and returns that step.
func (f *funnel) count(v verdict, need int, within bool) int {
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

// drops returns the steps that dropped any, and how many providers and trees are left. The funnel
// is of no use after it.
func (f *funnel) drops() (drops []Drop, remaining, trees int) {
	last := f.steps[len(f.steps)-1]
	return slices.DeleteFunc(f.steps[:len(f.steps)-1], func(d Drop) bool { return d.Providers == 0 }),
		last.Providers, last.Trees
}

// explainTrees counts the trees that can serve all requests.
func (q *compiledQuery) explainTrees(ctx context.Context, e *Explanation) {
	rootless := *q // so that trees count which have what is requested, but for their roots
	rootless.rootRequired, rootless.rootForbidden = nil, nil
	s := newSolver(&rootless, ctx.Done())
	defer s.free()
	for t := range q.snapshot.Trees() {
		switch {
		case ctx.Err() != nil:
			e.Partial = true
			return
		case !s.open(t.Index()):
			continue
		case !q.rootQualifies(t.Root()):
			e.Unrooted++
			continue
		}
		e.Alone++
		if !s.prepare() {
			e.Untraited++
		} else if s.start(); s.next() {
			e.Together++
		}
	}
	e.Partial = s.ended
}

// String is the explanation for people, a line for each step.
func (e Explanation) String() string {
	var b strings.Builder
	fmt.Fprintf(&b, "%d providers in %d trees\n", e.Providers, e.Trees)
	if e.BadRoots > 0 {
		fmt.Fprintf(&b, "root_required drops %d trees\n", e.BadRoots)
	}
	for _, request := range e.Requests {
		b.WriteString(request.String())
	}
	fmt.Fprintf(&b, "%d trees have a provider for every group\n", e.Alone)
	if e.Untraited > 0 {
		fmt.Fprintf(&b, "%d of them lack required traits\n", e.Untraited)
	}
	fmt.Fprintf(&b, "%d trees can serve all groups together\n", e.Together)
	return b.String()
}

// String is the explanation of a request in one line.
func (e RequestExplanation) String() string {
	var b strings.Builder
	switch {
	case e.Class != "":
		fmt.Fprintf(&b, "%s: ", e.Class)
	default:
		fmt.Fprintf(&b, "group %s: ", e.Suffix)
	}
	for _, d := range e.Drops {
		fmt.Fprintf(&b, "%s drops %d, ", d.Constraint, d.Providers)
	}
	fmt.Fprintf(&b, "%d left\n", e.Left)
	return b.String()
}
