// Package network has the rows of OpenStack Networking that guaranteed bandwidth needs, the
// contract of their store, transactions, settings, and networks and ports as they are read with
// what hangs on them. The rules among them are in the packages below it, one for each noun; package
// service puts these together. It knows no HTTP and no SQL.
//
// Types whose name ends in Row are rows of the Store, flat and without behaviour.
//
// A Database (database.go) begins transactions: an Update is one with the whole change. A Tx has
// the writer, the settings, the clock and the log, and no store. Ports and networks are read in
// views.go.
//
// # Parts
//
// The service has no snapshot in memory; it reads its database. Package daemon puts it together of
// these (decision 45):
//
//	ports, topology, qos, security, agents, quotas   the rules, by nouns; service has them all
//	binding, ipam                                    decide from values: how a port is plugged in,
//	                                                 which addresses it can have
//	reallocation, intents                            allocations of servers in placement that follow
//	                                                 from changes of their ports
//	tracking, routed                                 providers in placement: the devices of agents,
//	                                                 the segments of routed networks
//	ovnagents                                        chassis of OVN become agents
//	portlist                                         what agents and the service send each other
//
// Package guarantee has the arithmetic of guarantees, allocations the changes in placement, and
// watch wakes the long polls of agents; compute uses all three too. The rows are stored by
// sqlstore/rowtable, which passes the suite in networktest.
package network

import (
	"strings"
	"time"

	"github.com/berthcloud/berth/network/ipam"
)

// An ID names a network, a port, a policy or another row: a UUID in lower case
// with hyphens. Those of projects are as Keystone has them.
type ID string

// Common is what most rows have.
type Common struct {
	ID          ID
	Project     string
	Name        string
	Description string
	Tags        []string // sorted, each once
	Revision    int64    // rises with each change of the row or of what belongs to it
	CreatedAt   time.Time
	UpdatedAt   time.Time
}

// A NetworkRow is a layer-2 network.
type NetworkRow struct {
	Common
	AdminStateUp bool
	Shared       bool // every project may use it
	External     bool // router:external
	PortSecurity bool // of its ports that do not set it
	MTU          int  // bytes
	Policy       ID   // QoS policy of ports that have none, "" for none
	DNSDomain    string
	ZoneHints    []string
}

// AllProjects is OpenTo of a row that every project may use.
const AllProjects = "all"

// OpenTo is AllProjects for a network that others see besides its project, and "" otherwise.
func (n *NetworkRow) OpenTo() string { return openTo(n.Shared || n.External) }

func openTo(all bool) string {
	if all {
		return AllProjects
	}
	return ""
}

// The types of segments.
const (
	Flat   = "flat"
	VLAN   = "vlan"
	VXLAN  = "vxlan"
	GRE    = "gre"
	Geneve = "geneve"
	Local  = "local"
)

// A SegmentRow is one piece of a network: a VLAN of a physical network, or a
// tunnel.
type SegmentRow struct {
	Common
	Network         ID
	Type            string
	PhysicalNetwork string // "" for tunnels and local ones
	SegmentationID  int    // VLAN or tunnel number, -1 for none
	Index           int    // among the network's, as they were given
}

// A SubnetRow is a block of addresses of a network.
type SubnetRow struct {
	Common
	Network        ID
	Segment        ID // "" for the whole network
	IPVersion      int
	CIDR           string
	Gateway        string // "" for none
	EnableDHCP     bool
	Pools          []Pool // addresses for ports that request none in particular; in order
	DNSNameservers []string
	HostRoutes     []Route
	IPv6Address    string   // ipv6_address_mode, "" for none
	IPv6RA         string   // ipv6_ra_mode
	ServiceTypes   []string // owners of the ports that it is for, none for all
	Index          int      // position among the network's subnets, in order of creation
}

// Pools and routes of subnets; package ipam has their rules.
type (
	Pool  = ipam.Pool
	Route = ipam.Route
)

// A PortRow is where a server, or something else, is plugged into a network.
type PortRow struct {
	Common
	Network       ID
	MAC           string // lower case, with colons
	AdminStateUp  bool
	Status        string // PortDown, PortActive, PortBuild or PortError
	DeviceID      string
	DeviceOwner   string // "compute:nova", "trunk:subport", … or ""
	Policy        ID     // its own QoS policy, "" for none
	PortSecurity  bool
	AddressPairs  []AddressPair
	DHCPOptions   []DHCPOption
	DNSName       string
	IPAllocation  string // when it gets addresses: allocationImmediate, …
	NUMAPolicy    string // numa_affinity_policy, "" for none
	DeviceProfile string // of accelerators, "" for none
	Trusted       string // whether its virtual function is: "true", "false", or "" for unknown
}

// The statuses of ports.
const (
	PortDown   = "DOWN"
	PortActive = "ACTIVE"
	PortBuild  = "BUILD"
	PortError  = "ERROR"
)

// The values of PortRow.IPAllocation.
const (
	AllocationImmediate = "immediate"
	AllocationDeferred  = "deferred" // with its first host
	AllocationNone      = "none"
)

// An AddressPair is an address that a port may send from besides its own.
type AddressPair struct{ IP, MAC string }

// A DHCPOption is sent to the port by DHCP.
type DHCPOption struct {
	Name, Value string
	IPVersion   int
}

// An AddressRow is an address that a port has. An address exists once in a subnet.
type AddressRow struct {
	Port   ID
	Subnet ID
	IP     string // in its canonical form
}

// A BindingRow says where a port is plugged in. Each port has one that is active
// and may have inactive ones for other hosts, while it moves.
type BindingRow struct {
	Port    ID
	Host    string // "" when the port is nowhere
	Active  bool
	VNIC    string // binding:vnic_type
	VIF     string // binding:vif_type: VIFUnbound, VIFFailed, "ovs", …
	Details []byte // binding:vif_details, a JSON object
	Profile []byte // binding:profile, a JSON object
	Driver  string // that bound it, "" for none
	Segment ID     // that it is bound to, "" for none
}

// The values of BindingRow.VIF that say that a port is not bound.
const (
	VIFUnbound = "unbound"
	VIFFailed  = "binding_failed"
)

// Bound reports whether the port is plugged in somewhere.
func (b *BindingRow) Bound() bool { return b.VIF != VIFUnbound && b.VIF != VIFFailed && b.VIF != "" }

// OwnedByServer reports whether a port belongs to a server.
func OwnedByServer(owner string) bool { return strings.HasPrefix(owner, "compute:") }
