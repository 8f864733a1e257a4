package rowtable

import (
	"time"

	"github.com/berthcloud/berth/network"
)

// networkTables are the tables of the network service, each behind those that its
// references are to. Columns have the names that migrations/network gives them.
var networkTables = []rowTable{
	policyTable(), ruleTable(),
	networkTable(), segmentTable(), subnetTable(),
	portTable(), addressTable(), bindingTable(),
	trunkTable(), subportTable(),
	securityGroupTable(), portGroupTable(), securityRuleTable(),
	agentTable(), quotaTable(), intentTable(), segmentSyncTable(),
}

// byID is the key of rows that have an ID.
var byID = []string{"id"}

// common are the columns that begin most tables.
func common[T any](at func(*T) *network.Common) []column[T] {
	return []column[T]{
		text("id", func(r *T) *network.ID { return &at(r).ID }, network.ByID),
		text("project", func(r *T) *string { return &at(r).Project }, network.ByProject),
		text("name", func(r *T) *string { return &at(r).Name }, network.ByName),
		text("description", func(r *T) *string { return &at(r).Description }),
		texts("tags", func(r *T) *[]string { return &at(r).Tags }),
		number("revision", func(r *T) *int64 { return &at(r).Revision }),
		moment("created_at", func(r *T) *time.Time { return &at(r).CreatedAt }),
		moment("updated_at", func(r *T) *time.Time { return &at(r).UpdatedAt }),
	}
}

func networkTable() *table[network.NetworkRow] {
	type T = network.NetworkRow
	return newTable("networks", byID, common(func(r *T) *network.Common { return &r.Common }),
		flag("admin_state_up", func(r *T) *bool { return &r.AdminStateUp }),
		flag("shared", func(r *T) *bool { return &r.Shared }),
		flag("external", func(r *T) *bool { return &r.External }),
		flag("port_security", func(r *T) *bool { return &r.PortSecurity }),
		number("mtu", func(r *T) *int { return &r.MTU }),
		optional("policy", func(r *T) *network.ID { return &r.Policy }, network.ByPolicy),
		text("dns_domain", func(r *T) *string { return &r.DNSDomain }),
		texts("zone_hints", func(r *T) *[]string { return &r.ZoneHints }),
		textOf("open_to", (*T).OpenTo, network.ByOpenTo),
	)
}

func segmentTable() *table[network.SegmentRow] {
	type T = network.SegmentRow
	return newTable("segments", byID, common(func(r *T) *network.Common { return &r.Common }),
		text("network", func(r *T) *network.ID { return &r.Network }, network.ByNetwork),
		text("type", func(r *T) *string { return &r.Type }),
		text("physical_network", func(r *T) *string { return &r.PhysicalNetwork }, network.ByPhysical),
		numberOr(-1, "segmentation_id", func(r *T) *int { return &r.SegmentationID }),
		number("place", func(r *T) *int { return &r.Index }),
	)
}

func subnetTable() *table[network.SubnetRow] {
	type T = network.SubnetRow
	return newTable("subnets", byID, common(func(r *T) *network.Common { return &r.Common }),
		text("network", func(r *T) *network.ID { return &r.Network }, network.ByNetwork),
		optional("segment", func(r *T) *network.ID { return &r.Segment }, network.BySegment),
		number("ip_version", func(r *T) *int { return &r.IPVersion }),
		text("cidr", func(r *T) *string { return &r.CIDR }),
		text("gateway", func(r *T) *string { return &r.Gateway }),
		flag("enable_dhcp", func(r *T) *bool { return &r.EnableDHCP }),
		listAs("pools", func(r *T) *[]network.Pool { return &r.Pools },
			func(p network.Pool) addressPool { return addressPool(p) },
			func(p addressPool) network.Pool { return network.Pool(p) }),
		texts("dns_nameservers", func(r *T) *[]string { return &r.DNSNameservers }),
		listAs("host_routes", func(r *T) *[]network.Route { return &r.HostRoutes },
			func(h network.Route) route { return route(h) }, func(h route) network.Route { return network.Route(h) }),
		text("ipv6_address", func(r *T) *string { return &r.IPv6Address }),
		text("ipv6_ra", func(r *T) *string { return &r.IPv6RA }),
		texts("service_types", func(r *T) *[]string { return &r.ServiceTypes }),
		number("place", func(r *T) *int { return &r.Index }),
	)
}

