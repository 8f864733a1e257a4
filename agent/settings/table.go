package settings

import (
	"errors"
	"net/netip"
	"slices"
	"strings"

	"github.com/berthcloud/berth/config"
	"github.com/berthcloud/berth/osloconfig"
)

const (
	groupDefault = osloconfig.DefaultGroup
	groupAgent   = "agent"
	groupOVS     = "ovs"
	groupSRIOV   = "sriov_nic"
	groupML2     = "ml2"
	groupBerth   = "berth"
)

// Table returns the options that this kind of agent reads, in the order of documentation, bound to
// s: Display shows the values of s.
func (s *Settings) Table() []config.Setting {
	parts := [][]config.Setting{s.base(), s.agent()}
	switch s.Kind {
	case OVS:
		parts = append(parts, s.bridges(), s.bandwidths(groupOVS, "bridge"), s.packets(), s.ovsdb(), s.ml2())
	case SRIOV:
		parts = append(parts, s.functions(), s.bandwidths(groupSRIOV, "device"))
	case OVN:
		parts = append(parts, s.ml2())
	}
	return slices.Concat(append(parts, s.network())...)
}

func (s *Settings) base() []config.Setting {
	d := &s.Default
	const g = groupDefault
	return slices.Concat([]config.Setting{
		config.NewSetting(g, "host", osloconfig.String(&d.Host).Check(CheckHost),
			"Name of this host at the network service; the machine's own when not set. Nova's [DEFAULT] host must be the same."),
	}, d.Logging.Settings(), []config.Setting{
		config.NewSetting(g, "state_path", osloconfig.String(&d.StatePath),
			"Directory for state. Also good for $state_path in other values."),
	})
}

func (s *Settings) agent() []config.Setting {
	a := &s.Agent
	const g = groupAgent
	return []config.Setting{
		config.NewSetting(g, "report_interval", osloconfig.Seconds(&a.ReportInterval),
			"Seconds between heartbeats. Should be at most half of the network service's agent_down_time, which is 75. 0: "+
				"no heartbeats."),
		config.NewSetting(g, "polling_interval", osloconfig.Seconds(&a.PollingInterval),
			"Seconds between inspections of the devices of this host."),
		config.NewSetting(g, "availability_zone", osloconfig.String(&a.AvailabilityZone).Check(checkZone),
			"Availability zone that the agent reports. Not set: none, as upstream's agents of these kinds always report."),
		config.NewSetting(g, "log_agent_heartbeats", osloconfig.Bool(&a.LogHeartbeats), "Log each heartbeat."),
		config.NewSetting(g, "tunnel_types", osloconfig.List(&a.TunnelTypes).Check(checkTunnels),
			"Kinds of tunnels between the hosts, as heartbeats name them: gre, vxlan, geneve. Berth's agent builds "+
				"none itself."),
	}
}

func (s *Settings) bridges() []config.Setting {
	o := &s.OVS
	const g = groupOVS
	return []config.Setting{
		config.NewSetting(g, "bridge_mappings", osloconfig.List(&s.written.mappings),
			"physnet:bridge pairs, separated by commas: the Open vSwitch bridge of each physical network. Each network and "+
				"each bridge appears once."),
		config.NewSetting(g, "integration_bridge", osloconfig.String(&o.IntegrationBridge),
			"Open vSwitch bridge that the servers are plugged into.").Formerly("ovs_integration_bridge"),
		config.NewSetting(g, "tunnel_bridge", osloconfig.String(&o.TunnelBridge), "Open vSwitch bridge with the tunnels."),
		config.NewSetting(g, "local_ip", osloconfig.String(&o.LocalIP).Check(CheckIP),
			"Address of this end of the tunnels, as heartbeats name it."),
		config.NewSetting(g, "datapath_type", osloconfig.Choice(&o.DatapathType, datapathSystem, datapathNetdev),
			"Datapath of the bridges: the kernel's, or DPDK's in user space."),
		config.NewSetting(g, "vhostuser_socket_dir", osloconfig.String(&o.VhostuserSocketDir),
			"Directory of the sockets of vhost-user ports. Heartbeats carry it to Nova."),
	}
}

func (s *Settings) functions() []config.Setting {
	const g = groupSRIOV
	return []config.Setting{
		config.NewSetting(g, "physical_device_mappings", osloconfig.List(&s.written.mappings),
			"physnet:device pairs, separated by commas: the SR-IOV physical functions of each physical network, which may "+
				"have several."),
		config.NewSetting(g, "exclude_devices", osloconfig.List(&s.written.excluded),
			"device:function;function items, separated by commas: PCI addresses of virtual functions that servers do not get."),
	}
}

