// Package tracking keeps the devices of agents in placement: it brings the
// providers that an agent's report asks for into being, with their traits and
// inventories, and removes those that the report does not name any more. It does
// what upstream's service plugin "placement" does. It does not decide what an agent
// should have, which is guarantee's, nor keep the outcome, which is the service's.
//
// A sync of one agent makes these calls, in this order:
//
//	roots                     one lookup each; one that fails or is not there ends the sync
//	trees below the roots     read, so that what is right is not written
//	traits                    made, unless they are known to be there
//	providers                 made, named, and put below their right parents
//	traits of providers       replaced
//	inventories of providers  replaced
//	providers of before       removed, when nothing is allocated on them: those below
//	                          the roots, and below those that the agent had once
//
// Each call is independent: one that fails makes the sync a failed one, and those
// after it are made all the same. A sync can be repeated; nothing is undone. What
// others gave to the agent's providers, traits for instance, is lost with the next
// sync, as upstream has it.
package tracking

import (
	"context"
	"log/slog"
	"sync"
	"time"

	"github.com/berthcloud/berth/network"
	"github.com/berthcloud/berth/network/guarantee"
)

// A Report says that an agent's devices should be brought into placement.
type Report struct {
	Agent network.ID
	State guarantee.State // what placement should have of it
	// Hypervisors are those below which there may be providers that it had.
	Hypervisors []string
	// Started says that the agent has just started: its devices are looked
	// after even if that was done a moment ago.
	Started bool
}

// Options say how agents are tracked. Placement and Done are required.
type Options struct {
	Placement network.Placement

	// Done is told how each sync ended. It may be called from many goroutines,
	// for one agent from one at a time. What it writes is to be durable when it
	// returns: reports of the agent that came meanwhile are looked at then.
	Done func(ctx context.Context, agent network.ID, r network.SyncResult)

	// Shared reports whether another agent's report names a provider, so that it
	// must not be removed. It is asked before a removal only. Nil: none does.
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
	opts   Options
	traits known
	wake   chan struct{} // holds a value while there may be something to take

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
	return &Tracker{opts: opts, wake: make(chan struct{}, 1), agents: make(map[network.ID]*agent)}
}

// Run syncs agents until ctx ends, and returns when all that it started has
// stopped. Syncs that are cut short so are told to nobody. It is called once.
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

// track syncs one agent and tells how it ended.
func (t *Tracker) track(ctx context.Context, r *Report) {
	result := t.sync(ctx, r)
	if ctx.Err() != nil {
		return // it failed because we stop
	}
	t.opts.Done(ctx, r.Agent, result)
	t.finish(r, result)
}
