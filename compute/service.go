package compute

import (
	"context"
	"crypto/rand"
	"errors"
	"fmt"
	"log/slog"
	"maps"
	"slices"
	"sync/atomic"
	"time"

	"github.com/berthcloud/berth/compute/inventory"
	"github.com/berthcloud/berth/compute/operation"
	"github.com/berthcloud/berth/compute/request"
	"github.com/berthcloud/berth/compute/selection"
	"github.com/berthcloud/berth/watch"
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
	// NetworksMayAsk allows servers in networks that guarantee bandwidth. Nova refuses that.
	NetworksMayAsk bool
	// AttachMayAsk allows attaching ports with resource requests to existing servers. Nova did not
	// before its release Victoria.
	AttachMayAsk bool
}

// DefaultSettings are Nova's.
func DefaultSettings() Settings {
	return Settings{
		Quotas: DefaultQuotas(), ServiceDownTime: time.Minute, DefaultZone: "nova", NameTemplate: "instance-%08x",
		Requests: request.DefaultSettings(), Selection: selection.DefaultSettings(), HostTime: time.Minute, LeaseTime: time.Minute,
		PortInterval: time.Minute,
		AttachMayAsk: true,
	}
}

// A Service has the rules of the compute service. Its methods may be called concurrently. Callers
// check permissions before.
type Service struct {
	store     *watch.Store
	settings  Settings
	placement Placement // nil: there is none
	trees     *trees    // nil: trees of hosts are not in placement
	network   Network   // nil: there are no servers
	images    Images    // nil: there are no servers
	log       *slog.Logger
	now       func() time.Time
	elapsed   func() time.Duration
	run       string
	due       chan struct{} // has one when there is something to do
	working   atomic.Int32  // how many carry operations out
	findings  findings
	cached    hostsCache
	asked     askedTogether
	explains  chan struct{}   // has one while an explanation is under way
	kinds     map[string]kind // of operations
	runner    *operation.Runner[effect, *job]
	dueNow    dueList
}

// Options are what a service has besides its store and its settings. The zero value is usable.
type Options struct {
	Placement Placement // nil: nothing is written to placement, and there are no servers
	// Trees is placement as what hosts have is kept there; nil: it is not.
	Trees   inventory.Placement
	Network Network          // nil: there are no servers
	Images  Images           // nil: there are no servers
	Log     *slog.Logger     // nil discards
	Now     func() time.Time // nil: time.Now
	// Elapsed is the time since some moment, which does not depend on what the clock of the machine is set to; nil:
	// operation.Elapsed.
	Elapsed func() time.Duration
	// Behalf returns the context in which work is done that a caller has requested, when the request may have been answered; nil: as it is.
	Behalf func(ctx context.Context, by Caller) context.Context
	// Run names this run of the program, "" when it cannot be distinguished from others: see
	// TakeOver. It has at most 200 characters.
	Run string
}

// NewService returns a service that keeps its rows in a store.
func NewService(store Store, settings Settings, o Options) *Service {
	if o.Log == nil {
		o.Log = slog.New(slog.DiscardHandler)
	}
	if o.Now == nil {
		o.Now = time.Now
	}
	if o.Elapsed == nil {
		o.Elapsed = operation.Elapsed
	}
	quotas := DefaultQuotas()
	maps.Copy(quotas, settings.Quotas)
	settings.Quotas = quotas
	var kept *trees
	if o.Trees != nil {
		kept = newTrees(o.Trees)
	}
	watching := watch.NewStore(store, watched)
	s := &Service{
		store: watching, settings: settings, trees: kept, images: o.Images, log: o.Log, now: o.Now, elapsed: o.Elapsed, run: o.Run,
		due: make(chan struct{}, 1), explains: make(chan struct{}, 1), findings: findings{all: map[string][]unlistedServer{}}, kinds: newKinds(),
	}
	if o.Placement != nil {
		s.placement = fencedPlacement{o.Placement}
	}
	if o.Network != nil {
		s.network = fencedNetwork{o.Network}
	}
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

// update runs fn in a transaction with the time of its rows.
func (s *Service) update(ctx context.Context, fn func(*change) error) error {
	now := s.now().UTC().Truncate(time.Second)
	var written touched // in any of the runs: it may be unknown which one was committed
	defer func() { s.cached.invalidate(written) }()
	return s.store.Update(ctx, now, func(w Writer) error {
		return fn(&change{Writer: w, Service: s, at: now, touched: &written})
	})
}

// A change is a transaction under way.
type change struct {
	Writer
	*Service
	at      time.Time
	touched *touched // rows that it writes
	by      Caller   // of the action that was noted last, for the operations that begin with it
}

// next returns the next number of something, 1 for the first.
func (c *change) next(of string) (int64, error) {
	row, err := One[CounterRow](c, Where(ByName, of))
	if errors.Is(err, ErrNoRow) {
		return 1, c.Insert(&CounterRow{Name: of, Last: 1})
	}
	if err != nil {
		return 0, err
	}
	row.Last++
	return row.Last, c.Replace(&row)
}

// newID returns a random UUID.
func newID() ID {
	var u [16]byte
	_, _ = rand.Read(u[:]) // it does not fail
	u[6], u[8] = u[6]&0x0f|0x40, u[8]&0x3f|0x80
	return ID(fmt.Sprintf("%x-%x-%x-%x-%x", u[:4], u[4:6], u[6:8], u[8:10], u[10:]))
}

// found is the row that matches, a fault when there is none.
func found[T Row](r Reader, absent error, where ...Match) (T, error) {
	row, err := One[T](r, where...)
	if errors.Is(err, ErrNoRow) {
		err = absent
	}
	return row, err
}

// sortedKeys returns the keys of a map in their order.
func sortedKeys[V any](m map[string]V) []string {
	keys := make([]string, 0, len(m))
	for k := range m {
		keys = append(keys, k)
	}
	slices.Sort(keys)
	return keys
}
