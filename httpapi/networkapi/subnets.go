package networkapi

import (
	"context"
	"net/http"
	"slices"
	"strings"

	"github.com/berthcloud/berth/httpapi/pyjson"
	"github.com/berthcloud/berth/httpapi/resource"
	"github.com/berthcloud/berth/identity"
	"github.com/berthcloud/berth/network"
	"github.com/berthcloud/berth/network/topology"
)

type (
	subnetAttribute = resource.Attribute[subnet, topology.SubnetSpec]
	subnetResource  = resource.Resource[subnet, topology.SubnetSpec]
)

// A subnet is a subnet with what policy wants to know of its network.
type subnet struct {
	network.SubnetRow
	owner  string // of the network
	shared bool   // the network is
}

func (a *API) subnets() *subnetResource {
	return &subnetResource{
		API: a.kinds(), Core: true, Name: "subnet", Plural: "subnets", Path: "/v2.0/subnets",
		Table:    present(a, subnetTable()),
		Revision: func(s *topology.SubnetSpec) int64 { return s.Revision },
		ID:       func(s *subnet) string { return string(s.ID) },
		TargetOf: func(s *subnet) resource.Target {
			return onNetworkOf(resource.OwnedBy(s.Project).WithFlag("shared", s.shared), s.owner).SharedIf(s.shared)
		},
		TargetOfNew: func(ctx context.Context, s *topology.SubnetSpec) (resource.Target, error) {
			return a.onNetwork(ctx, "subnet", s.Network, s.Project)
		},
		List: a.listSubnets,
		VisibleTo: func(ctx context.Context, project string) ([]network.Match, error) {
			own, err := a.Network.Networks(ctx, network.Where(network.ByProject, project))
			if err != nil {
				return nil, err
			}
			open, err := a.Network.Networks(ctx, network.Where(network.ByOpenTo, network.AllProjects))
			var ids []network.ID
			for _, n := range append(own, open...) {
				if n.Shared || n.Project == project {
					ids = append(ids, n.ID)
				}
			}
			return []network.Match{network.Where(network.ByProject, project), network.Where(network.ByNetwork, ids...)}, err
		},
		StoreFields: map[string]network.Field{
			"id": network.ByID, "name": network.ByName, "network_id": network.ByNetwork, "segment_id": network.BySegment,
			"project_id": network.ByProject, "tenant_id": network.ByProject,
		},
		NewSpec: func(_ *http.Request, c identity.Caller) topology.SubnetSpec {
			return topology.SubnetSpec{SubnetRow: network.SubnetRow{
				Common: network.Common{Project: c.ProjectID}, EnableDHCP: true,
			}}
		},
		Create: func(ctx context.Context, specs []topology.SubnetSpec) ([]subnet, error) {
			rows, err := a.Network.CreateSubnets(ctx, specs)
			return a.subnetsOf(ctx, rows, err)
		},
		Update: func(ctx context.Context, old *subnet, fn func(*topology.SubnetSpec) error) (one subnet, err error) {
			row, err := a.Network.UpdateSubnet(ctx, old.ID, fn)
			all, err := a.subnetsOf(ctx, []network.SubnetRow{row}, err)
			if err == nil {
				one = all[0]
			}
			return one, err
		},
		Delete: func(ctx context.Context, s *subnet, only resource.Condition) error {
			return a.Network.DeleteSubnet(ctx, s.ID, unchanged(only))
		},
	}
}

func (a *API) listSubnets(ctx context.Context, where ...network.Match) ([]subnet, error) {
	rows, err := a.Network.Subnets(ctx, where...)
	return a.subnetsOf(ctx, rows, err)
}

// subnetsOf adds what policy wants to know of their networks.
func (a *API) subnetsOf(ctx context.Context, rows []network.SubnetRow, err error) ([]subnet, error) {
	if err != nil || len(rows) == 0 {
		return nil, err
	}
	var ids []network.ID
	for _, row := range rows {
		ids = append(ids, row.Network)
	}
	slices.Sort(ids)
	nets, err := a.Network.Networks(ctx, network.Where(network.ByID, slices.Compact(ids)...))
	if err != nil {
		return nil, err
	}
	by := make(map[network.ID]network.Network, len(nets))
	for _, n := range nets {
		by[n.ID] = n
	}
	all := make([]subnet, len(rows))
	for i, row := range rows {
		n := by[row.Network]
		all[i] = subnet{row, n.Project, n.Shared}
	}
	return all, nil
}

