package doctor

import (
	"fmt"
	"slices"
	"strings"

	"github.com/berthcloud/berth/guarantee"
	"github.com/berthcloud/berth/ops/audit"
	"github.com/berthcloud/berth/ops/cloud"
)

// neededExtensions are the extensions of Neutron without which nothing is guaranteed, and
// optionalExtensions those without which a part is not.
var (
	neededExtensions = [][2]string{
		{"qos", "policies"},
		{"port-resource-request", "what a port requests from placement"},
		{"binding", "where ports are bound"},
	}
	optionalExtensions = [][2]string{
		{"qos-bw-minimum-ingress", "guarantees for what servers receive"},
		{"port-resource-request-groups", "several guarantees for a port (Yoga)"},
		{"qos-port-network-policy", "policies that ports have from their network"},
		{"qos-pps-minimum", "guaranteed packet rates (Yoga)"},
		{"agent-resources-synced", "whether placement has what agents report"},
	}
)

func extensions(x *run, r *findings) {
	if x.environment.Extensions == nil {
		r.unknown("The extensions of the network service were not read.")
		return
	}
	for _, e := range neededExtensions {
		if !slices.Contains(x.environment.Extensions, e[0]) {
			r.fail("grep -E 'service_plugins|extension_drivers' -r /etc/neutron", "the network service has no extension %s: %s",
				e[0], e[1])
		}
	}
	for _, e := range optionalExtensions {
		if !slices.Contains(x.environment.Extensions, e[0]) {
			r.warn("openstack extension list --network", "the network service has no extension %s: %s", e[0], e[1])
		}
	}
	if r.list == nil {
		r.ok("%s, among them all %d that guarantees use", count(len(x.environment.Extensions), "extension"),
			len(neededExtensions)+len(optionalExtensions))
	}
}

func ruleTypes(x *run, r *findings) {
	switch {
	case x.environment.RuleTypes == nil:
		r.unknown("The types of QoS rules were not read.")
	case !slices.Contains(x.environment.RuleTypes, string(guarantee.MinimumBandwidth)):
		r.fail("grep mechanism_drivers -r /etc/neutron", "no mechanism driver enforces minimum_bandwidth; the types are %s",
			strings.Join(x.environment.RuleTypes, ", "))
	default:
		r.ok("%s", strings.Join(x.environment.RuleTypes, ", "))
	}
}

// on reports whether a record is on the host of the options.
func (x *run) on(hosts ...string) bool {
	return x.Host == "" || slices.ContainsFunc(hosts, func(h string) bool { return strings.EqualFold(h, x.Host) })
}

// mapped returns the physical networks that an agent is connected to. Neutron shows those of OVN's
// chassis under a key of their own.
func (a *agent) mapped() []string {
	nets := a.nets()
	text, _ := a.Configurations["bridge-mappings"].(string)
	for item := range strings.SplitSeq(text, ",") {
		if net, _, ok := strings.Cut(strings.TrimSpace(item), ":"); ok {
			nets = append(nets, net)
		}
	}
	return nets
}

func physicalNetworks(x *run, r *findings) {
	hosts := map[string]int{}
	for _, a := range x.agents {
		for _, net := range a.mapped() {
			hosts[net]++
		}
	}
	for _, n := range x.Cloud.Network.Networks {
		nets := slices.Clone(n.Segments)
		if n.Physical != "" {
			nets = append(nets, n.Physical)
		}
		for _, net := range nets {
			if hosts[net] == 0 {
				r.fail("openstack network agent list --long",
					"no agent%s is connected to %s, the physical network of the network %s (%s)", x.onHost(), net, n.Name, n.UUID)
			} else {
				r.ok("%s: %s connected to it", net, count(hosts[net], "agent"))
			}
		}
	}
	if x.Host != "" {
		// A host need not be on every network.
		for i := range r.list {
			if r.list[i].Result == Failed {
				r.list[i].Result = Warning
			}
		}
	}
	x.fromAudit([]audit.Code{audit.RequestTraitWithoutProvider}, r)
	if r.list == nil {
		r.ok("no network is on a physical network")
	}
}

