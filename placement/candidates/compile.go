package candidates

import (
	"slices"

	"github.com/berthcloud/berth/placement"
)

// A plan is a query with its names resolved in one snapshot. It
// does not change once it is compiled.
type plan struct {
	w        *placement.Snapshot
	query    placement.Query
	groups   []string // suffixes, in the order of the query
	requests []request
	// classes are the requested ones, sorted.
	classes []placement.ClassID
	// contested is how many classes are wanted by more than one request: only
	// for those must a search keep what is left.
	contested int
	// sameSubtrees are the sets of same_subtree, as sets of requests.
	sameSubtrees []bitset
	// required are the traits the providers of the unsuffixed group must
	// have between them.
	required      [][]placement.TraitID
	rootRequired  []placement.TraitID
	rootForbidden []placement.TraitID

	sharers []sharer
	// live is the set of trees that may anchor a candidate, as far as the
	// indexes can tell, but for demands: what each class must have room for.
	live    bitset
	demands []demand

	// unknown says that a class or a trait does not exist; impossible that
	// nothing can satisfy a group, whatever the providers have left.
	unknown    bool
	impossible bool
	// resolved is how many groups there are before the first with an unknown name.
	resolved int
}

// A request is what one provider must satisfy: a suffixed group, or one class of
// the unsuffixed group.
type request struct {
	group    int
	granular bool
	needs    []need
	// sameAs is an earlier request that asks for the same, -1 when there is none.
	sameAs int
	// required are any-of sets that the provider itself must satisfy; the
	// unsuffixed group's are in plan.required instead.
	required    [][]placement.TraitID
	forbidden   []placement.TraitID
	memberOf    [][]placement.AggregateID
	notMemberOf []placement.AggregateID
	// inTree is the slot of the only tree whose providers may serve, -1 for
	// any.
	inTree int
}

// A need is an amount of one class.
type need struct {
	class  placement.ClassID
	amount int64
	// contest numbers the classes that several requests want, -1 for a class
	// that only this request wants.
	contest int
}

