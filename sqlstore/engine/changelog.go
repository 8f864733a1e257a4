package engine

import (
	"errors"
	"math/rand/v2"
	"time"

	"github.com/berthcloud/berth/sqlstore/sqlconn"
)

// By the change log the stores on one server learn of each other's commits. Each
// store is a writer with an id of its own, and numbers its transactions; since
// it has one at a time, its entries become visible in their order and without
// gaps, whatever happens between the writers. A reader keeps one number per
// writer and misses nothing. A store reads its own entries too: it must not see
// a commit of its own later than others do.
//
//	berth_writers   id │ beat_at          who writes
//	berth_changes   writer, seq │ body    what the transaction touched
//
// An entry is also the proof that its transaction took place: when a commit is
// not answered, the store tries to write the entry itself. Either it is there, or
// the transaction can never have its place any more (settle.go). follow.go is the
// reading end.

const (
	// KeepEntries is how many entries a writer keeps. A store that has missed
	// more of them reads everything again.
	KeepEntries = 20_000
	// CleanLogInterval is how often a writer updates its beat_at and deletes what
	// is too old.
	CleanLogInterval = time.Minute
	// maxPositionAge is when a position is too old to go on from: writers whose beat_at
	// is an hour old are deleted, with their entries.
	maxPositionAge = 30 * time.Minute
)

// bodyVoid is the body of an entry that takes a transaction's place (settle.go). No other body
// is the same.
const bodyVoid = "-"

// A changeLog writes the log. It belongs to the writing goroutine.
type changeLog struct {
	// The id is drawn at random from 53 bits, so that stores need not agree on ids.
	id      int64 // of this writer; 0 before its first entry
	seq     int64 // of its newest entry
	present bool  // it is in berth_writers

	recent recentEntries

	timed bool // Service.Watched
	sizes logSizes
}

// keepBytes is how much of the newest entries' bodies a writer keeps, about.
const keepBytes = 64 << 20

// logSizes know how long a writer's entries are: bodies with the events of many claims are long.
// The marks are made when the log is cleaned up, so that entries of the last minutes always stay
// for other stores.
type logSizes struct {
	sum   int64 // of all bodies
	marks []sizeMark
}

// A sizeMark is how long the bodies were up to an entry, that one included.
type sizeMark struct{ seq, sum int64 }

// keepFrom returns the number up to which entries are too many or too long, and makes a mark at the
// newest one.
func (l *logSizes) keepFrom(newest int64) int64 {
	drop := newest - KeepEntries
	for len(l.marks) > 0 && l.sum-l.marks[0].sum >= keepBytes {
		drop = max(drop, l.marks[0].seq)
		l.marks = l.marks[1:]
	}
	l.marks = append(l.marks, sizeMark{newest, l.sum})
	return drop
}

// commit writes the entry of the transaction that the session is in and commits
// it, in one round trip: body for the others, and kept for this store. The entry is returned also
// when that fails.
func (l *changeLog) commit(ses *sqlconn.Session, stamp, body string, own any) (entry, error) {
	if l.id == 0 {
		l.renew()
	}
	e := entry{l.id, l.seq + 1}
	if ses.Untouched() {
		// A round trip with a commit in it is not sent again.
		if err := ses.Flush(); err != nil {
			return e, notCommitted{err}
		}
	}
	if !l.present {
		if _, err := ses.Exec(`
INSERT INTO berth_writers (id, created_at, beat_at)
VALUES (?, ?, `+ses.Dialect.Now+`)`, e.writer, stamp); err != nil {
			return e, notCommitted{err}
		}
	}
	query := insertEntry + "?)"
	if l.timed {
		query, body = insertEntry+ses.Dialect.WithClock+")", body+"\n"
	}
	// Before the commit: a reader of the entry finds this.
	l.recent.keep(e, own)
	err := commitWith(ses, sqlconn.Statement{Query: query, Args: []any{e.writer, e.seq, stamp, body}})
	if err == nil {
		l.seq, l.present = e.seq, true
		l.sizes.sum += int64(len(body))
		return e, nil
	}
	l.recent.drop(e)
	return e, err
}

// commitWith runs a last statement and commits. In one round trip the entry and the commit arrive
// together: there is no time in which the transaction has its entry and waits for the client.
func commitWith(ses *sqlconn.Session, last sqlconn.Statement) error {
	if ses.Pipelined() {
		return ses.DoAll(last.Query+`;
COMMIT`, last.Args...)
	}
	if _, err := ses.Exec(last.Query, last.Args...); err != nil {
		return notCommitted{err}
	}
	return ses.Do("COMMIT")
}

// insertEntry is the beginning of the statement that writes an entry: its writer, number, time and
// body.
const insertEntry = `
INSERT INTO berth_changes (writer, seq, created_at, body)
VALUES (?, ?, ?, `

// A notCommitted is why a transaction came to its end before its commit was sent. It is what
// rolledBack recognises, so that such a transaction is run again without being looked up.
type notCommitted struct{ error }

func (n notCommitted) Unwrap() error { return n.error }

// rolledBack reports whether an error of commit says for certain that the
// transaction did not take place.
func (l *changeLog) rolledBack(d *sqlconn.Dialect, err error) bool {
	if d.Orphan(err) || d.Duplicate(err) {
		l.renew() // another store believed this one dead, or the place is taken
		return true
	}
	return errors.As(err, new(notCommitted)) || d.Retryable(err) || d.Full(err)
}

// renew gives the writer another id. What was written under the old one is
// followed like anybody's.
func (l *changeLog) renew() {
	l.id = 1 + rand.Int64N(1<<53)
	l.seq, l.present, l.sizes = 0, false, logSizes{}
}
