// Package fleet is the hosts of the compute service: their services and hypervisors, their reports,
// their trees in placement, and servers that they should not have. It chooses no host.
//
// lists.go makes the lists of servers that hosts should have, leftovers.go finds servers on hosts
// that should not be there.
package fleet

import (
	"context"

	"github.com/berthcloud/berth/compute"
	"github.com/berthcloud/berth/placement/providertree"
	"github.com/berthcloud/berth/watch"
)

// Servers is what hosts need of operations of servers.
type Servers interface {
	// ReleaseEvacuated releases what servers that were evacuated from a host that is down still
	// have there.
	ReleaseEvacuated(ctx context.Context, host string) error
	// Done stores results of a host, for which operations wait.
	Done(ctx context.Context, host string, results []Result) error
}

// A Service has the rules of hosts. Its methods may be called concurrently. Callers check
// permissions before.
type Service struct {
	db       *compute.Database
	servers  Servers
	trees    *trees // nil: trees of hosts are not in placement
	findings findings
	polls    watch.Retained // of hosts for their lists
}

// New returns the hosts in a database. Without placement the trees of hosts are not stored there.
func New(db *compute.Database, servers Servers, p providertree.Placement) *Service {
	s := &Service{db: db, servers: servers, findings: findings{all: map[string][]unlistedServer{}}}
	if p != nil {
		s.trees = newTrees(p)
	}
	return s
}
