package config

import "github.com/berthcloud/berth/osloconfig"

// OVN is the group [ovn]: the connection to OVN's southbound database, from which the chassis are
// read when the mechanism driver ovn is enabled.
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

// defaultOVN has the defaults of networking-ovn's options (neutron.conf.plugins.ml2.drivers.ovn).
func defaultOVN() OVN {
	return OVN{Connection: "tcp:127.0.0.1:6642", Timeout: 180, ProbeInterval: 60000, SocketDir: "/var/run/openvswitch"}
}

func (o *OVN) settings() []Setting {
	const g = groupOVN
	return []Setting{
		NewSetting(g, "ovn_sb_connection", osloconfig.String(&o.Connection),
			"OVN's southbound database, which has the chassis: tcp:address:port, ssl:address:port or unix:path, "+
				"several with commas. Read with the mechanism driver ovn; empty: not at all."),
		NewSetting(g, "ovn_sb_private_key", osloconfig.String(&o.KeyFile),
			"PEM file with the private key for ssl: connections."),
		NewSetting(g, "ovn_sb_certificate", osloconfig.String(&o.CertFile), "PEM file with the certificate of that key."),
		NewSetting(g, "ovn_sb_ca_cert", osloconfig.String(&o.CAFile),
			"PEM file with the authorities of the database's certificate."),
		NewSetting(g, "ovsdb_connection_timeout", osloconfig.IntBetween(&o.Timeout, 1, 1<<31-1),
			"Seconds for which an answer of the database is waited for."),
		NewSetting(g, "ovsdb_probe_interval", osloconfig.IntBetween(&o.ProbeInterval, 0, 1<<31-1),
			"Milliseconds without traffic after which an echo request is sent to the database, at least 1000; "+
				"after twice that the connection counts as lost. 0: never."),
		NewSetting(g, "vhost_sock_dir", osloconfig.String(&o.SocketDir),
			"Directory, on the hosts, of the sockets of servers on chassis with DPDK."),
	}
}
