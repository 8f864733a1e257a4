package networkapi

import (
	"context"
	"net/http"
	"slices"
	"strings"

	"github.com/berthcloud/berth/httpapi/pyjson"
	"github.com/berthcloud/berth/identity"
	"github.com/berthcloud/berth/network"
)

type (
	subnetAttribute = attribute[subnet, network.SubnetSpec]
	subnetResource  = resource[subnet, network.SubnetSpec]
)

// A subnet is a subnet with what policy wants to know of its network.
type subnet struct {
	network.SubnetRow
	owner  string // of the network
	shared bool   // the network is
}

func (a *API) subnets() *subnetResource {
	return &subnetResource{
		api: a, name: "subnet", plural: "subnets", path: "/v2.0/subnets",
		table:  present(a, subnetTable()),
		common: func(s *network.SubnetSpec) *network.Common { return &s.Common },
		id:     func(s *subnet) string { return string(s.ID) },
		target: func(s *subnet) target {
			return owner(s.Project).flag("shared", s.shared).network(s.owner).opened(s.shared)
		},
		made: func(ctx context.Context, s *network.SubnetSpec) (target, error) {
			return a.onNetwork(ctx, "subnet", s.Network, s.Project)
		},
		list: a.listSubnets,
		near: func(ctx context.Context, project string) ([]network.Match, error) {
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
		where: map[string]network.Field{
			"id": network.ByID, "name": network.ByName, "network_id": network.ByNetwork, "segment_id": network.BySegment,
			"project_id": network.ByProject, "tenant_id": network.ByProject,
		},
		start: func(_ *http.Request, c identity.Caller) network.SubnetSpec {
			return network.SubnetSpec{SubnetRow: network.SubnetRow{Common: network.Common{Project: c.ProjectID}, EnableDHCP: true}}
		},
		create: func(ctx context.Context, specs []network.SubnetSpec) ([]subnet, error) {
			rows, err := a.Network.CreateSubnets(ctx, specs)
			return a.subnetsOf(ctx, rows, err)
		},
		update: func(ctx context.Context, old *subnet, fn func(*network.SubnetSpec) error) (one subnet, err error) {
			row, err := a.Network.UpdateSubnet(ctx, old.ID, fn)
			all, err := a.subnetsOf(ctx, []network.SubnetRow{row}, err)
			if err == nil {
				one = all[0]
			}
			return one, err
		},
		remove: func(ctx context.Context, s *subnet, only network.Condition) error {
			return a.Network.DeleteSubnet(ctx, s.ID, only)
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
	type S = network.SubnetSpec
	of := func(s *subnet) *network.Common { return &s.Common }
	in := func(s *S) *network.Common { return &s.Common }
	all := []subnetAttribute{
		idAttribute[subnet, S](of), nameAttribute(of, in), ownerAttribute("tenant_id", of, in),
		{
			name: "network_id", use: post | required | filter | sortable, check: uuid,
			set:  func(s *S, v pyjson.Value) { s.Network = network.ID(v.Str()) },
			show: func(s *subnet) pyjson.Value { return valueOf(string(s.Network)) },
		},
		{
			name: "ip_version", use: post | required | filter | sortable, convert: toInt, check: oneOf(4, 6),
			set:  func(s *S, v pyjson.Value) { n, _ := v.Int64(); s.IPVersion = int(n) },
			show: func(s *subnet) pyjson.Value { return valueOf(s.IPVersion) },
		},
		fixed[subnet, S]("subnetpool_id", nil),
		boolean("enable_dhcp", post|put|filter|sortable, true, func(s *S, b bool) { s.EnableDHCP = b }, func(s *subnet) bool { return s.EnableDHCP }),
		mode("ipv6_ra_mode", func(s *S, m string) { s.IPv6RA = m }, func(s *subnet) string { return s.IPv6RA }),
		mode("ipv6_address_mode", func(s *S, m string) { s.IPv6Address = m }, func(s *subnet) string { return s.IPv6Address }),
		{
			name: "gateway_ip", use: post | put | filter | sortable, convert: toIP, check: orNull(ip),
			set:  func(s *S, v pyjson.Value) { s.Gateway, s.NoGateway = v.Str(), true },
			show: func(s *subnet) pyjson.Value { return orNone(s.Gateway) },
		},
		{
			name: "cidr", use: post | filter | sortable, convert: toCIDR, check: orNull(cidr),
			set:  func(s *S, v pyjson.Value) { s.CIDR = v.Str() },
			show: func(s *subnet) pyjson.Value { return valueOf(s.CIDR) },
		},
		{
			name: "allocation_pools", use: post | put, check: pools,
			set: func(s *S, v pyjson.Value) { s.Pools = poolsOf(v) },
			show: func(s *subnet) pyjson.Value {
				return array(s.Pools, func(p network.Pool) pyjson.Value { return object("start", p.Start, "end", p.End) })
			},
		},
		{
			name: "host_routes", use: post | put, convert: emptyList, check: hostRoutes,
			set: func(s *S, v pyjson.Value) { s.HostRoutes = routesOf(v) },
			show: func(s *subnet) pyjson.Value {
				return array(s.HostRoutes, func(r network.Route) pyjson.Value {
					return object("destination", r.Destination, "nexthop", r.NextHop)
				})
			},
		},
		{
			name: "dns_nameservers", use: post | put, convert: emptyList, check: nameservers,
			set:  func(s *S, v pyjson.Value) { s.DNSNameservers = textsOf(v) },
			show: func(s *subnet) pyjson.Value { return valueOf(s.DNSNameservers) },
		},
		descriptionAttribute(of, in),
		{
			name: "service_types", use: post | put, convert: toServiceTypes,
			set:  func(s *S, v pyjson.Value) { s.ServiceTypes = textsOf(v) },
			show: func(s *subnet) pyjson.Value { return valueOf(s.ServiceTypes) },
		},
		{ // of the network
			name: "shared", use: filter, convert: toBool,
			with: func(wanted []string) func(*subnet) bool { // of several values Neutron takes the first
				return func(s *subnet) bool { return wanted[0] == pyjson.Str(valueOf(s.shared)) }
			},
		},
		reference("segment_id", post|put|filter|sortable, func(s *S, id network.ID) { s.Segment = id }, func(s *subnet) network.ID { return s.Segment }),
	}
	all = append(all, stamps[subnet, S](of)...)
	return append(all, ownerAttribute("project_id", of, in))
}

// mode is one of the two modes of IPv6.
func mode(name string, set func(*network.SubnetSpec, string), show func(*subnet) string) subnetAttribute {
	return subnetAttribute{
		name: name, use: post | filter | sortable, check: oneOf("dhcpv6-stateful", "dhcpv6-stateless", "slaac"),
		set:  func(s *network.SubnetSpec, v pyjson.Value) { set(s, v.Str()) },
		show: func(s *subnet) pyjson.Value { return orNone(show(s)) },
	}
}

// toServiceTypes takes a list of owners of ports. One must begin as owners do; upstream
// takes the letters of "compute:" for such beginnings, one by one.
func toServiceTypes(v pyjson.Value) (pyjson.Value, error) {
	if v.Kind() != pyjson.Array {
		if truthy(v) {
			return v, badRequest("Subnet service types must be a list.")
		}
		return pyjson.NewArray(), nil
	}
	for _, item := range v.Items() {
		begins := func(with string) bool { return strings.HasPrefix(item.Str(), with) }
		switch {
		case item.Kind() != pyjson.String:
			return v, newFault("InvalidInputSubnetServiceType", "Subnet service type %s is not a string.", pyjson.Str(item))
		case !begins("network:") && !begins("neutron:") && !strings.ContainsAny(item.Str()[:min(1, len(item.Str()))], "compute:"):
			return v, newFault("InvalidSubnetServiceType", "Subnet service type %s does not correspond to a valid device owner.", item.Str())
		}
	}
	return v, nil
}

func poolsOf(v pyjson.Value) []network.Pool {
	return each(v, func(item pyjson.Value) network.Pool {
		return network.Pool{Start: part(item, "start").Str(), End: part(item, "end").Str()}
	})
}

func routesOf(v pyjson.Value) []network.Route {
	return each(v, func(item pyjson.Value) network.Route {
		return network.Route{Destination: part(item, "destination").Str(), NextHop: part(item, "nexthop").Str()}
	})
}
