package networkapi

import (
	"context"
	"net/http"

	"github.com/berthcloud/berth/httpapi/pyjson"
	"github.com/berthcloud/berth/identity"
	"github.com/berthcloud/berth/network"
)

type (
	networkAttribute = attribute[network.Network, network.NetworkSpec]
	networkResource  = resource[network.Network, network.NetworkSpec]
)

func (a *API) networks() *networkResource {
	return &networkResource{
		api: a, name: "network", plural: "networks", path: "/v2.0/networks",
		table:  present(a, networkTable()),
		marker: markersFound,
		common: func(s *network.NetworkSpec) *network.Common { return &s.Common },
		id:     func(n *network.Network) string { return string(n.ID) },
		target: func(n *network.Network) target {
			return owner(n.Project).flag("shared", n.Shared).flag("router:external", n.External).opened(n.Shared, n.External)
		},
		made: func(_ context.Context, s *network.NetworkSpec) (target, error) {
			return owner(s.Project).flag("shared", s.Shared).flag("router:external", s.External), nil
		},
		vet:   func(_ context.Context, b body) error { return oneForm(b) },
		list:  a.Network.Networks,
		near:  ofProjectOrAll,
		where: map[string]network.Field{"id": network.ByID, "name": network.ByName, "project_id": network.ByProject, "tenant_id": network.ByProject},
		start: func(r *http.Request, c identity.Caller) network.NetworkSpec {
			return network.NetworkSpec{
				NetworkRow: network.NetworkRow{Common: network.Common{Project: c.ProjectID}, AdminStateUp: true, PortSecurity: true},
				Choice:     a.choice(r.Context()),
			}
		},
		create: a.Network.CreateNetworks,
		update: func(ctx context.Context, n *network.Network, fn func(*network.NetworkSpec) error) (network.Network, error) {
			return a.Network.UpdateNetwork(ctx, n.ID, func(s *network.NetworkSpec) error {
				s.Choice = a.choice(ctx)
				return fn(s)
			})
		},
		remove: func(ctx context.Context, n *network.Network, only network.Condition) error {
			return a.Network.DeleteNetwork(ctx, n.ID, only)
		},
	}
}

// networkTable are the attributes of networks, in the order in which they are
// shown.
func networkTable() []networkAttribute {
	type (
		N = network.Network
		S = network.NetworkSpec
	)
	of := func(n *N) *network.Common { return &n.Common }
	in := func(s *S) *network.Common { return &s.Common }
	all := []networkAttribute{
		idAttribute[N, S](of), nameAttribute(of, in), ownerAttribute("tenant_id", of, in),
		boolean("admin_state_up", post|put|filter|sortable, true,
			func(s *S, b bool) { s.AdminStateUp = b }, func(n *N) bool { return n.AdminStateUp }),
		{
			name: "mtu", use: post | put | filter | sortable | guarded, usual: valueOf(0), convert: toInt, check: notNegative,
			set:  func(s *S, v pyjson.Value) { n, _ := v.Int64(); s.MTU = int(n) },
			show: func(n *N) pyjson.Value { return valueOf(n.MTU) },
		},
		{name: "status", use: filter | sortable, show: func(*N) pyjson.Value { return valueOf("ACTIVE") }},
		{name: "subnets", show: func(n *N) pyjson.Value {
			return array(n.Subnets, func(id network.ID) pyjson.Value { return valueOf(string(id)) })
		}},
		boolean("shared", post|put|filter|guarded, false, func(s *S, b bool) { s.Shared = b }, func(n *N) bool { return n.Shared }),
		{
			name: "availability_zone_hints", use: post | sortable, usual: pyjson.NewArray(), convert: toZoneHints, check: listOf(text(255)),
			set:  func(s *S, v pyjson.Value) { s.ZoneHints = textsOf(v) },
			show: func(n *N) pyjson.Value { return valueOf(n.ZoneHints) },
		},
		fixed[N, S]("availability_zones", []string{}),
		fixed[N, S]("ipv4_address_scope", nil), fixed[N, S]("ipv6_address_scope", nil),
		boolean("router:external", post|put|filter|guarded, false, func(s *S, b bool) { s.External = b }, func(n *N) bool { return n.External }),
		descriptionAttribute(of, in),
		boolean("port_security_enabled", post|put|guarded, true,
			func(s *S, b bool) { s.PortSecurity = b }, func(n *N) bool { return n.PortSecurity }),
		reference("qos_policy_id", post|put|guarded, func(s *S, id network.ID) { s.Policy, s.Choice.Made = id, true }, func(n *N) network.ID { return n.Policy }),
		attribute[N, S]{name: "l2_adjacency", show: func(n *N) pyjson.Value { return valueOf(!n.Routed) }},
	}
	all = append(all, stamps[N, S](of)...)
	all = append(all, ownerAttribute("project_id", of, in))
	return append(all, providerTable()...)
}

// numberOrNone is a number, and null for a negative one.
func numberOrNone(n int) pyjson.Value {
	if n < 0 {
		return pyjson.Value{}
	}
	return valueOf(n)
}

// textsOf are the strings of a list.
func textsOf(v pyjson.Value) []string { return each(v, pyjson.Value.Str) }
