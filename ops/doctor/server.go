package doctor

import (
	"context"
	"errors"
	"fmt"
	"maps"
	"slices"
	"strings"

	"github.com/berthcloud/berth/compute/request"
	"github.com/berthcloud/berth/ops/audit"
	"github.com/berthcloud/berth/ops/cloud"
	"github.com/berthcloud/berth/ops/cloud/index"
	"github.com/berthcloud/berth/ops/heal"
	"github.com/berthcloud/berth/ops/novaquery"
	"github.com/berthcloud/berth/placement/explain"
)

// A serverRun is the server that is examined.
type serverRun struct {
	*cloud.Server
	request  novaquery.Server
	ports    []*cloud.Port
	consumer *cloud.Consumer // nil for none
	// explained says whether a host fits what the server requests now; nil when that could not be
	// searched for, for the reason in why.
	explained *explain.Explanation
	reason    string
	// noQuery is why Nova answers that there is no valid host without a query to placement, "" when it
	// sends one.
	noQuery string
	// audited are the findings about the server.
	audited audit.Result
}

// addServer finds the server of the options. Nothing is found where the compute service was not
// read.
func (x *run) addServer(ctx context.Context) error {
	if x.Cloud.Compute == nil {
		return nil
	}
	requested, server, err := novaquery.FromServer(x.Cloud, x.Options.Server)
	if err != nil {
		return err
	}
	if x.Image != nil {
		requested.Image = *x.Image
	}
	s := &serverRun{
		Server: server, request: requested,
		audited: audit.Check(x.index, audit.Options{Servers: []string{server.UUID}, Heals: heal.Heals}),
	}
	x.server = s
	if x.Cloud.Network != nil {
		for i := range x.Cloud.Network.Ports {
			if p := &x.Cloud.Network.Ports[i]; p.Device == server.UUID {
				s.ports = append(s.ports, p)
			}
		}
	}
	for i := range x.Ports {
		if p := &x.Ports[i]; !slices.ContainsFunc(s.ports, func(port *cloud.Port) bool { return port.UUID == p.UUID }) {
			s.ports = append(s.ports, p)
			s.request.Ports = append(s.request.Ports, *p)
		}
	}
	if x.Cloud.Placement == nil {
		s.reason = x.missing(cloud.PlacementPart)
		return nil
	}
	for i := range x.Cloud.Placement.Consumers {
		if c := &x.Cloud.Placement.Consumers[i]; c.UUID == server.UUID {
			s.consumer = c
		}
	}
	filters := request.DefaultSettings()
	if x.Filters != nil {
		filters = *x.Filters
	}
	query, err := novaquery.Request(s.request, x.Cloud, filters)
	if err != nil {
		s.reason = "Nova sends no query to placement for it: " + err.Error() + "."
		if none, ok := errors.AsType[*request.NoValidHost](err); ok {
			s.noQuery = strings.Join(none.Details, "; ")
		}
		return nil
	}
	snapshot, err := x.Cloud.Snapshot()
	if err != nil {
		s.reason = "The records of placement contradict each other: " + err.Error() + "."
		return nil
	}
	s.explained, err = explain.Explain(ctx, snapshot, query.Query, explain.Options{})
	if err != nil {
		s.explained, s.reason = nil, "What would fit was not found out: "+err.Error()+"."
	}
	return ctx.Err()
}

// portsWithRequest are the ports that request something from placement.
func (s *serverRun) portsWithRequest() (list []*cloud.Port) {
	for _, p := range s.ports {
		if p.Request != nil && len(p.Request.Groups) > 0 {
			list = append(list, p)
		}
	}
	return list
}

// placed reports whether the server has a host.
func (s *serverRun) placed() bool { return s.Host != "" }

// policyName is a policy for people.
func (x *run) policyName(uuid string) string {
	for _, p := range x.Cloud.Network.Policies {
		if p.UUID == uuid {
			return named(uuid, p.Name)
		}
	}
	return uuid
}

