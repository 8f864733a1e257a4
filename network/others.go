package network

import "github.com/berthcloud/berth/network/intents"

// A TrunkRow makes a port the parent of others that share its wire.
type TrunkRow struct {
	Common
	Port         ID // the parent; of one trunk only
	AdminStateUp bool
	Status       string
}

// A Trunk is a trunk with what is on it.
type Trunk struct {
	TrunkRow
	Subports []Subport
}

// A Subport is a port on a trunk, with its MAC address.
type Subport struct {
	SubportRow
	MAC string
}

// A SubportRow is a port on a trunk. A port is on one trunk only, and so is a
// segmentation id of a type.
type SubportRow struct {
	Trunk            ID
	Port             ID
	SegmentationType string
	SegmentationID   int
}

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

// A QuotaRow is a limit that differs from the default.
type QuotaRow struct {
	Project  string
	Resource string // "port", "network", …
	Limit    int64  // -1 for none
}

// An IntentRow is a change in placement that is to be made because of what was committed with it.
type IntentRow = intents.Row
