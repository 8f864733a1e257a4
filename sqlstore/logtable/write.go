package logtable

import (
	"context"
	"errors"
	"time"

	"github.com/berthcloud/berth/changelog"
	"github.com/berthcloud/berth/sqlstore/sqlconn"
)

// Commit writes the entry of the transaction that the session is in and commits it, in one round
// trip: body for the others, and note for the followers of this store. The entry is returned also
// when that fails.
func (l *Table[N]) Commit(ses *sqlconn.Session, stamp, body string, note N) (changelog.Entry, error) {
	defer l.notifier.Notify()
	if l.id == 0 {
		l.Renew()
	}
	e := changelog.Entry{Writer: l.id, Seq: l.seq + 1}
	if ses.Untouched() {
		// A round trip with a commit in it is not sent again.
		if err := ses.Flush(); err != nil {
			return e, notCommitted{err}
		}
	}
	if !l.present {
		if _, err := ses.Exec(`
INSERT INTO berth_writers (id, created_at, beat_at)
VALUES (?, ?, `+l.dialect.Now+`)`, e.Writer, stamp); err != nil {
			return e, notCommitted{err}
		}
	}
	query := insertEntry + "?)"
	if l.timed {
		query, body = insertEntry+l.dialect.WithClock+")", body+"\n"
	}
	// Before the commit: a follower that reads the entry finds this.
	l.recent.keep(e, note)
	err := commitWith(ses, sqlconn.Statement{Query: query, Args: []any{e.Writer, e.Seq, stamp, body}})
	if err == nil {
		l.seq, l.present = e.Seq, true
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
// RolledBack recognises, so that such a transaction is run again without being looked up.
type notCommitted struct{ error }

func (n notCommitted) Unwrap() error { return n.error }

// RolledBack reports whether an error of Commit says for certain that the transaction did not take
// place. Otherwise Settle finds out.
func (l *Table[N]) RolledBack(err error) bool {
	if l.dialect.Orphan(err) || l.dialect.Duplicate(err) {
		l.Renew() // another store believed this one dead, or the place is taken
		return true
	}
	return errors.As(err, new(notCommitted)) || l.dialect.Retryable(err) || l.dialect.Full(err)
}

// Renew gives the writer another id. What was written under the old one is followed like anybody's.
func (l *Table[N]) Renew() {
	l.id = changelog.NewWriter()
	l.seq, l.present, l.sizes = 0, false, logSizes{}
}

// Settle finds out, in a transaction of the session's, whether the transaction of an entry took
// place, and sees to it that it cannot any more when it did not: the entry is then Void, once the
// session has committed. One that is Void already was written by an earlier call. The INSERT waits
// for a transaction that has the entry and is not ended on the server yet. The clause for a unique
// value differs by database; where there is none the error is looked at.
func (l *Table[N]) Settle(ses *sqlconn.Session, e changelog.Entry) (committed bool, err error) {
	now := sqlconn.Stamp(time.Now())
	// The writer's row may have been part of the transaction.
	if _, err := ses.Exec(`
INSERT INTO berth_writers (id, created_at, beat_at)
VALUES (?, ?, `+l.dialect.Now+`)`+l.dialect.OnConflict, e.Writer, now); err != nil && !l.dialect.Duplicate(err) {
		return false, err
	}
	result, err := ses.Exec(`
INSERT INTO berth_changes (writer, seq, created_at, body)
VALUES (?, ?, ?, ?)`+l.dialect.OnConflict, e.Writer, e.Seq, now, bodyVoid)
	if err != nil && !l.dialect.Duplicate(err) {
		return false, err
	}
	if err == nil {
		n, err := result.RowsAffected()
		if err != nil || n > 0 {
			return false, err
		}
	}
	t := ses.Tx(context.Background())
	body, err := sqlconn.First(t, func(row *sqlconn.Row) string { return row.Text(0) }, `
SELECT body
FROM berth_changes
WHERE writer = ? AND seq = ?`, e.Writer, e.Seq)
	return err == nil && body != bodyVoid, err
}

// Clean updates this writer's beat_at, and deletes its old entries and the writers that have ended,
// in a transaction of the session's. Entries of a writer that is deleted go with it, by the foreign
// key of berth_changes.
func (l *Table[N]) Clean(ses *sqlconn.Session) error {
	for _, step := range []sqlconn.Statement{
		{Query: `UPDATE berth_writers SET beat_at = ` + l.dialect.Now + ` WHERE id = ?`, Args: []any{l.id}},
		{
			Query: `DELETE FROM berth_changes WHERE writer = ? AND seq <= ?`,
			Args:  []any{l.id, l.sizes.keepFrom(l.seq)},
		},
		// By the server's clock: those of other machines may be wrong.
		{Query: `DELETE FROM berth_writers WHERE beat_at < ` + l.dialect.HourAgo + ` AND id <> ?`, Args: []any{l.id}},
	} {
		if _, err := ses.Exec(step.Query, step.Args...); err != nil {
			return err
		}
	}
	return nil
}

// Leave makes the writer's beat_at old: tools that must not run at the same time may run then, and
// its entries stay for the others to read.
func (l *Table[N]) Leave(ses *sqlconn.Session) error {
	_, err := ses.Exec(`
UPDATE berth_writers
SET beat_at = `+l.dialect.Now+` - INTERVAL '10' MINUTE
WHERE id = ?`, l.id)
	return err
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
