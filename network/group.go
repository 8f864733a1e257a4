package network

// A SecurityGroupRow is a set of rules about traffic. Each project has one of the
// name "default".
type SecurityGroupRow struct {
	Common
	Stateful bool
}

// A PortGroupRow says that a port is in a security group.
type PortGroupRow struct{ Port, Group ID }

// A SecurityRuleRow is a rule of a security group. Zero values mean any.
type SecurityRuleRow struct {
	Common
	Group       ID
	Direction   string
	EtherType   string // "IPv4" or "IPv6"
	Protocol    string // a name or a number, as it was given
	PortMin     int    // -1 for none; of ICMP the type
	PortMax     int    // -1 for none; of ICMP the code
	RemoteIP    string // an address with the length of its network
	RemoteGroup ID
}

// The versions of IP that a security rule is about.
const (
	IPv4 = "IPv4"
	IPv6 = "IPv6"
)
