package network

import (
	"cmp"
	"context"
	"errors"
	"log/slog"
	"slices"
	"time"

	"github.com/berthcloud/berth/allocations"
	"github.com/berthcloud/berth/guarantee"
	"github.com/berthcloud/berth/network/binding"
	"github.com/berthcloud/berth/network/intents"
	"github.com/berthcloud/berth/rows"
	"github.com/berthcloud/berth/watch"
)

// Settings are what an operator decides about networks.
type Settings struct {
	// MTU is how large packets may be.
	MTU MTUs
	// Types are the types of segments that there can be.
	Types []string
	// ProjectTypes are the types of segments, in order of preference, of
	// networks that say nothing about theirs.
	ProjectTypes []string
	// ExternalType is the type of such networks that are external, "" for the same
	// as for others.
	ExternalType string
	// VLANs are the ranges, by physical network, that VLANs are taken from for
	// networks that ask for none in particular. A physical network that is not
	// in it is unknown; no ranges offer all.
	VLANs map[string][]Range
	// Tunnels are the same for types of tunnels.
	Tunnels map[string][]Range
	// FlatNetworks are the physical networks that may be flat; "*" for any.
	FlatNetworks []string
	// MaxNameservers and MaxHostRoutes bound those of a subnet.
	MaxNameservers, MaxHostRoutes int
	// MaxAddressPairs bounds the allowed address pairs of a port.
	MaxAddressPairs int
	// MACBase is what MAC addresses begin with: three octets and a colon each.
	MACBase string

	// PortSecurity says that ports can be unsecured; those of the network itself
	// are.
	PortSecurity bool

	// Quotas are the limits of projects that have none of their own.
	Quotas Quotas

	// Drivers bind ports, the first that can; they distinguish the agents that report to placement.
	// Those that the operator prohibits are not among them.
	Drivers []guarantee.Driver
	// OVNSockets is the directory of the sockets of servers that share memory with
	// OVN's switches.
	OVNSockets string
	// Extensions say what guarantees may ask of placement.
	Extensions guarantee.Extensions
	// KeepDeleted leaves the allocation of a bound port that is deleted with its server, as Neutron
	// does (bug 1820588).
	KeepDeleted bool
	// Instance identifies this service among others on the same database, and stays the same after
	// a restart; "" when nothing does.
	Instance string
	// NewAgentsDown disables agents that report for the first time, until an administrator enables
	// them: they bind no port with a guarantee.
	NewAgentsDown bool
	// AgentID is asked for the id of an agent that reports for the first time, by its type and host; nil,
	// and "" as its answer, stand for a random one.
	AgentID func(kind, host string) ID
	// Events selects the events that compute gets.
	Events Events
	// AgentDownTime is how old a heartbeat of an agent that lives may be.
	AgentDownTime time.Duration
}

// A Range is one of numbers, both ends included.
type Range struct{ Low, High int }

// DefaultSettings are Neutron's.
func DefaultSettings() Settings {
	return Settings{
		MTU:   MTUs{Global: 1500, OverlayIPVersion: 4, GeneveHeader: 30},
		Types: []string{Local, Flat, VLAN, GRE, VXLAN, Geneve}, ProjectTypes: []string{Local}, FlatNetworks: []string{"*"},
		VLANs: map[string][]Range{}, Tunnels: map[string][]Range{},
		MaxNameservers: 5, MaxHostRoutes: 20, MaxAddressPairs: 10, PortSecurity: true, MACBase: "fa:16:3e:",
		Quotas:  DefaultQuotas(),
		Drivers: []guarantee.Driver{guarantee.OpenVSwitch, guarantee.SRIOV}, AgentDownTime: 75 * time.Second,
		OVNSockets: binding.DefaultSockets, Events: Events{Status: true, Data: true},
	}
}

// A Service has the rules of the network service. Its methods may be called concurrently. Callers
// check permissions before.
type Service struct {
	rules
	store     *watch.Store
	placement Placement // nil: guarantees are not in placement
	intents   *intents.Intents
	events    *events
}

// firstPause is the first pause after a concurrent change of allocations.
var firstPause = allocations.Pause

