package networktest

import (
	"time"

	"github.com/berthcloud/berth/network"
)

// A fixture is one row of each type.
type fixture struct {
	policy  network.PolicyRow
	rule    network.RuleRow
	network network.NetworkRow
	segment network.SegmentRow
	subnet  network.SubnetRow
	port    network.PortRow
	address network.AddressRow
	binding network.BindingRow
	trunk   network.TrunkRow
	subport network.SubportRow
	group   network.SecurityGroupRow
	member  network.PortGroupRow
	allow   network.SecurityRuleRow
	agent   network.AgentRow
	quota   network.QuotaRow
	intent  network.IntentRow
	sync    network.SegmentSyncRow
}

// Rows returns pointers to all of them.
func (w *fixture) Rows() []any {
	return []any{
		&w.policy, &w.rule, &w.network, &w.segment, &w.subnet, &w.port, &w.address, &w.binding,
		&w.trunk, &w.subport, &w.group, &w.member, &w.allow, &w.agent, &w.quota, &w.intent, &w.sync,
	}
}

// fullCommon has a value in every field.
func fullCommon(name string) network.Common {
	return network.Common{
		ID: ID(name), Project: "red", Name: name, Description: "the " + name, Tags: []string{"a, b", `"c"`},
		Revision: 1 << 40, CreatedAt: Now, UpdatedAt: Now.Add(time.Microsecond),
	}
}

// fullFixture has a value in every field, none of which bareFixture has.
func fullFixture() *fixture {
	w := &fixture{
		policy: network.PolicyRow{Common: fullCommon("policy"), Shared: true, Default: true},
		network: network.NetworkRow{
			Common: fullCommon("network"), AdminStateUp: true, Shared: true, External: true, PortSecurity: true, MTU: 9000,
			Policy: ID("policy"), DNSDomain: "example.org.", ZoneHints: []string{"z1"},
		},
		segment: network.SegmentRow{
			Common: fullCommon("segment"), Network: ID("network"), Type: network.VLAN, PhysicalNetwork: "physnet0",
			SegmentationID: 4094, Index: 3,
		},
		subnet: network.SubnetRow{
			Common: fullCommon("subnet"), Network: ID("network"), Segment: ID("segment"), IPVersion: 6, CIDR: "2001:db8::/64",
			Gateway: "2001:db8::1", EnableDHCP: true,
			Pools: []network.Pool{
				{Start: "2001:db8::2", End: "2001:db8::9"}, {Start: "2001:db8::20", End: "2001:db8::ffff"},
			},
			DNSNameservers: []string{"2001:db8::53", "192.0.2.53"},
			HostRoutes:     []network.Route{{Destination: "2001:db8:1::/48", NextHop: "2001:db8::1"}}, IPv6Address: "slaac",
			IPv6RA: "dhcpv6-stateful", ServiceTypes: []string{"compute:nova"}, Index: 2,
		},
		port: network.PortRow{
			Common: fullCommon("port"), Network: ID("network"), MAC: "fa:16:3e:00:00:01", AdminStateUp: true,
			Status: network.PortActive, DeviceID: "server", DeviceOwner: "compute:nova", Policy: ID("policy"),
			PortSecurity: true, AddressPairs: []network.AddressPair{{IP: "192.0.2.0/24", MAC: "fa:16:3e:00:00:02"}},
			DHCPOptions: []network.DHCPOption{{Name: "mtu", Value: "<9000> & \u2028", IPVersion: 4}}, DNSName: "vm",
			IPAllocation: "deferred", NUMAPolicy: "socket", DeviceProfile: "smartnic", Trusted: "true",
		},
		group: network.SecurityGroupRow{Common: fullCommon("group"), Stateful: true},
		allow: network.SecurityRuleRow{
			Common: fullCommon("allow"), Group: ID("group"), Direction: network.Ingress, EtherType: "IPv6",
			Protocol: "ipv6-icmp", PortMin: 1, PortMax: 65535, RemoteIP: "::/0", RemoteGroup: ID("group"),
		},
		trunk: network.TrunkRow{
			Common: fullCommon("trunk"), Port: ID("port"), AdminStateUp: true, Status: network.PortActive,
		},
	}
	w.member = network.PortGroupRow{Port: ID("port"), Group: ID("group")}
	w.rule = network.RuleRow{
		ID: ID("rule"), Policy: ID("policy"), Type: network.BandwidthLimit, Direction: network.Egress, Rate: 1<<31 - 1,
		Burst: 1 << 40,
	}
	w.address = network.AddressRow{Port: ID("port"), Subnet: ID("subnet"), IP: "2001:db8::7"}
	w.binding = network.BindingRow{
		Port: ID("port"), Host: "cn1", Active: true, VNIC: "direct", VIF: "hw_veb", Details: []byte(`{"vlan":"7", "x":{}}`),
		Profile: []byte(`{"pci_slot":"0000:03:02.1"}`), Driver: "sriovnicswitch", Segment: ID("segment"),
	}
	w.subport = network.SubportRow{Trunk: ID("trunk"), Port: ID("port"), SegmentationType: "vlan", SegmentationID: 7}
	w.agent = network.AgentRow{
		ID: ID("agent"), Type: "NIC Switch agent", Binary: "neutron-sriov-nic-agent", Host: "cn1", Topic: "N/A", Zone: "z1",
		Description: "rack 7", AdminStateUp: true, CreatedAt: Now, StartedAt: Now.Add(time.Second),
		HeartbeatAt: Now.Add(time.Minute), Configurations: []byte(`{"devices":1}`), Versions: []byte(`{"Port":"1.4"}`),
		Synced: network.SyncFailed, SyncError: "placement is away", SyncedAt: Now.Add(time.Hour),
		Hypervisors: []string{"cn1.example.org", "cn1"}, Kept: []string{"cn1:NIC Switch agent:ens5"},
	}
	w.quota = network.QuotaRow{Project: "red", Resource: "port", Limit: -1}
	w.intent = network.IntentRow{
		ID: string(ID("intent")), Kind: "release", About: string(ID("port")), Body: []byte(`[1]`), CreatedAt: Now,
	}
	w.sync = network.SegmentSyncRow{
		Segment: ID("segment"), Changes: 1 << 40, Synced: 7, RetryAt: Now, Error: "placement is unavailable",
		Instance: "controller 127.0.0.1:9696", Process: "p1", LeasedUntil: Now.Add(time.Minute),
	}
	return w
}

