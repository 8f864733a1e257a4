package compute

import (
	"github.com/berthcloud/berth/rows"
)

// The contract of a Store is in package rows.
type (
	// A Store keeps the rows of the compute service, which are of the types in
	// Row.
	Store  = rows.Store
	Reader = rows.Reader
	Writer = rows.Writer
	Match  = rows.Match
	// A Field is a column to select rows by. Each type has some of them.
	Field = rows.Field
)

// The errors of a Writer that do not end its transaction.
var (
	ErrNoRow = rows.ErrNoRow
	ErrTaken = rows.ErrTaken
)

// Row is any type of row, or a summary of one. Its key is the ID; of access the flavor and the
// project, of keypairs user and name, of members and mirrors aggregate and host, of ports the port,
// of hosted server and host, of quotas project, user and resource, of counters the name.
//
// Other unique keys: the names of flavors and of aggregates, binary and host of services, the names
// of nodes, and the server of operations.
type Row interface {
	FlavorRow | FlavorAccessRow | KeypairRow | GroupRow | AggregateRow | MemberRow | MirrorRow | ServiceRow | NodeRow |
		QuotaRow | CounterRow | ServerRow | PortRow | ActionRow | EventRow | MigrationRow | OperationRow |
		DeletedRow | HostedRow |
		ServerSummary | ServerEntry | ServerUse | MigrationEntry | OperationSummary
}

// The fields, and which types have them.
const (
	ByID        Field = "id"        // all with an ID
	ByProject   Field = "project"   // access, groups, quotas, servers, deleted servers
	ByUser      Field = "user"      // keypairs, quotas, servers
	ByName      Field = "name"      // flavors, keypairs, aggregates, nodes, counters
	ByFlavor    Field = "flavor"    // access, servers: FlavorID
	ByAggregate Field = "aggregate" // members, mirrors
	// members, mirrors, services, nodes, servers, hosted, operations: that they have claimed
	ByHost     Field = "host"
	ByGroup    Field = "group"    // servers
	ByServer   Field = "server"   // ports, actions, migrations, operations, hosted
	ByPort     Field = "port"     // ports
	ByRequest  Field = "request"  // actions
	ByAction   Field = "action"   // events
	ByResource Field = "resource" // quotas

	ByBusyHost    Field = "busy_host"   // servers: BusyHost
	ByHostname    Field = "hostname"    // servers: LowerHostname
	ByReservation Field = "reservation" // operations
	ByReady       Field = "ready"       // operations: Ready
	ByStatus      Field = "status"      // migrations
)

// The amounts that a Reader adds up, and which types have them.
const (
	VCPUs    Field = "vcpus"     // servers
	MemoryMB Field = "memory_mb" // servers
)

// The times by which a Reader finds what is old, and which types have them.
const (
	UpdatedAt    Field = "updated_at"    // actions, migrations
	TerminatedAt Field = "terminated_at" // deleted servers
)

// Where returns the condition that a field has one of the values.
func Where[T any](f Field, values ...T) Match { return rows.Where(f, values...) }

// Rows returns all rows of a type that match every condition.
func Rows[T Row](r Reader, where ...Match) ([]T, error) { return rows.All[T](r, where...) }

// Count returns how many rows of a type match every condition.
func Count[T Row](r Reader, where ...Match) (int64, error) { return rows.Count[T](r, where...) }

// One returns the row of a type that matches every condition, ErrNoRow when there
// is none.
func One[T Row](r Reader, where ...Match) (T, error) { return rows.One[T](r, where...) }

// OneOr is One, with the error absent when there is none.
func OneOr[T Row](r Reader, absent error, where ...Match) (T, error) {
	return rows.OneOr[T](r, absent, where...)
}