// guaranteed returns the policies with a rule that guarantees something.
func (x *run) guaranteed() map[string]*cloud.QoSPolicy {
	all := map[string]*cloud.QoSPolicy{}
	for i := range x.Cloud.Network.Policies {
		p := &x.Cloud.Network.Policies[i]
		if slices.ContainsFunc(p.Rules, func(r cloud.QoSRule) bool { return r.MinKbps > 0 || r.MinKpps > 0 }) {
			all[p.UUID] = p
		}
	}
	return all
}

// policyRules describes the rules of a policy.
func policyRules(p *cloud.QoSPolicy) string {
	var list []string
	for _, rule := range p.Rules {
		amount := fmt.Sprintf("%d kbit/s", rule.MinKbps)
		if rule.MinKpps > 0 {
			amount = fmt.Sprintf("%d kpps", rule.MinKpps)
		}
		list = append(list, strings.TrimSpace(fmt.Sprintf("%s %s %s", rule.Type, amount, rule.Direction)))
	}
	return strings.Join(list, ", ")
}

func policyHasRule(x *run, r *findings) {
	guaranteed := x.guaranteed()
	for _, p := range x.Cloud.Network.Policies {
		if guaranteed[p.UUID] != nil {
			r.ok("%s: %s", p.Name, policyRules(&p))
		}
	}
	if r.list == nil {
		r.warn("openstack network qos rule create --help",
			"no QoS policy has a rule that guarantees something (minimum-bandwidth, minimum-packet-rate)")
	}
}

// named is a UUID with the name, where there is one.
func named(uuid, name string) string {
	if name == "" {
		return uuid
	}
	return uuid + " (" + name + ")"
}

func portName(p *cloud.Port) string { return named(p.UUID, p.Name) }

// policyOf is the policy that counts for a port: its own, or that of its network.
func policyOf(p *cloud.Port) string {
	if p.Policy != "" {
		return p.Policy
	}
	return p.NetworkPolicy
}

// isNormal reports whether a port is one of a server, which alone request something from placement.
func isNormal(p *cloud.Port) bool { return strings.HasPrefix(p.Owner, "compute:") || p.Owner == "" }

// network returns a network, nil when it is not among the records.
func (x *run) network(uuid string) *cloud.NetworkOf {
	if x.networks == nil {
		x.networks = map[string]*cloud.NetworkOf{}
		for i := range x.Cloud.Network.Networks {
			x.networks[x.Cloud.Network.Networks[i].UUID] = &x.Cloud.Network.Networks[i]
		}
	}
	return x.networks[uuid]
}

// whyNoRequest returns why a port whose policy guarantees something requests nothing.
func (x *run) whyNoRequest(p *cloud.Port) (Status, string) {
	n := x.network(p.Network)
	if n != nil && n.Physical == "" && len(n.Segments) == 0 {
		return Warning, fmt.Sprintf("its network %s (%s) is on no physical network; tunnelled networks have resource "+
			"requests since Yoga, with [ml2] tunnelled_network_rp_name", n.Name, n.Type)
	}
	return Failed, "the network service does not make requests for placement, or a caller without the right to see them " +
		"has read the port"
}

func portRequests(x *run, r *findings) {
	policies := x.guaranteed()
	requesting := 0
	for i := range x.Cloud.Network.Ports {
		p := &x.Cloud.Network.Ports[i]
		policy := policies[policyOf(p)]
		if policy == nil || !isNormal(p) || !x.on(p.Host) {
			continue
		}
		if p.Request != nil && len(p.Request.Groups) > 0 {
			requesting++
			continue
		}
		status, reason := x.whyNoRequest(p)
		r.add(status, "openstack port show -c resource_request -c qos_policy_id -c qos_network_policy_id "+p.UUID,
			fmt.Sprintf("port %s has the policy %s (%s), and no resource_request: %s", portName(p), policy.Name,
				policyRules(policy), reason))
	}
	r.ok("ports that request what their policy guarantees: %d", requesting)
}

