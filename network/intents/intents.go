// Package intents makes the changes of servers' allocations that follow from changes of their
// ports. Such a change is in two databases: the port is a row of the network service, the
// allocation is in placement. An intent is a row of the first that says what has to be done in the
// second. What decides that is package network; intents know no ports.
//
// A change that needs more goes through all states, one that needs less begins with its commit:
//
//	RecordClaim     Claim            commit of the caller       Release
//	─────────► claim ─────► carried out ─────────► release (of the surplus) ─────► done
//	             │             │ the commit fails
//	             └─ refused    └─► release (of what was claimed) ─────────────────► done
//
// Whoever dies in between leaves an intent. [Intents.Recover] takes a claim back, and completes a
// release. The attempts at one intent are those of package allocations.
package intents

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"log/slog"
	"maps"
	"slices"
	"strings"
	"time"

	"github.com/berthcloud/berth/allocations"
	"github.com/berthcloud/berth/fault"
	"github.com/berthcloud/berth/rows"
)

// A Row is an intent.
type Row struct {
	ID        string
	Kind      string // claim or release
	About     string // the port
	Body      []byte // JSON of a body
	CreatedAt time.Time
}

// The fields to select rows by.
const (
	byID    rows.Field = "id"
	ByAbout rows.Field = "about"
)

// The kinds of intents. Their names are in databases.
const (
	claim   = "policy"  // taken back by Recover
	release = "release" // completed by Recover
)

// A body has differences to add to the allocations of a consumer. Its names are in databases.
type body struct {
	Consumer    string
	Differences allocations.Amounts
	Maker       owner
	// Attempt is the last attempt, nil when there was none or when its outcome is known. Done says
	// that it succeeded.
	Attempt *allocations.Attempt `json:",omitempty"`
	Done    bool                 `json:",omitempty"`
}

// An owner is a process that works on an intent.
type owner struct {
	Instance string // "" when nothing identifies the service
	Process  string // another one after each start
}

// replacedBy reports whether a process has been replaced by another one, and so has ended.
func (o owner) replacedBy(other owner) bool {
	return o.Instance != "" && o.Instance == other.Instance && o.Process != other.Process
}

// A Store has the rows. Its Update is serializable.
type Store interface {
	View(ctx context.Context, fn func(rows.Reader) error) error
	Update(ctx context.Context, now time.Time, fn func(rows.Writer) error) error
}

// Intents carry out what is recorded in a store. Methods may be called concurrently.
type Intents struct {
	store     Store
	placement allocations.Placement
	log       *slog.Logger
	now       func() time.Time
	pause     time.Duration
	owner     owner
}

// A Recorder stores intents of one process, in transactions of its caller.
type Recorder struct{ owner owner }

// Recorder returns what records intents that n carries out.
func (n *Intents) Recorder() Recorder { return Recorder{n.owner} }

// Options are what Intents work with.
type Options struct {
	Placement allocations.Placement
	// Instance identifies the service among others on the same database, and stays the same after a
	// restart; "" when nothing does.
	Instance string
	Log      *slog.Logger
	Now      func() time.Time
	Pause    time.Duration // the first pause after a concurrent change
}

// New returns the intents in a store.
func New(store Store, o Options) *Intents {
	return &Intents{
		store: store, placement: o.Placement, log: o.Log, now: o.Now, pause: o.Pause,
		owner: owner{o.Instance, rows.NewID()},
	}
}

// A Claim is of what a server needs in addition for a port. RecordClaim fills in the intent.
type Claim struct {
	Port, Server string
	Amounts      allocations.Amounts // claimed; without any there is no intent
	Differences  allocations.Amounts // the whole change, for the texts of errors
	intent       string
}

// Any reports whether one of some claims claims anything.
func Any(claims []Claim) bool {
	return slices.ContainsFunc(claims, func(c Claim) bool { return len(c.Amounts) > 0 })
}

// BeingChanged is the fault of a change that meets another one.
func BeingChanged(format string, args ...any) error {
	return fault.New(fault.Conflict, "PortBeingChanged", format+" Please try again.", args...)
}

// RecordClaim stores the intent of a claim. While it is stored, no other request can change the
// allocation of the port.
func (r Recorder) RecordClaim(w rows.Writer, at time.Time, c *Claim) error {
	if len(c.Amounts) == 0 {
		return nil
	}
	others, err := rows.All[Row](w, rows.Where(ByAbout, c.Port))
	if err != nil {
		return err
	}
	if len(others) > 0 {
		return BeingChanged("The allocation of port %s is being changed by another request.", c.Port)
	}
	c.intent, err = r.record(w, at, claim, c.Port, c.Server, c.Amounts)
	return err
}

// RecordRelease stores the intent to release amounts, in the transaction that makes them surplus,
// and returns its id.
func (r Recorder) RecordRelease(
	w rows.Writer, at time.Time, port, server string, surplus allocations.Amounts,
) (string, error) {
	return r.record(w, at, release, port, server, surplus.Negated())
}

func (r Recorder) record(
	w rows.Writer, at time.Time, kind, about, consumer string, differences allocations.Amounts,
) (string, error) {
	text, err := json.Marshal(body{Consumer: consumer, Differences: differences, Maker: r.owner})
	if err != nil {
		return "", err
	}
	row := Row{ID: rows.NewID(), Kind: kind, About: about, Body: text, CreatedAt: at}
	return row.ID, w.Insert(&row)
}

