// Package compute is the part of OpenStack Compute that guaranteed bandwidth needs:
// flavors, hosts, servers and what belongs to them, and the rules among them. It
// turns what a user asks for into a claim on a host, and gives it back. It knows no
// HTTP and no SQL. What is asked of placement is in package request, what is chosen
// in package selection, and what extra specs mean in package extraspecs.
//
// Types whose name ends in Row are rows of the Store, flat and without behaviour.
package compute

import "time"

// An ID names a server, a host or another row: a UUID in lower case with hyphens, but
// for flavors, which administrators name. Those of projects and users are whatever
// Keystone says.
type ID string

// A FlavorRow is a size of servers.
type FlavorRow struct {
	ID          ID // flavorid: what administrators call it
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

// A FlavorAccessRow lets a project use a flavor that is not public.
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
	Change    ID // that made it; another one has another id
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
	CreatedAt  time.Time
	UpdatedAt  time.Time
}

// A NodeRow is a hypervisor. Its id is that of the root of its tree in placement.
type NodeRow struct {
	ID       ID
	Number   int64
	Host     string // of its service
	Name     string // hypervisor_hostname
	Type     string
	Version  int
	Address  string // host_ip
	VCPUs    int64
	MemoryMB int64
	DiskGB   int64
	CPU      []byte // cpu_info, a JSON object
	// Devices are the PCI devices that its servers can have as ports, a JSON list of
	// Device; nil when the host does not tell them: then it has no servers with such ports.
	Devices []byte
	// Failed is how many builds failed since one succeeded.
	Failed    int
	CreatedAt time.Time
	UpdatedAt time.Time
}

// A QuotaRow is a limit that a project has of its own, or a user in a project, or, for
// the project DefaultClass, that all have who have no other.
type QuotaRow struct {
	Project  string
	User     string // "" for the project
	Resource string
	Limit    int64 // -1 for none
}

// DefaultClass stands for the quota class "default" where a project is named.
const DefaultClass = "class:default"

// A CounterRow is the last number that was given to something.
type CounterRow struct {
	Name string
	Last int64
}
