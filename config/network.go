package config

import (
	"net"
	"slices"
	"strconv"
	"strings"
)

// Network has every option of neutron.conf, ml2_conf.ini and the other files of a Neutron server
// that Berth's network service reads.
type Network struct {
	Service

	Neutron   Neutron
	SSL       SSL
	Database  Database
	Placement Peer
	Nova      Peer
	ML2       ML2
	OVN       OVN
	Quotas    Quotas

	Promises Promises
}

// Neutron has the network service's settings in the group [DEFAULT], with Neutron's names, meaning
// and defaults except for BindHost.
type Neutron struct {
	StatePath           string
	BindHost            string
	BindPort            int
	AuthStrategy        string // StrategyKeystone or StrategyNoAuth
	CorePlugin          string // without effect: there is one plugin
	ServicePlugins      []string
	BaseMAC             string
	MaxDNSNameservers   int
	MaxSubnetHostRoutes int
	MaxAddressPairs     int // of a port
	PaginationMaxLimit  string
	GlobalPhysnetMTU    int    // bytes
	AgentDownTime       int    // seconds
	NewAgents           bool   // new agents are enabled
	LinkPrefix          string // start of the URLs in links; "" for that of the request
	NotifyNovaOfStatus  bool
	NotifyNovaOfData    bool
	UseSSL              bool
}

// StrategyNoAuth is the value of Neutron.AuthStrategy besides StrategyKeystone: any token is
// accepted.
const StrategyNoAuth = "noauth"

// The service plugins that Berth has. PluginPlacement reports the agents' devices to placement; the
// others are parts of the API.
const (
	PluginQoS       = "qos"
	PluginTrunk     = "trunk"
	PluginSegments  = "segments"
	PluginPlacement = "placement"
)

// SSL is the group [ssl] (oslo.service), which has an effect when use_ssl is set and [berth] has no
// certificate.
type SSL struct {
	CertFile string
	KeyFile  string
	CAFile   string
}

// Quotas is the group [quotas]: the number of objects of each kind that a project may have; a
// negative number is unlimited.
type Quotas struct {
	Default           int // of kinds that are not named here
	Network           int
	Subnet            int
	Port              int
	SecurityGroup     int
	SecurityGroupRule int
	RBACPolicy        int
}

// Promises are the network service's settings in [berth] about resource requests and allocations
// for guaranteed bandwidth and packet rates.
type Promises struct {
	OldRequests  bool // resource_request in the format before groups
	Tunnels      bool // agents offer bandwidth for tunnelled networks
	Alternatives bool // any of a network's physical networks will do
	KeepDeleted  bool // the allocation of a removed port remains with its server
}

// DefaultNetwork returns the settings of empty files. The caller owns the result.
func DefaultNetwork() *Network {
	database, service := defaultDatabase(), defaultService("", networkCORS())
	database.MaxPoolSize, database.MaxOverflow = new(5), new(50)
	// As in Zed, whose policy rules the API has: with its new defaults alone, administrators lose
	// permissions.
	service.Policy.EnforceScope, service.Policy.EnforceNewDefaults = false, false
	return &Network{
		Service: service,
		Neutron: Neutron{
			StatePath: "/var/lib/neutron", BindHost: "127.0.0.1", BindPort: 9696, AuthStrategy: StrategyKeystone,
			BaseMAC:           "fa:16:3e:00:00:00",
			MaxDNSNameservers: 5, MaxSubnetHostRoutes: 20, MaxAddressPairs: 10, PaginationMaxLimit: "-1",
			GlobalPhysnetMTU: 1500, AgentDownTime: 75, NotifyNovaOfStatus: true, NotifyNovaOfData: true, NewAgents: true,
		},
		Database:  database,
		Placement: defaultPeer(),
		Nova:      defaultPeer(),
		ML2:       defaultML2(),
		OVN:       defaultOVN(),
		Quotas: Quotas{
			Default: -1, Network: 100, Subnet: 100, Port: 500, SecurityGroup: 10, SecurityGroupRule: 100, RBACPolicy: 10,
		},
	}
}

// networkCORS has the lists that Neutron sets (neutron.common.config,
// set_cors_middleware_defaults).
func networkCORS() CORS {
	return defaultCORS(
		[]string{
			"X-Auth-Token", "X-Subject-Token", "X-Service-Token", "X-OpenStack-Request-ID", "OpenStack-Volume-microversion",
		},
		[]string{
			"X-Auth-Token", "X-Identity-Status", "X-Roles", "X-Service-Catalog", "X-User-Id", "X-Tenant-Id",
			"X-OpenStack-Request-ID",
		})
}

// plugins are Neutron's names of the service plugins, aliases and classes.
var plugins = map[string]string{
	PluginQoS:       PluginQoS,
	PluginTrunk:     PluginTrunk,
	PluginSegments:  PluginSegments,
	PluginPlacement: PluginPlacement,

	"neutron.services.qos.qos_plugin.QoSPlugin":                      PluginQoS,
	"neutron.services.trunk.plugin.TrunkPlugin":                      PluginTrunk,
	"neutron.services.segments.plugin.Plugin":                        PluginSegments,
	"neutron.services.placement_report.plugin.PlacementReportPlugin": PluginPlacement,
}

// Has reports whether a service plugin is enabled, by either of its names.
func (n *Neutron) Has(plugin string) bool {
	return slices.ContainsFunc(n.ServicePlugins, func(name string) bool { return plugins[name] == plugin })
}

// missing lists the enabled service plugins that Berth does not have.
func (n *Neutron) missing() []string {
	return slices.DeleteFunc(slices.Clone(n.ServicePlugins), func(name string) bool { return plugins[name] != "" })
}

// MACPrefix returns the octets that generated MAC addresses begin with, each followed by a colon:
// three of base_mac, where Neutron takes a fourth that is not 00 too.
func (n *Neutron) MACPrefix() string {
	octets := strings.Split(strings.ToLower(n.BaseMAC), ":")
	return strings.Join(octets[:min(3, len(octets))], ":") + ":"
}

// address is the API's address according to bind_host and bind_port.
func (n *Neutron) address() string { return net.JoinHostPort(n.BindHost, strconv.Itoa(n.BindPort)) }
