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
// type with its data and its steps: buildJob (boot.go, shelve.go, delete.go), portJob (attach.go,
// detach.go), moveJob (move.go has what moves share, move_live.go and move_evacuate.go the rest)
// and powerJob (power.go, rebuild.go).
//
// An operation begins in a transaction (Change), with the rows that its request changes. Whoever
// begins it has checked that the caller may, and that the state of the server allows it.
//
// A worker (take.go) takes the lease of an operation; job.go stores the operation for package
// operation. What several families do is in claims.go (allocations), package serverports (ports)
// and hostcommands.go (hosts). hosted.go has the rows that say what a host is to make of a server,
// and takes what the host reports.
//
// # A new operation
//
//  1. A kind in newKinds, in the family that it belongs to, with a line on why its steps are in
//     this order. What differs from other kinds (events, statuses) is a field of the kind; no code
//     outside of the list depends on the name of a kind. A change of power needs neither kind nor
//     step, but a row of PowerChanges.
//  2. In the family's file, the steps that no other kind has. Each looks first at what is done,
//     commits before it sends a command to a host, and returns errors of requests as they are, so
//     that the runner sees which may take effect later.
//  3. In package servers, the method that checks the request and the state of the server, in Nova's
//     order, and begins the operation with Change; a move with beginMove (moves.go).
//  4. A new state of servers: serverStates in httpapi/computeapi/serversapi/view.go, and where it
//     is allowed, as Nova's check_instance_state has it for each action. What its host does about
//     it: a wish of HostedRow, a member of hostlist.Server, which an agent that does not know it
//     must not report as done (hostDid), the steps in agent/host/plan.go, and the drivers.
//  5. Scenarios in compute/servers/faults_test.go: done, failed on each host, and with a deletion
//     meanwhile. The sweeps stop, delay and interrupt it at each request and commit.
//  6. The endpoint (httpapi/computeapi); its rows in httpapi/computeapi/access_test.go and, with
//     the states of its server, in conformance/fuzzing; a dialogue with Nova in conformance/nova
//     (whole.py has the hypervisor); what conformance/tempest has about it.
//  7. docs/api/compute.md, with what differs from Nova.
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
