// Package config has the settings of the services: those of placement.conf, neutron.conf with
// ml2_conf.ini, and nova.conf, upstream's options and Berth's own, with their defaults; and the
// parser of database URLs. It does not act on the settings. The rules of the file format are in
// package osloconfig.
//
// A service's settings are one struct ([Placement], [Network], [Compute]), whose fields are named
// after the groups of the files. [Service] is the part that all have. Each group has a type with
// the fields, a function with the defaults, and a method that returns its rows of the table of
// options: name, field, help. The tables are the source of the documents in docs/operations and of
// the manual pages. To add an option, add the field, its default and its row.
//
//	load.go                    the three Load functions, checks that concern several options
//	settings.go                the groups that all services have, and those of placement.conf
//	keystone.go                [keystone_authtoken] and the options of keystoneauth's plugins
//	network*.go, compute*.go   the groups of the other two services
//	listen.go, connection.go   values with a syntax of their own: addresses, database URLs
//	*_ignored.txt              upstream's options that have no effect
//
// Where a comment names upstream's source of a rule, it is the module that registers the option:
// oslo.log, oslo.db, oslo.policy, oslo.middleware, keystonemiddleware, keystoneauth,
// placement.conf, neutron.conf, nova.conf.
package config

import (
	"time"

	"github.com/berthcloud/berth/osloconfig"
)

// Service has the settings that all services share. Its groups are named as in the files.
type Service struct {
	Files []string // the files that were read, in order
	Dirs  []string // the directories that were given

	Default  Logging
	CORS     CORS
	Policy   Policy
	Keystone Keystone
	Proxy    Proxy
	Berth    Berth

	// Ignored names the options that the files set and Berth does not act on, as "[group] option".
	Ignored []string
}

// Common returns the part of a service's settings that all services have: it makes the three types
// usable by the same code.
func (s *Service) Common() *Service { return s }

// Placement has every option of placement.conf that Berth reads. Settings binds them to their
// names, Ignores lists the names that are accepted for existing files only.
type Placement struct {
	Service

	Paths     Paths
	API       API
	Database  Database
	Placement Behaviour

	// Of the group [berth], which the other services do not have:
	ReconcileInterval time.Duration // between comparisons with the database; 0: none

	MaxEventStreams, MaxEventStreamsPerProject int // at a time; 0: no bound

	Console bool // serve the console at /console
}

// Logging is the part of the group [DEFAULT] that all services and agents have, options of
// oslo.log.
type Logging struct {
	Debug    bool
	LogFile  string // empty: standard error
	LogDir   string // prefix of a relative LogFile
	WatchLog bool   // reopen LogFile when it was renamed
	UseJSON  bool
	// LogOptions is whether a service logs all options when it starts, at the level DEBUG. Agents
	// do not.
	LogOptions bool
}

// Paths are the directories in [DEFAULT] of placement.conf and nova.conf. They only serve as values
// of $pybasedir and $state_path.
type Paths struct {
	PyBaseDir string
	StatePath string
}

// API is the group [api] of placement.conf.
type API struct {
	AuthStrategy string // Keystone or NoAuth2
}

// The values of API.AuthStrategy.
const (
	StrategyKeystone = "keystone"
	StrategyNoAuth2  = "noauth2"
)

// Database is the group [placement_database] of placement.conf, or [database] of the network and
// the compute service (oslo.db). An empty Connection means a SQLite file in the user's data
// directory. The other options have an effect on servers only.
type Database struct {
	Connection            osloconfig.Secret
	ConnectionParameters  string
	SyncOnStartup         bool
	MySQLSQLMode          string
	ConnectionRecycleTime int // seconds
	// MaxPoolSize, MaxOverflow and PoolTimeout are nil when they are not set; daemon has the
	// defaults.
	MaxPoolSize   *int
	MaxOverflow   *int
	PoolTimeout   *int // seconds
	MaxRetries    int  // -1: for ever
	RetryInterval int  // seconds
}

// Behaviour is the group [placement], whose options have upstream's meaning and defaults.
type Behaviour struct {
	RandomizeAllocationCandidates bool
	IncompleteConsumerProjectID   string
	IncompleteConsumerUserID      string
	AllocationConflictRetryCount  int
	// Upstream compares after it has added a candidate, so that 0 has the effect of 1.
	MaxAllocationCandidates                int    // -1: no limit
	AllocationCandidatesGenerationStrategy string // DepthFirst or BreadthFirst
}

// The values of Behaviour.AllocationCandidatesGenerationStrategy.
const (
	DepthFirst   = "depth-first"
	BreadthFirst = "breadth-first"
)

// CORS is the group [cors] (oslo.middleware). Without an AllowedOrigin no answer has CORS headers.
type CORS struct {
	AllowedOrigin    []string
	AllowCredentials bool
	ExposeHeaders    []string
	MaxAge           int // seconds
	AllowMethods     []string
	AllowHeaders     []string
}

// Policy is the group [oslo_policy]. Relative paths are relative to the directories of the files in
// Service.Files.
type Policy struct {
	File               string
	Dirs               []string
	DefaultRule        string
	EnforceScope       bool
	EnforceNewDefaults bool
}

// Proxy is the group [oslo_middleware].
type Proxy struct {
	EnableProxyHeadersParsing bool
}