// compile resolves the names of a query and narrows the trees.
func compile(w *placement.Snapshot, q placement.Query) *plan {
	p := &plan{w: w, query: q}
	p.rootRequired = p.traits(q.RootRequired)
	p.rootForbidden = p.traits(q.RootForbidden)
	p.impossible = len(q.Groups) == 0
	p.groups, p.requests = make([]string, 0, len(q.Groups)), make([]request, 0, mostRequests(q))
	for i := range q.Groups {
		p.groups = append(p.groups, q.Groups[i].Suffix)
		p.addGroup(i, &q.Groups[i])
		if !p.unknown {
			p.resolved = i + 1
		}
	}
	if p.unknown || p.impossible {
		return p
	}
	p.contest()
	p.findSame()
	p.findSubtrees()
	p.findSharers()
	p.narrow()
	return p
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
func (p *plan) addGroup(i int, g *placement.RequestGroup) {
	base := request{
		group:       i,
		granular:    g.Suffix != "",
		forbidden:   p.traits(g.Forbidden),
		memberOf:    p.memberships(g.MemberOf),
		notMemberOf: p.aggregates(g.NotMemberOf),
		inTree:      p.inTree(g),
	}
	required := make([][]placement.TraitID, 0, len(g.Required))
	for _, anyOf := range g.Required {
		required = append(required, p.traits(anyOf))
	}
	needs := p.needs(g.Resources)
	if base.granular {
		base.required, base.needs = required, needs
		p.impossible = p.impossible || base.vacuous()
		p.requests = append(p.requests, base)
		return
	}
	p.required = required
	// A request always has resources in its unsuffixed group, when it has
	// one; the API refuses others.
	p.impossible = p.impossible || len(needs) == 0
	for j := range needs {
		base.needs = needs[j : j+1]
		p.requests = append(p.requests, base)
	}
}

// vacuous reports whether a request asks for nothing in particular. Upstream finds
// no provider for a group without resources unless traits or aggregates are
// required of it: forbidding some is not enough.
func (r *request) vacuous() bool {
	return len(r.needs) == 0 && len(r.required) == 0 && len(r.memberOf) == 0
}

func (p *plan) needs(resources []placement.ClassAmount) []need {
	needs := make([]need, 0, len(resources))
	for _, r := range resources {
		class, ok := p.w.Class(r.Class)
		p.unknown = p.unknown || !ok
		needs = append(needs, need{class: class, amount: r.Amount, contest: -1})
	}
	return needs
}

func (p *plan) traits(names []string) []placement.TraitID {
	ids := make([]placement.TraitID, 0, len(names))
	for _, name := range names {
		id, ok := p.w.Trait(name)
		p.unknown = p.unknown || !ok
		ids = append(ids, id)
	}
	return ids
}

// memberships resolves the aggregates of which a provider must be a member.
// Those that nobody was ever a member of are no fault, but cannot help either.
func (p *plan) memberships(memberOf [][]placement.UUID) [][]placement.AggregateID {
	if len(memberOf) == 0 {
		return nil
	}
	sets := make([][]placement.AggregateID, 0, len(memberOf))
	for _, anyOf := range memberOf {
		ids := p.aggregates(anyOf)
		p.impossible = p.impossible || len(ids) == 0
		sets = append(sets, ids)
	}
	return sets
}

func (p *plan) aggregates(uuids []placement.UUID) []placement.AggregateID {
	ids := make([]placement.AggregateID, 0, len(uuids))
	for _, uuid := range uuids {
		if id, ok := p.w.Aggregate(uuid); ok {
			ids = append(ids, id)
		}
	}
	return ids
}

// inTree finds the slot of the tree a group is restricted to, -1 for none. For a
// provider that does not exist it is a slot that no tree has.
// Upstream applies the restriction while it looks for resources, so that it
// does not hold for a group without any; the provider must exist all the same.
func (p *plan) inTree(g *placement.RequestGroup) int {
	if g.InTree == "" {
		return -1
	}
	_, t := p.w.Provider(g.InTree)
	if t == nil {
		p.impossible = true
		return p.w.Slots()
	}
	if len(g.Resources) == 0 {
		return -1
	}
	return t.Slot()
}

// contest lists the classes and numbers those that more than one request wants.
func (p *plan) contest() {
	p.classes = make([]placement.ClassID, 0, len(p.requests))
	for i := range p.requests {
		for _, n := range p.requests[i].needs {
			p.classes = append(p.classes, n.class)
		}
	}
	slices.Sort(p.classes)
	var contests map[placement.ClassID]int
	for i := 1; i < len(p.classes); i++ {
		class := p.classes[i]
		if class == p.classes[i-1] && (i == 1 || class != p.classes[i-2]) {
			if contests == nil {
				contests = make(map[placement.ClassID]int)
			}
			contests[class] = p.contested
			p.contested++
		}
	}
	p.classes = slices.Compact(p.classes)
	if contests == nil {
		return
	}
	for i := range p.requests {
		for j := range p.requests[i].needs {
			n := &p.requests[i].needs[j]
			if contest, ok := contests[n.class]; ok {
				n.contest = contest
			}
		}
	}
}

// findSame finds the suffixed groups that ask for the same. Each is compared with the first
// few only: the work stays linear in the number of groups, and groups that ask for the same
// without being found are only slower.
func (p *plan) findSame() {
	const compared = 32
	for k := range p.requests {
		r := &p.requests[k]
		r.sameAs = -1
		for j := 0; j < min(k, compared) && r.sameAs < 0; j++ {
			if r.asksTheSame(&p.requests[j]) {
				r.sameAs = j
			}
		}
	}
}

// asksTheSame reports whether two suffixed groups ask for the same.
func (r *request) asksTheSame(o *request) bool {
	return r.granular && o.granular && r.inTree == o.inTree &&
		slices.Equal(r.needs, o.needs) &&
		slices.EqualFunc(r.required, o.required, slices.Equal) &&
		slices.Equal(r.forbidden, o.forbidden) &&
		slices.EqualFunc(r.memberOf, o.memberOf, slices.Equal) &&
		slices.Equal(r.notMemberOf, o.notMemberOf)
}

// findSubtrees turns the same_subtree sets into sets of requests. A set of one
// holds always and is left out.
func (p *plan) findSubtrees() {
	if len(p.query.SameSubtrees) == 0 {
		return
	}
	bySuffix := make(map[string]int, len(p.requests)) // a suffixed group is one request
	for i := range p.requests {
		if r := &p.requests[i]; r.granular {
			bySuffix[p.groups[r.group]] = i
		}
	}
	for _, suffixes := range p.query.SameSubtrees {
		set := newBitset(len(p.requests))
		for _, suffix := range suffixes {
			if i, ok := bySuffix[suffix]; ok {
				set.add(i)
			}
		}
		if set.count() > 1 {
			p.sameSubtrees = append(p.sameSubtrees, set)
		}
	}
}
