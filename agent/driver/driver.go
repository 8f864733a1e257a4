// Package driver runs servers on one host. A Driver creates them on the host: the fake one has them
// in memory, for trials and tests with as many hosts as wanted. Package host decides what to do,
// and when.
package driver

import (
	"context"
	"errors"

	"github.com/berthcloud/berth/compute/hostlist"
)

// A Driver runs the servers of one host. It is called for one thing at a time about a server, and
// for several servers concurrently. Every call may be repeated: it succeeds when its result exists
// already.
type Driver interface {
	// Servers returns the servers that exist, also half built ones.
	Servers(ctx context.Context) ([]State, error)
	// Build creates a server with its ports as its entry in the list describes it, and starts it if
	// it should run. It ignores Power, Deleted, Kept and Event. A Build that fails may leave parts
	// of the server on the host, which Destroy removes; ErrEverywhere says that it would fail on
	// any host.
	Build(ctx context.Context, s hostlist.Server) error
	// Destroy removes a server.
	Destroy(ctx context.Context, id string) error
	// Plug gives a port to a server, and Unplug takes it.
	Plug(ctx context.Context, id string, p hostlist.Port) error
	Unplug(ctx context.Context, id, port string) error
	// Start starts a server that does not run, and restarts one that does with another boot. Stop
	// stops it, also one that is paused or suspended.
	Start(ctx context.Context, id, boot string) error
	Stop(ctx context.Context, id string) error
	// Pause makes a server that runs stand still, and Unpause makes it go on.
	Pause(ctx context.Context, id string) error
	Unpause(ctx context.Context, id string) error
	// Suspend saves the memory of a server that runs, paused or not, and stops it; one that does not
	// run has none, and is suspended without. Resume runs a suspended server with its memory.
	Suspend(ctx context.Context, id string) error
	Resume(ctx context.Context, id string) error
}

// ErrEverywhere is among the causes of failures of what cannot be built anywhere.
var ErrEverywhere = errors.New("it would fail on any host")

// A State is what a server is.
type State struct {
	ID      string
	Built   bool // its build was completed
	Running bool
	Power   string   // as in hostlist.Server
	Boot    string   // of its last start, "" for the first
	Ports   []string // ids, sorted
	// Generation is that of the hostlist.Server that was built.
	Generation int64
	// Assignment is what it has of the host of its own, as in the hostlist.Server that was built; nil
	// for nothing.
	Assignment *hostlist.Assignment
}
