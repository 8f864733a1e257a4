package config

import (
	"errors"
	"fmt"
	"slices"
	"strings"

	"github.com/berthcloud/berth/osloconfig"
)

// ML2 has the settings of the plugin ML2: the groups [ml2], [ml2_type_*], [ovs_driver] and
// [sriov_driver] of ml2_conf.ini.
type ML2 struct {
	TypeDrivers        []string
	TenantNetworkTypes []string // in order of preference
	MechanismDrivers   []string // in order of preference
	ExtensionDrivers   []string
	PathMTU            int      // bytes; 0: that of physical networks
	PhysicalMTUs       []string // network:bytes
	ExternalType       string
	OverlayIPVersion   string // 4 or 6

	FlatNetworks    []string // * for any
	VLANRanges      []string // see ParseVLANRanges
	GRERanges       []string // see ParseRanges, here and below
	VXLANRanges     []string
	GeneveRanges    []string
	GeneveMaxHeader int // bytes

	// The VNIC types that the mechanism drivers must not bind.
	OpenVSwitchProhibits []string
	SRIOVProhibits       []string
}

// The types of networks.
const (
	typeLocal  = "local"
	typeFlat   = "flat"
	typeVLAN   = "vlan"
	typeGRE    = "gre"
	typeVXLAN  = "vxlan"
	typeGeneve = "geneve"
)

var networkTypes = []string{typeLocal, typeFlat, typeVLAN, typeGRE, typeVXLAN, typeGeneve}

// The values of ML2.MechanismDrivers.
const (
	DriverOpenVSwitch = "openvswitch"
	DriverSRIOV       = "sriovnicswitch"
	DriverOVN         = "ovn"
	// DriverL2Population binds no port: it sends forwarding entries to Neutron's agents.
	DriverL2Population = "l2population"
)

// The largest numbers of segments.
const (
	maxVLAN   = 4094
	maxVNI    = 1<<24 - 1 // VXLAN and Geneve
	maxGREKey = 1<<32 - 1
)

// defaultML2 has ML2's defaults. Without mechanism drivers no port is bound, and without ranges
// there are no VLANs and no tunnels.
func defaultML2() ML2 {
	return ML2{
		TypeDrivers: slices.Clone(networkTypes), TenantNetworkTypes: []string{typeLocal}, OverlayIPVersion: "4",
		FlatNetworks: []string{"*"}, GeneveMaxHeader: 30,
	}
}

// The values of ML2.ExtensionDrivers.
const (
	ExtensionQoS           = "qos"
	ExtensionPortSecurity  = "port_security"
	ExtensionNUMA          = "port_numa_affinity_policy"
	ExtensionNUMASocket    = "port_numa_affinity_policy_socket"
	ExtensionDeviceProfile = "port_device_profile"
	ExtensionTrusted       = "port_trusted"
)

// Extends reports whether an extension driver is enabled: networks and ports have its attributes
// then.
func (m *ML2) Extends(driver string) bool { return slices.Contains(m.ExtensionDrivers, driver) }

// Enables reports whether a type driver is enabled: networks may be of that type then.
func (m *ML2) Enables(networkType string) bool { return slices.Contains(m.TypeDrivers, networkType) }

