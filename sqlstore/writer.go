package sqlstore

import (
	"github.com/berthcloud/berth/placement"
	"github.com/berthcloud/berth/sqlstore/engine"
)

// A writer is a reader that may change placement's rows. One is made for each Update, or for the
// requests of a Group, and is of no use after it.
type writer struct {
	reader
	update  *engine.Tx[placement.Changes]
	changed placement.Changes
	cache   *ownerCache
	named   ownerIDs     // that ConsumerStates found
	locks   engine.Locks // of the providers that this Update must lock (locks.go)
}

var _ placement.Writer = (*writer)(nil)

// Changed adds to this Update's part of the change log.
func (w *writer) Changed(c placement.Changes) { w.changed.Add(c) }

// OnCommit has fn called when what this Update wrote is durable.
func (w *writer) OnCommit(fn func()) { w.update.AfterCommit(fn) }

// change is Exec for a statement that must find its row.
func (w *writer) change(query string, args ...any) error { return noRow(w.Tx.Change(query, args...)) }
