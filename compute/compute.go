// Package compute has the rows of the compute service, which is the part of OpenStack Compute that
// guaranteed bandwidth needs, and what all of its parts have in common: the store and its
// transactions, the settings, the interfaces of peer services, and faults. It knows no HTTP and no
// SQL.
//
// The parts are below it (decision 41). Package servers has servers as users see them; package
// lifecycle has the operations that carry out what users request, package scheduler chooses the
// hosts for them, and package serverports binds the ports of servers; package fleet has the hosts,
// and package catalog has flavors, key pairs, aggregates, groups and quotas. Package request makes
// the query for placement, package selection chooses among the candidates, and package extraspecs
// has the meaning of extra specs.
//
// What a host is to make of a server is a row (HostedRow), which the commands to hosts write.
//
// Types whose name ends in Row are rows of the Store, flat and without behaviour.
//
// A Database (database.go) begins transactions; a Tx has the writer, the rules (settings, clock,
// log) and the time, and no store. peers_fenced.go refuses requests of a worker that has lost its
// lease, and says which ones may take effect later. Package daemon puts the service together; in
// "berth up", package devcloud has its hosts.
package compute

import (
	"encoding/json"
	"time"
)

// An ID names a server, a host or another row: a UUID in lower case with hyphens, but
// for flavors, which administrators name. Those of projects and users are whatever
// Keystone says.
type ID string

// A FlavorRow is a size of servers.
type FlavorRow struct {
	ID          ID // flavorid: what administrators call it
	Number      int64
	Name        string
	VCPUs       int64
	MemoryMB    int64
	RootGB      int64
	EphemeralGB int64
	SwapMB      int64
	RxTx        float64 // rxtx_factor
	Public      bool
	Disabled    bool
	Description string
	Specs       map[string]string // extra specs
	CreatedAt   time.Time
	UpdatedAt   time.Time // zero: never
}

// A FlavorAccessRow grants a project the use of a flavor that is not public.
type FlavorAccessRow struct {
	Flavor  ID
	Project string
}

// A KeypairRow is a public key of a user.
type KeypairRow struct {
	User        string
	Name        string
	Number      int64 // what the API calls its id
	Type        string
	Fingerprint string
	PublicKey   string
	CreatedAt   time.Time
}

// The types of keypairs.
const (
	SSH  = "ssh"
	X509 = "x509"
)

// A GroupRow is a server group. Its members name it.
type GroupRow struct {
	ID      ID
	Project string
	User    string
	Name    string
	Policy  string // as package selection calls them
	// MaxPerHost is the rule max_server_per_host, 0 for none.
	MaxPerHost int
	CreatedAt  time.Time
}

// An AggregateRow is a host aggregate. An availability zone is metadata of it.
type AggregateRow struct {
	ID        ID
	Number    int64 // what the API calls its id
	Name      string
	Metadata  map[string]string
	CreatedAt time.Time
	UpdatedAt time.Time // zero: never
}

// A MemberRow is a host in an aggregate.
type MemberRow struct {
	Aggregate ID
	Host      string
}

// A MirrorRow says that a host's provider has to be brought into an aggregate of
// placement's, or out of it.
type MirrorRow struct {
	Aggregate ID
	Host      string
	Member    bool
	Change    ID // of the change that created it; a re-creation has another id
	CreatedAt time.Time
}

// A ServiceRow is the compute service of a host.
type ServiceRow struct {
	ID         ID
	Number     int64
	Binary     string // "nova-compute"
	Host       string
	Topic      string
	Disabled   bool
	Reason     string // disabled_reason
	ForcedDown bool
	Version    int
	ReportedAt time.Time // zero: it never did
	// StartError is why the host, which has started, cannot serve: its tree in placement cannot be
	// brought into the shape that it reports, or servers have dedicated CPUs that it does not report
	// any more. It gets no servers, "" when it serves.
	StartError string
	CreatedAt  time.Time
	UpdatedAt  time.Time
}

// A NodeRow is a hypervisor. Its id is that of the root of its tree in placement.
type NodeRow struct {
	ID       ID              `json:"id"`
	Number   int64           `json:"-"`
	Host     string          `json:"-"`    // of its service
	Name     string          `json:"name"` // hypervisor_hostname
	Type     string          `json:"type"`
	Version  int             `json:"version"`
	Address  string          `json:"address"` // host_ip
	VCPUs    int64           `json:"vcpus"`
	MemoryMB int64           `json:"memory_mb"`
	DiskGB   int64           `json:"disk_gb"`
	CPU      json.RawMessage `json:"cpu_info,omitempty"` // an object
	// Devices are the PCI devices that its servers can have as ports, a JSON list of Device; nil
	// when the host does not report any: then it has no servers with such ports.
	Devices json.RawMessage `json:"devices,omitempty"`
	// Topology is the NUMA topology of the host, a numa.Topology in JSON; nil when it does not report
	// one: then it has no servers with a topology.
	Topology json.RawMessage `json:"topology,omitempty"`
	// Additions are what files of the host have added to its tree in placement: inventory.Additions in
	// JSON, nil for nothing.
	Additions json.RawMessage `json:"-"`
	// Assignable is what servers can be assigned of it: an Assignable in JSON, nil for nothing.
	Assignable json.RawMessage `json:"-"`
	// Failed is how many builds failed since one succeeded.
	Failed    int       `json:"-"`
	CreatedAt time.Time `json:"-"`
	UpdatedAt time.Time `json:"-"`
}

// A QuotaRow is a limit of a project, of a user in a project, or, for the project DefaultClass, of
// all that have no other.
type QuotaRow struct {
	Project  string
	User     string // "" for the project
	Resource string
	Limit    int64 // -1 for none
}

// DefaultClass stands for the quota class "default" in the place of a project.
const DefaultClass = "class:default"

// A CounterRow is the last number that was given to something.
type CounterRow struct {
	Name string
	Last int64
}
