package config

import (
	"net"
	"slices"
	"strconv"
)

// Compute has every option of nova.conf that Berth's compute service reads.
type Compute struct {
	Service

	Paths     Paths
	Nova      Nova
	Database  Database // Berth's own, not Nova's
	Placement Peer
	Neutron   Peer
	Glance    Peer
	Quota     Quota
	Scheduler Scheduler
	Aliases   []string // [pci] alias, an object of JSON each

	Boots Boots
}

// Nova has the compute service's settings in the groups [DEFAULT], [api] and [wsgi], with Nova's
// names, meaning and defaults except for Listen.
type Nova struct {
	MyIP            string // has no effect; checked for other values
	Listen          string
	ListenPort      int
	SSLAPIs         []string // APIs with TLS, by Nova's names; see OverTLS
	CertFile        string
	KeyFile         string
	CAFile          string
	AuthStrategy    string // StrategyKeystone or StrategyNoAuth2
	MaxLimit        int    // objects in one answer
	ServiceDownTime int    // seconds
	ResponseTimeout int    // seconds
	ResizeSameHost  bool
	ConfirmWindow   int // seconds; 0 for no end
	BuildTimeout    int // seconds; 0 for any time
	HealInterval    int // seconds; below 1 for never
	LiveRetries     int // destinations after the first one; -1 for all
	DefaultZone     string
	NameTemplate    string // of servers at their hosts
	UniqueNames     string // UniqueInProject, UniqueEverywhere, or empty
	ImageServers    []string
}

// The values of Nova.UniqueNames besides none, with which any number of servers may
// have the same name.
const (
	UniqueInProject  = "project"
	UniqueEverywhere = "global"
)

// computeAPI is Nova's name of the API that Berth has.
const computeAPI = "osapi_compute"

// OverTLS reports whether the files request TLS for the API, by enabled_ssl_apis.
func (n *Nova) OverTLS() bool { return slices.Contains(n.SSLAPIs, computeAPI) }

// address is the API's address according to osapi_compute_listen and osapi_compute_listen_port.
func (n *Nova) address() string { return net.JoinHostPort(n.Listen, strconv.Itoa(n.ListenPort)) }

// Quota is the group [quota]: the bounds of a project; -1 is unlimited. Key pairs are counted for a
// user, metadata items for a server, and members for a server group.
type Quota struct {
	Instances          int
	Cores              int
	RAM                int // MB
	MetadataItems      int
	InjectedFiles      int
	InjectedFileBytes  int // of one file
	InjectedPathLength int // bytes
	KeyPairs           int
	ServerGroups       int
	ServerGroupMembers int
}

// Scheduler has the settings of the choice of a host: the groups [scheduler], [filter_scheduler]
// and [workarounds].
type Scheduler struct {
	MaxAttempts         int // attempts, one host each, per server
	MaxPlacementResults int

	RoutedNetworks       bool
	LimitTenants         bool
	TenantsNeedAggregate bool
	Zones                bool
	ImageTypes           bool
	IsolateAggregates    bool
	ImageMetadata        bool
	DisableFallbackPCPU  bool

	PCIInPlacement bool     // servers get PCI devices by aliases
	EnabledFilters []string // only causes warnings about filters that Berth does not have
	SubsetSize     int
	ShuffleBest    bool
	Weights        Weights
}

// Weights are the multipliers of [filter_scheduler]: the host with the greatest sum is the best.
// They are finite.
type Weights struct {
	RAM              float64
	CPU              float64
	Disk             float64
	IOOps            float64
	BuildFailure     float64
	SoftAffinity     float64
	SoftAntiAffinity float64
}

// Boots are the compute service's settings in the group [berth] about creating servers and changing
// them.
type Boots struct {
	AllowNetworkQoS   bool // of networks that guarantee bandwidth
	OwnedHosts        bool // only hosts that are marked as compute's
	CandidatesPerHost int
	FiltersOff        []string // names of request filters
	TakeoverTime      int      // seconds
	HistoryDays       int      // 0: records are kept for ever
	AllowAttachQoS    bool     // ports that request resources
	Guaranteed        []string // operations that are allowed with ports that request resources
}

// DefaultCompute returns the settings of an empty file. The caller owns all of it.
func DefaultCompute() *Compute {
	database, service := defaultDatabase(), defaultService("", computeCORS())
	database.MaxPoolSize, database.MaxOverflow = new(5), new(50)
	// As in Zed, which the rules of the API are from.
	service.Policy.EnforceScope, service.Policy.EnforceNewDefaults = false, false
	return &Compute{
		Service: service,
		Paths:   Paths{PyBaseDir: debianModules, StatePath: debianModules},
		Nova: Nova{
			Listen: "127.0.0.1", ListenPort: 8774, AuthStrategy: StrategyKeystone, MaxLimit: 1000,
			ServiceDownTime: 60, ResponseTimeout: 60, HealInterval: 60, LiveRetries: -1, DefaultZone: "nova",
			NameTemplate: "instance-%08x",
		},
		Database:  database,
		Placement: defaultNovaPeer(),
		Neutron:   defaultNovaPeer(),
		Glance:    defaultNovaPeer(),
		Quota: Quota{
			Instances: 10, Cores: 20, RAM: 50 << 10, MetadataItems: 128,
			InjectedFiles: 5, InjectedFileBytes: 10 << 10, InjectedPathLength: 255,
			KeyPairs: 100, ServerGroups: 10, ServerGroupMembers: 10,
		},
		Scheduler: Scheduler{
			MaxAttempts: 3, MaxPlacementResults: 1000, Zones: true, SubsetSize: 1,
			EnabledFilters: []string{
				"ComputeFilter", "ComputeCapabilitiesFilter", "ImagePropertiesFilter",
				"ServerGroupAntiAffinityFilter", "ServerGroupAffinityFilter",
			},
			Weights: Weights{RAM: 1, CPU: 1, Disk: 1, IOOps: -1, BuildFailure: 1_000_000, SoftAffinity: 1, SoftAntiAffinity: 1},
		},
		Boots: Boots{
			CandidatesPerHost: 10, AllowAttachQoS: true, TakeoverTime: 60, Guaranteed: slices.Clone(guaranteedOperations),
		},
	}
}

// computeCORS has the lists that Nova sets (nova.middleware, set_defaults).
func computeCORS() CORS {
	return defaultCORS(
		[]string{
			"X-Auth-Token", "X-Openstack-Request-Id", "X-Subject-Token", "X-Service-Token",
			"X-OpenStack-Nova-API-Version", "OpenStack-API-Version",
		},
		[]string{
			"X-Auth-Token", "X-Openstack-Request-Id", "X-Identity-Status", "X-Roles", "X-Service-Catalog",
			"X-User-Id", "X-Tenant-Id", "X-OpenStack-Nova-API-Version", "OpenStack-API-Version",
		})
}
