package candidates

import (
	"cmp"
	"iter"
	"slices"
	"strings"

	"github.com/berthcloud/berth/placement"
	"github.com/berthcloud/berth/placement/snapshot"
)

// Anchors yields the trees that have a candidate, each once, whatever the query's limits. It costs
// one assignment for each tree, and not all of them.
func (r *Result) Anchors() iter.Seq[*snapshot.Tree] {
	return func(yield func(*snapshot.Tree) bool) {
		if r.query.impossible {
			return
		}
		s := newSolver(r.query, r.done)
		defer s.free()
		trees := scan{compiledQuery: r.query}
		for index := trees.next(); index >= 0 && !s.stopped(); index = trees.next() {
			if s.begin(index) && s.assignment.next() && !yield(r.query.snapshot.Tree(index)) {
				return
			}
		}
	}
}

// HasAnchor reports whether a tree has a candidate.
func (r *Result) HasAnchor(t *snapshot.Tree) bool {
	if r.query.impossible || !r.query.candidateTrees.has(t.Index()) {
		return false
	}
	s := newSolver(r.query, r.done)
	defer s.free()
	return s.begin(t.Index()) && s.assignment.next()
}

// A Reason is why a tree has no candidate: a request that none of its providers can serve,
// or what stands in the way of all requests together.
type Reason struct {
	Kind Constraint
	// Suffix is the group, and Class the class of the unsuffixed group that the request is of; both
	// are empty for what is about the whole query.
	Suffix, Class string
	// Provider is the one that comes closest to serving the request, nil where there is none.
	Provider *snapshot.Provider
	// Lacking is the class of which the provider has no inventory (NoInventory), not enough
	// (NoCapacity), or never such an amount in one allocation (OutOfUnits), and Requested how much is
	// requested.
	Lacking   string
	Requested int64
	// Most is the greatest amount that the provider could give now, within its units, of Inventory
	// (NoCapacity, OutOfUnits).
	Most      int64
	Inventory *snapshot.Inventory
	// Traits are the required ones that the provider lacks, each "A or B" where one of several would
	// do, or the forbidden ones that it has. For RequiredTraits of the unsuffixed group they are what
	// its providers lack between them.
	Traits []string
}

// Reasons returns why a tree has no candidate, empty when it has one: what its root lacks, and a
// reason for each request that no provider can serve, by itself, and for each further class of it
// of which the closest provider has not enough; without any of the latter, that the requests cannot
// be served together.
func (r *Result) Reasons(t *snapshot.Tree) []Reason {
	q := *r.query.withKnownGroups()
	var reasons []Reason
	if root := t.Root(); !q.rootQualifies(root) {
		reasons = []Reason{{Kind: RootRequired, Provider: root, Traits: q.rootTraits(root)}}
		q.rootRequired, q.rootForbidden = nil, nil // so that the rest is looked at
	}
	unqualified := len(reasons)
	s := newSolver(&q, r.done)
	defer s.free()
	s.enter(t.Index())
	for k := range q.requests {
		if reason, ok := q.closest(k, &s.treeOptions); !ok {
			reasons = q.withFurther(append(reasons, reason), k, reason)
		}
	}
	switch {
	case len(reasons) > unqualified:
	case r.query.unknown && r.query.resolved < len(r.query.requested.Groups):
		// The search was over at a group with an unknown name: its aggregates have no members.
		reasons = append(reasons, Reason{Kind: MemberOf, Suffix: r.query.requested.Groups[r.query.resolved].Suffix})
	case q.impossible:
		reasons = append(reasons, Reason{Kind: UnknownConstraint})
	case !s.open(t.Index()) || !s.prepare():
		reasons = append(reasons, Reason{Kind: RequiredTraits, Traits: q.missingTraits(&s.treeOptions)})
	default:
		if s.start(); !s.assignment.next() {
			reasons = append(reasons, Reason{Kind: Combination})
		}
	}
	return reasons
}

// rootTraits lists what root_required wants and a root lacks, and with "!" what it has and must not
// have.
func (q *compiledQuery) rootTraits(root *snapshot.Provider) (names []string) {
	for i, id := range q.rootRequired {
		if !root.HasTrait(id) {
			names = append(names, q.requested.RootRequired[i])
		}
	}
	for i, id := range q.rootForbidden {
		if root.HasTrait(id) {
			names = append(names, "!"+q.requested.RootForbidden[i])
		}
	}
	return names
}

