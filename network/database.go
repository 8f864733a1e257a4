package network

import (
	"context"
	"log/slog"
	"time"

	"github.com/berthcloud/berth/watch"
)

// Rules are what operations decide by besides rows: the settings and the clock, and the log that
// they write to. They have no store, so that what opens a transaction cannot be called within one.
type Rules struct {
	Settings    Settings
	InPlacement bool // guarantees are allocated in placement
	// SyncSegments says that placement and compute have the segments of routed networks.
	SyncSegments bool
	Log          *slog.Logger
	Now          func() time.Time
}

// A Database has the rows of the network service. Long polls wait for changes of it (package
// watch). It is safe for concurrent use.
type Database struct {
	*watch.Store
	Rules    Rules
	segments chan struct{} // has a value after segments were marked
}

// NewDatabase returns a database with its rows in a store. Without a clock the rules have the
// machine's, and without a log they discard.
func NewDatabase(store Store, rules Rules) *Database {
	if rules.Log == nil {
		rules.Log = slog.New(slog.DiscardHandler)
	}
	if rules.Now == nil {
		rules.Now = time.Now
	}
	return &Database{Store: watch.NewStore(store, watched), Rules: rules, segments: make(chan struct{}, 1)}
}

// SegmentsMarked returns a channel that has a value after Updates that marked segments.
func (d *Database) SegmentsMarked() <-chan struct{} { return d.segments }

// Update runs fn in a transaction, and logs the transaction's warnings once it is committed. The
// rules of rows.Store are those of fn: it may run more than once, and must not retain results of an
// earlier run.
func (d *Database) Update(ctx context.Context, fn func(*Tx) error) error {
	at := d.Rules.Now().UTC().Truncate(time.Second)
	var last *Tx
	err := d.Store.Update(ctx, at, func(w Writer) error {
		last = &Tx{Writer: w, Rules: d.Rules, At: at}
		return fn(last)
	})
	if err != nil {
		return err
	}
	for _, w := range last.warnings {
		d.Rules.Log.WarnContext(ctx, w.text, w.args...)
	}
	if len(last.marked) > 0 {
		select {
		case d.segments <- struct{}{}:
		default: // a value waits
		}
	}
	return nil
}

// A warning is for the log.
type warning struct {
	text string
	args []any
}

// A Tx is a transaction under way: it reads and writes rows by the rules.
type Tx struct {
	Writer
	Rules
	At       time.Time // of its rows: in UTC, in whole seconds
	warnings []warning // to log once the transaction is committed
	cache    readCache
	marked   []ID // segments, see MarkSegments
}

// Warn logs a warning when the transaction is committed.
func (tx *Tx) Warn(text string, args ...any) {
	tx.warnings = append(tx.warnings, warning{text, args})
}

// Insert is that of a Writer.
func (tx *Tx) Insert(row any) error {
	err := tx.Writer.Insert(row)
	if err == nil {
		tx.cache.inserted(row)
	}
	return err
}

// Replace is that of a Writer.
func (tx *Tx) Replace(row any) error {
	tx.cache.changed(row)
	return tx.Writer.Replace(row)
}

// Remove is that of a Writer.
func (tx *Tx) Remove(row any, where ...Match) (int, error) {
	tx.cache.changed(row)
	return tx.Writer.Remove(row, where...)
}

// Fresh fills in what a new row has.
func (tx *Tx) Fresh(r *Common) {
	r.ID, r.CreatedAt, r.UpdatedAt = NewID(), tx.At, tx.At
}

// Touch raises the revision of a row that is about to be written.
func (tx *Tx) Touch(r *Common) {
	r.Revision++
	r.UpdatedAt = tx.At
}

// watched are the rows that the ports of a host are made of, as far as agents see them, by their
// keys: hosts, ports, networks, segments, policies and rules.
var watched = watch.Rules{
	watch.Row(watch.By(ByID, func(r *PortRow) ID { return r.ID })),
	watch.Row(
		watch.By(ByPort, func(r *BindingRow) ID { return r.Port }),
		watch.By(ByHost, func(r *BindingRow) string { return r.Host }),
	),
	watch.Row(
		watch.By(ByID, func(r *RuleRow) ID { return r.ID }),
		watch.By(ByPolicy, func(r *RuleRow) ID { return r.Policy }),
	),
	watch.Row(watch.By(ByID, func(r *NetworkRow) ID { return r.ID })),
	watch.Row(
		watch.By(ByID, func(r *SegmentRow) ID { return r.ID }),
		watch.By(ByNetwork, func(r *SegmentRow) ID { return r.Network }),
	),
}
