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
package request

import (
	"fmt"

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

	ports    []Port
	pci      map[string]string // aliases, by the suffix of the group
	fallback *placement.Query
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
	b, err := build(s, settings, true)
	if err != nil {
		return Request{}, err
	}
	r := Request{ports: s.Ports, pci: b.pci}
	if r.Query, err = b.query(&f); err != nil {
		return Request{}, err
	}
	if b.pinned && !settings.DisableFallbackPCPU {
		plain, err := build(s, settings, false)
		if err != nil {
			return Request{}, err
		}
		q, err := plain.query(&f)
		if err != nil {
			return Request{}, err
		}
		r.fallback = &q
	}
	r.Warnings = b.warnings
	return r, nil
}

// Fallback returns the second query for a server with dedicated CPUs, and whether there is one: it
// finds hosts that still count them as VCPU.
func (r Request) Fallback() (placement.Query, bool) {
	if r.fallback == nil {
		return placement.Query{}, false
	}
	return *r.fallback, true
}

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
	b.confine(f)
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
		RootRequired: f.rootRequired(), RootForbidden: f.rootForbidden(),
	}
	if !b.spec.Unlimited {
		q.Limit = f.MaxResults
	}
	return q, nil
}

// confine restricts the group without a suffix to what the filters and the spec allow.
func (b *builder) confine(f *filtering) {
	if len(f.memberOf) == 0 && len(f.notMemberOf) == 0 && b.spec.InTree == "" {
		return
	}
	g := b.group("")
	g.MemberOf, g.NotMemberOf, g.InTree = f.memberOf, f.notMemberOf, b.spec.InTree
}
