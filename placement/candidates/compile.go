package candidates

import (
	"slices"

	"github.com/berthcloud/berth/placement/snapshot"

	"github.com/berthcloud/berth/placement"
)

// compile resolves the names of a query and narrows the trees.
func compile(s *snapshot.Snapshot, query placement.Query) *compiledQuery {
	q := &compiledQuery{snapshot: s, requested: query}
	q.rootRequired = q.traits(query.RootRequired)
	q.rootForbidden = q.traits(query.RootForbidden)
	q.impossible = len(query.Groups) == 0
	q.groups, q.requests = make([]string, 0, len(query.Groups)), make([]request, 0, mostRequests(query))
	for i := range query.Groups {
		q.groups = append(q.groups, query.Groups[i].Suffix)
		q.addGroup(i, &query.Groups[i])
		if !q.unknown {
			q.resolved = i + 1
		}
	}
	if q.unknown || q.impossible {
		return q
	}
	q.listClasses()
	q.findSubtrees()
	q.findSharingProviders()
	q.narrow()
	return q
}

// mostRequests returns how many requests a query can have: a suffixed group is one, the
// unsuffixed group has one for each class.
func mostRequests(q placement.Query) (n int) {
	for i := range q.Groups {
		n += max(1, len(q.Groups[i].Resources))
	}
	return n
}

// addGroup resolves one group into its requests.
func (q *compiledQuery) addGroup(i int, g *placement.RequestGroup) {
	base := request{
		group:       i,
		granular:    g.Suffix != "",
		forbidden:   q.traits(g.Forbidden),
		memberOf:    q.memberships(g.MemberOf),
		notMemberOf: q.snapshot.Aggregates(g.NotMemberOf),
		inTree:      q.inTree(g),
	}
	required := make([][]placement.TraitID, 0, len(g.Required))
	for _, anyOf := range g.Required {
		required = append(required, q.traits(anyOf))
	}
	needs := q.needs(g.Resources)
	if base.granular {
		base.required, base.needs = required, needs
		q.impossible = q.impossible || base.vacuous()
		q.requests = append(q.requests, base)
		return
	}
	q.required = required
	// A request always has resources in its unsuffixed group, when it has
	// one; the API refuses others.
	q.impossible = q.impossible || len(needs) == 0
	for j := range needs {
		base.needs = needs[j : j+1]
		q.requests = append(q.requests, base)
	}
}

// vacuous reports whether a request requests nothing in particular. Upstream finds
// no provider for a group without resources unless traits or aggregates are
// required of it: forbidding some is not enough.
func (r *request) vacuous() bool {
	return len(r.needs) == 0 && len(r.required) == 0 && len(r.memberOf) == 0
}

// needs resolves resources. An unknown class is noted in the query, whose fault Search finds later:
// upstream may end its search before it comes to the name.
func (q *compiledQuery) needs(resources []placement.ClassAmount) []need {
	needs := make([]need, 0, len(resources))
	for _, r := range resources {
		class, ok := q.snapshot.Class(r.Class)
		q.unknown = q.unknown || !ok
		needs = append(needs, need{class: class, amount: r.Amount})
	}
	return needs
}

// traits resolves names of traits, and notes unknown ones as needs does.
func (q *compiledQuery) traits(names []string) []placement.TraitID {
	ids := make([]placement.TraitID, 0, len(names))
	for _, name := range names {
		id, ok := q.snapshot.Trait(name)
		q.unknown = q.unknown || !ok
		ids = append(ids, id)
	}
	return ids
}

// memberships resolves the aggregates of which a provider must be a member.
// Those that no provider was ever a member of are no fault, but cannot help either.
func (q *compiledQuery) memberships(memberOf [][]placement.UUID) [][]placement.AggregateID {
	if len(memberOf) == 0 {
		return nil
	}
	sets := make([][]placement.AggregateID, 0, len(memberOf))
	for _, anyOf := range memberOf {
		ids := q.snapshot.Aggregates(anyOf)
		q.impossible = q.impossible || len(ids) == 0
		sets = append(sets, ids)
	}
	return sets
}

// inTree finds the index of the tree a group is restricted to, -1 for none. For a
// provider that does not exist it is an index that no tree has.
// Upstream applies the restriction while it looks for resources, so that it
// does not hold for a group without any; the provider must exist all the same.
func (q *compiledQuery) inTree(g *placement.RequestGroup) int {
	if g.InTree == "" {
		return -1
	}
	_, t := q.snapshot.Provider(g.InTree)
	if t == nil {
		q.impossible = true
		return q.snapshot.IndexLimit()
	}
	if len(g.Resources) == 0 {
		return -1
	}
	return t.Index()
}

// listClasses lists the classes and numbers those that more than one request wants.
func (q *compiledQuery) listClasses() {
	q.classes = make([]placement.ClassID, 0, len(q.requests))
	for i := range q.requests {
		for _, n := range q.requests[i].needs {
			q.classes = append(q.classes, n.class)
		}
	}
	slices.Sort(q.classes)
	var common map[placement.ClassID]int
	for i := 1; i < len(q.classes); i++ {
		class := q.classes[i]
		if class == q.classes[i-1] && (i == 1 || class != q.classes[i-2]) {
			if common == nil {
				common = make(map[placement.ClassID]int)
			}
			common[class] = q.commonClasses
			q.commonClasses++
		}
	}
	q.classes = slices.Compact(q.classes)
	if common == nil {
		return
	}
	for i := range q.requests {
		r := &q.requests[i]
		for _, n := range r.needs {
			if index, ok := common[n.class]; ok {
				r.common = append(r.common, need{n.class, n.amount, index})
			}
		}
	}
}

// oneInEachTree reports whether it is certain that no tree has two candidates: in each tree only
// one provider can serve each request, since no other has the class.
func (q *compiledQuery) oneInEachTree() bool {
	for i := range q.requests {
		if !slices.ContainsFunc(q.requests[i].needs, func(n need) bool { return q.snapshot.OnePerTree(n.class) }) {
			return false
		}
	}
	return len(q.sharingProviders) == 0
}

// findSubtrees turns the same_subtree sets into sets of requests. A set of one
// is always satisfied and is left out.
func (q *compiledQuery) findSubtrees() {
	if len(q.requested.SameSubtrees) == 0 {
		return
	}
	bySuffix := make(map[string]int, len(q.requests)) // a suffixed group is one request
	for i := range q.requests {
		if r := &q.requests[i]; r.granular {
			bySuffix[q.groups[r.group]] = i
		}
	}
	for _, suffixes := range q.requested.SameSubtrees {
		set := newBitset(len(q.requests))
		for _, suffix := range suffixes {
			if i, ok := bySuffix[suffix]; ok {
				set.add(i)
			}
		}
		if set.count() > 1 {
			q.sameSubtrees = append(q.sameSubtrees, set)
		}
	}
}
