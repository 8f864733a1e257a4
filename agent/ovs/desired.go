package ovs

// Kbps is a rate in 1000 bit/s, or a burst in 1000 bit.
type Kbps int64

// Desired is the desired state of a host.
type Desired struct {
	Bridges []Bridge
	Ports   []Port
}

// A Bridge is one that leads to a physical network.
type Bridge struct {
	Name string
	Rate Kbps // what it can send into the network; 0: what its uplink says
}

// A Port is a server's port.
type Port struct {
	ID      string // Neutron's, in external_ids:iface-id of its interface
	Bridge  string // over which it reaches the network; "" for none, such as a tunnel
	Egress  Rate   // of what the server sends
	Ingress Rate   // of what it receives
}

// A Rate is the minimum and the maximum of a port; 0 is none. A Burst of 0 is, as for Neutron, four
// fifths of Max for what the server sends, and Open vSwitch's default for what it receives.
type Rate struct {
	Min, Max, Burst Kbps
}

// A Kind of finding says why something is not enforced.
type Kind string

// The kinds of findings. Unless they say otherwise, the rate is not set.
const (
	NotPlugged Kind = "the port has no interface here"
	NoUplink   Kind = "the bridge has no uplink"
	NoRate     Kind = "the rate of the uplink is not known"
	NoQueues   Kind = "the type of the interface has no queues"
	Foreign    Kind = "the interface has a QoS that is not ours"
	NoOpenFlow Kind = "the bridge does not answer OpenFlow requests"
	// they are set, and enforced in proportion
	Overbooked Kind = "the minimums are more than the uplink carries"
	// it is set, without effect
	UserspaceDatapath Kind = "packets of the userspace datapath go through the default queue"
	IngressMinimum    Kind = "the senders decide how arriving traffic is shared, not its queue" // it is set
)

// A Finding is a rate that cannot be enforced.
type Finding struct {
	Kind   Kind
	Port   string // its ID; "" when the finding is about an uplink
	Device string // the bridge or interface; "" when there is none
	Detail string // more about it, or ""
}