// whyUnbound returns why a port could not be bound on its host, as far as the records show.
func (x *run) whyUnbound(p *cloud.Port) (reason, command string) {
	show := "grep " + p.UUID + " /var/log/neutron/neutron-server.log"
	physical := ""
	if n := x.network(p.Network); n != nil {
		physical = n.Physical
	}
	var agents []*agent
	var reasons []string
	command = show
	for _, a := range x.agents {
		if strings.EqualFold(a.Host, p.Host) {
			agents = append(agents, a)
		}
	}
	for _, a := range agents {
		switch {
		case !slices.Contains(a.Driver.VNICTypes, p.VNIC):
			continue
		case !a.Alive:
			reasons = append(reasons, "the "+a.named()+" is not alive")
			command = "ssh " + a.Host + " systemctl status " + a.Driver.Binary
		case !a.AdminUp:
			reasons = append(reasons, "the "+a.named()+" is disabled")
			command = "openstack network agent set --enable " + a.UUID
		case physical != "" && !slices.Contains(a.mapped(), physical):
			reasons = append(reasons, fmt.Sprintf("the %s is not connected to the physical network %s", a.named(), physical))
			command = "openstack network agent show " + a.UUID
		default:
			return "its agents on " + p.Host + " could bind it now; the log of the network service says why they did not", show
		}
	}
	switch {
	case agents == nil:
		return "no agent is on the host " + p.Host, "openstack network agent list --host " + p.Host
	case reasons == nil:
		return fmt.Sprintf("no agent on %s binds ports of the VNIC type %s", p.Host, p.VNIC),
			"openstack network agent list --host " + p.Host
	}
	return strings.Join(reasons, ", and "), command
}

func portBindings(x *run, r *findings) {
	for _, code := range []audit.Code{audit.PortBindingFailed, audit.PortNotBound} {
		if reason := x.unchecked[code]; reason != "" {
			r.unknown("%s", reason)
		}
		for _, f := range x.audited[code] {
			reason, command := x.whyUnbound(x.index.Ports[f.About[0].ID])
			r.fail(command, "%s: %s; %s (%s)", f.About[0], f.Actual, reason, f.Code)
		}
	}
	if r.list == nil {
		r.ok("%s with a device; those of servers are bound", count(len(x.Cloud.Network.Ports), "port"))
	}
}

func portsMixed(x *run, r *findings) {
	unguaranteed := map[string][]*cloud.Port{} // by host, those that request nothing
	for i := range x.Cloud.Network.Ports {
		if p := &x.Cloud.Network.Ports[i]; p.Request == nil && isNormal(p) {
			unguaranteed[p.Host] = append(unguaranteed[p.Host], p)
		}
	}
	for _, a := range x.agents {
		for _, p := range a.State.Providers {
			actual := x.Cloud.Placement.Provider(p.UUID.String())
			if p.Device == "" || actual == nil ||
				actual.Usages[guarantee.EgressBandwidth]+actual.Usages[guarantee.IngressBandwidth] == 0 {
				continue
			}
			var names []string
			for _, port := range unguaranteed[a.Host] {
				n := x.network(port.Network)
				if !slices.Contains(a.Driver.VIFTypes, port.VIF) || n == nil || n.Physical == "" {
					continue
				}
				if slices.Contains(p.Traits, guarantee.PhysicalNetworkTrait(n.Physical)) {
					names = append(names, portName(port))
				}
			}
			if len(names) > 0 {
				r.warn("openstack port list --long --host "+a.Host,
					"%s has guarantees of %d kbit/s egress and %d ingress, and in addition %s without any guarantee, such as %s",
					p.Name, actual.Usages[guarantee.EgressBandwidth], actual.Usages[guarantee.IngressBandwidth],
					count(len(names), "port"), names[0])
			}
		}
	}
	if r.list == nil {
		r.ok("no device has ports with and without a guarantee")
	}
}
