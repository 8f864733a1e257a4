package netns

import (
	"fmt"
	"net"
	"net/netip"
	"slices"
	"strconv"
	"strings"

	"github.com/berthcloud/berth/agent/driver"
	"github.com/berthcloud/berth/compute/hostlist"
)

// A way is how a port is connected to its server.
type way string

const (
	byBridge way = "bridge" // a veth pair, on a Linux bridge
	bySwitch way = "switch" // a veth pair, on Open vSwitch
	byNIC    way = "nic"    // a macvlan on a NIC
	byDevice way = "device" // the device at a PCI address
)

// A plug is how a port is plugged in. It is stored as JSON.
type plug struct {
	Port      string   `json:"port"`
	Number    int      `json:"number"` // of its interface
	Way       way      `json:"way"`
	At        string   `json:"at"` // the bridge, the NIC or the PCI address
	MAC       string   `json:"mac"`
	Addresses []string `json:"addresses,omitempty"` // with the lengths of their prefixes
	Made      bool     `json:"made"`
}

// like reports whether two plugs are the same but for number and addresses, which can be
// changed.
func (p plug) like(q plug) bool {
	return p.Port == q.Port && p.Way == q.Way && p.At == q.At && p.MAC == q.MAC
}

// ofPort is how much of a port's id is in the names of its interfaces, as Neutron has it.
const ofPort = 11

// tap is the host's end of its pair.
func (p plug) tap() string { return "tap" + p.Port[:ofPort] }

// eth is its interface in the server.
func (p plug) eth() string { return "eth" + strconv.Itoa(p.Number) }

func (p plug) hardware() net.HardwareAddr {
	mac, _ := net.ParseMAC(p.MAC) // it was validated before
	return mac
}

func (p plug) prefixes() []netip.Prefix {
	all := make([]netip.Prefix, 0, len(p.Addresses))
	for _, a := range p.Addresses {
		if prefix, err := netip.ParsePrefix(a); err == nil {
			all = append(all, prefix)
		}
	}
	return all
}

// places returns how the ports of a server are plugged in, numbered in their order.
func (c *Config) places(s hostlist.Server) ([]plug, error) {
	var all []plug
	for i, port := range s.Ports {
		p, err := c.place(port)
		if err != nil {
			return nil, err
		}
		for _, other := range all {
			if other.tap() == p.tap() {
				return nil, everywhere("ports %s and %s of one server: their interfaces would have one name", other.Port, p.Port)
			}
		}
		p.Number = i
		all = append(all, p)
	}
	return all, nil
}

// everywhere is an error that would occur on any host.
func everywhere(format string, args ...any) error {
	return fmt.Errorf("%w: %w", driver.ErrEverywhere, fmt.Errorf(format, args...))
}

// place returns how a port is plugged in, without its number.
func (c *Config) place(port hostlist.Port) (p plug, err error) {
	if len(port.ID) < ofPort || !spaceName(port.ID) {
		return p, everywhere("%.100q is no id of a port", port.ID)
	}
	mac, err := net.ParseMAC(port.MAC)
	if err != nil || len(mac) != 6 || mac[0]&1 != 0 {
		return p, everywhere("port %s: %.100q is no MAC address of an interface", port.ID, port.MAC)
	}
	p = plug{Port: port.ID, MAC: mac.String()}
	for _, a := range port.Addresses {
		prefix, err := prefixOf(a.String())
		if err != nil {
			return p, everywhere("port %s: %.100q is no address", port.ID, a)
		}
		p.Addresses = append(p.Addresses, prefix.String())
	}
	p.Way, p.At, err = c.way(port)
	if err != nil {
		return p, fmt.Errorf("port %s: %w", port.ID, err)
	}
	return p, nil
}

// prefixOf reads an address. One without a length has its subnet for itself.
func prefixOf(text string) (netip.Prefix, error) {
	if strings.Contains(text, "/") {
		return netip.ParsePrefix(text)
	}
	a, err := netip.ParseAddr(text)
	if err != nil {
		return netip.Prefix{}, err
	}
	return netip.PrefixFrom(a.WithZone(""), a.BitLen()), nil
}

// way chooses by the VIF type, which is how the network service has bound the port.
func (c *Config) way(port hostlist.Port) (w way, path string, err error) {
	physical := port.PhysicalNetwork
	switch port.VIF {
	case "ovs":
		if port.Slot != "" {
			return "", "", fmt.Errorf("it has the device %s on Open vSwitch, whose offloading this driver "+
				"does not know", port.Slot)
		}
		if c.Switch != nil {
			dir := c.Switch.bridge(physical)
			if dir == "" {
				return "", "", fmt.Errorf("the switch has no bridge for %s", network(physical))
			}
			return bySwitch, dir, nil
		}
		return c.onBridge(physical)
	case "bridge":
		return c.onBridge(physical)
	case "hw_veb", "hostdev_physical", "macvtap":
		if port.Slot != "" {
			return byDevice, port.Slot, checkSlot(port.Slot)
		}
		dir, err := c.nic(port)
		return byNIC, dir, err
	}
	return "", "", fmt.Errorf("VIF type %.100q is none that a network namespace can have", port.VIF)
}

func (c *Config) onBridge(physical string) (way, string, error) {
	if path, ok := c.Bridges[physical]; ok {
		return byBridge, path, nil
	}
	return "", "", fmt.Errorf("there is no bridge for %s", network(physical))
}

func network(physical string) string {
	if physical == "" {
		return "tunnels"
	}
	return "physical network " + physical
}

// nic finds the NIC of a port that has no device of its own.
func (c *Config) nic(port hostlist.Port) (string, error) {
	all := c.NICs[port.PhysicalNetwork]
	if len(all) > 1 {
		all = slices.DeleteFunc(slices.Clone(all), func(n NIC) bool { return !slices.Contains(port.Providers, n.Provider) })
	}
	switch {
	case len(c.NICs[port.PhysicalNetwork]) == 0:
		return "", fmt.Errorf("there is no NIC for %s", network(port.PhysicalNetwork))
	case len(all) != 1:
		return "", fmt.Errorf("its NIC among those of %s is unknown: none, or several, are its providers",
			network(port.PhysicalNetwork))
	}
	return all[0].Name, nil
}

// checkSlot keeps what is no PCI address from becoming a path.
func checkSlot(slot string) error {
	digits := func(r rune) bool { return !strings.ContainsRune("0123456789abcdefABCDEF:.", r) }
	if strings.ContainsFunc(slot, digits) || strings.Contains(slot, "..") || strings.Count(slot, ":") != 2 {
		return fmt.Errorf("%.100q is no PCI address", slot)
	}
	return nil
}