// closest returns why the provider that comes closest to serving request k in the tree that is
// entered does not serve it; ok is true when one serves it.
func (q *compiledQuery) closest(k int, o *treeOptions) (reason Reason, ok bool) {
	r := &q.requests[k]
	reason = Reason{Kind: NoInventory, Suffix: q.groups[r.group]}
	if !r.granular {
		reason.Class = q.snapshot.ClassName(r.needs[0].class)
	}
	if r.granular && r.vacuous() {
		reason.Kind = EmptyGroup
		return reason, false
	}
	if slices.ContainsFunc(o.sharing, func(at int32) bool { return q.sharingProviders[at].serves[k] }) &&
		!r.excludesTree(o.tree.Root()) {
		return reason, true
	}
	rootMember, excluded := r.rootCountsForAll(o.tree.Root()), r.excludesTree(o.tree.Root())
	best := -1
	for _, p := range o.tree.Providers {
		v, need := r.mismatch(p, rootMember)
		switch {
		case v == fits && excluded:
			v = isMember
		case v == fits && r.within(o.treeIndex):
			return reason, true
		}
		next := q.reason(r, p, v, need)
		rank := r.rank(p, v, need, rootMember)
		if rank < best || rank == best && !closer(next, reason) {
			continue
		}
		next.Suffix, next.Class = reason.Suffix, reason.Class
		best, reason = rank, next
	}
	return reason, false
}

// withFurther appends reasons for the classes of request k after the one of the first reason: those
// that the same provider cannot give either.
func (q *compiledQuery) withFurther(reasons []Reason, k int, first Reason) []Reason {
	if first.Kind != NoCapacity && first.Kind != OutOfUnits {
		return reasons
	}
	r := &q.requests[k]
	at := slices.IndexFunc(r.needs, func(n need) bool { return q.snapshot.ClassName(n.class) == first.Lacking })
	for i, n := range r.needs[at+1:] {
		v := noCapacity
		switch has := first.Provider.Inventory(n.class); {
		case has == nil:
			v = noInventory
		case has.HasFree(n.amount):
			continue
		case !has.Admits(n.amount):
			v = outOfUnits
		}
		next := q.reason(r, first.Provider, v, at+1+i)
		next.Suffix, next.Class = first.Suffix, first.Class
		reasons = append(reasons, next)
	}
	return reasons
}

// rank orders providers by how many constraints they pass. Those that lack nothing but the amount
// come after all others but those in the wrong tree: capacity becomes free, and a provider of
// another kind stays of another kind.
func (r *request) rank(p *snapshot.Provider, v mismatch, need int, rootMember bool) int {
	others := 3*len(r.needs) + int(isMember) // the highest of all others
	switch {
	case v == fits: // but in the wrong tree
		return others + len(r.needs) + 1
	case (v == noCapacity || v == outOfUnits) && satisfies(p, r.required) && !hasAny(p, r.forbidden) &&
		(rootMember || memberOfAll(p, r.memberOf)) && !memberOfAny(p, r.notMemberOf):
		return others + 1 + need
	case v <= noCapacity:
		return 3*need + int(v)
	}
	return 3*len(r.needs) + int(v)
}

// closer reports whether a provider comes closer to serving a request than another one that fails
// by the same constraint.
func closer(a, b Reason) bool {
	return cmp.Or(cmp.Compare(a.Most, b.Most), cmp.Compare(len(b.Traits), len(a.Traits))) > 0
}

// reason says why a provider cannot serve a request.
func (q *compiledQuery) reason(r *request, p *snapshot.Provider, v mismatch, need int) Reason {
	m := Reason{Provider: p}
	switch v {
	case noInventory, outOfUnits, noCapacity:
		m.Lacking, m.Requested = q.snapshot.ClassName(r.needs[need].class), r.needs[need].amount
		if v == noInventory {
			m.Kind, m.Provider = NoInventory, nil
			break
		}
		m.Kind, m.Inventory = NoCapacity, p.Inventory(r.needs[need].class)
		m.Most = m.Inventory.Most()
		if v == outOfUnits {
			m.Kind = OutOfUnits
		}
	case lacksTrait:
		m.Kind = RequiredTraits
		for i, anyOf := range r.required {
			if !hasAny(p, anyOf) {
				m.Traits = append(m.Traits, strings.Join(q.requested.Groups[r.group].Required[i], " or "))
			}
		}
	case hasForbidden:
		m.Kind = ForbiddenTraits
		for i, id := range r.forbidden {
			if p.HasTrait(id) {
				m.Traits = append(m.Traits, q.requested.Groups[r.group].Forbidden[i])
			}
		}
	case notMember:
		m.Kind = MemberOf
	case isMember:
		m.Kind = ForbiddenMemberOf
	case fits:
		m.Kind = InTree
	}
	return m
}

// missingTraits lists the required traits of the unsuffixed group that none of its options has in
// the tree that is open.
func (q *compiledQuery) missingTraits(o *treeOptions) (names []string) {
	at := slices.IndexFunc(q.requested.Groups, func(g placement.RequestGroup) bool { return g.Suffix == "" })
	if at < 0 {
		return nil
	}
	for i, anyOf := range q.required {
		had := false
		for _, d := range o.domains {
			for _, number := range o.providers[d.from:d.to] {
				p, _ := o.provider(number)
				had = had || !q.requests[d.request].granular && hasAny(p, anyOf)
			}
		}
		if !had {
			names = append(names, strings.Join(q.requested.Groups[at].Required[i], " or "))
		}
	}
	return names
}