// explain is the command that explains why the server has no host, with the ports that it was to
// have.
func (x *run) explain() string {
	text := "berth explain --server " + x.server.UUID
	for _, p := range x.Ports {
		text += " --port " + p.UUID
	}
	return text
}

// unplaced reports whether what went wrong is that no host was found. Nova says so with these
// words, and in the details of other faults.
func (s *serverRun) unplaced() bool { return s.Fault == "" || strings.Contains(s.Fault, "valid host") }

const portsGivenBack = "It has no port now: a server that got no host gives its ports back. --port names those that " +
	"it was to have."

func serverPorts(x *run, r *findings) {
	s := x.server
	switch requesting := s.portsWithRequest(); {
	case len(s.ports) == 0 && s.placed():
		r.warn("openstack server create --help", "it has no port: was it started with --nic none?")
	case len(s.ports) == 0:
		r.unknown("%s", portsGivenBack)
	case len(requesting) == 0:
		r.warn("openstack port list --server "+s.UUID, "it has %s, and none has a resource request: it was started with a "+
			"network, whose port gets no guarantee, or with ports without a policy that guarantees", count(
			len(s.ports), "port"))
	default:
		r.ok("ports with a resource request: %d of %d", len(requesting), len(s.ports))
	}
}

func serverPolicy(x *run, r *findings) {
	policies := x.guaranteed()
	for _, p := range x.server.ports {
		policy := policyOf(p)
		from := "of its own"
		if p.Policy == "" {
			from = "of its network"
		}
		switch {
		case policy == "":
			r.ok("port %s has no policy", portName(p))
		case policies[policy] == nil:
			r.warn("openstack network qos rule list "+policy,
				"port %s has the policy %s, %s, which has no rule that guarantees something", portName(p), x.policyName(policy),
				from)
		default:
			r.ok("port %s has the policy %s, %s: %s", portName(p), policies[policy].Name, from, policyRules(policies[policy]))
		}
	}
	if len(x.server.ports) == 0 {
		r.unknown("%s", portsGivenBack)
	}
	guaranteed := slices.ContainsFunc(x.server.ports, func(p *cloud.Port) bool { return policyOf(p) != "" })
	if len(x.server.ports) > 0 && !guaranteed {
		r.warn("openstack port set --qos-policy POLICY "+x.server.ports[0].UUID, "it has %s, and none has a policy",
			count(len(x.server.ports), "port"))
	}
}

func serverRequest(x *run, r *findings) {
	policies := x.guaranteed()
	for _, p := range x.server.ports {
		switch {
		case p.Request != nil && len(p.Request.Groups) > 0:
			for _, g := range p.Request.Groups {
				r.ok("port %s requests %s with %s", portName(p), index.FormatAmounts(g.Resources), strings.Join(g.Required, ", "))
			}
		case policies[policyOf(p)] != nil:
			status, reason := x.whyNoRequest(p)
			r.add(status, "openstack port show -c resource_request "+p.UUID,
				fmt.Sprintf("port %s has a policy that guarantees, and no resource_request: %s", portName(p), reason))
		default:
			r.ok("port %s requests nothing, and is guaranteed nothing", portName(p))
		}
	}
	if len(x.server.ports) == 0 {
		r.unknown("%s", portsGivenBack)
	}
}

func serverScheduled(x *run, r *findings) {
	s := x.server
	switch {
	case s.placed() && s.Status == "ERROR":
		r.fail("openstack server event list "+s.UUID, "it is on %s, in ERROR: %s", s.Host, strings.TrimSpace(s.Fault))
	case s.placed():
		r.ok("it is on %s, %s", s.Host, s.Status)
	case s.Status == "ERROR" && s.unplaced():
		r.fail(x.explain(), "it has no host, and is in ERROR: %s", strings.TrimSpace(s.Fault))
	case s.Status == "ERROR":
		r.fail("openstack server event list "+s.UUID, "it has no host, and is in ERROR: %s", strings.TrimSpace(s.Fault))
	case strings.HasPrefix(s.Status, "SHELVED"):
		r.ok("it has no host: it is %s", s.Status)
	default:
		r.warn("openstack server event list "+s.UUID, "it has no host, and is %s (%s)", s.Status, s.Task)
	}
}

