package network

import (
	"context"
	"errors"
	"time"
)

// A Store keeps the rows of the network service. It may be used from many
// goroutines.
type Store interface {
	// View runs fn against one consistent state of the rows. It may run more
	// than once. What comes after an Update that returned, of any instance on
	// the same database, sees it.
	View(ctx context.Context, fn func(Reader) error) error

	// Update runs fn in a transaction and commits when it returns nil. No two
	// transactions on a database run at the same time, so that what fn has
	// read stays true until the commit. fn may run more than once and must keep
	// nothing of an earlier run. The error of fn is returned as it is. now is the
	// time of the change; those in rows are written as they are.
	Update(ctx context.Context, now time.Time, fn func(Writer) error) error
}

// A Reader reads rows. It is valid until its function returns, for one goroutine.
type Reader interface {
	// Read appends to rows, which must point to a slice of one of the types in
	// Row, all rows that match every condition, in the order of their keys.
	Read(rows any, where ...Match) error
}

// A Writer is a Reader that changes rows, given as pointers to one of the types in
// Row.
type Writer interface {
	Reader

	// Insert adds a row. It returns ErrTaken, and adds nothing, when its key or
	// another value that must be unique is taken. One that refers to a row
	// which is not there is a mistake that ends the Update with an error.
	Insert(row any) error

	// Replace writes all fields of the row that has its key, and returns
	// ErrNoRow when there is none, ErrTaken when a unique value is taken.
	Replace(row any) error

	// Remove removes all rows that match every condition, of which there must
	// be one at least, and returns how many there were. The row is a pointer to
	// any value of the type. Nothing else goes with them: rows that others
	// refer to are a mistake, as in Insert.
	Remove(row any, where ...Match) (int, error)
}

// The errors of a Writer after which its transaction goes on.
var (
	ErrNoRow = errors.New("network: no such row")
	ErrTaken = errors.New("network: the value is taken")
)

// Row is any type of row. Its key is the ID; of addresses it is the subnet and the
// IP, of bindings port and host, of subports the port, of quotas project and resource.
//
// Unique are besides: network and MAC of ports, type and host of agents, the port of
// trunks, the segmentation of subports in their trunk and of segments in their
// physical network or, for tunnels, their type, and the group "default" of a project.
type Row interface {
	NetworkRow | SegmentRow | SubnetRow | PortRow | AddressRow | BindingRow | PolicyRow | RuleRow | AgentRow |
		TrunkRow | SubportRow | SecurityGroupRow | SecurityRuleRow | QuotaRow | IntentRow
}

// A Match is a condition: the field has one of the values.
type Match struct {
	Field  Field
	Values []any
}

// A Field is what rows are looked for by. Each type has some of them.
type Field string

// The fields, and which types have them.
const (
	ByID           Field = "id" // all with an ID
	ByProject      Field = "project"
	ByName         Field = "name"
	ByNetwork      Field = "network"      // segments, subnets, ports
	BySegment      Field = "segment"      // subnets, bindings
	ByPhysical     Field = "physical"     // segments: PhysicalNetwork
	ByPort         Field = "port"         // addresses, bindings, trunks, subports
	BySubnet       Field = "subnet"       // addresses
	ByIP           Field = "ip"           // addresses
	ByMAC          Field = "mac"          // ports
	ByDevice       Field = "device_id"    // ports
	ByHost         Field = "host"         // bindings, agents
	ByPolicy       Field = "policy"       // networks, ports, rules
	ByAgentType    Field = "type"         // agents
	ByTrunk        Field = "trunk"        // subports
	ByGroup        Field = "group"        // security rules
	ByRemoteGroup  Field = "remote_group" // security rules
	ByResource     Field = "resource"     // quotas
	ByIntentsAbout Field = "about"        // intents
)

// Where returns the condition that a field has one of the values.
func Where[T any](f Field, values ...T) Match {
	m := Match{Field: f, Values: make([]any, len(values))}
	for i, v := range values {
		m.Values[i] = v
	}
	return m
}

// Rows returns all rows of a type that match every condition.
func Rows[T Row](r Reader, where ...Match) ([]T, error) {
	var rows []T
	err := r.Read(&rows, where...)
	return rows, err
}

// One returns the row of a type that matches every condition, ErrNoRow when there
// is none.
func One[T Row](r Reader, where ...Match) (T, error) {
	rows, err := Rows[T](r, where...)
	if err == nil && len(rows) == 0 {
		err = ErrNoRow
	}
	if err != nil {
		var none T
		return none, err
	}
	return rows[0], nil
}
