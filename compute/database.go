package compute

import (
	"context"
	"errors"
	"log/slog"
	"maps"
	"strings"
	"sync"
	"time"

	"github.com/berthcloud/berth/rows"
	"github.com/berthcloud/berth/watch"
)

// A Database has the rows of the compute service. Long polls wait for changes of it (package
// watch). It is safe for concurrent use.
type Database struct {
	*watch.Store
	Rules Rules

	mu      sync.Mutex // guards onHosts
	onHosts []func(HostsWritten)
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
	quotas := DefaultQuotas()
	maps.Copy(quotas, rules.Settings.Quotas)
	rules.Settings.Quotas = quotas
	return &Database{Store: watch.NewStore(store, watched), Rules: rules}
}

// Update runs fn in a transaction. The rules of rows.Store are those of fn: it may run more than
// once, and must not retain results of an earlier run.
func (d *Database) Update(ctx context.Context, fn func(*Tx) error) error {
	at := d.Rules.Now().UTC().Truncate(time.Second)
	var hosts rows.Notes // of any of the runs: it may be unknown which one was committed
	defer func() { d.notifyHosts(hosts) }()
	return d.Store.Update(ctx, at, func(w Writer) error {
		return fn(&Tx{Writer: hostsWriter{w, &hosts}, Rules: d.Rules, At: at})
	})
}

// OnHosts has fn called with the rows that were written of those by which hosts are chosen
// (hostsWriter): before the Update that has written them returns, and when RunWatches sees what
// other instances have written.
func (d *Database) OnHosts(fn func(HostsWritten)) {
	d.mu.Lock()
	defer d.mu.Unlock()
	d.onHosts = append(d.onHosts, fn)
}

func (d *Database) notifyHosts(n rows.Notes) {
	if n.Empty() {
		return
	}
	written := hostsWritten(n)
	d.mu.Lock()
	defer d.mu.Unlock()
	for _, fn := range d.onHosts {
		fn(written)
	}
}

// A Tx is a transaction under way: it reads and writes rows by the rules.
type Tx struct {
	Writer
	Rules
	At time.Time // of its rows: in UTC, in whole seconds
	By Caller    // of the action that was recorded last, for the operations that begin with it
}

// NextNumber returns the next number of a sequence, 1 for the first.
func (tx *Tx) NextNumber(sequence string) (int64, error) {
	row, err := One[CounterRow](tx, Where(ByName, sequence))
	if errors.Is(err, ErrNoRow) {
		return 1, tx.Insert(&CounterRow{Name: sequence, Last: 1})
	}
	if err != nil {
		return 0, err
	}
	row.Last++
	return row.Last, tx.Replace(&row)
}

// NotifyHost wakes the polls of a host for what does not follow from rows that its list is made of.
func (tx *Tx) NotifyHost(host string) {
	var n rows.Notes
	n.Add(host)
	tx.Note(n)
}

// NewID returns a random UUID.
func NewID() ID { return ID(rows.NewID()) }

// Notes of rows by which hosts are chosen. No list of a host has these keys, so that reports of
// hosts wake no poll.
const (
	noteHosts      = "hosts"
	noteAggregates = "aggregates"
	noteNode       = "node "
	noteService    = "service "
)

// HostsWritten are rows by which hosts are chosen that were written.
type HostsWritten struct {
	Nodes, Services []ID
	Aggregates      bool // or their members
	All             bool
}

// hostsWritten returns the rows that notes are of.
func hostsWritten(n rows.Notes) HostsWritten {
	w := HostsWritten{All: n.Has(noteHosts), Aggregates: n.Has(noteAggregates)}
	for _, key := range n.Keys() {
		if id, ok := strings.CutPrefix(key, noteNode); ok {
			w.Nodes = append(w.Nodes, ID(id))
		}
		if id, ok := strings.CutPrefix(key, noteService); ok {
			w.Services = append(w.Services, ID(id))
		}
	}
	return w
}

// A hostsWriter notes the rows that it writes of those by which hosts are chosen: hypervisors,
// services, aggregates and their members. So no operation can omit to have them read again, in this
// instance and in others.
type hostsWriter struct {
	Writer
	noted *rows.Notes
}

// Insert is Writer's.
func (w hostsWriter) Insert(row any) error {
	w.note(hostsNote(row, false))
	return w.Writer.Insert(row)
}

// Replace is Writer's.
func (w hostsWriter) Replace(row any) error {
	w.note(hostsNote(row, false))
	return w.Writer.Replace(row)
}

// Remove is Writer's.
func (w hostsWriter) Remove(row any, where ...Match) (int, error) {
	w.note(hostsNote(row, true))
	return w.Writer.Remove(row, where...)
}

func (w hostsWriter) note(key string) {
	if key == "" {
		return
	}
	w.noted.Add(key)
	var n rows.Notes
	n.Add(key)
	w.Note(n)
}

// hostsNote is the note of a row that is written, or of rows of its type that are removed, "" for
// none.
func hostsNote(row any, removed bool) string {
	switch r := row.(type) {
	case *AggregateRow, *MemberRow:
		return noteAggregates
	case *NodeRow:
		if removed {
			return noteHosts
		}
		return noteNode + string(r.ID)
	case *ServiceRow:
		if removed {
			return noteHosts
		}
		return noteService + string(r.ID)
	}
	return ""
}

// RunWatches wakes hosts that wait when other instances change their lists, and has hosts that
// others change read again, until ctx ends. It looks whenever due has a value, which should be
// every watch.Interval.
func (d *Database) RunWatches(ctx context.Context, due <-chan time.Time) {
	d.RunFollow(ctx, due, d.notifyHosts, d.Rules.Log)
}

// EndWatches answers all hosts that wait, now and later, so that a service that stops need
// not wait for them. It may be called more than once.
func (d *Database) EndWatches() { d.End() }