func portTable() *table[network.PortRow] {
	type T = network.PortRow
	return newTable("ports", byID, common(func(r *T) *network.Common { return &r.Common }),
		text("network", func(r *T) *network.ID { return &r.Network }, network.ByNetwork),
		text("mac", func(r *T) *string { return &r.MAC }, network.ByMAC),
		flag("admin_state_up", func(r *T) *bool { return &r.AdminStateUp }),
		text("status", func(r *T) *string { return &r.Status }),
		text("device_id", func(r *T) *string { return &r.DeviceID }, network.ByDevice),
		text("device_owner", func(r *T) *string { return &r.DeviceOwner }),
		optional("policy", func(r *T) *network.ID { return &r.Policy }, network.ByPolicy),
		flag("port_security", func(r *T) *bool { return &r.PortSecurity }),
		listAs("address_pairs", func(r *T) *[]network.AddressPair { return &r.AddressPairs },
			func(p network.AddressPair) addressPair { return addressPair(p) },
			func(p addressPair) network.AddressPair { return network.AddressPair(p) }),
		listAs("dhcp_options", func(r *T) *[]network.DHCPOption { return &r.DHCPOptions },
			func(o network.DHCPOption) dhcpOption { return dhcpOption(o) },
			func(o dhcpOption) network.DHCPOption { return network.DHCPOption(o) }),
		text("dns_name", func(r *T) *string { return &r.DNSName }),
		text("ip_allocation", func(r *T) *string { return &r.IPAllocation }),
		text("numa_policy", func(r *T) *string { return &r.NUMAPolicy }),
		text("device_profile", func(r *T) *string { return &r.DeviceProfile }),
		text("trusted", func(r *T) *string { return &r.Trusted }),
	)
}

// What lists in columns have as elements, with the names that are stored.
type (
	addressPool struct {
		Start string `json:"start"`
		End   string `json:"end"`
	}
	route struct {
		Destination string `json:"destination"`
		NextHop     string `json:"nexthop"`
	}
	addressPair struct {
		IP  string `json:"ip"`
		MAC string `json:"mac"`
	}
	dhcpOption struct {
		Name      string `json:"name"`
		Value     string `json:"value"`
		IPVersion int    `json:"ip_version"`
	}
)

func addressTable() *table[network.AddressRow] {
	type T = network.AddressRow
	return newTable("addresses", []string{"subnet", "ip"}, nil,
		text("port", func(r *T) *network.ID { return &r.Port }, network.ByPort),
		text("subnet", func(r *T) *network.ID { return &r.Subnet }, network.BySubnet),
		text("ip", func(r *T) *string { return &r.IP }, network.ByIP),
	)
}

func bindingTable() *table[network.BindingRow] {
	type T = network.BindingRow
	return newTable("bindings", []string{"port", "host"}, nil,
		text("port", func(r *T) *network.ID { return &r.Port }, network.ByPort),
		text("host", func(r *T) *string { return &r.Host }, network.ByHost),
		flag("active", func(r *T) *bool { return &r.Active }),
		text("vnic", func(r *T) *string { return &r.VNIC }),
		text("vif", func(r *T) *string { return &r.VIF }),
		document("details", func(r *T) *[]byte { return &r.Details }),
		document("profile", func(r *T) *[]byte { return &r.Profile }),
		text("driver", func(r *T) *string { return &r.Driver }),
		optional("segment", func(r *T) *network.ID { return &r.Segment }, network.BySegment),
	)
}