// bareFixture has values only where one is required. Its names begin with a prefix; without one the
// rows have the ids of fullFixture's.
func bareFixture(prefix string) *fixture {
	id := func(name string) network.ID { return ID(prefix + name) }
	bare := func(name string) network.Common { return network.Common{ID: id(name)} }
	return &fixture{
		policy:  network.PolicyRow{Common: bare("policy")},
		rule:    network.RuleRow{ID: id("rule"), Policy: id("policy")},
		network: network.NetworkRow{Common: bare("network")},
		segment: network.SegmentRow{Common: bare("segment"), Network: id("network"), SegmentationID: -1},
		subnet:  network.SubnetRow{Common: bare("subnet"), Network: id("network")},
		port:    network.PortRow{Common: bare("port"), Network: id("network")},
		address: network.AddressRow{Port: id("port"), Subnet: id("subnet")},
		binding: network.BindingRow{Port: id("port")},
		trunk:   network.TrunkRow{Common: bare("trunk"), Port: id("port")},
		subport: network.SubportRow{Trunk: id("trunk"), Port: id("port")},
		group:   network.SecurityGroupRow{Common: bare("group")},
		member:  network.PortGroupRow{Port: id("port"), Group: id("group")},
		allow:   network.SecurityRuleRow{Common: bare("allow"), Group: id("group"), PortMin: -1, PortMax: -1},
		agent:   network.AgentRow{ID: id("agent")},
		quota:   network.QuotaRow{},
		intent:  network.IntentRow{ID: string(id("intent"))},
		sync:    network.SegmentSyncRow{Segment: id("segment")},
	}
}
