package networkapi

import (
	"context"
	"maps"
	"net/http"
	"slices"
	"strconv"

	"github.com/berthcloud/berth/guarantee"
	"github.com/berthcloud/berth/httpapi/pyjson"
	"github.com/berthcloud/berth/httpapi/resource"
	"github.com/berthcloud/berth/identity"
	"github.com/berthcloud/berth/network"
	"github.com/berthcloud/berth/network/ports"
)

type (
	portAttribute = resource.Attribute[network.Port, ports.Spec]
	portResource  = resource.Resource[network.Port, ports.Spec]
)

func (a *API) ports() *portResource {
	return &portResource{
		API: a.kinds(), Core: true, Name: "port", Plural: "ports", Path: "/v2.0/ports",
		Table:         present(a, a.portTable()),
		UnknownMarker: resource.RefuseMarker,
		Revision:      func(s *ports.Spec) int64 { return s.Revision },
		ID:            func(p *network.Port) string { return string(p.ID) },
		TargetOf: func(p *network.Port) resource.Target {
			return onNetworkOf(resource.OwnedBy(p.Project), p.Network.Project).With("device_owner", p.DeviceOwner).WithFlag(
				"shared", p.Network.Shared)
		},
		TargetOfNew: func(ctx context.Context, s *ports.Spec) (resource.Target, error) {
			t, err := a.onNetwork(ctx, "port", s.Network, s.Project)
			return t.With("device_owner", s.DeviceOwner), err
		},
		List: a.Network.Ports,
		VisibleTo: func(ctx context.Context, project string) ([]network.Match, error) {
			networks, err := a.Network.Networks(ctx, network.Where(network.ByProject, project))
			ids := make([]network.ID, len(networks))
			for i, n := range networks {
				ids[i] = n.ID
			}
			return []network.Match{network.Where(network.ByProject, project), network.Where(network.ByNetwork, ids...)}, err
		},
		StoreFields: map[string]network.Field{
			"id": network.ByID, "name": network.ByName, "network_id": network.ByNetwork, "mac_address": network.ByMAC,
			"device_id": network.ByDevice, "project_id": network.ByProject, "tenant_id": network.ByProject,
		},
		NewSpec: func(r *http.Request, c identity.Caller) ports.Spec {
			return ports.Spec{
				PortRow: network.PortRow{Common: network.Common{Project: c.ProjectID}, AdminStateUp: true},
				AnyIPs:  true, AnyGroups: true, AnyPortSecurity: true, VNIC: guarantee.VNICNormal,
				GroupsOf: a.projectOf(r.Context()),
				Choice:   a.choice(r.Context()),
			}
		},
		Create: func(ctx context.Context, specs []ports.Spec) ([]network.Port, error) {
			all, err := a.Network.CreatePorts(ctx, specs)
			for i := range all {
				hideDriver(&all[i])
			}
			return all, err
		},
		Update: func(ctx context.Context, p *network.Port, fn func(*ports.Spec) error) (network.Port, error) {
			one, err := a.Network.UpdateReadPort(ctx, p, func(s *ports.Spec) error {
				s.GroupsOf, s.Choice = a.projectOf(ctx), a.choice(ctx)
				// A caller who may write the allocation may also change its consumer.
				s.KeepDevice = a.access().Allow(ctx, "update_port:binding:profile",
					onNetworkOf(resource.OwnedBy(p.Project), p.Network.Project)) != nil
				return fn(s)
			})
			hideDriver(&one)
			return one, err
		},
		Delete: func(ctx context.Context, p *network.Port, only resource.Condition) error {
			return a.Network.DeletePort(ctx, p.ID, unchanged(only))
		},
	}
}

// hideDriver makes a port what the answer to a write shows: only reads show which driver has bound
// it, as in Neutron, where the details of the driver are added after the write.
func hideDriver(p *network.Port) { p.Binding.Driver = "" }

// vnicTypes are the VNIC types that ports may have.
var vnicTypes = resource.OneOf("normal", "direct", "macvtap", "baremetal", "direct-physical", "virtio-forwarder",
	"smart-nic",
	"vdpa", "accelerator-direct", "accelerator-direct-physical", "remote-managed")

