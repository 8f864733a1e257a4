// Package logtable keeps the change log of a database on a server, which several stores write, in
// tables of Berth's own.
//
// By the change log the stores on one server learn of each other's commits. Each store is a writer
// with an id of its own, and numbers its transactions; since it has one at a time, its entries
// become visible in their order and without gaps, whatever happens between the writers. A reader
// keeps one number per writer and misses nothing. A store reads its own entries too: it must not
// see a commit of its own later than others do.
//
//	berth_writers   id │ beat_at          who writes
//	berth_changes   writer, seq │ body    what the transaction touched
//
// An entry is also the proof that its transaction took place: when a commit is not answered, the
// store tries to write the entry itself. Either it is there, or the transaction can never have its
// place any more ([Table.Settle]).
//
// write.go is the writing end, read.go the reading end of watchers and followers, and follow.go
// what a follower reads from memory instead.
package logtable

import (
	"context"
	"time"

	"github.com/berthcloud/berth/changelog"
	"github.com/berthcloud/berth/sqlstore/sqlconn"
)

const (
	// KeepEntries is how many entries a writer keeps. A store that has missed
	// more of them reads everything again.
	KeepEntries = 20_000
	// CleanInterval is how often a writer updates its beat_at and deletes what
	// is too old.
	CleanInterval = time.Minute
	// maxPositionAge is when a position is too old to go on from: writers whose beat_at
	// is an hour old are deleted, with their entries.
	maxPositionAge = 30 * time.Minute
)

// bodyVoid is the body of an entry that takes a transaction's place (Settle). No other body is the
// same.
const bodyVoid = "-"

// A Reading runs a function that only reads, outside of a transaction and with statements that are
// worth preparing, again after a collision or the loss of a connection. The function must not keep
// anything from an earlier run.
type Reading func(ctx context.Context, fn func(*sqlconn.Tx) error) error

// A Table is the change log of a database, and the writer of one store. Notes of the type N are
// what the store says of a transaction. Its methods that have a session are for the goroutine that
// writes; the others are safe for concurrent use.
type Table[N any] struct {
	dialect  *sqlconn.Dialect
	reading  Reading
	timed    bool
	notifier changelog.Notifier
	recent   recentNotes[N]

	// What follows belongs to the goroutine that writes.
	id      int64 // of this writer; 0 before its first entry
	seq     int64 // of its newest entry
	present bool  // it is in berth_writers
	sizes   logSizes
}

// New returns the log of a database, which reads by reading. The writer of a timed one notes the
// time of the database in the last line of each body, which is how entries get a Time.
func New[N any](d *sqlconn.Dialect, timed bool, reading Reading) *Table[N] {
	return &Table[N]{dialect: d, timed: timed, reading: reading}
}

// Present reports whether the writer has an entry.
func (l *Table[N]) Present() bool { return l.present }
