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
	"fmt"
	"slices"
	"strings"

	"github.com/berthcloud/berth/fault"
	"github.com/berthcloud/berth/placement"
	"github.com/berthcloud/berth/placement/candidates"
	"github.com/berthcloud/berth/placement/snapshot"
)

// An Explanation is the answer, with the JSON keys that programs read.
type Explanation struct {
	// Providers and Hosts are how many there are. Fitting is how many hosts have a candidate.
	Providers int `json:"providers"`
	Hosts     int `json:"hosts"`
	Fitting   int `json:"fitting_hosts"`
	// Fit are the names of those that fit, sorted.
	Fit []string `json:"fit"`
	// Constraint is the kind of constraint that leaves no host, one of candidates.Constraint; ""
	// when hosts fit.
	Constraint string `json:"constraint,omitempty"`
	// Refused is why placement refuses the query, with 400, "" when it does not.
	Refused string `json:"refused,omitempty"`
	// RootDropped is how many hosts root_required drops, before everything else.
	RootDropped int `json:"dropped_by_root_required"`
	// Groups say for each request group what each constraint drops of what the ones before it
	// leave.
	Groups []Group `json:"groups"`
	// FitEachGroup is how many hosts can serve each group by itself, root_required included, and
	// Together how many all of them at once.
	FitEachGroup int `json:"hosts_for_each_group"`
	FitAllGroups int `json:"hosts_for_all_groups"`
	// Changes are those of a single constraint with which hosts would fit that do not fit now;
	// those with most hosts first.
	Changes []Change `json:"changes"`
	// Host is the name of the host of Options.Host, which is the only one in Near then.
	Host string `json:"host,omitempty"`
	// Near are hosts that do not fit, those that lack the least first.
	Near []Host `json:"near"`
}

// A Group is what becomes of the providers for one request group, or for one class of the group
// without suffix.
type Group struct {
	Suffix string `json:"group"`
	Class  string `json:"resource_class,omitempty"`
	Drops  []Drop `json:"dropped"`
	// Providers and Hosts are how many remain.
	Providers int `json:"providers"`
	Hosts     int `json:"hosts"`
}

// A Drop is what a constraint drops.
type Drop struct {
	Kind       string `json:"kind"`
	Constraint string `json:"constraint"`
	Providers  int    `json:"providers"`
	Hosts      int    `json:"hosts"`
}

// A Host is a host that does not fit.
type Host struct {
	Name   string `json:"name"`
	UUID   string `json:"uuid"`
	Misses []Miss `json:"misses"`
}

// A Miss is what a host lacks; see candidates.Miss.
type Miss struct {
	Kind      string   `json:"kind"`
	Group     string   `json:"group"`
	Class     string   `json:"resource_class,omitempty"`
	Provider  string   `json:"provider,omitempty"` // its name
	Requested int64    `json:"asked,omitempty"`
	Most      int64    `json:"available"`
	Total     int64    `json:"total,omitempty"`
	Reserved  int64    `json:"reserved,omitempty"`
	Used      int64    `json:"used,omitempty"`
	MinUnit   int64    `json:"min_unit,omitempty"`
	MaxUnit   int64    `json:"max_unit,omitempty"`
	StepSize  int64    `json:"step_size,omitempty"`
	Traits    []string `json:"traits,omitempty"`
}

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
	e := &Explanation{
		Providers: s.Len(), Hosts: s.TreeCount(), Fit: []string{}, Groups: []Group{}, Changes: []Change{}, Near: []Host{},
	}
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
	counts, err := candidates.Explain(ctx, s, q)
	if err != nil {
		return nil, err
	}
	e.RootDropped, e.FitEachGroup, e.FitAllGroups = counts.BadRoots, counts.Alone, counts.Together
	if e.Fitting == 0 {
		e.Constraint = string(counts.Constraint())
	}
	for _, request := range counts.Requests {
		g := Group{
			Suffix: request.Suffix, Class: request.Class, Drops: []Drop{}, Providers: request.Left, Hosts: request.LeftTrees,
		}
		for _, d := range request.Drops {
			g.Drops = append(g.Drops, Drop{string(d.Kind), d.Constraint, d.Providers, d.Trees})
		}
		e.Groups = append(e.Groups, g)
	}
	if e.Changes, err = changes(ctx, s, q, fitting); err != nil {
		return e, err
	}
	if only != nil {
		e.Near = append(e.Near, describe(only, r.Misses(only)))
		return e, ctx.Err()
	}
	e.Near = near(ctx, s, r, fitting, o.Near)
	return e, ctx.Err()
}

