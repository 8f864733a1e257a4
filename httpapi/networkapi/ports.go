package networkapi

import (
	"context"
	"net/http"
	"slices"

	"github.com/berthcloud/berth/guarantee"
	"github.com/berthcloud/berth/httpapi/pyjson"
	"github.com/berthcloud/berth/identity"
	"github.com/berthcloud/berth/network"
)

type (
	portAttribute = attribute[network.Port, network.PortSpec]
	portResource  = resource[network.Port, network.PortSpec]
)

func (a *API) ports() *portResource {
	return &portResource{
		api: a, name: "port", plural: "ports", path: "/v2.0/ports",
		table:  present(a, a.portTable()),
		marker: markersFound,
		common: func(s *network.PortSpec) *network.Common { return &s.Common },
		id:     func(p *network.Port) string { return string(p.ID) },
		target: func(p *network.Port) target {
			return owner(p.Project).network(p.Network.Project).with("device_owner", p.DeviceOwner).flag("shared", p.Network.Shared)
		},
		made: func(ctx context.Context, s *network.PortSpec) (target, error) {
			t, err := a.onNetwork(ctx, "port", s.Network, s.Project)
			return t.with("device_owner", s.DeviceOwner), err
		},
		list: a.Network.Ports,
		near: func(ctx context.Context, project string) ([]network.Match, error) {
			networks, err := a.Network.Networks(ctx, network.Where(network.ByProject, project))
			ids := make([]network.ID, len(networks))
			for i, n := range networks {
				ids[i] = n.ID
			}
			return []network.Match{network.Where(network.ByProject, project), network.Where(network.ByNetwork, ids...)}, err
		},
		where: map[string]network.Field{
			"id": network.ByID, "name": network.ByName, "network_id": network.ByNetwork, "mac_address": network.ByMAC,
			"device_id": network.ByDevice, "project_id": network.ByProject, "tenant_id": network.ByProject,
		},
		start: func(r *http.Request, c identity.Caller) network.PortSpec {
			return network.PortSpec{
				PortRow: network.PortRow{Common: network.Common{Project: c.ProjectID}, AdminStateUp: true},
				AnyIPs:  true, AnyGroups: true, AnyPortSecurity: true, VNIC: guarantee.VNICNormal, GroupsOf: a.projectOf(r.Context()),
				Choice: a.choice(r.Context()),
			}
		},
		create: func(ctx context.Context, specs []network.PortSpec) ([]network.Port, error) {
			all, err := a.Network.CreatePorts(ctx, specs)
			for i := range all {
				justWritten(&all[i])
			}
			return all, err
		},
		update: func(ctx context.Context, p *network.Port, fn func(*network.PortSpec) error) (network.Port, error) {
			one, err := a.Network.UpdatePort(ctx, p.ID, func(s *network.PortSpec) error {
				s.GroupsOf, s.Choice = a.projectOf(ctx), a.choice(ctx)
				// A caller who may write the allocation may also change its consumer.
				s.KeepDevice = a.allow(ctx, "update_port:binding:profile", owner(p.Project).network(p.Network.Project)) != nil
				return fn(s)
			})
			justWritten(&one)
			return one, err
		},
		remove: func(ctx context.Context, p *network.Port, only network.Condition) error {
			return a.Network.DeletePort(ctx, p.ID, only)
		},
	}
}

// justWritten makes a port what the answer to a write shows: which driver has bound it
// is shown by reads only, as Neutron does.
func justWritten(p *network.Port) { p.Binding.Driver = "" }

// vnicTypes are what ports may ask for.
var vnicTypes = oneOf("normal", "direct", "macvtap", "baremetal", "direct-physical", "virtio-forwarder", "smart-nic",
	"vdpa", "accelerator-direct", "accelerator-direct-physical", "remote-managed")

