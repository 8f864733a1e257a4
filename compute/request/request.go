// Package request builds the query to placement for a server: from its flavor, its image, its
// ports, and the operator's requirements on all servers. It is pure: no clock, no store, no
// request. Package selection chooses among the candidates.
//
// A flavor's numbers and its extra specs without a suffix, with the requirements of the image, are
// the group without a suffix. Extra specs with a suffix are a group each, and so is each group of a
// port, under the id that the port gives it. Filters add traits of the root and aggregates; a
// disabled filter changes nothing.
//
// Rules and texts are Nova's (nova.scheduler.utils, nova.scheduler.request_filter).
//
// Groups are collected in builder.go; filters.go adds what the operator wants; port.go makes the
// profile of a port's binding. When a query has no candidates, reasons.go relaxes it step by step
// to find the constraint that cannot be satisfied.
package request

import (
	"fmt"
	"slices"

	"github.com/berthcloud/berth/compute/extraspecs"
	"github.com/berthcloud/berth/fault"
	"github.com/berthcloud/berth/placement"
)

// A Spec is the input of a query: one server, or several alike.
type Spec struct {
	Flavor     extraspecs.Flavor
	Image      extraspecs.Image
	FromVolume bool   // the root disk is none of the host's
	Ports      []Port // those that request something may be all that are here
	Project    string
	Zone       string // availability zone, "" for any

	// InTree is the provider of the only host that will do, "" for any.
	InTree placement.UUID
	// Unlimited requests all candidates: the choice among them does not depend on placement alone.
	Unlimited bool
	// Routed are, for each network with segments of its own, the aggregates of
	// hosts that reach one of them.
	Routed [][]placement.UUID
}

// An Aggregate is a host aggregate.
type Aggregate struct {
	UUID     placement.UUID
	Metadata map[string]string
}

// A Request is a question to placement, and what is needed to make use of its
// answers.
type Request struct {
	Query placement.Query
	// Warnings are the parts of the flavor that were ignored, a line each.
	Warnings []string

	ports     []Port
	pci       map[string]string // aliases, by the suffix of the group
	fallbacks []placement.Query
	cells     int // NUMA cells that Query has groups of
}

// NoValidHost says that there is no host for a server.
type NoValidHost struct {
	Reason string // for everybody
	// Details are for administrators, a line each: what is missing.
	Details []string
}

// Error is Nova's text.
func (e *NoValidHost) Error() string { return "No valid host was found. " + e.Reason }

// Fault is what becomes of it where it ends a request.
func (e *NoValidHost) Fault() (fault.Kind, fault.Code) { return fault.Invalid, "NoValidHost" }

// New returns the request for a spec. Errors are *NoValidHost when no host is possible, and faults
// (Invalid) when the flavor and the image contradict each other or two groups have the same suffix.
func New(s Spec, settings Settings, aggregates []Aggregate) (Request, error) {
	// Nova's API refuses aliases that are not defined, before its scheduler has filters run.
	if err := newBuilder(s, settings).pciDevices(); err != nil {
		return Request{}, err
	}
	f := filtering{Spec: s, Settings: settings, aggregates: aggregates}
	if err := f.run(); err != nil {
		return Request{}, err
	}
	r := Request{ports: s.Ports}
	var t extraspecs.NUMA
	if settings.NUMA || settings.NonNUMA {
		var err error
		if t, err = extraspecs.Topology(s.Flavor, s.Image); err != nil {
			return Request{}, err
		}
	}
	cells := settings.NUMA && len(t.Cells) > 0
	if err := affinity(s.Ports, settings); err != nil {
		return Request{}, err
	}
	if cells {
		if err := r.onNodes(s, t, &f); err != nil {
			return Request{}, err
		}
	}
	if err := r.onHosts(s, t, &f); err != nil {
		return Request{}, err
	}
	return r, nil
}

// isolatedCells is why a flavor with cells cannot isolate its groups.
const isolatedCells = "the flavor has group_policy=isolate, with which the CPUs of a NUMA cell and the cell's node " +
	"would have to be two providers: it gets no host that reports NUMA nodes"

// onNodes makes the query of a server with cells for hosts that report their NUMA nodes, unless the
// flavor isolates groups.
func (r *Request) onNodes(s Spec, t extraspecs.NUMA, f *filtering) error {
	b, err := build(s, f.Settings, onCells, t)
	switch {
	case err != nil:
		return err
	case b.policy == policyIsolate:
		r.Warnings = []string{isolatedCells}
		return nil
	}
	if r.Query, err = b.query(f); err != nil {
		return err
	}
	r.cells, r.pci, r.Warnings = b.numaCells, b.pci, b.warnings
	if slices.ContainsFunc(r.Query.Groups, onlyConfined) {
		r.Query = unsuffixCPUs(r.Query)
	}
	return nil
}

