// Package lifecycle carries out what takes several steps with a server. That is an operation: a
// list of steps (kinds.go) that package operation carries out, forward or backwards, and after a
// crash goes on with:
//
//	boot    ports ─► claim ─► bind ─► host ─► (ACTIVE)
//	attach  ports ─► claim ─► bind ─► host ─► (attached)
//	delete  (deleted)  ◄─ ports ◄─ claim ◄─ bind ◄─ host
//	detach  (detached) ◄─ ports ◄─ claim ◄─ bind ◄─ host
//	power   host ─► (done)
//	move    claim ─► source ─► bind ─► host ─► (VERIFY_RESIZE)
//	revert  (as before)  ◄─ claim ◄─ source ◄─ bind ◄─ host
//	live    claim ─► bind ─► prepare ─► source ─► activate ─► host ─► leave ─► release ─► (ACTIVE)
//
// There are more (newKinds, and decision 31). Operations are of four families, each of which is a
// type with its data and its steps: buildJob (boot.go), portJob (attach.go), moveJob (move.go) and
// powerJob (power.go).
//
// An operation begins in a transaction (Change), with the rows that its request changes. Whoever
// begins it has checked that the caller may, and that the state of the server allows it.
package lifecycle

import (
	"context"
	"sync/atomic"
	"time"

	"github.com/berthcloud/berth/compute"
	"github.com/berthcloud/berth/compute/operation"
	"github.com/berthcloud/berth/compute/scheduler"
	"github.com/berthcloud/berth/compute/serverports"
	"github.com/berthcloud/berth/placement/providertree"
)

// A Service carries out operations with servers. Its methods may be called concurrently. Callers
// check permissions, and the states of servers, before.
type Service struct {
	store     *compute.Database
	rules     compute.Rules
	placement compute.Placement // nil: there is none
	network   compute.Network   // nil: there are no servers
	elapsed   func() time.Duration
	run       string
	due       chan struct{} // has one when there is something to do
	working   atomic.Int32  // how many carry operations out
	scheduler *scheduler.Scheduler
	bindings  serverports.Bindings
	claims    claims
	kinds     kinds
	runner    *operation.Runner[effect, *job]
	dueNow    dueList
}

// Options are what the service has besides its database. The zero value is usable where there
// are no servers.
type Options struct {
	Placement compute.Placement // nil: nothing is written to placement, and there are no servers
	Network   compute.Network   // nil: there are no servers
	// Trees has the trees of hosts, of which devices are reserved that were used; nil: there are none.
	Trees providertree.Placement
	// Hosts are those that servers are scheduled to.
	Hosts *scheduler.Hosts
	// Elapsed is the time since some moment, which does not depend on what the clock of the machine
	// is set to; nil: operation.Elapsed.
	Elapsed func() time.Duration
	// Behalf returns the context in which work is done that a caller has requested, when the request
	// may have been answered; nil: as it is.
	Behalf func(ctx context.Context, by compute.Caller) context.Context
	// Run names this run of the program, "" when it cannot be distinguished from others: see
	// TakeOver. It has at most 200 characters.
	Run string
}

// New returns the operations in a database.
func New(db *compute.Database, o Options) *Service {
	if o.Elapsed == nil {
		o.Elapsed = operation.Elapsed
	}
	s := &Service{
		store: db, rules: db.Rules, elapsed: o.Elapsed, run: o.Run, due: make(chan struct{}, 1), kinds: newKinds(),
	}
	s.placement, s.network = compute.FencePlacement(o.Placement), compute.FenceNetwork(o.Network)
	s.scheduler = scheduler.New(db, o.Hosts, s.placement, s.network)
	s.bindings = serverports.NewBindings(s.network, db.Rules.Log)
	s.claims = claims{placement: s.placement, trees: o.Trees, network: s.network, log: db.Rules.Log, now: db.Rules.Now}
	s.runner = newRunner(s, o.Behalf)
	return s
}

// Wake says that there is something to do.
func (s *Service) Wake() {
	select {
	case s.due <- struct{}{}:
	default: // it was said already
	}
}

// Update runs fn in a transaction in which operations can begin. The rules of rows.Store are those
// of fn.
func (s *Service) Update(ctx context.Context, fn func(*Change) error) error {
	return s.store.Update(ctx, func(tx *compute.Tx) error {
		return fn(&Change{Tx: tx, kinds: s.kinds, unable: s.CanWork()})
	})
}

// A Change is a transaction in which operations can begin.
type Change struct {
	*compute.Tx
	kinds  kinds
	unable error // why no operation can begin, nil when one can
}

// CarriesOut reports whether this process carries operations out.
func (s *Service) CarriesOut() bool { return s.working.Load() > 0 }

// Idle refuses an action while an operation of the server is in progress: see change.idle.
func (s *Service) Idle(r compute.Reader, row compute.ServerRow, action string) error {
	return s.kinds.idle(r, row, action)
}

// Idle refuses an action while an operation of the server is in progress. A concurrent one does not
// count: the action then waits for its end.
func (c *Change) Idle(row compute.ServerRow, action string) error {
	return c.kinds.idle(c, row, action)
}