// settings returns the rows of [ml2], of the groups of its types of networks, and of those of the
// drivers.
func (m *ML2) settings() []Setting {
	numbers := func(group, name string, v *[]string, most int) Setting {
		return NewSetting(group, name, osloconfig.List(v).Check(each(func(text string) error {
			_, err := parseRange(text, most)
			return err
		})), "Tunnel numbers, as first:last, for networks that request none in particular.")
	}
	prohibited := func(group string, v *[]string) Setting {
		return NewSetting(group, "vnic_type_prohibit_list", osloconfig.List(v),
			"Types of VNICs that the driver is not to bind, of those it can.").Formerly("vnic_type_blacklist")
	}
	const g = groupML2
	return []Setting{
		NewSetting(g, "type_drivers", osloconfig.List(&m.TypeDrivers).Check(each(oneOf(networkTypes...))),
			"Types that networks may have."),
		NewSetting(g, "tenant_network_types", osloconfig.List(&m.TenantNetworkTypes).Check(each(oneOf(networkTypes...))),
			"Types of networks that are created without one; the first with a free segment is used."),
		NewSetting(g, "mechanism_drivers", osloconfig.List(&m.MechanismDrivers).Check(each(checkMechanism)),
			"Drivers that bind ports, the first that can: openvswitch, sriovnicswitch, ovn. Without any no port is bound."),
		NewSetting(g, "extension_drivers", osloconfig.List(&m.ExtensionDrivers),
			"Extensions of networks and ports: port_security, port_numa_affinity_policy, port_numa_affinity_policy_socket, "+
				"port_device_profile, port_trusted, and qos, which the service plugin needs."),
		NewSetting(g, "path_mtu", osloconfig.IntBetween(&m.PathMTU, 0, maxMTU),
			"Largest packet between hosts, for tunnels, when that is less than global_physnet_mtu; 0: it is not."),
		NewSetting(g, "physical_network_mtus", osloconfig.List(&m.PhysicalMTUs).Check(checkMTUs),
			"Largest packets on single physical networks that carry less than global_physnet_mtu, as network:bytes."),
		NewSetting(g, "external_network_type", osloconfig.String(&m.ExternalType).Check(optional(oneOf(networkTypes...))),
			"Type of external networks that are created without one; that of other networks when empty."),
		NewSetting(g, "overlay_ip_version", osloconfig.Choice(&m.OverlayIPVersion, "4", "6"),
			"Version of IP that tunnels are carried by."),

		NewSetting("ml2_type_flat", "flat_networks", osloconfig.List(&m.FlatNetworks),
			"Physical networks that may be flat; * for any. Empty: none."),
		NewSetting("ml2_type_vlan", "network_vlan_ranges", osloconfig.List(&m.VLANRanges).Check(each(func(text string) error {
			_, _, err := parseVLANRange(text)
			return err
		})), "Physical networks that may have VLANs, with those for networks that request none in particular, "+
			"as network:first:last or network alone for all VLANs."),
		numbers("ml2_type_gre", "tunnel_id_ranges", &m.GRERanges, maxGREKey),
		numbers("ml2_type_vxlan", "vni_ranges", &m.VXLANRanges, maxVNI),
		numbers("ml2_type_geneve", "vni_ranges", &m.GeneveRanges, maxVNI),
		NewSetting("ml2_type_geneve", "max_header_size", osloconfig.Int(&m.GeneveMaxHeader),
			"Bytes of a Geneve header, without that of IP."),

		prohibited("ovs_driver", &m.OpenVSwitchProhibits),
		prohibited("sriov_driver", &m.SRIOVProhibits),
	}
}

// maxMTU is that of the loopback interface on Linux.
const maxMTU = 65536

// each returns a check of the entries of a list, whose error names the invalid entry.
func each(check func(string) error) func(string) error {
	return func(text string) error {
		for entry := range strings.SplitSeq(text, ",") {
			if entry = strings.TrimSpace(entry); entry == "" {
				continue
			}
			if err := check(entry); err != nil {
				return fmt.Errorf("%w, not %q", err, entry)
			}
		}
		return nil
	}
}

// optional returns a check that also accepts an empty text.
func optional(check func(string) error) func(string) error {
	return func(text string) error {
		if text == "" {
			return nil
		}
		return check(text)
	}
}

// oneOf returns a check that accepts the words only.
func oneOf(words ...string) func(string) error {
	return func(text string) error {
		if slices.Contains(words, text) {
			return nil
		}
		return errors.New("want " + strings.Join(words, ", "))
	}
}

// checkMechanism accepts the mechanism drivers that Berth has, and the one that binds no ports.
func checkMechanism(name string) error {
	if name == DriverL2Population {
		return nil
	}
	err := oneOf(DriverOpenVSwitch, DriverSRIOV, DriverOVN)(name)
	if err != nil {
		err = fmt.Errorf("%w, which are the drivers that Berth has", err)
	}
	return err
}