// onHosts makes the queries for hosts that are one provider, or that are to have a server without
// cells: Nova's. Those of a server that has a query for nodes are fallbacks.
func (r *Request) onHosts(s Spec, t extraspecs.NUMA, f *filtering) error {
	var queries []placement.Query
	for _, as := range []form{asUsual, asVCPUs} {
		b, err := build(s, f.Settings, as, t)
		if err != nil {
			return err
		}
		if f.NUMA {
			b.keepOffNodes()
		}
		q, err := b.query(f)
		if err != nil {
			return err
		}
		if f.NonNUMA && len(t.Cells) > 0 {
			q.RootForbidden = merged(q.RootForbidden, []string{TraitNonNUMA})
		}
		queries = append(queries, q)
		if as == asUsual && r.cells == 0 {
			r.pci, r.Warnings = b.pci, append(r.Warnings, b.warnings...)
		}
		if !b.pinned || f.DisableFallbackPCPU {
			break
		}
	}
	if r.cells == 0 {
		r.Query, queries = queries[0], queries[1:]
	}
	r.fallbacks = queries
	return nil
}

// merged returns both lists as one, sorted.
func merged(a, b []string) []string {
	all := slices.Concat(a, b)
	slices.Sort(all)
	return slices.Compact(all)
}

// Fallbacks returns the queries to try one after the other when there is no candidate for Query.
// Where hosts report NUMA nodes, a server with cells has one that finds hosts that do not, whose
// nodes are compared with its cells when it is claimed. A server with dedicated CPUs has one that
// finds hosts that still count them as VCPU.
func (r Request) Fallbacks() []placement.Query { return r.fallbacks }

// Attach returns the request for one more port of a server whose host has a root provider. It is
// empty when the port has no request.
func Attach(p Port, root placement.UUID, settings Settings) (Request, error) {
	b := newBuilder(Spec{Ports: []Port{p}}, settings)
	if err := b.ports(); err != nil {
		return Request{}, err
	}
	for _, g := range b.groups {
		g.InTree = root
	}
	q := placement.Query{Groups: b.list(), SameSubtrees: b.subtrees(), Limit: settings.MaxResults}
	return Request{Query: q, ports: []Port{p}}, nil
}

// query puts the groups together with what filters add.
func (b *builder) query(f *filtering) (placement.Query, error) {
	b.stripZeros()
	if f.root[ownerNova] {
		for suffix := range b.pci {
			b.group(suffix).required[ownerNova] = true
		}
	}
	required, forbidden := b.hostTraits()
	b.confine(f)
	b.dropEmpty()
	policy := b.policy
	if b.suffixed() >= 2 && policy == "" {
		if b.fromFlavor > 1 {
			return placement.Query{}, &NoValidHost{Details: []string{fmt.Sprintf(
				"the flavor has %d groups with a suffix, and no group_policy that says whether one provider may serve several",
				b.fromFlavor)}}
		}
		policy = policyNone
	}
	q := placement.Query{
		Groups: b.list(), Isolate: policy == policyIsolate, SameSubtrees: b.subtrees(),
		RootRequired: merged(f.rootRequired(), required), RootForbidden: merged(f.rootForbidden(), forbidden),
	}
	if !b.spec.Unlimited {
		q.Limit = f.MaxResults
	}
	return q, nil
}

// dropEmpty removes the group without a suffix when nothing is left of it.
func (b *builder) dropEmpty() {
	g := b.groups[""]
	if g == nil || len(g.resources)+len(g.required)+len(g.forbidden)+len(g.anyOf) > 0 || onlyConfined(g.RequestGroup) {
		return
	}
	delete(b.groups, "")
	b.order = slices.DeleteFunc(b.order, func(suffix string) bool { return suffix == "" })
}

// confine restricts the group without a suffix to what the filters and the spec allow.
func (b *builder) confine(f *filtering) {
	if len(f.memberOf) == 0 && len(f.notMemberOf) == 0 && b.spec.InTree == "" {
		return
	}
	g := b.group("")
	g.MemberOf, g.NotMemberOf, g.InTree = f.memberOf, f.notMemberOf, b.spec.InTree
}
