package netns

import (
	"cmp"
	"errors"
	"fmt"
	"log/slog"
	"maps"
	"slices"

	"github.com/berthcloud/berth/agent/ovsdb"
)

// A Config says what a Driver makes servers of. Only Dir must be set; a port that needs
// something else that is not there fails.
type Config struct {
	// Dir has a file for each server. It is created if necessary, and belongs to one driver.
	Dir string
	// Prefix begins the names of the namespaces, "berth-" if empty. Drivers of several
	// hosts on one machine need different ones: each takes all namespaces whose name
	// is the prefix and a UUID for its own.
	Prefix string
	// Namespace is the network namespace with the host's bridges and NICs: the name
	// of one, or a path; "" is that of this process.
	Namespace string

	// Bridges are the host's Linux bridges by physical network; "" is for tunnels. All ports on one
	// of them are on one segment: VLANs are not separated.
	Bridges map[string]string
	// NICs are those that ports without a device of their own share, by physical
	// network.
	NICs map[string][]NIC
	// Switch is the host's Open vSwitch, nil for none. Ports of VIF type "ovs" are on
	// a Linux bridge then.
	Switch *Switch
	// PCI is the directory of the PCI devices, /sys/bus/pci/devices if empty, and Cgroups that of
	// control groups, /sys/fs/cgroup if empty.
	PCI, Cgroups string

	Log *slog.Logger // nil: nothing is logged
}

// A NIC is one that ports share.
type NIC struct {
	Name string
	// Provider is the UUID of its resource provider. It matters where a physical
	// network has several NICs: a port is on the one that serves it.
	Provider string
}

// A Switch is an Open vSwitch.
type Switch struct {
	// DB is a client of the database Open_vSwitch, which runs.
	DB *ovsdb.Client
	// Bridges are those that ports of a physical network are plugged into, by
	// physical network; all others are plugged into Integration. With Neutron's agent or
	// OVN on the host there should be none: they connect br-int with the others.
	Bridges     map[string]string
	Integration string
}

// bridge is where a port of a physical network is plugged in.
func (s *Switch) bridge(physical string) string { return cmp.Or(s.Bridges[physical], s.Integration) }

// usualPrefix is the default prefix of the names of namespaces.
const usualPrefix = "berth-"

const (
	usualPCI     = "/sys/bus/pci/devices"
	usualCgroups = "/sys/fs/cgroup"
)

// complete sets defaults, or returns what is wrong.
func (c Config) complete() (Config, error) {
	c.Prefix = cmp.Or(c.Prefix, usualPrefix)
	c.PCI, c.Cgroups = cmp.Or(c.PCI, usualPCI), cmp.Or(c.Cgroups, usualCgroups)
	if c.Log == nil {
		c.Log = slog.New(slog.DiscardHandler)
	}
	var wrong []error
	if c.Dir == "" {
		wrong = append(wrong, errors.New("there is no directory for the files of servers"))
	}
	if !spaceName(c.Prefix) {
		wrong = append(wrong, fmt.Errorf(
			"namespaces cannot have names that begin with %q: letters, digits and hyphens, %d at most", c.Prefix, maxPrefix))
	}
	for _, physical := range slices.Sorted(maps.Keys(c.Bridges)) {
		wrong = append(wrong, named("the bridge", physical, c.Bridges[physical]))
	}
	for _, physical := range slices.Sorted(maps.Keys(c.NICs)) {
		for _, nic := range c.NICs[physical] {
			wrong = append(wrong, named("the NIC", physical, nic.Name))
		}
	}
	if s := c.Switch; s != nil {
		if s.DB == nil {
			wrong = append(wrong, errors.New("the switch has no database"))
		}
		if s.Integration != "" {
			wrong = append(wrong, named("the integration bridge", "", s.Integration))
		}
		for _, physical := range slices.Sorted(maps.Keys(s.Bridges)) {
			wrong = append(wrong, named("the switch's bridge", physical, s.Bridges[physical]))
		}
	}
	return c, errors.Join(wrong...)
}

// named returns an error when an interface cannot have a name.
func named(kind, physical, name string) error {
	if interfaceName(name) {
		return nil
	}
	if physical != "" {
		kind += " of " + physical
	}
	return fmt.Errorf("%s cannot be called %q", kind, name)
}

const (
	maxPrefix    = 64
	maxInterface = 15 // bytes of an interface's name
)

// spaceName reports whether the name of a namespace may begin so.
func spaceName(s string) bool {
	return s != "" && len(s) <= maxPrefix && s[0] != '-' &&
		!slices.ContainsFunc([]byte(s), func(b byte) bool { return !plain(b) })
}

func plain(b byte) bool {
	return b == '-' || '0' <= b && b <= '9' || 'a' <= b && b <= 'z' || 'A' <= b && b <= 'Z'
}

// interfaceName reports whether an interface may be called so. The kernel takes some more.
func interfaceName(s string) bool {
	bad := func(b byte) bool { return !plain(b) && b != '.' && b != '_' && b != '@' }
	return s != "" && s != "." && s != ".." && len(s) <= maxInterface && !slices.ContainsFunc([]byte(s), bad)
}
