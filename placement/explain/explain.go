// Package explain says why a query for allocation candidates has few hosts or none, and what would
// help: how many providers and hosts each constraint drops, which single change of the query would
// give hosts, and which hosts come closest. It is pure: it takes a snapshot of placement's
// providers and a query, and sends no requests.
//
// A host is a tree of providers that has a candidate, or could have one. All counts are exact: a
// change is counted by a search for the changed query (changes.go).
package explain

import (
	"cmp"
	"context"
	"slices"
	"strings"

	"github.com/berthcloud/berth/fault"
	"github.com/berthcloud/berth/placement"
	"github.com/berthcloud/berth/placement/candidates"
	"github.com/berthcloud/berth/placement/snapshot"
)

// Options say what to search for.
type Options struct {
	// Near is how many hosts that do not fit are described.
	Near int
	// Host is the name or UUID of a provider whose host alone is described, whether or not it comes
	// close; "" for those that do.
	Host string
}

// MaxGroups is how many request groups a query to explain may have. Each has several changes, and
// each change is searched for with all groups.
const MaxGroups = 256

// Explain explains a query. Its limits and its sample do not matter. It returns what it has when
// ctx ends, with the error of ctx, and a fault for a host that is not there and for more than
// MaxGroups groups.
func Explain(ctx context.Context, s *snapshot.Snapshot, q placement.Query, o Options) (*Explanation, error) {
	q.Limit, q.Max, q.Sample, q.BreadthFirst, q.Flat = 0, 0, nil, false, false
	e := newExplanation(s)
	if len(q.Groups) > MaxGroups {
		return nil, fault.New(fault.Invalid, "", "The query has %d request groups; one with at most %d can be explained.",
			len(q.Groups), MaxGroups)
	}
	var only *snapshot.Tree
	if o.Host != "" {
		if _, only = s.Provider(placement.UUID(o.Host)); only == nil {
			_, only = s.ProviderNamed(o.Host)
		}
		if only == nil {
			return nil, fault.New(fault.NotFound, "", "There is no provider with the name or UUID %q.", o.Host)
		}
		e.Host = only.Root().Name
	}
	r, err := candidates.Search(s, q)
	if err != nil {
		e.Refused = err.Error()
		e.Changes, err = changes(ctx, s, q, nil)
		return e, err
	}
	r = r.Until(ctx.Done())
	fitting := map[*snapshot.Tree]bool{}
	for tree := range r.Anchors() {
		fitting[tree] = true
		e.Fit = append(e.Fit, tree.Root().Name)
	}
	slices.Sort(e.Fit)
	e.Fitting = len(fitting)
	counts, err := candidates.Count(ctx, s, q)
	if err != nil {
		return nil, err
	}
	e.add(counts, q.Groups)
	if e.Fitting > 0 {
		e.Constraint = ""
	}
	if e.Changes, err = changes(ctx, s, q, fitting); err != nil {
		return e, err
	}
	if only != nil {
		e.Near = append(e.Near, newHost(only, r.Reasons(only)))
		return e, ctx.Err()
	}
	e.Near = near(ctx, s, r, fitting, o.Near)
	return e, ctx.Err()
}

// Count explains in one pass why a query has no candidates: which constraint left none, and how
// many providers and hosts each drops. It searches for no changes and describes no hosts. It
// returns the fault of a query that placement refuses. When ctx ends, it returns what it has: the
// constraint may be candidates.UnknownConstraint then.
func Count(ctx context.Context, s *snapshot.Snapshot, q placement.Query) (*Explanation, error) {
	counts, err := candidates.Count(ctx, s, q)
	if err != nil {
		return nil, err
	}
	e := newExplanation(s)
	e.add(counts, q.Groups)
	return e, nil
}

func newExplanation(s *snapshot.Snapshot) *Explanation {
	return &Explanation{
		Providers: s.Len(), Hosts: s.TreeCount(), Fit: []string{}, Groups: []Group{}, Changes: []Change{}, Near: []Host{},
	}
}

// add adds what was counted for the request groups of a query.
func (e *Explanation) add(counts candidates.Counts, groups []placement.RequestGroup) {
	e.Constraint, e.RootDropped = counts.Constraint(), counts.RootRejected
	e.FitEachGroup, e.LackTraits, e.FitAllGroups = counts.ServeEach, counts.LackTraits, counts.ServeAll
	bySuffix := make(map[string]*placement.RequestGroup, len(groups))
	for i := range groups {
		bySuffix[groups[i].Suffix] = &groups[i]
	}
	for _, request := range counts.Requests {
		g := Group{
			Suffix: request.Suffix, Class: request.Class, Drops: []Drop{},
			Providers: request.Providers, Hosts: request.Trees,
		}
		for _, d := range request.Drops {
			g.Drops = append(g.Drops, Drop{d.Kind, constraintText(d, bySuffix[request.Suffix]), d.Providers, d.Trees})
		}
		e.Groups = append(e.Groups, g)
	}
}

// near returns the hosts that lack the least: the fewest requests, and of those the least part of
// what is requested.
func near(
	ctx context.Context, s *snapshot.Snapshot, r *candidates.Result, fitting map[*snapshot.Tree]bool, most int,
) []Host {
	type ranked struct {
		tree    *snapshot.Tree
		reasons []candidates.Reason // several of a request where more than one of its classes is missing
		// requests is how many requests the reasons are about, and short how much is missing of them.
		requests int
		short    float64
	}
	var list []ranked
	order := func(a, b ranked) int {
		return cmp.Or(cmp.Compare(a.requests, b.requests), cmp.Compare(a.short, b.short),
			strings.Compare(a.tree.Root().Name, b.tree.Root().Name))
	}
	for tree := range s.Trees() {
		if fitting[tree] || ctx.Err() != nil || most <= 0 {
			continue
		}
		next := ranked{tree: tree, reasons: r.Reasons(tree)}
		for i, m := range next.reasons {
			next.short += shortage(m)
			if i == 0 || m.Suffix != next.reasons[i-1].Suffix || m.Class != next.reasons[i-1].Class {
				next.requests++
			}
		}
		i, _ := slices.BinarySearchFunc(list, next, order)
		if i < most {
			list = slices.Insert(list, i, next)
			list = list[:min(len(list), most)]
		}
	}
	hosts := make([]Host, 0, len(list))
	for _, near := range list {
		hosts = append(hosts, newHost(near.tree, near.reasons))
	}
	return hosts
}

// shortage is how much of a request is missing: the part of the amount that is not free, or more
// than all of it where nothing could be freed.
func shortage(m candidates.Reason) float64 {
	switch m.Kind {
	case candidates.NoCapacity, candidates.OutOfUnits:
		return max(0, float64(m.Requested-m.Most)/float64(m.Requested)) // more may be free than is requested, in other units
	case candidates.NoInventory:
		return 3
	}
	return 1 + float64(len(m.Traits))/100
}
