// Package settings reads the configuration files of a host agent, which are those of Neutron's
// agents, reports every mistake by name, and converts them to the form of heartbeats. It does not
// act on them: it starts nothing, connects to nothing and writes nothing.
//
// What an agent reports comes from one of three places, in the same options:
//
//	openvswitch_agent.ini  [ovs]        ─┐
//	sriov_agent.ini        [sriov_nic]  ─┼─ Resources ── Configurations
//	ovn-cms-options of the chassis      ─┘
//
// Load reads files, ParseOVN reads a chassis. Check validates them against the machine; Changes
// lists the differences of two readings.
package settings

import (
	"time"

	"github.com/berthcloud/berth/config"
	"github.com/berthcloud/berth/guarantee"
)

// A Kind says which of Neutron's agents the settings are for.
type Kind string

// The kinds. The resources of an OVN agent are not in files; see ParseOVN.
const (
	OVS   Kind = "ovs"
	SRIOV Kind = "sriov"
	OVN   Kind = "ovn"
)

// Settings are the settings of one host agent. The groups are named as in the files. A loaded value
// does not change and may be read concurrently.
type Settings struct {
	Kind  Kind
	Files []File // the files that were read, in order

	Default Default
	Agent   Agent
	OVS     Switch // of an OVS agent only
	Berth   Berth

	// Resources is what the agent offers to placement.
	Resources Resources

	// Excluded has the virtual functions that are not for servers, by device.
	// Of an SR-IOV agent only.
	Excluded map[string][]string

	// Ignored names the options that the files set and Berth does not act on.
	Ignored []string

	// Fingerprint is that of the files; see FingerprintOf.
	Fingerprint Fingerprint

	tunnelled string // [ml2] tunnelled_network_rp_name
	written   written
}

// A File is one that was read.
type File struct {
	Path     string
	Modified time.Time
}

// Default is the group [DEFAULT].
type Default struct {
	Host      string // by which the agent is known to the network service
	StatePath string
	config.Logging
}

// Agent is the group [agent].
type Agent struct {
	ReportInterval   time.Duration // between heartbeats; 0: none
	PollingInterval  time.Duration // between reads the devices
	AvailabilityZone string
	LogHeartbeats    bool
	TunnelTypes      []string
}

// Switch is what the group [ovs] says next to the resources.
type Switch struct {
	IntegrationBridge  string
	TunnelBridge       string
	LocalIP            string // tunnel end point, empty for none
	DatapathType       string // "system" or "netdev"
	VhostuserSocketDir string

	Connection    string // of OVSDB: tcp:address:port, ssl:address:port or unix:path
	SSLKeyFile    string
	SSLCertFile   string
	SSLCACertFile string
	Timeout       time.Duration // of one OVSDB transaction
}

// Berth is the group [berth], which upstream does not have.
type Berth struct {
	Network       Service
	Enforce       bool          // enforce the rates of ports
	WatchInterval time.Duration // between reads the files; 0: never
}

// The values of Switch.DatapathType.
const (
	datapathSystem = "system"
	datapathNetdev = "netdev"
)

// newSettings returns the settings of empty files.
func newSettings(kind Kind, names Names) *Settings {
	s := &Settings{
		Kind:      kind,
		Default:   Default{Host: names.Host, StatePath: "/var/lib/neutron"},
		Agent:     Agent{ReportInterval: 30 * time.Second, PollingInterval: 2 * time.Second},
		Berth:     Berth{Network: NewService("network", 9696), Enforce: true, WatchInterval: 5 * time.Second},
		tunnelled: guarantee.DefaultTunnelDevice,
		written:   written{inventory: defaultInventory(), packetInventory: defaultInventory()},
	}
	if kind == OVS {
		s.OVS = Switch{
			IntegrationBridge: "br-int", TunnelBridge: "br-tun", DatapathType: datapathSystem,
			VhostuserSocketDir: "/var/run/openvswitch",
			Connection:         "tcp:127.0.0.1:6640", Timeout: 10 * time.Second,
		}
	}
	return s
}

// written has the options of resources as the file has them: split at the commas, not yet parsed.
type written struct {
	mappings, bandwidths, hypervisors, inventory      []string
	packetDirected, packetUndirected, packetInventory []string
	excluded, traits                                  []string
	defaultHypervisor                                 string
}

// defaultInventory is upstream's. An option that is given replaces all of it.
func defaultInventory() []string {
	return []string{"allocation_ratio:1.0", "min_unit:1", "step_size:1", "reserved:0"}
}
