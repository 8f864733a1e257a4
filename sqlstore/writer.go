package sqlstore

import (
	"github.com/berthcloud/berth/placement"
)

// A writer is a reader that may change placement's rows. One is made for each Update, or for the
// requests of a Group, and is of no use after it.
type writer struct {
	reader
	changed placement.Changes
	cache   *ownerCache
	named   ownerIDs // that ConsumerStates found
	wants   wants    // the providers that this Update must lock (locks.go)
}

var _ placement.Writer = (*writer)(nil)

// Changed adds to this Update's part of the change log.
func (w *writer) Changed(c placement.Changes) { w.changed.Add(c) }

// OnCommit has fn called when what this Update wrote is durable.
func (w *writer) OnCommit(fn func()) { w.Tx.OnCommit = append(w.Tx.OnCommit, fn) }

// change is Exec for a statement that must find its row.
func (w *writer) change(query string, args ...any) error { return noRow(w.Tx.Change(query, args...)) }

// wants are the providers that an Update must lock. All are locked at once, in the order of
// their ids, when the Update runs again (lockFirst).
type wants struct {
	ids   []int64
	uuids []placement.UUID // of those that were not free
}

func (a wants) empty() bool { return len(a.ids)+len(a.uuids) == 0 }

func (a *wants) add(more wants) {
	a.ids, a.uuids = append(a.ids, more.ids...), append(a.uuids, more.uuids...)
}
