// Package node turns the operator's files on a compute host, and what its machine has, into the
// host's report. It does not run servers, and it connects to nothing. It writes one file: the
// host's UUID, once.
//
//	nova.conf      ─┐
//	provider.yaml  ─┴─ Load ── Settings ─┐
//	                                     ├─ Report, Topology
//	/proc, /sys    ───────── Machine ────┘
//
// The report, with the topology, goes to the compute service.
//
// The rules are those of Nova's compute agent with libvirt, whose files these are.
package node

import (
	"path/filepath"
	"time"

	"github.com/berthcloud/berth/agent/settings"
	"github.com/berthcloud/berth/compute/inventory"
	"github.com/berthcloud/berth/config"
)

// The values of Settings.Driver.
const (
	Fake  = "fake"  // servers exist in memory
	Netns = "netns" // servers are network namespaces
)

// Settings are the settings of a compute host. A loaded value does not change and may be read
// concurrently.
type Settings struct {
	Files []settings.File // the files that were read, in order

	Default Default
	Berth   Berth

	ReportInterval   time.Duration // between reports
	ResourceInterval time.Duration // between reads what the machine has; 0: at the start only
	Concurrency      int           // builds at a time; 0: any number
	InstancesPath    string        // directory of servers, whose disk they use

	Driver string // Fake or Netns
	Fake   FakeDriver
	Netns  NetnsDriver

	// Additional is what provider.yaml files add.
	Additional []inventory.Additional

	// Ignored names the options that the files set and Berth does not act on.
	Ignored []string

	// Fingerprint is that of the files of Load's Sources; see settings.FingerprintOf.
	Fingerprint settings.Fingerprint

	imageTypesOut []string // [compute] image_type_exclude_list

	names     settings.Names
	resources resources
	providers string // [compute] provider_config_location

	devices        []deviceSpec // [pci] device_spec
	pciInPlacement bool
	mdevs          []*mdevType // [devices] enabled_mdev_types
	mdevOf         mdevRules
	cpuModel       cpuModel // [libvirt] about the CPUs of servers
	written        written
}

// Default is the group [DEFAULT].
type Default struct {
	Host      string // by which the host is known to the compute service
	MyIP      string // empty: see Machine.Address
	StatePath string
	config.Logging
}

// Berth is what the group [berth] says of the way to the compute service.
type Berth struct {
	Compute       settings.Service
	WatchInterval time.Duration // between reads the files; 0: never
}

// FakeDriver is how the driver Fake plays a host.
type FakeDriver struct {
	VCPUs, MemoryMB, DiskGB int           // that it claims to have; 0: what the machine has
	Nodes                   int           // NUMA nodes that they are divided among; 0: what the machine has
	BuildTime               time.Duration // that a build takes
	Failure                 float64       // share of the builds that fail, from 0 to 1
}

// NetnsDriver is how the driver Netns plugs servers in.
type NetnsDriver struct {
	Prefix    string // of the names of namespaces
	Namespace string // that the host's bridges and NICs are in; empty: that of this process

	// OVS says that the bridges are Open vSwitch's, else they are the kernel's.
	OVS               bool
	IntegrationBridge string            // of all networks that are not in Bridges
	Bridges           map[string]string // by physical network

	Devices map[string][]string // NICs that ports without a device of their own share, by physical network

	Connection string        // of OVSDB: tcp:address:port, ssl:address:port or unix:path
	Timeout    time.Duration // of one OVSDB transaction; 0: none
}

// resources are the options about what servers get of the machine.
type resources struct {
	shared, dedicated, pinned     string // sets of CPUs, as written
	reservedCPUs                  int
	reservedMemoryMB              int
	reservedDiskMB                int
	cpuRatio, ramRatio, diskRatio ratio
	sets                          sets
	reservedPages                 reservedPages
	// reportNUMA is [compute] enable_numa_reporting_to_placement, nil when it is not set.
	reportNUMA *bool
}

// A ratio is an allocation ratio: what an operator insists on, 0 for nothing, and what a
// new host begins with.
type ratio struct{ set, initial float64 }

// written has lists as the file has them.
type written struct {
	bridges, devices []string
	specs, mdevTypes []string
	specPlaces       []string // files and lines of specs
	pages            []string // [DEFAULT] reserved_huge_pages
	pagePlaces       []string // files and lines of pages
	novaDriver       string   // [DEFAULT] compute_driver
	resourceInterval int
}

// newSettings returns the settings of empty files.
func newSettings(names settings.Names) *Settings {
	s := &Settings{
		Default:        Default{Host: names.Host, StatePath: "/var/lib/nova"},
		ReportInterval: 10 * time.Second, ResourceInterval: defaultResourceInterval, Concurrency: 10,
		Driver: Fake,
		Netns: NetnsDriver{
			Prefix: "berth-", OVS: true, IntegrationBridge: "br-int", Connection: "tcp:127.0.0.1:6640", Timeout: 2 * time.Minute,
		},
		Berth: Berth{Compute: settings.NewService("compute", 8774), WatchInterval: 5 * time.Second},
		names: names,
		resources: resources{
			reservedMemoryMB: 512,
			cpuRatio:         ratio{initial: 4}, ramRatio: ratio{initial: 1}, diskRatio: ratio{initial: 1},
		},
		providers: "/etc/nova/provider_config/",
	}
	s.InstancesPath = filepath.Join(s.Default.StatePath, "instances")
	return s
}

// defaultResourceInterval is that of Nova's periodic tasks.
const defaultResourceInterval = time.Minute