// portTable are the attributes of ports, in the order in which they are shown.
func (a *API) portTable() []portAttribute {
	type (
		P = network.Port
		S = network.PortSpec
	)
	of := func(p *P) *network.Common { return &p.Common }
	in := func(s *S) *network.Common { return &s.Common }
	all := []portAttribute{
		idAttribute[P, S](of), nameAttribute(of, in),
		{
			name: "network_id", use: post | required | filter | sortable, check: uuid,
			set:  func(s *S, v pyjson.Value) { s.PortRow.Network = network.ID(v.Str()) },
			show: func(p *P) pyjson.Value { return valueOf(string(p.PortRow.Network)) },
		},
		ownerAttribute("tenant_id", of, in),
		{
			name: "mac_address", use: post | put | filter | sortable | guarded, check: orNull(mac), with: hasMAC, alike: eitherCase,
			set:  func(s *S, v pyjson.Value) { s.MAC = v.Str() },
			show: func(p *P) pyjson.Value { return valueOf(p.MAC) },
		},
		boolean("admin_state_up", post|put|filter|sortable, true, func(s *S, b bool) { s.AdminStateUp = b }, func(p *P) bool { return p.AdminStateUp }),
		{name: "status", use: filter | sortable, show: func(p *P) pyjson.Value { return valueOf(p.Status) }},
		words("device_id", post|put|filter|sortable, func(s *S, t string) { s.DeviceID = t }, func(p *P) string { return p.DeviceID }),
		words("device_owner", post|put|filter|sortable|guarded, func(s *S, t string) { s.DeviceOwner = t }, func(p *P) string { return p.DeviceOwner }),
		{
			name: "fixed_ips", use: post | put | filter | guarded, most: maxFixedIPs, check: fixedIPs, with: hasAddress, parts: true, pairs: true,
			set:  func(s *S, v pyjson.Value) { s.FixedIPs, s.AnyIPs = fixedOf(v), false },
			show: showAddresses,
		},
		{
			name: "allowed_address_pairs", use: post | put | guarded, convert: toAddressPairs, parts: true,
			set:  func(s *S, v pyjson.Value) { s.AddressPairs = pairsOf(v) },
			show: showPairs,
		},
		{
			name: "extra_dhcp_opts", use: post | put, convert: toDHCPOptions,
			set:  func(s *S, v pyjson.Value) { s.DHCPOptions = withOptions(s.DHCPOptions, v) },
			show: showOptions,
		},
		{
			name: "security_groups", use: post | put | filter, convert: emptyList, check: listOf(uuid),
			set: func(s *S, v pyjson.Value) { s.SecurityGroups, s.AnyGroups = idsOf(v), false },
			show: func(p *P) pyjson.Value {
				return array(p.SecurityGroups, func(id network.ID) pyjson.Value { return valueOf(string(id)) })
			},
			with: func(wanted []string) func(*P) bool {
				any := setOf(wanted)
				return func(p *P) bool {
					return slices.ContainsFunc(p.SecurityGroups, func(id network.ID) bool { return any[string(id)] })
				}
			},
		},
		descriptionAttribute(of, in),
	}
	all = append(all, a.bindingTable()...)
	all = append(all,
		portAttribute{
			name: "port_security_enabled", use: post | put | guarded, convert: toBool,
			set:  func(s *S, v pyjson.Value) { s.PortSecurity, s.AnyPortSecurity = v.Bool(), false },
			show: func(p *P) pyjson.Value { return valueOf(p.PortSecurity) },
		},
		reference("qos_policy_id", post|put|guarded, func(s *S, id network.ID) { s.Policy, s.Choice.Made = id, true }, func(p *P) network.ID { return p.Policy }),
		portAttribute{name: "qos_network_policy_id", show: func(p *P) pyjson.Value { return orNone(p.NetworkPolicy()) }},
		portAttribute{name: "resource_request", show: a.showRequest},
		portAttribute{
			name: "numa_affinity_policy", use: post | put, check: oneOf("required", "preferred", "legacy", nil),
			set:  func(s *S, v pyjson.Value) { s.NUMAPolicy = v.Str() },
			show: func(p *P) pyjson.Value { return orNone(p.NUMAPolicy) },
		},
		portAttribute{
			name: "device_profile", use: post, check: orNull(text(255)),
			set:  func(s *S, v pyjson.Value) { s.DeviceProfile = v.Str() },
			show: func(p *P) pyjson.Value { return orNone(p.DeviceProfile) },
		},
		portAttribute{name: "trunk_details", show: func(p *P) pyjson.Value { return trunkDetails(p.Trunk) }, shownIf: func(p *P) bool { return p.Trunk != nil }},
		portAttribute{name: "ip_allocation", use: filter | sortable, show: func(p *P) pyjson.Value { return valueOf(p.IPAllocation) }},
	)
	all = append(all, stamps[P, S](of)...)
	return append(all, ownerAttribute("project_id", of, in))
}

