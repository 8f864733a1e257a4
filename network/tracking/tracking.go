// Package tracking syncs the devices of agents to placement: it creates the providers of an agent's
// report, with their traits and inventories, and removes those that the report does not name any
// more. It does what upstream's service plugin "placement" does. It does not compute the desired
// state, which package guarantee does, and it does not store the result, which the service does.
//
// A sync of one agent takes these steps, in this order:
//
//	roots    one lookup by name each; one that fails or does not exist ends the sync
//	traits   those that no provider has are created, unless they are known to exist
//	trees    of each root, and of each that the agent had before: read, with the contents of the
//	         agent's providers, planned, and changed by package providertree. Providers are created,
//	         renamed, and moved below their parents; former ones are removed, unless they are in
//	         use; inventories and traits are replaced where they differ
//
// A step that fails makes the sync a failed one, and those that do not depend on it are taken all
// the same. A sync can be repeated; nothing is undone. Traits that others add to the agent's
// providers are lost with the next sync, as upstream.
package tracking

import (
	"context"
	"log/slog"
	"sync"
	"time"

	"github.com/berthcloud/berth/guarantee"
	"github.com/berthcloud/berth/network"
	"github.com/berthcloud/berth/placement/providertree"
)

// A Report says that an agent's devices should be brought into placement.
type Report struct {
	Agent network.ID
	State guarantee.State // what placement should have of it
	// Hypervisors are those below which there may be providers that it had.
	Hypervisors []string
	// Started says that the agent has just started: its devices are synced even if that was done a
	// moment ago.
	Started bool
}

// Options say how agents are tracked. Placement and Done are required.
type Options struct {
	Placement providertree.Placement

	// Done gets the result of each sync. It may be called concurrently, but not for the same agent.
	// The result must be durable when it returns: reports of the agent that arrived during the sync
	// are handled then.
	Done func(ctx context.Context, agent network.ID, r network.SyncResult)

	// Shared reports whether another agent's report names a provider, so that it must not be
	// removed. It is called before a removal only. Nil: none does.
	Shared func(ctx context.Context, agent network.ID, provider string) (bool, error)

	Concurrency int           // agents at a time; 0: DefaultConcurrency
	Timeout     time.Duration // of the sync of an agent; 0: DefaultTimeout
	Log         *slog.Logger  // of what went wrong; nil discards
}

// Defaults of Options.
const (
	DefaultConcurrency = 4
	DefaultTimeout     = 2 * time.Minute
)

// A Tracker brings agents into placement, one sync of an agent at a time, and some
// agents at a time. It may be used from many goroutines.
//
// Nothing of what waits is kept over a restart: an agent that was not synced
// reports again with its next heartbeat.
type Tracker struct {
	opts      Options
	placement *knownTraits
	wake      chan struct{} // has a value while there may be a report to take

	mu     sync.Mutex // guards what follows
	agents map[network.ID]*agent
	queue  []network.ID // that wait and are not being synced, first come first
}

// An agent is one that waits or is being synced.
type agent struct {
	running bool
	waiting *Report // the newest; nil for none
}

// New returns a Tracker. It does nothing before Run.
func New(opts Options) *Tracker {
	if opts.Concurrency <= 0 {
		opts.Concurrency = DefaultConcurrency
	}
	if opts.Timeout <= 0 {
		opts.Timeout = DefaultTimeout
	}
	if opts.Log == nil {
		opts.Log = slog.New(slog.DiscardHandler)
	}
	return &Tracker{
		opts: opts, placement: &knownTraits{Placement: opts.Placement}, wake: make(chan struct{}, 1),
		agents: make(map[network.ID]*agent),
	}
}

// Run syncs agents until ctx ends, and returns when all workers have stopped. Syncs that are cut
// short by that are not passed to Done. It is called once.
func (t *Tracker) Run(ctx context.Context) {
	var workers sync.WaitGroup
	for range t.opts.Concurrency {
		workers.Go(func() { t.work(ctx) })
	}
	workers.Wait()
}

func (t *Tracker) work(ctx context.Context) {
	for {
		select {
		case <-ctx.Done():
			return
		case <-t.wake:
		}
		for r := t.take(); r != nil && ctx.Err() == nil; r = t.take() {
			t.track(ctx, r)
		}
	}
}

// track syncs one agent and passes the result to Done.
func (t *Tracker) track(ctx context.Context, r *Report) {
	result := t.sync(ctx, r)
	if ctx.Err() != nil {
		return // it failed because we stop
	}
	t.opts.Done(ctx, r.Agent, result)
	t.finish(r, result)
}
