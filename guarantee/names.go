package guarantee

import "strings"

// A Name says which provider is meant: that of an agent on a hypervisor, or, with a
// Device, of a bridge or NIC of that agent. All that creates, binds or looks up
// providers takes names and UUIDs from here. The hypervisor is called as compute
// calls it, which need not be the host of the agent.
type Name struct {
	Driver     Driver
	Hypervisor string
	Device     string // "" for the agent itself
}

// String returns the name in placement: "cn1:NIC Switch agent:ens5".
func (n Name) String() string {
	s := n.Hypervisor + ":" + n.Driver.AgentType
	if n.Device != "" {
		s += ":" + n.Device
	}
	return s
}

// UUID returns the UUID in placement. It is derived from the names, so that a record
// of an agent may go and come back. Hypervisors or devices with colons in their names
// may share one.
func (n Name) UUID() UUID {
	s := n.Hypervisor
	if n.Device != "" {
		s += ":" + n.Device
	}
	return n.Driver.Namespace.Derive(s)
}

// ParseName is the inverse of String. It reports false for names that String does not return.
// Hypervisors whose own name contains a colon and the type of an agent are misread.
func ParseName(s string) (Name, bool) {
	for _, d := range Drivers() {
		hypervisor, rest, ok := strings.Cut(s, ":"+d.AgentType)
		if !ok || hypervisor == "" {
			continue
		}
		device, deeper := strings.CutPrefix(rest, ":")
		if rest == "" || deeper && device != "" {
			return Name{Driver: d, Hypervisor: hypervisor, Device: device}, true
		}
	}
	return Name{}, false
}
