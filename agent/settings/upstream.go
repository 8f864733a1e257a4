package settings

import (
	"errors"
	"math"
	"slices"
	"strconv"

	"github.com/berthcloud/berth/config"
	"github.com/berthcloud/berth/osloconfig"
)

func ignored(group, name string, v osloconfig.Value, help string) config.Setting {
	return setting(config.Ignored, group, name, v, help)
}

// Values that are read, checked and dropped.
func on() osloconfig.Value               { return osloconfig.Bool(new(true)) }
func off() osloconfig.Value              { return osloconfig.Bool(new(bool)) }
func count(n int) osloconfig.Value       { return osloconfig.Int(&n) }
func line(s string) osloconfig.Value     { return osloconfig.String(&s) }
func words(s ...string) osloconfig.Value { return osloconfig.List(&s) }

// ignoredDefault describes what oslo.log reads from [DEFAULT] and Berth does
// without: the same as in placement.conf.
func ignoredDefault() []config.Setting {
	return slices.DeleteFunc(config.DefaultPlacement().Settings(), func(s config.Setting) bool {
		return s.Group != groupDefault || s.Use != config.Ignored
	})
}

// services describes what Berth's services read from [berth]: on a machine that
// runs everything the group is shared.
func services() []config.Setting {
	all := slices.DeleteFunc(config.DefaultPlacement().Settings(), func(s config.Setting) bool { return s.Group != groupBerth })
	for i := range all {
		all[i].Use = config.Ignored
	}
	return all
}

// ignoredOVS describes the options of the group [ovs] for upstream's agent only.
func ignoredOVS() []config.Setting {
	const g = groupOVS
	return []config.Setting{
		ignored(g, "int_peer_patch_port", line("patch-tun"), "Patch port to the tunnel bridge."),
		ignored(g, "tun_peer_patch_port", line("patch-int"), "Patch port to the integration bridge."),
		ignored(g, "of_listen_address", line("127.0.0.1").Check(checkOptionalIP), "Address of upstream's OpenFlow controller."),
		ignored(g, "of_listen_port", osloconfig.IntBetween(new(6633), 0, 65535), "Port of upstream's OpenFlow controller."),
		ignored(g, "of_connect_timeout", count(300), "Seconds to wait for a switch to connect to it."),
		ignored(g, "of_request_timeout", count(300), "Seconds to wait for an answer over OpenFlow."),
		ignored(g, "of_inactivity_probe", count(10), "Seconds between probes of an idle OpenFlow connection."),
		ignored(g, "openflow_processed_per_port", off(), "Write the flows of a port in one transaction."),
		ignored(g, "ovsdb_debug", off(), "Log the traffic with Open vSwitch's database."),
		ignored(g, "bridge_mac_table_size", count(50000), "Largest number of learned MAC addresses of a bridge."),
		ignored(g, "igmp_snooping_enable", off(), "Snoop IGMP on the integration bridge."),
	}
}

