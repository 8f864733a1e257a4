package explain

import (
	"cmp"
	"slices"

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
	// Constraint is the kind of constraint that leaves no host, "" when hosts fit.
	Constraint candidates.Constraint `json:"constraint,omitempty"`
	// Refused is why placement refuses the query, with 400, "" when it does not.
	Refused string `json:"refused,omitempty"`
	// RootDropped is how many hosts root_required drops, before everything else.
	RootDropped int `json:"dropped_by_root_required"`
	// Groups say for each request group what each constraint drops of what the ones before it
	// leave.
	Groups []Group `json:"groups"`
	// FitEachGroup is how many hosts can serve each group by itself, root_required included, and
	// FitAllGroups how many all of them at once.
	FitEachGroup int `json:"hosts_for_each_group"`
	// LackTraits is how many of the hosts that can serve each group lack a trait that the group
	// without suffix requires of its providers between them.
	LackTraits   int `json:"hosts_lacking_traits,omitempty"`
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
	Kind candidates.Constraint `json:"kind"`
	// Constraint says which one it is, for people, with the class and the amount.
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

// A Miss is what a host lacks; see candidates.Reason.
type Miss struct {
	Kind      candidates.Constraint `json:"kind"`
	Group     string                `json:"group"`
	Class     string                `json:"resource_class,omitempty"`
	Provider  string                `json:"provider,omitempty"` // its name
	Requested int64                 `json:"asked,omitempty"`
	Most      int64                 `json:"available"`
	Total     int64                 `json:"total,omitempty"`
	Reserved  int64                 `json:"reserved,omitempty"`
	Used      int64                 `json:"used,omitempty"`
	MinUnit   int64                 `json:"min_unit,omitempty"`
	MaxUnit   int64                 `json:"max_unit,omitempty"`
	StepSize  int64                 `json:"step_size,omitempty"`
	Traits    []string              `json:"traits,omitempty"`
}

// FitsHost reports whether the host of Options.Host fits.
func (e *Explanation) FitsHost() bool { return slices.Contains(e.Fit, e.Host) }

// unserved returns the first group that no provider remains for, nil when there is none.
func (e *Explanation) unserved() *Group {
	i := slices.IndexFunc(e.Groups, func(g Group) bool { return g.Providers == 0 && len(g.Drops) > 0 })
	if i < 0 {
		return nil
	}
	return &e.Groups[i]
}

// newHost returns what a host lacks.
func newHost(t *snapshot.Tree, reasons []candidates.Reason) Host {
	return Host{Name: t.Root().Name, UUID: string(t.Root().UUID), Misses: NewMisses(reasons)}
}

// NewMisses returns what a host lacks, with names.
func NewMisses(reasons []candidates.Reason) []Miss {
	misses := make([]Miss, 0, len(reasons))
	for _, reason := range reasons {
		misses = append(misses, newMiss(reason))
	}
	return misses
}

func newMiss(reason candidates.Reason) Miss {
	m := Miss{
		Kind: reason.Kind, Group: reason.Suffix, Class: cmp.Or(reason.Lacking, reason.Class), Requested: reason.Requested,
		Most: reason.Most, Traits: reason.Traits,
	}
	if reason.Provider != nil {
		m.Provider = reason.Provider.Name
	}
	if reason.Inventory != nil {
		i := reason.Inventory
		m.Total, m.Reserved, m.Used = i.Total, i.Reserved, i.Used
		m.MinUnit, m.MaxUnit, m.StepSize = i.MinUnit, i.MaxUnit, i.StepSize
	}
	return m
}