// portTable are the attributes of ports, in the order in which they are shown.
func (a *API) portTable() []portAttribute {
	type (
		P = network.Port
		S = ports.Spec
	)
	common := func(p *P) *network.Common { return &p.Common }
	spec := func(s *S) *network.Common { return &s.Common }
	all := []portAttribute{
		idAttribute[P, S](common), nameAttribute(common, spec),
		{
			Name: "network_id", Use: post | required | filterable | sortable, Check: resource.UUID,
			Set:  func(s *S, v pyjson.Value) { s.PortRow.Network = network.ID(v.Str()) },
			Show: func(p *P) pyjson.Value { return pyjson.Of(string(p.PortRow.Network)) },
		},
		ownerAttribute("tenant_id", common, spec),
		{
			Name: "mac_address", Use: post | put | filterable | sortable | guarded, Check: resource.Nullable(mac),
			Filter: hasMAC, StoredForms: eitherCase,
			Set:  func(s *S, v pyjson.Value) { s.MAC = v.Str() },
			Show: func(p *P) pyjson.Value { return pyjson.Of(p.MAC) },
		},
		boolean("admin_state_up", post|put|filterable|sortable, true, func(s *S, b bool) { s.AdminStateUp = b },
			func(p *P) bool { return p.AdminStateUp }),
		{Name: "status", Use: filterable | sortable, Show: func(p *P) pyjson.Value { return pyjson.Of(p.Status) }},
		words("device_id", post|put|filterable|sortable, func(s *S, t string) { s.DeviceID = t },
			func(p *P) string { return p.DeviceID }),
		words("device_owner", post|put|filterable|sortable|guarded, func(s *S, t string) { s.DeviceOwner = t },
			func(p *P) string { return p.DeviceOwner }),
		{
			Name: "fixed_ips", Use: post | put | filterable | guarded, MaxItems: maxFixedIPs, Check: fixedIPs,
			Filter: hasAddress, NestedPolicy: true, KeyValue: true,
			Set:  func(s *S, v pyjson.Value) { s.FixedIPs, s.AnyIPs = fixedOf(v), false },
			Show: showAddresses,
		},
		{
			Name: "allowed_address_pairs", Use: post | put | guarded, Convert: toAddressPairs, NestedPolicy: true,
			Set:  func(s *S, v pyjson.Value) { s.AddressPairs = pairsOf(v) },
			Show: showPairs,
		},
		{
			Name: "extra_dhcp_opts", Use: post | put, Convert: toDHCPOptions,
			Set:  func(s *S, v pyjson.Value) { s.DHCPOptions = withOptions(s.DHCPOptions, v) },
			Show: showOptions,
		},
		{
			Name: "security_groups", Use: post | put | filterable, Convert: resource.NullToList,
			Check: resource.ListOf(resource.UUID),
			Set:   func(s *S, v pyjson.Value) { s.SecurityGroups, s.AnyGroups = idsOf(v), false },
			Show: func(p *P) pyjson.Value {
				return resource.List(p.SecurityGroups, func(id network.ID) pyjson.Value { return pyjson.Of(string(id)) })
			},
			Filter: func(values []string) func(*P) bool {
				groups := resource.SetOf(values)
				return func(p *P) bool {
					return slices.ContainsFunc(p.SecurityGroups, func(id network.ID) bool { return groups[string(id)] })
				}
			},
		},
		descriptionAttribute(common, spec),
	}
	all = append(all, a.bindingTable()...)
	all = append(all,
		portAttribute{
			Name: "port_security_enabled", Use: post | put | guarded, Convert: resource.ToBool,
			Set:  func(s *S, v pyjson.Value) { s.PortSecurity, s.AnyPortSecurity = v.Bool(), false },
			Show: func(p *P) pyjson.Value { return pyjson.Of(p.PortSecurity) },
		},
		reference("qos_policy_id", post|put|guarded, func(s *S, id network.ID) { s.Policy, s.Choice.Made = id, true },
			func(p *P) network.ID { return p.Policy }),
		portAttribute{
			Name: "qos_network_policy_id", Show: func(p *P) pyjson.Value { return resource.TextOrNull(p.NetworkPolicy()) },
		},
		portAttribute{Name: "resource_request", Show: a.showRequest},
		portAttribute{
			Name: "numa_affinity_policy", Use: post | put, Check: resource.Nullable(resource.OneOf(a.numaPolicies()...)),
			Set:  func(s *S, v pyjson.Value) { s.NUMAPolicy = v.Str() },
			Show: func(p *P) pyjson.Value { return resource.TextOrNull(p.NUMAPolicy) },
		},
		portAttribute{
			Name: "trusted", Use: post | put | guarded, Convert: resource.ToBool,
			Set: func(s *S, v pyjson.Value) { s.Trusted = strconv.FormatBool(v.Bool()) },
			Show: func(p *P) pyjson.Value {
				if p.Trusted == "" {
					return pyjson.Value{}
				}
				return pyjson.Of(p.Trusted == "true")
			},
		},
		portAttribute{
			Name: "device_profile", Use: post, Check: resource.Nullable(resource.MaxLength(255)),
			Set:  func(s *S, v pyjson.Value) { s.DeviceProfile = v.Str() },
			Show: func(p *P) pyjson.Value { return resource.TextOrNull(p.DeviceProfile) },
		},
		portAttribute{
			Name: "trunk_details", Show: func(p *P) pyjson.Value { return trunkDetails(p.Trunk) },
			ShownIf: func(p *P) bool { return p.Trunk != nil },
		},
		portAttribute{
			Name: "ip_allocation", Use: filterable | sortable,
			Show: func(p *P) pyjson.Value { return pyjson.Of(p.IPAllocation) },
		},
	)
	all = append(all, stamps[P, S](common)...)
	return append(all, ownerAttribute("project_id", common, spec))
}