// ignoredAgent describes the options of the group [agent] for upstream's agents only.
func ignoredAgent() []config.Setting {
	const g = groupAgent
	return []config.Setting{
		ignored(g, "minimize_polling", on(), "Wait for changes of ports instead of polling them. Berth always waits."),
		ignored(g, "ovsdb_monitor_respawn_interval", count(30), "Seconds before a lost watch of the database is taken up again."),
		ignored(g, "vxlan_udp_port", osloconfig.IntBetween(new(4789), 0, 65535), "UDP port of VXLAN tunnels."),
		ignored(g, "veth_mtu", count(9000), "Has no effect upstream either."),
		ignored(g, "l2_population", off(), "Fill the forwarding tables of tunnels from the server."),
		ignored(g, "arp_responder", off(), "Answer ARP on the host."),
		ignored(g, "dont_fragment", on(), "Set the don't-fragment bit on tunnel packets."),
		ignored(g, "enable_distributed_routing", off(), "Route on the compute hosts."),
		ignored(g, "drop_flows_on_start", off(), "Remove all flows at the start."),
		ignored(g, "tunnel_csum", off(), "Checksums on tunnel packets."),
		ignored(g, "baremetal_smartnic", off(), "Serve ports on smart NICs."),
		ignored(g, "explicitly_egress_direct", off(), "Direct egress flows instead of flooding."),
		ignored(g, "extensions", words(), "Extensions of upstream's agent. Berth's agent has qos, always, and no other."),
		ignored(g, "root_helper", line("sudo"), "Program that gives commands more rights."),
		ignored(g, "use_helper_for_ns_read", on(), "Use it to list network namespaces."),
		ignored(g, "root_helper_daemon", line(""), "The same as a process that stays."),
		ignored(g, "comment_iptables_rules", on(), "Comments in iptables rules."),
		ignored(g, "debug_iptables_rules", off(), "Compare iptables rules twice."),
		ignored(g, "use_random_fully", on(), "Random source ports in NAT."),
		ignored(g, "check_child_processes_action", osloconfig.Choice(new("respawn"), "respawn", "exit"), "What to do when a child process has died."),
		ignored(g, "check_child_processes_interval", count(60), "Seconds between looks at child processes."),
		ignored(g, "kill_scripts_path", line("/etc/neutron/kill_scripts/"), "Scripts that end child processes."),
		ignored(g, "quitting_rpc_timeout", count(10), "Seconds to wait for RPC when the agent ends."),
		ignored(g, "dscp", osloconfig.OptionalInt(new(*int)).Check(checkDSCP), "DSCP value of tunnel packets."),
		ignored(g, "dscp_inherit", off(), "Copy the DSCP value of the packet inside."),
	}
}

func checkDSCP(text string) error {
	if n, err := strconv.Atoi(text); text != "" && (err != nil || n < 0 || n > 63) {
		return errors.New("want an integer from 0 to 63")
	}
	return nil
}

// ignoredGroups describes the groups of parts that Berth's agent does not have:
// security groups, the log of packets, DHCP on the host.
func ignoredGroups() []config.Setting {
	return []config.Setting{
		ignored(groupSecurity, "firewall_driver", line(""), "Driver of security groups."),
		ignored(groupSecurity, "enable_security_group", on(), "Enforce security groups."),
		ignored(groupSecurity, "enable_ipset", on(), "Use ipset for them."),
		ignored(groupSecurity, "permitted_ethertypes", words(), "Further Ethernet types that are allowed."),
		ignored(groupLog, "rate_limit", osloconfig.IntBetween(new(100), 100, math.MaxInt), "Packets that are logged a second."),
		ignored(groupLog, "burst_limit", osloconfig.IntBetween(new(25), 25, math.MaxInt), "Packets that are logged in a burst."),
		ignored(groupLog, "local_output_log_base", line(""), "File for the log of packets."),
		ignored(groupDHCP, "enable_ipv6", on(), "Answer DHCPv6 on the host."),
		ignored(groupDHCP, "dhcp_renewal_time", count(0), "Seconds until leases are renewed."),
		ignored(groupDHCP, "dhcp_rebinding_time", count(0), "Seconds until leases are rebound."),
	}
}

// ignoredML2 describes the rest of the group [ml2], which is the network
// service's.
func ignoredML2() []config.Setting {
	const g = groupML2
	return []config.Setting{
		ignored(g, "type_drivers", words("local", "flat", "vlan", "gre", "vxlan", "geneve"), "Types of networks that are loaded."),
		ignored(g, "tenant_network_types", words("local"), "Types of networks that projects make."),
		ignored(g, "mechanism_drivers", words(), "Mechanism drivers that are loaded."),
		ignored(g, "extension_drivers", words(), "Extensions of ML2."),
		ignored(g, "path_mtu", count(0), "Largest packet of tunnels."),
		ignored(g, "physical_network_mtus", words(), "Largest packet by physical network."),
		ignored(g, "external_network_type", line(""), "Type of external networks."),
		ignored(g, "overlay_ip_version", count(4), "IP version of tunnels."),
	}
}
