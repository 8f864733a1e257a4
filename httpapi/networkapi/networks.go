package networkapi

import (
	"context"
	"net/http"

	"github.com/berthcloud/berth/httpapi/pyjson"
	"github.com/berthcloud/berth/httpapi/resource"
	"github.com/berthcloud/berth/identity"
	"github.com/berthcloud/berth/network"
	"github.com/berthcloud/berth/network/topology"
)

type (
	networkAttribute = resource.Attribute[network.Network, topology.NetworkSpec]
	networkResource  = resource.Resource[network.Network, topology.NetworkSpec]
)

func (a *API) networks() *networkResource {
	return &networkResource{
		API: a.kinds(), Core: true, Name: "network", Plural: "networks", Path: "/v2.0/networks",
		Table:         present(a, networkTable()),
		UnknownMarker: resource.RefuseMarker,
		Revision:      func(s *topology.NetworkSpec) int64 { return s.Revision },
		ID:            func(n *network.Network) string { return string(n.ID) },
		TargetOf: func(n *network.Network) resource.Target {
			return resource.OwnedBy(n.Project).WithFlag("shared", n.Shared).WithFlag("router:external", n.External).SharedIf(
				n.Shared, n.External)
		},
		TargetOfNew: func(_ context.Context, s *topology.NetworkSpec) (resource.Target, error) {
			return resource.OwnedBy(s.Project).WithFlag("shared", s.Shared).WithFlag("router:external", s.External), nil
		},
		Validate:  func(_ context.Context, b resource.Body) error { return oneForm(b) },
		List:      a.Network.Networks,
		VisibleTo: ofProjectOrAll,
		StoreFields: map[string]network.Field{
			"id": network.ByID, "name": network.ByName, "project_id": network.ByProject, "tenant_id": network.ByProject,
		},
		NewSpec: func(r *http.Request, c identity.Caller) topology.NetworkSpec {
			return topology.NetworkSpec{
				NetworkRow: network.NetworkRow{
					Common: network.Common{Project: c.ProjectID}, AdminStateUp: true, PortSecurity: true,
				},
				Choice: a.choice(r.Context()),
			}
		},
		Create: a.Network.CreateNetworks,
		Update: func(ctx context.Context, n *network.Network, fn func(*topology.NetworkSpec) error) (network.Network, error) {
			return a.Network.UpdateNetwork(ctx, n.ID, func(s *topology.NetworkSpec) error {
				s.Choice = a.choice(ctx)
				return fn(s)
			})
		},
		Delete: func(ctx context.Context, n *network.Network, only resource.Condition) error {
			return a.Network.DeleteNetwork(ctx, n.ID, unchanged(only))
		},
	}
}

// networkTable are the attributes of networks, in the order in which they are
// shown.
func networkTable() []networkAttribute {
	type (
		N = network.Network
		S = topology.NetworkSpec
	)
	common := func(n *N) *network.Common { return &n.Common }
	spec := func(s *S) *network.Common { return &s.Common }
	all := []networkAttribute{
		idAttribute[N, S](common), nameAttribute(common, spec), ownerAttribute("tenant_id", common, spec),
		boolean("admin_state_up", post|put|filterable|sortable, true,
			func(s *S, b bool) { s.AdminStateUp = b }, func(n *N) bool { return n.AdminStateUp }),
		{
			Name: "mtu", Use: post | put | filterable | sortable | guarded, Default: pyjson.Of(0), Convert: resource.ToInt,
			Check: resource.NotNegative,
			Set:   func(s *S, v pyjson.Value) { n, _ := v.Int64(); s.MTU = int(n) },
			Show:  func(n *N) pyjson.Value { return pyjson.Of(n.MTU) },
		},
		{Name: "status", Use: filterable | sortable, Show: func(*N) pyjson.Value { return pyjson.Of("ACTIVE") }},
		{Name: "subnets", Show: func(n *N) pyjson.Value {
			return resource.List(n.Subnets, func(id network.ID) pyjson.Value { return pyjson.Of(string(id)) })
		}},
		boolean("shared", post|put|filterable|guarded, false, func(s *S, b bool) { s.Shared = b },
			func(n *N) bool { return n.Shared }),
		{
			Name: "availability_zone_hints", Use: post | sortable, Default: pyjson.NewArray(), Convert: toZoneHints,
			Check: resource.ListOf(resource.MaxLength(255)),
			Set:   func(s *S, v pyjson.Value) { s.ZoneHints = resource.Texts(v) },
			Show:  func(n *N) pyjson.Value { return pyjson.Of(n.ZoneHints) },
		},
		fixed[N, S]("availability_zones", pyjson.NewArray()),
		fixed[N, S]("ipv4_address_scope", pyjson.Value{}), fixed[N, S]("ipv6_address_scope", pyjson.Value{}),
		boolean("router:external", post|put|filterable|guarded, false, func(s *S, b bool) { s.External = b },
			func(n *N) bool { return n.External }),
		descriptionAttribute(common, spec),
		boolean("port_security_enabled", post|put|guarded, true,
			func(s *S, b bool) { s.PortSecurity = b }, func(n *N) bool { return n.PortSecurity }),
		reference("qos_policy_id", post|put|guarded, func(s *S, id network.ID) { s.Policy, s.Choice.Made = id, true },
			func(n *N) network.ID { return n.Policy }),
		resource.Attribute[N, S]{Name: "l2_adjacency", Show: func(n *N) pyjson.Value { return pyjson.Of(!n.Routed) }},
	}
	all = append(all, stamps[N, S](common)...)
	all = append(all, ownerAttribute("project_id", common, spec))
	return append(all, providerTable()...)
}

// numberOrNone is a number, and null for a negative one.
func numberOrNone(n int) pyjson.Value {
	if n < 0 {
		return pyjson.Value{}
	}
	return pyjson.Of(n)
}