// words is an attribute that is a text.
func words(name string, use use, set func(*network.PortSpec, string), show func(*network.Port) string) portAttribute {
	return portAttribute{
		name: name, use: use, usual: valueOf(""), check: text(255),
		set:  func(s *network.PortSpec, v pyjson.Value) { set(s, v.Str()) },
		show: func(p *network.Port) pyjson.Value { return valueOf(show(p)) },
	}
}

// bindingTable are the attributes about where a port is plugged in.
func (a *API) bindingTable() []portAttribute {
	type (
		P = network.Port
		S = network.PortSpec
	)
	return []portAttribute{
		{
			name: "binding:vnic_type", use: post | put | guarded, usual: valueOf("normal"), check: vnicTypes,
			set:  func(s *S, v pyjson.Value) { s.VNIC, s.Rebind = v.Str(), true },
			show: func(p *P) pyjson.Value { return valueOf(p.Binding.VNIC) },
		},
		{
			name: "binding:host_id", use: post | put | filter | guarded, convert: toText, check: text(255),
			set:  func(s *S, v pyjson.Value) { s.Host, s.Rebind = v.Str(), true },
			show: func(p *P) pyjson.Value { return valueOf(p.Binding.Host) }, with: onAnyHost,
		},
		{
			name: "binding:profile", use: post | put | guarded, convert: smallProfile, check: orNull(anObject),
			set:  func(s *S, v pyjson.Value) { s.Profile, s.Rebind = encode(v), true },
			show: func(p *P) pyjson.Value { return decode(p.Binding.Profile) },
		},
		{name: "binding:vif_type", use: filter, show: func(p *P) pyjson.Value { return valueOf(p.Binding.VIF) }},
		{name: "binding:vif_details", show: func(p *P) pyjson.Value { return boundDetails(&p.Binding) }},
	}
}

// onAnyHost reports whether a port has a binding to one of some hosts, active or not.
func onAnyHost(hosts []string) func(*network.Port) bool {
	any := setOf(hosts)
	return func(p *network.Port) bool {
		return any[p.Binding.Host] || slices.ContainsFunc(p.Inactive, func(b network.BindingRow) bool { return any[b.Host] })
	}
}

// showRequest is the resource request of a port, in the configured format.
func (a *API) showRequest(p *network.Port) pyjson.Value {
	r := a.Network.Request(p)
	switch {
	case len(r.Groups) == 0:
		return pyjson.Value{}
	case a.OldRequests:
		return needs(r.Groups[0].Needs)
	}
	groups, ids := make([]pyjson.Value, len(r.Groups)), make([]string, len(r.Groups))
	for i, g := range r.Groups {
		ids[i] = g.ID.String()
		groups[i] = pyjson.NewObject(append([]pyjson.Member{{Key: "id", Value: valueOf(ids[i])}}, needs(g.Needs).Members()...)...)
	}
	return object("request_groups", pyjson.NewArray(groups...), "same_subtree", ids)
}

// needs are traits and amounts.
func needs(n guarantee.Needs) pyjson.Value {
	var amounts []pyjson.Member
	for _, class := range sortedKeys(n.Resources) {
		amounts = append(amounts, pyjson.Member{Key: class, Value: valueOf(n.Resources[class])})
	}
	required := array(n.Required, pyjson.NewString)
	if len(n.AnyOf) > 0 { // of which one is enough: one more item, a list
		required = pyjson.NewArray(append(required.Items(), valueOf(n.AnyOf))...)
	}
	return object("required", required, "resources", pyjson.NewObject(amounts...))
}
