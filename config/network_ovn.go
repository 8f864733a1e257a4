package config

import "github.com/berthcloud/berth/osloconfig"

// OVN has the mechanism driver's own group [ovn]: the connection to OVN's southbound database, from
// which the chassis are read.
type OVN struct {
	Connection    string // comma-separated remotes, see ovsdb.ParseRemotes; "" for none
	KeyFile       string // of CertFile; for remotes with ssl:, as the next two are
	CertFile      string
	CAFile        string
	Timeout       int // seconds
	ProbeInterval int // milliseconds; 0: the connection is not probed
	SocketDir     string
}

const groupOVN = "ovn"

func defaultOVN() OVN {
	return OVN{Connection: "tcp:127.0.0.1:6642", Timeout: 180, ProbeInterval: 60000, SocketDir: "/var/run/openvswitch"}
}

func (o *OVN) settings() []Setting {
	const g = groupOVN
	return append([]Setting{
		used(g, "ovn_sb_connection", osloconfig.String(&o.Connection),
			"OVN's southbound database, which has the chassis: tcp:address:port, ssl:address:port or unix:path, several with commas. Read with the mechanism driver ovn; empty: not at all."),
		used(g, "ovn_sb_private_key", osloconfig.String(&o.KeyFile), "PEM file with the private key for ssl: connections."),
		used(g, "ovn_sb_certificate", osloconfig.String(&o.CertFile), "PEM file with the certificate of that key."),
		used(g, "ovn_sb_ca_cert", osloconfig.String(&o.CAFile), "PEM file with the authorities of the database's certificate."),
		used(g, "ovsdb_connection_timeout", osloconfig.IntBetween(&o.Timeout, 1, 1<<31-1), "Seconds for which an answer of the database is waited for."),
		used(g, "ovsdb_probe_interval", osloconfig.IntBetween(&o.ProbeInterval, 0, 1<<31-1),
			"Milliseconds of silence after which the database is asked for a sign of life, 1000 at least; lost after twice that. 0: never."),
		used(g, "vhost_sock_dir", osloconfig.String(&o.SocketDir), "Directory, on the hosts, of the sockets of servers on chassis with DPDK."),
	}, ovnElsewhere()...)
}

// ovnElsewhere describes the options of OVN's northbound database, to which Berth does not write.
func ovnElsewhere() []Setting {
	const g = groupOVN
	off := func() osloconfig.Value { return osloconfig.Bool(new(bool)) }
	text := func(s string) osloconfig.Value { return osloconfig.String(&s) }
	number := func(n int) osloconfig.Value { return osloconfig.Int(&n) }
	return []Setting{
		ignored(g, "ovn_nb_connection", text("tcp:127.0.0.1:6641"), "OVN's northbound database. Berth writes nothing to OVN."),
		ignored(g, "ovn_nb_private_key", text(""), "Key for its connections."),
		ignored(g, "ovn_nb_certificate", text(""), "Certificate of that key."),
		ignored(g, "ovn_nb_ca_cert", text(""), "Authorities of its certificate."),
		ignored(g, "ovsdb_retry_max_interval", number(180), "Seconds between attempts to connect. Berth waits for 8 at most."),
		ignored(g, "neutron_sync_mode", text("log"), "How the northbound database is compared with Neutron's."),
		ignored(g, "ovn_l3_mode", osloconfig.Bool(new(true)), "OVN's routers."),
		ignored(g, "ovn_l3_scheduler", text("leastloaded"), "What picks chassis of gateways."),
		ignored(g, "enable_distributed_floating_ip", off(), "Floating addresses on the hosts of their servers."),
		ignored(g, "vif_type", text("ovs"), "Type of VIFs, of which Neutron too has stopped taking notice."),
		ignored(g, "dhcp_default_lease_time", number(43200), "Seconds of a lease of OVN's DHCP."),
		ignored(g, "ovsdb_log_level", text("INFO"), "Level of the OVSDB library."),
		ignored(g, "ovn_metadata_enabled", off(), "Agents for metadata."),
		ignored(g, "dns_servers", osloconfig.List(new([]string)), "Name servers of subnets that have none."),
		ignored(g, "ovn_dhcp4_global_options", text(""), "Options of OVN's DHCP for IPv4."),
		ignored(g, "ovn_dhcp6_global_options", text(""), "The same for IPv6."),
		ignored(g, "ovn_emit_need_to_frag", off(), "Answer packets that are too large for gateways."),
		ignored(g, "disable_ovn_dhcp_for_baremetal_ports", off(), "Leave machines without hypervisor to another DHCP server."),
	}
}
