package engine

import "github.com/berthcloud/berth/sqlstore/sqlconn"

// A Tx is the transaction of an Update, with what its function notes for the time after it. It is
// for one goroutine.
type Tx[N any] struct {
	*sqlconn.Tx
	note        *N
	locks       Locks
	afterCommit []func()
}

// Note sets what the Update says of its changes in the entry of the transaction in the change log.
func (t *Tx[N]) Note(note N) { t.note = &note }

// NeedLocks adds to what the transaction locks at its beginning if the Update runs again.
func (t *Tx[N]) NeedLocks(l Locks) { t.locks.Add(l) }

// AfterCommit has fn called when what the Update wrote is durable, on the writing goroutine.
func (t *Tx[N]) AfterCommit(fn func()) { t.afterCommit = append(t.afterCommit, fn) }

// Locks are rows that a transaction locks at its beginning: those with some ids, and those with
// some UUIDs. The zero value is none.
type Locks struct {
	IDs   []int64
	UUIDs []string
}

// Add adds more locks.
func (l *Locks) Add(more Locks) {
	l.IDs, l.UUIDs = append(l.IDs, more.IDs...), append(l.UUIDs, more.UUIDs...)
}

// Empty reports whether there are none.
func (l *Locks) Empty() bool { return len(l.IDs)+len(l.UUIDs) == 0 }
