package compute

import (
	"context"
	"sync/atomic"
	"time"

	"github.com/berthcloud/berth/compute/operation"
	"github.com/berthcloud/berth/compute/request"
	"github.com/berthcloud/berth/compute/selection"
	"github.com/berthcloud/berth/rows"
)

// Settings are what an operator decides about the compute service.
type Settings struct {
	// Quotas are the limits of projects that have none of their own; what is not in
	// them is as in DefaultQuotas.
	Quotas Quotas
	// ServiceDownTime is how old a report of a service that is up may be.
	ServiceDownTime time.Duration
	// DefaultZone is the availability zone of hosts that are in no aggregate
	// with one.
	DefaultZone string
	// Requests and Selection are the settings of the query for placement and of the choice among
	// its candidates.
	Requests  request.Settings
	Selection selection.Settings
	// NameTemplate makes of a server what hypervisors call it: the instance_name_template of
	// Nova, with conversions of its number, or of its id, uuid, hostname, display_name,
	// project_id and user_id in parentheses.
	NameTemplate string
	// UniqueNames is UniqueInProject or UniqueEverywhere where servers must not share a hostname,
	// "" for nowhere.
	UniqueNames string
	// LeaseTime is how long a worker may be silent before others go on with its operation: longer
	// than a request to a neighbour takes, which may take place after its sender has died.
	LeaseTime time.Duration
	// BuildTime is the age up to which a server may be building on its host; older ones fail. 0
	// means no limit while the host reports.
	BuildTime time.Duration
	// ResizeOnHost allows a resized server to stay on its host.
	ResizeOnHost bool
	// ConfirmWindow is how long a resize waits before it is confirmed by itself, 0 for ever.
	ConfirmWindow time.Duration
	// HostTime is how long a caller waits for a host that must do something at once.
	HostTime time.Duration
	// PortInterval is how often the ports of each server are compared with those of the network service, in whole seconds;
	// less than a second means never.
	PortInterval time.Duration
	// History is how long the records of what has ended are kept: actions with their events, moves, and the usage of deleted servers. 0
	// means for ever.
	History time.Duration
	// AllowNetworkQoS allows servers in networks that guarantee bandwidth. Nova refuses that.
	AllowNetworkQoS bool
	// AllowAttachQoS allows attaching ports with resource requests to existing servers. Nova did not
	// before its release Victoria.
	AllowAttachQoS bool
}

// DefaultSettings are Nova's.
func DefaultSettings() Settings {
	return Settings{
		Quotas: DefaultQuotas(), ServiceDownTime: time.Minute, DefaultZone: "nova", NameTemplate: "instance-%08x",
		Requests: request.DefaultSettings(), Selection: selection.DefaultSettings(), HostTime: time.Minute, LeaseTime: time.Minute,
		PortInterval:   time.Minute,
		AllowAttachQoS: true,
	}
}

// A Service has the rules of the compute service. Its methods may be called concurrently. Callers
// check permissions before.
type Service struct {
	store     *Database
	rules     Rules
	placement Placement // nil: there is none
	network   Network   // nil: there are no servers
	images    Images    // nil: there are no servers
	elapsed   func() time.Duration
	run       string
	due       chan struct{} // has one when there is something to do
	working   atomic.Int32  // how many carry operations out
	cached    hostsCache
	queries   queryGroup
	bindings  portBindings
	claims    claims
	explains  chan struct{} // has one while an explanation is under way
	kinds     kinds
	runner    *operation.Runner[effect, *job]
	dueNow    dueList
}

// Options are what a service has besides its database. The zero value is usable.
type Options struct {
	Placement Placement // nil: nothing is written to placement, and there are no servers
	Network   Network   // nil: there are no servers
	Images    Images    // nil: there are no servers
	// Elapsed is the time since some moment, which does not depend on what the clock of the machine is set to; nil:
	// operation.Elapsed.
	Elapsed func() time.Duration
	// Behalf returns the context in which work is done that a caller has requested, when the request may have been answered; nil: as it is.
	Behalf func(ctx context.Context, by Caller) context.Context
	// Run names this run of the program, "" when it cannot be distinguished from others: see
	// TakeOver. It has at most 200 characters.
	Run string
}

// NewService returns a service with its rows in a database.
func NewService(db *Database, o Options) *Service {
	if o.Elapsed == nil {
		o.Elapsed = operation.Elapsed
	}
	s := &Service{
		store: db, rules: db.Rules, images: o.Images, elapsed: o.Elapsed, run: o.Run,
		due: make(chan struct{}, 1), explains: make(chan struct{}, 1), kinds: newKinds(),
	}
	if o.Placement != nil {
		s.placement = fencedPlacement{o.Placement}
	}
	if o.Network != nil {
		s.network = fencedNetwork{o.Network}
	}
	s.store.OnHosts(func(n rows.Notes) { s.cached.invalidate(touchedBy(n)) })
	s.bindings = portBindings{network: s.network, log: db.Rules.Log}
	s.claims = claims{placement: s.placement, network: s.network, log: db.Rules.Log, now: db.Rules.Now}
	s.runner = newRunner(s, o.Behalf)
	return s
}

// wake says that there is something to do.
func (s *Service) wake() {
	select {
	case s.due <- struct{}{}:
	default: // it was said already
	}
}

// update runs fn in a transaction.
func (s *Service) update(ctx context.Context, fn func(*change) error) error {
	return s.store.Update(ctx, func(tx *Tx) error { return fn(&change{Tx: tx, kinds: s.kinds, unable: s.canWork()}) })
}

// A change is a transaction of the service, with the kinds of operations that can begin in it.
type change struct {
	*Tx
	kinds  kinds
	unable error  // why no operation can begin, nil when one can
	by     Caller // of the action that was noted last, for the operations that begin with it
}