// near returns the hosts that lack the least: the fewest requests, and of those the least part of
// what is requested.
func near(
	ctx context.Context, s *snapshot.Snapshot, r *candidates.Result, fitting map[*snapshot.Tree]bool, most int,
) []Host {
	type ranked struct {
		tree   *snapshot.Tree
		misses []candidates.Miss // several of a request where more than one of its classes is missing
		// requests is how many requests the misses are of, and short how much is missing of them.
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
		next := ranked{tree: tree, misses: r.Misses(tree)}
		for i, m := range next.misses {
			next.short += shortage(m)
			if i == 0 || m.Suffix != next.misses[i-1].Suffix || m.Class != next.misses[i-1].Class {
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
		hosts = append(hosts, describe(near.tree, near.misses))
	}
	return hosts
}

// shortage is how much of a request is missing: the part of the amount that is not free, or more
// than all of it where nothing could be freed.
func shortage(m candidates.Miss) float64 {
	switch m.Kind {
	case candidates.NoCapacity, candidates.OutOfUnits:
		return max(0, float64(m.Requested-m.Most)/float64(m.Requested)) // more may be free than is requested, in other units
	case candidates.NoInventory:
		return 3
	}
	return 1 + float64(len(m.Traits))/100
}

// describe returns what a host lacks.
func describe(t *snapshot.Tree, misses []candidates.Miss) Host {
	h := Host{Name: t.Root().Name, UUID: string(t.Root().UUID), Misses: []Miss{}}
	for _, miss := range misses {
		h.Misses = append(h.Misses, NewMiss(miss))
	}
	return h
}

// NewMiss returns what a host lacks, with names.
func NewMiss(miss candidates.Miss) Miss {
	m := Miss{
		Kind: string(miss.Kind), Group: miss.Suffix, Class: cmp.Or(miss.Lacking, miss.Class), Requested: miss.Requested,
		Most: miss.Most, Traits: miss.Traits,
	}
	if miss.Provider != nil {
		m.Provider = miss.Provider.Name
	}
	if miss.Inventory != nil {
		i := miss.Inventory
		m.Total, m.Reserved, m.Used = i.Total, i.Reserved, i.Used
		m.MinUnit, m.MaxUnit, m.StepSize = i.MinUnit, i.MaxUnit, i.StepSize
	}
	return m
}

// String says what a host lacks, for people.
func (m Miss) String() string { return m.text(groupName) }

// text is String with words for whose request group a suffix is.
func (m Miss) text(owner func(suffix string) string) string {
	about := ""
	if m.Group != "" {
		about = owner(m.Group) + ": "
	}
	provider := ""
	if m.Provider != "" {
		provider = " on " + m.Provider
	}
	switch candidates.Constraint(m.Kind) {
	case candidates.NoInventory:
		return about + "no " + m.Class + " at all"
	case candidates.NoCapacity:
		reason := fmt.Sprintf("%d of %d used", m.Used, m.Total)
		if m.Reserved > 0 {
			reason += fmt.Sprintf(", %d reserved", m.Reserved)
		}
		return fmt.Sprintf("%s%s:%d requested, %d available%s (%s)", about, m.Class, m.Requested, m.Most, provider, reason)
	case candidates.OutOfUnits:
		return fmt.Sprintf("%s%s:%d requested, and %s offers %s in one allocation", about, m.Class, m.Requested, m.Provider,
			m.Units())
	case candidates.RequiredTraits:
		return about + "lacks " + strings.Join(m.Traits, ", ") + provider
	case candidates.ForbiddenTraits:
		return about + "has " + strings.Join(m.Traits, ", ") + ", which is forbidden," + provider
	case candidates.RootRequired:
		return "the host " + strings.Join(rootWords(m.Traits), ", ")
	case candidates.MemberOf:
		return about + "not in the aggregates that it must be in"
	case candidates.ForbiddenMemberOf:
		return about + "in an aggregate that it must not be in"
	case candidates.InTree:
		return about + "not the requested host"
	case candidates.EmptyGroup:
		return about + "requests nothing in particular"
	case candidates.Combination:
		return "each group fits by itself, but not all of them together"
	}
	return about + m.Kind
}

// Units says which amounts an inventory takes in one allocation, where the one that is requested is
// none of them.
func (m Miss) Units() string {
	switch {
	case m.Requested > m.MaxUnit:
		return fmt.Sprintf("at most %d", m.MaxUnit)
	case m.Requested < m.MinUnit:
		return fmt.Sprintf("at least %d", m.MinUnit)
	}
	return fmt.Sprintf("multiples of %d", m.StepSize)
}

// FitsHost reports whether the host of Options.Host fits.
func (e *Explanation) FitsHost() bool { return slices.Contains(e.Fit, e.Host) }

// rootWords say what a root lacks, and has.
func rootWords(traits []string) []string {
	words := make([]string, len(traits))
	for i, t := range traits {
		if name, forbidden := strings.CutPrefix(t, "!"); forbidden {
			words[i] = "has " + name
		} else {
			words[i] = "lacks " + t
		}
	}
	return words
}