func serverCandidates(x *run, r *findings) {
	s := x.server
	switch {
	case s.explained != nil:
	case s.noQuery != "" && !s.placed():
		r.fail(x.explain(), "Nova finds no host for it without a query to placement: %s", s.noQuery)
		return
	default:
		r.unknown("%s", s.reason)
		return
	}
	e := s.explained
	// Groups are called after what requests them.
	summary := e.Summary()
	for _, p := range s.ports {
		if p.Request != nil {
			for _, g := range p.Request.Groups {
				if g.ID == "" {
					g.ID = p.UUID // as novaquery names it
				}
				summary = strings.ReplaceAll(strings.ReplaceAll(summary, "group "+g.ID, g.ID), g.ID, "port "+portName(p))
			}
		}
	}
	explainIt := x.explain()
	// Placement offers hosts that Nova does not take.
	taken, refused := e.Fitting, s.request.Refusals(x.Cloud)
	for _, host := range e.Fit {
		if reason := refused(host); reason != "" {
			taken--
			r.ok("Nova does not take %s: %s", host, reason)
		}
	}
	switch {
	case e.Fitting > 0 && taken == 0 && !s.placed():
		r.fail("openstack compute service list --service nova-compute",
			"on %d of %s there is room for it, and Nova takes none of them", e.Fitting, count(e.Hosts, "host"))
	case e.Fitting > 0 && s.Status == "ERROR" && !s.placed() && !s.unplaced():
		r.ok("on %d of %s there is room for it: it failed for something else, which server-scheduled has", taken,
			count(e.Hosts, "host"))
	case e.Fitting > 0 && s.Status == "ERROR" && !s.placed():
		r.warn(explainIt,
			"on %d of %s there is room for it now: either there was none when it was scheduled, or Nova did not take them",
			taken, count(e.Hosts, "host"))
	case e.Fitting > 0:
		r.ok("on %d of %s there is room for another one like it", taken, count(e.Hosts, "host"))
	case s.placed():
		r.ok("it has a host; there is no room for another one like it: %s", summary)
	default:
		r.fail(explainIt, "%s", summary)
	}
	if len(s.ports) == 0 && !s.placed() && s.unplaced() {
		r.warn(explainIt,
			"what its ports request is not known, since it has none now: --port names those that it was to have")
	}
	if x.Image == nil && s.Image != "" {
		r.ok("what its image requires was not checked")
	}
}

func serverAllocation(x *run, r *findings) {
	s := x.server
	show := "openstack resource provider allocation show " + s.UUID
	switch {
	case s.consumer == nil && s.placed():
		r.fail("berth heal --only allocations --server "+s.UUID, "it is on %s, and has no allocation", s.Host)
	case s.consumer == nil:
		r.ok("it has no host, and no allocation")
	case !s.placed():
		r.warn(show, "it has no host, and allocations of %s", count(len(s.consumer.Allocations), "provider"))
	default:
		for _, uuid := range slices.Sorted(maps.Keys(s.consumer.Allocations)) {
			r.ok("%s of %s", index.FormatAmounts(s.consumer.Allocations[uuid]), x.providerName(uuid))
		}
	}
}

func (x *run) providerName(uuid string) string {
	if p := x.Cloud.Placement.Provider(uuid); p != nil {
		return p.Name
	}
	return uuid
}

