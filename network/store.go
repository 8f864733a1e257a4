package network

import (
	"errors"
	"slices"

	"github.com/berthcloud/berth/network/intents"
	"github.com/berthcloud/berth/rows"
)

// The contract of a Store is in package rows.
type (
	// A Store keeps the rows of the network service, which are of the types in
	// Row.
	Store  = rows.Store
	Reader = rows.Reader
	Writer = rows.Writer
	Match  = rows.Match
	// A Field is a column to select rows by. Each type has some of them.
	Field = rows.Field
)

// An IntentRow is a change in placement that is to be made because of what was committed with it.
type IntentRow = intents.Row

// The errors of a Writer that do not end its transaction.
var (
	ErrNoRow = rows.ErrNoRow
	ErrTaken = rows.ErrTaken
)

// Row is any type of row. Its key is the ID; of addresses the subnet and the IP, of bindings port
// and host, of port groups both fields, of subports the port, of quotas project and resource, of
// segment syncs the segment.
//
// Other unique keys: network and MAC of ports, type and host of agents, the port of trunks, the
// segmentation of subports in their trunk and of segments in their physical network or, for
// tunnels, their type, and the group "default" of a project.
type Row interface {
	NetworkRow | SegmentRow | SubnetRow | PortRow | AddressRow | BindingRow | PolicyRow | RuleRow | AgentRow |
		TrunkRow | SubportRow | SecurityGroupRow | PortGroupRow | SecurityRuleRow | QuotaRow | IntentRow | SegmentSyncRow
}

// The fields, and which types have them.
const (
	ByID           Field = "id" // all with an ID
	ByProject      Field = "project"
	ByName         Field = "name"
	ByNetwork      Field = "network"      // segments, subnets, ports
	BySegment      Field = "segment"      // subnets, bindings, segment syncs
	ByPhysical     Field = "physical"     // segments: PhysicalNetwork
	ByPort         Field = "port"         // addresses, bindings, port groups, trunks, subports
	BySubnet       Field = "subnet"       // addresses
	ByIP           Field = "ip"           // addresses
	ByMAC          Field = "mac"          // ports
	ByDevice       Field = "device_id"    // ports
	ByHost         Field = "host"         // bindings, agents
	ByPolicy       Field = "policy"       // networks, ports, rules
	ByAgentType    Field = "type"         // agents
	ByTrunk        Field = "trunk"        // subports
	ByGroup        Field = "group"        // port groups, security rules
	ByRemoteGroup  Field = "remote_group" // security rules
	ByResource     Field = "resource"     // quotas
	ByIntentsAbout       = intents.ByAbout
	ByOpenTo       Field = "open_to" // networks, policies: OpenTo
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

// NewID returns a random UUID.
func NewID() ID { return ID(rows.NewID()) }

// Find returns the row of a type that has an id, a fault when there is none.
func Find[T Row](r Reader, kind string, id ID) (T, error) {
	row, err := One[T](r, Where(ByID, id))
	if errors.Is(err, ErrNoRow) {
		err = NotFound(kind, id)
	}
	return row, err
}

// GroupBy divides rows into lists by a key.
func GroupBy[T Row, K comparable](rows []T, key func(*T) K) map[K][]T {
	by := make(map[K][]T)
	for i := range rows {
		k := key(&rows[i])
		by[k] = append(by[k], rows[i])
	}
	return by
}

// IDs returns one id of each row, sorted and each once.
func IDs[T any](rows []T, id func(*T) ID) []ID {
	all := make([]ID, 0, len(rows))
	for i := range rows {
		if v := id(&rows[i]); v != "" {
			all = append(all, v)
		}
	}
	slices.Sort(all)
	return slices.Compact(all)
}