// Claim claims what is recorded. When one claim fails, those before it are taken back.
func (n *Intents) Claim(ctx context.Context, claims []Claim) error {
	for i, c := range claims {
		if c.intent == "" {
			continue
		}
		last, err := n.change(c.intent).Make(ctx)
		sameServer := func(o Claim) bool { return o.intent != "" && o.Server == c.Server }
		if err == nil && slices.ContainsFunc(claims[i+1:], sameServer) {
			// The attempt of the next one changes what the outcome of this one is determined by.
			err = n.change(c.intent).Conclude(ctx, last, allocations.Done)
		}
		if err == nil {
			continue
		}
		late := context.WithoutCancel(ctx)
		n.TakeBack(late, claims[:i+1])
		n.discard(late, claims[i+1:])
		return refusal(err, c.Server, c.Differences)
	}
	return nil
}

// Claimed fails when a claim has been taken back by another process.
func (c Claim) Claimed(r rows.Reader) error {
	if c.intent == "" {
		return nil
	}
	row, err := rows.One[Row](r, rows.Where(byID, c.intent))
	if errors.Is(err, rows.ErrNoRow) || err == nil && row.Kind != claim {
		return refusal(rows.ErrNoRow, c.Server, nil)
	}
	return err
}

// Forget removes the intents of claims, in the transaction that commits what they are for.
func Forget(w rows.Writer, claims []Claim) error {
	for _, c := range claims {
		if c.intent == "" {
			continue
		}
		if _, err := w.Remove(&Row{}, rows.Where(byID, c.intent)); err != nil {
			return err
		}
	}
	return nil
}

// discard removes intents that have changed nothing. Recover removes those that remain.
func (n *Intents) discard(ctx context.Context, claims []Claim) {
	err := n.update(ctx, func(w rows.Writer, _ time.Time) error { return Forget(w, claims) })
	if err != nil {
		n.log.ErrorContext(ctx, "an intent could not be removed; it is retried later", "error", err)
	}
}

// TakeBack releases what was claimed. What fails here is retried by Recover.
func (n *Intents) TakeBack(ctx context.Context, claims []Claim) {
	// All are settled before one of them changes what the outcome of another is determined by.
	for _, c := range claims {
		if c.intent != "" {
			_ = n.settle(ctx, c.intent) // finish reads the outcome again
		}
	}
	for _, c := range claims {
		if c.intent == "" {
			continue
		}
		if err := n.finish(ctx, c.intent); err != nil {
			n.log.ErrorContext(ctx, "an allocation could not be taken back; it is retried later", "port", c.Port, "error", err)
		}
	}
}

// Release completes an intent that releases a port's allocation. It ignores an intent that another
// worker has completed, and allocations that the server does not have any more.
func (n *Intents) Release(ctx context.Context, intent string) error {
	_, err := n.change(intent).Make(ctx)
	switch {
	case errors.Is(err, rows.ErrNoRow):
		return nil
	case errors.Is(err, allocations.ErrNotAllocated), errors.As(err, new(*allocations.ProviderMissing)):
	case err != nil:
		return err
	}
	return n.update(ctx, func(w rows.Writer, _ time.Time) error {
		_, err := w.Remove(&Row{}, rows.Where(byID, intent))
		return err
	})
}

// refusal is the fault of a request whose claim failed.
func refusal(err error, consumer string, differences allocations.Amounts) error {
	var missing *allocations.ProviderMissing
	switch {
	case errors.Is(err, allocations.ErrNotAllocated):
		return fault.New(fault.Invalid, "PlacementAllocationRemoved",
			"Resource allocation is deleted for consumer %s", consumer)
	case errors.As(err, &missing):
		return fault.New(fault.Invalid, "PlacementAllocationRpNotExists", "Resource provider %s for %s does not exist",
			missing.Provider, consumer)
	case errors.Is(err, allocations.ErrCapacity):
		return fault.New(fault.Conflict, "QosPlacementAllocationUpdateConflict",
			"Updating placement allocation with %s for consumer %s failed. "+
				"The requested resources would exceed the capacity available.", amountsText(differences), consumer)
	case errors.Is(err, rows.ErrNoRow):
		return BeingChanged("The allocation of consumer %s was completed by another process.", consumer)
	case errors.Is(err, allocations.ErrGeneration):
		return fault.New(fault.Conflict, "PlacementAllocationGenerationConflict",
			"Resource allocation has been changed for consumer %s in Placement "+
				"while Neutron tried to update it.", consumer)
	}
	return err
}

// amountsText is amounts as Neutron shows them.
func amountsText(a allocations.Amounts) string {
	var providers []string
	for _, provider := range slices.Sorted(maps.Keys(a)) {
		var classes []string
		for _, class := range slices.Sorted(maps.Keys(a[provider])) {
			classes = append(classes, fmt.Sprintf("'%s': %d", class, a[provider][class]))
		}
		providers = append(providers, fmt.Sprintf("'%s': {%s}", provider, strings.Join(classes, ", ")))
	}
	return "{" + strings.Join(providers, ", ") + "}"
}