// Berth is the group [berth], which upstream does not have. A comment says where 0 disables a
// bound.
type Berth struct {
	Listen        string // addresses of the API, separated by commas: host:port or unix:/path
	ListenMode    string // octal permissions of Unix sockets; see SocketMode
	MetricsListen string // the same for operators; empty: off
	PProf         bool   // on the metrics listener
	PathPrefix    string // path below which the API answers too; empty: none

	TLSCertFile     string // with TLSKeyFile: TLS on the TCP addresses of the API
	TLSKeyFile      string
	TLSClientCAFile string // authorities of client certificates; empty: none are required
	// TLSAgentCAFile has the authorities of hosts' certificates, of the network and the compute
	// service; empty: no certificates are accepted.
	TLSAgentCAFile string
	TLSMinVersion  string // TLS12 or TLS13
	HTTP2          bool

	TrustedProxies []string // networks, addresses, "unix"; see ProxyNetworks
	// AllowedHosts are accepted names in Host headers in addition to those of this machine, for
	// auth_strategy noauth2.
	AllowedHosts    []string
	CompressMinSize int // bytes of the smallest answer that is compressed; 0 and below: none

	AllowRemoteNoAuth bool // accept noauth2 on addresses that other machines can reach

	// Of the network and the compute service:
	HostIdentity string // HostRequired or HostByToken
	// HostKeySecret is the secret that hosts' keys are made of, and former ones after commas;
	// empty: no keys are accepted.
	HostKeySecret osloconfig.Secret

	MaxConnections          int // 0: no bound
	MaxConnectionsPerClient int // from one address that is no trusted proxy; 0: no bound
	MaxRequests             int // under way at a time; 0: no bound
	// MaxListsPerProject bounds the requests for lists under way at a time, of the network and the
	// compute service; 0: no bound.
	MaxListsPerProject int

	MaxBodySize     int // bytes
	ShutdownTimeout time.Duration
}

// The values of Berth.TLSMinVersion.
const (
	TLS12 = "1.2"
	TLS13 = "1.3"
)

// unknownConsumer is upstream's placeholder for the project or user of a consumer that was written
// before microversion 1.8.
const unknownConsumer = "00000000-0000-0000-0000-000000000000"

// DefaultPlacement returns the settings of an empty file. The caller owns the result.
func DefaultPlacement() *Placement {
	return &Placement{
		Service: defaultService("127.0.0.1:8778", placementCORS()),
		// Debian's path of upstream's modules, so that a connection with $state_path keeps its
		// meaning.
		Paths:     Paths{PyBaseDir: debianModules, StatePath: debianModules},
		API:       API{AuthStrategy: StrategyKeystone},
		Database:  defaultDatabase(),
		Placement: defaultBehaviour(),

		ReconcileInterval:         5 * time.Second,
		MaxEventStreams:           256,
		MaxEventStreamsPerProject: 32,
		Console:                   true,
	}
}

// DefaultService returns the settings of a service with none of its own, which does not read them
// from files. The caller sets the address, and owns the result.
func DefaultService() *Service {
	s := defaultService("", placementCORS())
	return &s
}

// defaultService returns the defaults that all services share.
func defaultService(listen string, cors CORS) Service {
	berth := defaultBerth()
	berth.Listen = listen
	return Service{
		Default: Logging{LogOptions: true},
		CORS:    cors,
		Policy: Policy{
			File: "policy.yaml", Dirs: []string{"policy.d"}, DefaultRule: "default",
			EnforceScope: true, EnforceNewDefaults: true,
		},
		Keystone: defaultKeystone(),
		Berth:    berth,
	}
}

const debianModules = "/usr/lib/python3/dist-packages"

// defaultDatabase has the defaults of oslo.db. The sizes of pools differ between services, and are
// set by them.
func defaultDatabase() Database {
	return Database{
		MySQLSQLMode:          "TRADITIONAL",
		ConnectionRecycleTime: 3600,
		MaxRetries:            10,
		RetryInterval:         10,
	}
}

// defaultBehaviour has upstream's defaults (placement.conf.placement).
func defaultBehaviour() Behaviour {
	return Behaviour{
		IncompleteConsumerProjectID:            unknownConsumer,
		IncompleteConsumerUserID:               unknownConsumer,
		AllocationConflictRetryCount:           10,
		MaxAllocationCandidates:                -1,
		AllocationCandidatesGenerationStrategy: DepthFirst,
	}
}

// placementCORS has the lists that upstream's placement sets (placement.conf.opts,
// set_middleware_defaults), which differ from those of oslo.middleware.
func placementCORS() CORS {
	return defaultCORS(
		[]string{"X-Auth-Token", "X-Openstack-Request-Id", "X-Subject-Token", "X-Service-Token", "OpenStack-API-Version"},
		[]string{
			"X-Auth-Token", "X-Openstack-Request-Id", "X-Identity-Status", "X-Roles", "X-Service-Catalog",
			"X-User-Id", "X-Tenant-Id", "OpenStack-API-Version",
		})
}

// defaultCORS returns the defaults of the group with a service's own lists of headers: those of
// answers that a page may read, and those that it may send.
func defaultCORS(expose, allow []string) CORS {
	return CORS{
		AllowCredentials: true, MaxAge: 3600, ExposeHeaders: expose, AllowHeaders: allow,
		AllowMethods: []string{"GET", "PUT", "POST", "DELETE", "PATCH"},
	}
}

// defaultBerth has the defaults of Berth's own options: TLS from 1.2 on, bounds that a client with
// a few connections does not meet, and proxies on this machine.
func defaultBerth() Berth {
	return Berth{
		ListenMode:              "0660",
		TLSMinVersion:           TLS12,
		HostIdentity:            HostRequired,
		HTTP2:                   true,
		TrustedProxies:          []string{"127.0.0.0/8", "::1/128", UnixPeers},
		MaxConnections:          10000,
		MaxConnectionsPerClient: 1000,
		MaxRequests:             2000,
		MaxListsPerProject:      4,
		MaxBodySize:             16 << 20,
		ShutdownTimeout:         30 * time.Second,
	}
}