// fromServer adds what audit finds about the server, of some codes.
func (x *run) fromServer(codes []audit.Code, r *findings) {
	for _, f := range x.server.audited.Findings {
		if slices.Contains(codes, f.Code) {
			status := map[audit.Severity]Status{audit.Error: Failed, audit.Warning: Warning, audit.Info: OK}[f.Severity]
			r.add(status, f.Command, fmt.Sprintf("%s: %s; expected: %s (%s)", f.About[0], f.Actual, f.Expected, f.Code))
		}
	}
	for _, u := range x.server.audited.Unchecked {
		if slices.ContainsFunc(u.Codes, func(code audit.Code) bool { return slices.Contains(codes, code) }) {
			r.unknown("%s", u.Reason)
		}
	}
}

var allocationCodes = []audit.Code{
	audit.AllocationOnMissingProvider, audit.AllocationOnWrongHost, audit.AllocatedOnSeveralHosts,
	audit.FlavorAmountMissing, audit.FlavorAmountSuperfluous, audit.ClassNotRequested,
	audit.PortAmountMissing, audit.PortAmountSuperfluous,
}

var profileCodes = []audit.Code{
	audit.BoundWithoutKey, audit.KeyWithoutRequest, audit.KeyGroupUnknown, audit.KeyGroupMissing, audit.KeyFormatOld,
	audit.KeyProviderMissing, audit.KeyProviderOfOtherHost,
	audit.KeyProviderLacksClass, audit.KeyProviderLacksTrait, audit.KeyNotAllocated, audit.KeyOfUnboundPort,
}

func serverProviders(x *run, r *findings) {
	x.fromServer(allocationCodes, r)
	s := x.server
	if r.list != nil {
		return
	}
	for _, p := range s.portsWithRequest() {
		for group, uuid := range p.Allocation {
			allocated := int64(0)
			if s.consumer != nil {
				for _, n := range s.consumer.Allocations[uuid] {
					allocated += n
				}
			}
			if allocated > 0 {
				r.ok("port %s has its part of %s%s", portName(p), x.providerName(uuid),
					strings.TrimSuffix(", group "+group, ", group "))
			}
		}
	}
	switch {
	case r.list != nil:
	case s.consumer == nil:
		r.ok("it has no host, and no allocation")
	default:
		r.ok("its allocation is what its flavor requests; no port has a part of it")
	}
}

func serverProfile(x *run, r *findings) {
	x.fromServer(profileCodes, r)
	for _, p := range x.server.portsWithRequest() {
		switch {
		case len(p.Allocation) > 0:
			for _, group := range slices.Sorted(maps.Keys(p.Allocation)) {
				r.ok("port %s: %s", portName(p), x.providerName(p.Allocation[group]))
			}
		case !x.server.placed():
			r.ok("port %s has no allocation key, since the server has no host", portName(p))
		case r.worst() == OK:
			r.fail("openstack port show -c binding_profile "+
				p.UUID, "port %s has no key allocation in its binding profile", portName(p))
		}
	}
	if r.list == nil {
		r.ok("no port requests something, and none has the key")
	}
}

func serverBound(x *run, r *findings) {
	s := x.server
	for _, p := range s.ports {
		switch {
		case !s.placed() && p.Host == "":
			r.ok("port %s is not bound, since the server has no host", portName(p))
		case p.VIF == "binding_failed":
			reason, command := x.whyUnbound(p)
			r.fail(command, "port %s could not be bound on %s: %s", portName(p), p.Host, reason)
		case p.VIF == "unbound" || p.VIF == "" || p.Host == "":
			r.fail("openstack port show "+p.UUID, "port %s is not bound, and its server is on %s", portName(p), s.Host)
		case p.Host != s.Host && s.Task == "" && s.placed():
			r.fail("openstack port show "+p.UUID, "port %s is bound on %s, and its server is on %s", portName(p), p.Host, s.Host)
		default:
			r.ok("port %s is bound on %s (%s), %s", portName(p), p.Host, p.VIF, p.Status)
		}
	}
	if r.list == nil {
		r.ok("it has no port")
	}
}
