package network

import (
	"time"

	"github.com/berthcloud/berth/guarantee"
	"github.com/berthcloud/berth/network/binding"
)

// Settings are what an operator decides about networks.
type Settings struct {
	// MTU is how large packets may be.
	MTU MTUs
	// Types are the types of segments that there can be.
	Types []string
	// ProjectTypes are the types of segments, in order of preference, of
	// networks created without one.
	ProjectTypes []string
	// ExternalType is the type of such networks that are external, "" for the same
	// as for others.
	ExternalType string
	// VLANs are the ranges, by physical network, that VLANs are taken from for
	// networks that request none in particular. A physical network that is not
	// in it is unknown; no ranges offer all.
	VLANs map[string][]Range
	// Tunnels are the same for types of tunnels.
	Tunnels map[string][]Range
	// FlatNetworks are the physical networks that may be flat; "*" for any.
	FlatNetworks []string
	// MaxNameservers and MaxHostRoutes bound those of a subnet.
	MaxNameservers, MaxHostRoutes int
	// MaxAddressPairs bounds the allowed address pairs of a port.
	MaxAddressPairs int
	// MACBase is what MAC addresses begin with: three octets and a colon each.
	MACBase string

	// PortSecurity says that ports can be unsecured; those of the network itself
	// are.
	PortSecurity bool

	// Quotas are the limits of projects that have none of their own.
	Quotas Quotas

	// Drivers bind ports, the first that can; they distinguish the agents that report to placement.
	// Those that the operator prohibits are not among them.
	Drivers []guarantee.Driver
	// OVNSockets is the directory of the sockets of servers that share memory with
	// OVN's switches.
	OVNSockets string
	// Extensions are what guarantees may request of placement.
	Extensions guarantee.Extensions
	// KeepDeleted leaves the allocation of a bound port that is deleted with its server, as Neutron
	// does (bug 1820588).
	KeepDeleted bool
	// Instance identifies this service among others on the same database, and stays the same after
	// a restart; "" when nothing does.
	Instance string
	// NewAgentsDown disables agents that report for the first time, until an administrator enables
	// them: they bind no port with a guarantee.
	NewAgentsDown bool
	// AgentID returns the id of an agent that reports for the first time, by its type and host;
	// nil, and "" as its answer, stand for a random one.
	AgentID func(kind, host string) ID
	// Events selects the events that compute gets.
	Events Events
	// AgentDownTime is how old a heartbeat of an agent that lives may be.
	AgentDownTime time.Duration
}

// A Range is one of numbers, both ends included.
type Range struct{ Low, High int }

// DefaultSettings are Neutron's.
func DefaultSettings() Settings {
	return Settings{
		MTU: MTUs{Global: 1500, OverlayIPVersion: 4, GeneveHeader: 30},
		Types: []string{
			Local, Flat, VLAN, GRE, VXLAN,
			Geneve,
		}, ProjectTypes: []string{Local}, FlatNetworks: []string{"*"},
		VLANs: map[string][]Range{}, Tunnels: map[string][]Range{},
		MaxNameservers: 5, MaxHostRoutes: 20, MaxAddressPairs: 10, PortSecurity: true, MACBase: "fa:16:3e:",
		Quotas:  DefaultQuotas(),
		Drivers: []guarantee.Driver{guarantee.OpenVSwitch, guarantee.SRIOV}, AgentDownTime: 75 * time.Second,
		OVNSockets: binding.DefaultSockets, Events: Events{Status: true, Data: true},
	}
}

// Events selects the events that compute gets.
type Events struct {
	Status bool // ports that are plugged in or out
	Data   bool // ports that are changed or removed
}