// numaPolicies are the values of numa_affinity_policy.
func (a *API) numaPolicies() []string {
	policies := []string{"required", "preferred", "legacy"}
	if !slices.Contains(a.Without, DriverNUMASocket) {
		policies = append(policies, "socket")
	}
	return policies
}

// words is an attribute that is a text.
func words(
	name string, use resource.Use, set func(*ports.Spec, string), show func(*network.Port) string,
) portAttribute {
	return portAttribute{
		Name: name, Use: use, Default: pyjson.Of(""), Check: resource.MaxLength(255),
		Set:  func(s *ports.Spec, v pyjson.Value) { set(s, v.Str()) },
		Show: func(p *network.Port) pyjson.Value { return pyjson.Of(show(p)) },
	}
}

// bindingTable are the attributes about where a port is plugged in.
func (a *API) bindingTable() []portAttribute {
	type (
		P = network.Port
		S = ports.Spec
	)
	return []portAttribute{
		{
			Name: "binding:vnic_type", Use: post | put | guarded, Default: pyjson.Of("normal"), Check: vnicTypes,
			Set:  func(s *S, v pyjson.Value) { s.VNIC, s.Rebind = v.Str(), true },
			Show: func(p *P) pyjson.Value { return pyjson.Of(p.Binding.VNIC) },
		},
		{
			Name: "binding:host_id", Use: post | put | filterable | guarded, Convert: toText, Check: resource.MaxLength(255),
			Set:  func(s *S, v pyjson.Value) { s.Host, s.Rebind = v.Str(), true },
			Show: func(p *P) pyjson.Value { return pyjson.Of(p.Binding.Host) }, Filter: onAnyHost,
		},
		{
			Name: "binding:profile", Use: post | put | guarded, Convert: smallProfile,
			Check: resource.Nullable(resource.IsObject),
			Set:   func(s *S, v pyjson.Value) { s.Profile, s.Rebind = resource.Encode(v), true },
			Show:  a.showProfile,
		},
		{Name: "binding:vif_type", Use: filterable, Show: func(p *P) pyjson.Value { return pyjson.Of(p.Binding.VIF) }},
		{Name: "binding:vif_details", Show: func(p *P) pyjson.Value { return boundDetails(&p.Binding) }},
	}
}

// showProfile is the profile of a port's binding, which says whether its virtual function is
// trusted: Nova reads it there.
func (a *API) showProfile(p *network.Port) pyjson.Value {
	profile := resource.Decode(p.Binding.Profile)
	if p.Trusted == "" || slices.Contains(a.Without, DriverTrusted) {
		return profile
	}
	members := slices.DeleteFunc(slices.Clone(profile.Members()), func(m pyjson.Member) bool { return m.Key == "trusted" })
	return pyjson.NewObject(append(members, pyjson.M("trusted", p.Trusted == "true"))...)
}

// onAnyHost reports whether a port has a binding to one of some hosts, active or not.
func onAnyHost(hosts []string) func(*network.Port) bool {
	bound := resource.SetOf(hosts)
	return func(p *network.Port) bool {
		return bound[p.Binding.Host] ||
			slices.ContainsFunc(p.Inactive, func(b network.BindingRow) bool { return bound[b.Host] })
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
		groups[i] = pyjson.NewObject(append([]pyjson.Member{{Key: "id", Value: pyjson.Of(ids[i])}},
			needs(g.Needs).Members()...)...)
	}
	return pyjson.NewObject(pyjson.M("request_groups", pyjson.NewArray(groups...)), pyjson.M("same_subtree", ids))
}

// needs are traits and amounts.
func needs(n guarantee.Needs) pyjson.Value {
	var amounts []pyjson.Member
	for _, class := range slices.Sorted(maps.Keys(n.Resources)) {
		amounts = append(amounts, pyjson.Member{Key: class, Value: pyjson.Of(n.Resources[class])})
	}
	required := resource.List(n.Required, pyjson.NewString)
	if len(n.AnyOf) > 0 { // of which one is enough: one more item, a list
		required = pyjson.NewArray(append(required.Items(), pyjson.Of(n.AnyOf))...)
	}
	return pyjson.NewObject(pyjson.M("required", required), pyjson.M("resources", pyjson.NewObject(amounts...)))
}