// rules are what decides besides the rows. They have no store, so that nothing which opens a
// transaction can be called inside one.
type rules struct {
	settings    Settings
	inPlacement bool // guarantees are allocated in placement
	log         *slog.Logger
	now         func() time.Time
}

// Neighbours are the services that a network service works with. Any may be nil: without Placement,
// guarantees are not in placement; without Compute, no events are sent.
type Neighbours struct {
	Placement Placement
	Compute   Compute
	Log       *slog.Logger // nil discards
}

// NewService returns a service that keeps its rows in a store.
func NewService(store Store, settings Settings, n Neighbours) *Service {
	log := n.Log
	if log == nil {
		log = slog.New(slog.DiscardHandler)
	}
	s := &Service{
		rules: rules{settings: settings, inPlacement: n.Placement != nil, log: log, now: time.Now},
		store: watch.NewStore(store, watched), placement: n.Placement,
		events: newEvents(n.Compute, settings.Events, log),
	}
	s.intents = intents.New(s.store, intents.Options{
		Placement: n.Placement, Instance: settings.Instance, Log: log, Pause: firstPause,
		Now: func() time.Time { return s.now() },
	})
	return s
}

// update runs fn in a transaction with the time of its rows.
func (s *Service) update(ctx context.Context, fn func(*change) error) error {
	now := s.now().UTC().Truncate(time.Second)
	var last *change
	err := s.store.Update(ctx, now, func(w Writer) error {
		last = &change{Writer: w, rules: &s.rules, at: now}
		return fn(last)
	})
	if err != nil {
		return err
	}
	for _, w := range last.warnings {
		s.log.WarnContext(ctx, w.text, w.args...)
	}
	return nil
}

// A warning is for the log.
type warning struct {
	text string
	args []any
}

// A change is a transaction: the rows, the rules about them and one time for all that it writes.
type change struct {
	Writer
	*rules
	at       time.Time
	warnings []warning // to log once the transaction is committed
	cache    readCache
}

// warn logs a warning when the transaction is committed.
func (c *change) warn(text string, args ...any) {
	c.warnings = append(c.warnings, warning{text, args})
}

// Insert is that of a Writer.
func (c *change) Insert(row any) error {
	err := c.Writer.Insert(row)
	if err == nil {
		c.cache.inserted(row)
	}
	return err
}

// Replace is that of a Writer.
func (c *change) Replace(row any) error {
	c.cache.changed(row)
	return c.Writer.Replace(row)
}

// Remove is that of a Writer.
func (c *change) Remove(row any, where ...Match) (int, error) {
	c.cache.changed(row)
	return c.Writer.Remove(row, where...)
}

// fresh fills in what a new row has.
func (c *change) fresh(r *Common) {
	r.ID, r.CreatedAt, r.UpdatedAt = newID(), c.at, c.at
}

// touch raises the revision of a row that is about to be written.
func (c *change) touch(r *Common) {
	r.Revision++
	r.UpdatedAt = c.at
}

func newID() ID { return ID(rows.NewID()) }

// byID is the row of a type that has an id, a fault when there is none.
func byID[T Row](r Reader, kind string, id ID) (T, error) {
	row, err := One[T](r, Where(ByID, id))
	if errors.Is(err, ErrNoRow) {
		err = NotFound(kind, id)
	}
	return row, err
}

// group sorts rows into lists by what they hang on.
func group[T Row, K comparable](rows []T, key func(*T) K) map[K][]T {
	by := make(map[K][]T)
	for i := range rows {
		k := key(&rows[i])
		by[k] = append(by[k], rows[i])
	}
	return by
}

// ids returns one id of each row, sorted and each once.
func ids[T Row](rows []T, id func(*T) ID) []ID {
	all := make([]ID, 0, len(rows))
	for i := range rows {
		if v := id(&rows[i]); v != "" {
			all = append(all, v)
		}
	}
	slices.Sort(all)
	return slices.Compact(all)
}

// firstError returns the first error of several steps.
func firstError(errs ...error) error { return cmp.Or(errs...) }
