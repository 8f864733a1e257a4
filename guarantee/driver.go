package guarantee

import (
	"fmt"
	"slices"
	"strings"
)

// A Driver is a mechanism driver whose agents report to placement, with what an
// operator can configure of it. The values below are the defaults; copy them,
// and do not write into their slices and maps.
type Driver struct {
	Name      string // as in mechanism_drivers
	AgentType string // as agents call themselves
	Binary    string
	Namespace UUID // of the UUIDs of its providers

	// VNICTypes are the types it can bind, which are traits of its providers. Later releases of
	// Neutron bind more; these are those of OpenStack's guide, according to which no others exist
	// as traits.
	VNICTypes []string
	// TunnelDevice is the name under which agents report the bandwidth of
	// tunnelled networks (tunnelled_network_rp_name), "" when they cannot.
	TunnelDevice string

	// VIFTypes are those of the ports that it binds. Policies are checked against them once a port
	// is bound, against VNICTypes before.
	VIFTypes []string
	// Rules are the types of rules that it enforces, with their directions.
	Rules map[RuleType][]string
}

// DefaultTunnelDevice is upstream's default of tunnelled_network_rp_name.
const DefaultTunnelDevice = "rp_tunnelled"

// VNICNormal is the type of ports that request none in particular.
const VNICNormal = "normal"

var (
	bothWays   = []string{Egress, Ingress}
	undirected = []string{""}
)

// The drivers.
var (
	OpenVSwitch = Driver{
		Name:         "openvswitch",
		AgentType:    "Open vSwitch agent",
		Binary:       "neutron-openvswitch-agent",
		Namespace:    UUID{0x87, 0xee, 0x7d, 0x5c, 0x73, 0xbb, 0x11, 0xe8, 0x90, 0x08, 0xc4, 0xd9, 0x87, 0xb2, 0xa6, 0x92},
		VNICTypes:    []string{VNICNormal, "direct"},
		TunnelDevice: DefaultTunnelDevice,
		VIFTypes:     []string{"ovs", "vhostuser"},
		Rules: map[RuleType][]string{
			BandwidthLimit:    bothWays,
			MinimumBandwidth:  bothWays,
			PacketRateLimit:   bothWays,
			MinimumPacketRate: {Egress, Ingress, AnyDirection},
			DSCPMarking:       undirected,
		},
	}
	SRIOV = Driver{
		Name:      "sriovnicswitch",
		AgentType: "NIC Switch agent",
		Binary:    "neutron-sriov-nic-agent",
		Namespace: UUID{0x87, 0xf1, 0x89, 0x5c, 0x73, 0xbb, 0x11, 0xe8, 0x90, 0x08, 0xc4, 0xd9, 0x87, 0xb2, 0xa6, 0x92},
		VNICTypes: []string{"direct", "macvtap", "direct-physical"},
		// Upstream omits hostdev_physical: the policy of a bound direct-physical port cannot
		// change.
		VIFTypes: []string{"hw_veb"},
		Rules: map[RuleType][]string{
			BandwidthLimit:   {Egress},
			MinimumBandwidth: bothWays,
		},
	}
	OVN = Driver{
		Name:         "ovn",
		AgentType:    "OVN Controller agent",
		Binary:       "ovn-controller",
		Namespace:    UUID{0x55, 0x33, 0x23, 0x3b, 0x80, 0x0c, 0x11, 0xeb, 0xb1, 0xf4, 0x00, 0x00, 0x56, 0xb2, 0xf5, 0xb8},
		VNICTypes:    []string{VNICNormal},
		TunnelDevice: DefaultTunnelDevice,
		VIFTypes:     []string{"ovs", "vhostuser"},
		Rules: map[RuleType][]string{
			BandwidthLimit:   bothWays,
			MinimumBandwidth: bothWays,
			DSCPMarking:      undirected,
		},
	}
)

// Drivers returns all drivers, in the order in which they are tried.
func Drivers() []Driver { return []Driver{OpenVSwitch, SRIOV, OVN} }

// Without returns the driver without some VNIC types: vnic_type_prohibit_list. It is an error to
// name a type that the driver does not have, and to leave none; the service must not start then.
func (d Driver) Without(prohibited []string) (Driver, error) {
	for _, t := range prohibited {
		if !slices.Contains(d.VNICTypes, t) {
			return Driver{}, fmt.Errorf("vnic_type_prohibit_list of the driver %s has %q; it may have %s",
				d.Name, t, strings.Join(d.VNICTypes, ", "))
		}
	}
	remaining := slices.DeleteFunc(slices.Clone(d.VNICTypes), func(t string) bool {
		return slices.Contains(prohibited, t)
	})
	if len(remaining) == 0 {
		return Driver{}, fmt.Errorf("vnic_type_prohibit_list of the driver %s prohibits all that it can bind; leave "+
			"one out of %s",
			d.Name, strings.Join(d.VNICTypes, ", "))
	}
	d.VNICTypes = remaining
	return d, nil
}

// Enforces says whether the driver accepts rules of a type and direction, which is
// "" for a type that has none.
func (d Driver) Enforces(t RuleType, direction string) bool {
	return slices.Contains(d.Rules[t], direction)
}