// subnetTable are the attributes of subnets, in the order in which they are shown.
func subnetTable() []subnetAttribute {
	type S = topology.SubnetSpec
	common := func(s *subnet) *network.Common { return &s.Common }
	spec := func(s *S) *network.Common { return &s.Common }
	all := []subnetAttribute{
		idAttribute[subnet, S](common), nameAttribute(common, spec), ownerAttribute("tenant_id", common, spec),
		{
			Name: "network_id", Use: post | required | filterable | sortable, Check: resource.UUID,
			Set:  func(s *S, v pyjson.Value) { s.Network = network.ID(v.Str()) },
			Show: func(s *subnet) pyjson.Value { return pyjson.Of(string(s.Network)) },
		},
		{
			Name: "ip_version", Use: post | required | filterable | sortable, Convert: resource.ToInt,
			Check: resource.OneOf(4, 6),
			Set:   func(s *S, v pyjson.Value) { n, _ := v.Int64(); s.IPVersion = int(n) },
			Show:  func(s *subnet) pyjson.Value { return pyjson.Of(s.IPVersion) },
		},
		fixed[subnet, S]("subnetpool_id", pyjson.Value{}),
		boolean("enable_dhcp", post|put|filterable|sortable, true, func(s *S, b bool) { s.EnableDHCP = b },
			func(s *subnet) bool { return s.EnableDHCP }),
		mode("ipv6_ra_mode", func(s *S, m string) { s.IPv6RA = m }, func(s *subnet) string { return s.IPv6RA }),
		mode("ipv6_address_mode", func(s *S, m string) { s.IPv6Address = m },
			func(s *subnet) string { return s.IPv6Address }),
		{
			Name: "gateway_ip", Use: post | put | filterable | sortable, Convert: toIP, Check: resource.Nullable(ip),
			Set:  func(s *S, v pyjson.Value) { s.Gateway, s.NoGateway = v.Str(), true },
			Show: func(s *subnet) pyjson.Value { return resource.TextOrNull(s.Gateway) },
		},
		{
			Name: "cidr", Use: post | filterable | sortable, Convert: toCIDR, Check: resource.Nullable(cidr),
			Set:  func(s *S, v pyjson.Value) { s.CIDR = v.Str() },
			Show: func(s *subnet) pyjson.Value { return pyjson.Of(s.CIDR) },
		},
		{
			Name: "allocation_pools", Use: post | put, Check: pools,
			Set: func(s *S, v pyjson.Value) { s.Pools = poolsOf(v) },
			Show: func(s *subnet) pyjson.Value {
				return resource.List(s.Pools, func(p network.Pool) pyjson.Value {
					return pyjson.NewObject(pyjson.M("start", p.Start), pyjson.M("end", p.End))
				})
			},
		},
		{
			Name: "host_routes", Use: post | put, Convert: resource.NullToList, Check: hostRoutes,
			Set: func(s *S, v pyjson.Value) { s.HostRoutes = routesOf(v) },
			Show: func(s *subnet) pyjson.Value {
				return resource.List(s.HostRoutes, func(r network.Route) pyjson.Value {
					return pyjson.NewObject(pyjson.M("destination", r.Destination), pyjson.M("nexthop", r.NextHop))
				})
			},
		},
		{
			Name: "dns_nameservers", Use: post | put, Convert: resource.NullToList, Check: nameservers,
			Set:  func(s *S, v pyjson.Value) { s.DNSNameservers = resource.Texts(v) },
			Show: func(s *subnet) pyjson.Value { return pyjson.Of(s.DNSNameservers) },
		},
		descriptionAttribute(common, spec),
		{
			Name: "service_types", Use: post | put, Convert: toServiceTypes,
			Set:  func(s *S, v pyjson.Value) { s.ServiceTypes = resource.Texts(v) },
			Show: func(s *subnet) pyjson.Value { return pyjson.Of(s.ServiceTypes) },
		},
		{ // of the network
			Name: "shared", Use: filterable, Convert: resource.ToBool,
			Filter: func(values []string) func(*subnet) bool { // of several values Neutron takes the first
				return func(s *subnet) bool { return values[0] == pyjson.Str(pyjson.Of(s.shared)) }
			},
		},
		reference("segment_id", post|put|filterable|sortable, func(s *S, id network.ID) { s.Segment = id },
			func(s *subnet) network.ID { return s.Segment }),
	}
	all = append(all, stamps[subnet, S](common)...)
	return append(all, ownerAttribute("project_id", common, spec))
}

// mode is one of the two modes of IPv6.
func mode(name string, set func(*topology.SubnetSpec, string), show func(*subnet) string) subnetAttribute {
	return subnetAttribute{
		Name: name, Use: post | filterable | sortable, Check: resource.OneOf("dhcpv6-stateful", "dhcpv6-stateless", "slaac"),
		Set:  func(s *topology.SubnetSpec, v pyjson.Value) { set(s, v.Str()) },
		Show: func(s *subnet) pyjson.Value { return resource.TextOrNull(show(s)) },
	}
}

// toServiceTypes takes a list of owners of ports. One must begin as owners do; upstream
// takes the letters of "compute:" for such beginnings, one by one.
func toServiceTypes(v pyjson.Value) (pyjson.Value, error) {
	if v.Kind() != pyjson.Array {
		if resource.Truthy(v) {
			return v, resource.BadRequest("Subnet service types must be a list.")
		}
		return pyjson.NewArray(), nil
	}
	for _, item := range v.Items() {
		begins := func(with string) bool { return strings.HasPrefix(item.Str(), with) }
		switch {
		case item.Kind() != pyjson.String:
			return v, resource.NewFault("InvalidInputSubnetServiceType", "Subnet service type %s is not a string.",
				pyjson.Str(item))
		case !begins("network:") && !begins("neutron:") &&
			!strings.ContainsAny(item.Str()[:min(1, len(item.Str()))], "compute:"):
			return v, resource.NewFault("InvalidSubnetServiceType",
				"Subnet service type %s does not correspond to a valid device owner.", item.Str())
		}
	}
	return v, nil
}

func poolsOf(v pyjson.Value) []network.Pool {
	return resource.Each(v, func(item pyjson.Value) network.Pool {
		return network.Pool{Start: resource.Member(item, "start").Str(), End: resource.Member(item, "end").Str()}
	})
}

func routesOf(v pyjson.Value) []network.Route {
	return resource.Each(v, func(item pyjson.Value) network.Route {
		return network.Route{
			Destination: resource.Member(item, "destination").Str(), NextHop: resource.Member(item, "nexthop").Str(),
		}
	})
}