// bandwidths are the options that both agents have, each in its own group.
func (s *Settings) bandwidths(g, device string) []config.Setting {
	w := &s.written
	return []config.Setting{
		config.NewSetting(g, optionBandwidths, osloconfig.List(&w.bandwidths),
			device+":egress:ingress items, separated by commas: what each mapped "+device+
				" can do, in kbit/s, as servers see it. An empty number means none in that direction. A "+device+
				" that is not named gets no provider."),
		config.NewSetting(g, optionHypervisors, osloconfig.List(&w.hypervisors),
			device+":hypervisor pairs, separated by commas: below which hypervisor the "+device+
				" is in placement, if not below resource_provider_default_hypervisor."),
		config.NewSetting(g, "resource_provider_default_hypervisor",
			osloconfig.String(&w.defaultHypervisor).Check(checkHypervisor),
			"Hypervisor as Nova names it. Not set: the machine's canonical name, which is what libvirt reports."),
		config.NewSetting(g, optionInventory, osloconfig.List(&w.inventory),
			"field:number pairs, separated by commas, for inventories of bandwidth: allocation_ratio, max_unit, min_unit, "+
				"reserved, step_size. What is given replaces all of the default."),
	}
}

func (s *Settings) packets() []config.Setting {
	w := &s.written
	const g = groupOVS
	return []config.Setting{
		config.NewSetting(g, "resource_provider_packet_processing_without_direction", osloconfig.List(&w.packetUndirected),
			"hypervisor:rate pairs, separated by commas: packets that Open vSwitch can switch, in 1000 a second. No "+
				"name: this host."),
		config.NewSetting(g, "resource_provider_packet_processing_with_direction", osloconfig.List(&w.packetDirected),
			"hypervisor:egress:ingress items, separated by commas: the same by direction, where hardware switches. Excludes "+
				"the option without direction."),
		config.NewSetting(g, "resource_provider_packet_processing_inventory_defaults", osloconfig.List(&w.packetInventory),
			"As resource_provider_inventory_defaults, for inventories of packet rates."),
	}
}

func (s *Settings) ovsdb() []config.Setting {
	o := &s.OVS
	const g = groupOVS
	return []config.Setting{
		config.NewSetting(g, "ovsdb_connection", osloconfig.String(&o.Connection).Check(CheckOVSDB),
			"Where Open vSwitch's database is: tcp:address:port, ssl:address:port or unix:path."),
		config.NewSetting(g, "ssl_key_file", osloconfig.String(&o.SSLKeyFile),
			"PEM file with the private key for an ssl connection."),
		config.NewSetting(g, "ssl_cert_file", osloconfig.String(&o.SSLCertFile),
			"PEM file with the certificate of that key."),
		config.NewSetting(g, "ssl_ca_cert_file", osloconfig.String(&o.SSLCACertFile),
			"PEM file with the authorities of the database's certificate."),
		config.NewSetting(g, "ovsdb_timeout", osloconfig.Seconds(&o.Timeout),
			"Seconds to wait for an answer of the database."),
	}
}

func (s *Settings) ml2() []config.Setting {
	return []config.Setting{
		config.NewSetting(groupML2, "tunnelled_network_rp_name", osloconfig.String(&s.tunnelled),
			"Name of all tunnelled networks together in resource_provider_bandwidths. The network service must have the same."),
	}
}

func (s *Settings) network() []config.Setting {
	b := &s.Berth
	const g = groupBerth
	return slices.Concat(b.Network.Settings(), []config.Setting{
		config.NewSetting(g, "enforce", osloconfig.Bool(&b.Enforce),
			"Enforce the rates of ports. Without it, guarantees are in placement only, and ports are not reported "+
				"as plugged in."),
		config.NewSetting(g, "watch_interval", osloconfig.Seconds(&b.WatchInterval),
			"Seconds between checks of the agent's files; changed files are reloaded, as on SIGHUP. 0: on SIGHUP only."),
		config.NewSetting(g, optionTraits, osloconfig.List(&s.written.traits),
			"device:TRAIT pairs, separated by commas: traits that the provider of a device has besides those of its physical "+
				"network and of the agent, such as ens5:CUSTOM_BEST_EFFORT."),
	})
}

// CheckHost refuses what cannot be the name of a host.
func CheckHost(text string) error {
	if text == "" || odd(text) || strings.Contains(text, ",") {
		return errors.New("want the name of this host, or leave the option out")
	}
	return nil
}

// checkHypervisor refuses what would make the names of providers ambiguous.
func checkHypervisor(text string) error {
	if odd(text) || strings.ContainsAny(text, ":,") {
		return errors.New("want one hypervisor's name, as Nova lists it")
	}
	return nil
}

func checkZone(text string) error {
	if len(text) > 255 {
		return errors.New("want at most 255 bytes")
	}
	return nil
}

// CheckIP refuses what is neither empty nor an address.
func CheckIP(text string) error {
	if _, err := netip.ParseAddr(text); text != "" && err != nil {
		return errors.New("want an IPv4 or IPv6 address")
	}
	return nil
}

func checkTunnels(text string) error {
	for _, kind := range pieces(text, ",") {
		switch kind {
		case "gre", "vxlan", "geneve":
		default:
			return errors.New("want gre, vxlan or geneve, separated by commas")
		}
	}
	return nil
}

// CheckOVSDB refuses what is not an address of Open vSwitch's database.
func CheckOVSDB(text string) error {
	for _, scheme := range []string{"tcp:", "ssl:", "unix:"} {
		if rest, ok := strings.CutPrefix(text, scheme); ok && rest != "" {
			return nil
		}
	}
	return errors.New("want tcp:address:port, ssl:address:port or unix:path")
}
