// Package changelog has what a log of transactions is made of: the [Position] of a reader, the
// [Entry] of a transaction, and the [Log] that has them. [Memory] is the log of a database that has
// one process; sqlstore/logtable keeps the log of a database that several processes write. What the
// body of an entry says is up to who appends it.
//
// Each process that writes is a writer with an id of its own, and numbers its transactions from 1
// without gaps. So a reader remembers one number for each writer and misses nothing.
package changelog

import (
	"context"
	"sync"
	"time"
)

// An Entry is a transaction in a log.
type Entry struct {
	Writer, Seq int64
	// Time is that of the database just before the commit, zero where the writer noted none.
	Time time.Time
	Body string
	// Void says that the entry took the place of a transaction that did not take place.
	Void bool
}

// A Page is a part of a log: entries of one writer in their order, of several in the order of their
// times.
type Page struct {
	Entries []Entry
	// At is the position after the entries.
	At Position
	// More says that there are more entries already.
	More bool
	// Lost says that entries before these are not in the log any more, or may not be.
	Lost bool
}

// A Log is the log of a database. It is safe for concurrent use.
type Log interface {
	// Shared reports whether other processes append to the log as well, of which Appended does not
	// notify.
	Shared() bool
	// Read returns the entries after a position, limit of each writer at most, those of its own
	// process included. It sees every transaction that was committed before it was called. For a nil
	// position the page has no entries and is at the end of the log.
	Read(ctx context.Context, since Position, limit int) (Page, error)
	// PositionAt returns the position of the entries that were written before a time, and whether the
	// log has all since.
	PositionAt(ctx context.Context, at time.Time) (since Position, whole bool, err error)
	// Appended returns a channel that is closed when this process has appended to the log since the
	// call.
	Appended() <-chan struct{}
}

// A Notifier notifies those who wait of the next thing that happens. The zero value is ready. It is
// safe for concurrent use.
type Notifier struct {
	mu   sync.Mutex
	next chan struct{} // nil while nobody waits
}

// Next returns a channel that is closed by the next Notify.
func (n *Notifier) Next() <-chan struct{} {
	n.mu.Lock()
	defer n.mu.Unlock()
	if n.next == nil {
		n.next = make(chan struct{})
	}
	return n.next
}

// Notify closes the channels that Next has returned.
func (n *Notifier) Notify() {
	n.mu.Lock()
	defer n.mu.Unlock()
	if n.next != nil {
		close(n.next)
		n.next = nil
	}
}

// Merge puts the entries of several writers in the order of their times, those of each in their own
// order. A writer that has more entries than are in its list ends the result with the last of them:
// what others wrote after that may be later than what is not there.
func Merge(lists [][]Entry, more []bool) (merged []Entry, rest bool) {
	for {
		first := -1
		for i, list := range lists {
			if len(list) > 0 && (first < 0 || list[0].Time.Before(lists[first][0].Time)) {
				first = i
			}
		}
		if first < 0 {
			return merged, false
		}
		merged = append(merged, lists[first][0])
		lists[first] = lists[first][1:]
		if len(lists[first]) == 0 && more[first] {
			return merged, true
		}
	}
}
