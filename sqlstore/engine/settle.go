package engine

import (
	"context"
	"errors"
	"fmt"
	"time"

	"github.com/berthcloud/berth/fault"
	"github.com/berthcloud/berth/sqlstore/sqlconn"
)

// errUnsettled says that it could not be found out whether a transaction was
// committed.
var errUnsettled = errors.New("the outcome of a commit is not known")

// errUnknown is the error for the callers of such a transaction. It is Unavailable, and its text
// has the client check before it tries again.
func errUnknown(err error) error {
	return fmt.Errorf("committing: %v: %w", err, fault.New(fault.Unavailable, sqlconn.CodeUnavailable,
		"The connection to the database was lost while the change was made. Please check whether it was made, "+
			"and try again."))
}

// settle finds out whether a transaction whose commit was not answered took
// place. When it did not, it cannot any more. It blocks the writing goroutine, up to
// Options.RetryTime: no later transaction may get ahead of one whose outcome is open.
func (s *Engine) settle(e entry, members []*job) (committed bool, err error) {
	s.opts.Logger.Warn("a commit was not answered: looking it up", "updates", len(members))
	until := time.Now().Add(s.opts.RetryTime)
	// The old connection may be stuck, with its locks.
	ses := s.newSession(sqlconn.Writing)
	defer ses.Close()
	// In any case the number is used.
	defer s.log.renew()
	for n := 1; ; n++ {
		committed, err = s.proven(ses, e)
		if err == nil {
			s.opts.Logger.Info("a commit that was not answered is settled", "committed", committed)
			if s.opts.Metrics.Settled != nil {
				s.opts.Metrics.Settled(committed)
			}
			return committed, nil
		}
		if time.Now().After(until) || s.isClosing() {
			break
		}
		_ = sleep(context.Background(), backoff(n))
	}
	s.opts.Logger.Error("the outcome of a commit is not known", "updates", len(members), "error", err.Error())
	if s.opts.Metrics.Unsettled != nil {
		s.opts.Metrics.Unsettled()
	}
	return false, fmt.Errorf("%w: %v", errUnsettled, err)
}

// proven looks for an entry and takes its place when it is not there. An entry whose body is
// bodyVoid was written by an earlier attempt of this function: the transaction did not take place.
func (s *Engine) proven(ses *sqlconn.Session, e entry) (bool, error) {
	if err := s.begin(context.Background(), ses, s.d.Begin); err != nil {
		return false, err
	}
	body, found, err := s.takePlace(ses, e)
	if err != nil || found {
		_ = ses.Do("ROLLBACK")
		return found && body != bodyVoid, err
	}
	return false, ses.Do("COMMIT")
}

// takePlace writes an empty entry, or returns the body of the one that is there. The INSERT waits
// for a transaction that has the entry and is not ended on the server yet. The clause for a unique
// value differs by database; where there is none the error is looked at.
func (s *Engine) takePlace(ses *sqlconn.Session, e entry) (body string, found bool, err error) {
	t, now := &sqlconn.Tx{Session: ses, Context: context.Background()}, sqlconn.Stamp(time.Now())
	// The writer's row may have been part of the transaction.
	if _, err := ses.Exec(`
INSERT INTO berth_writers (id, created_at, beat_at)
VALUES (?, ?, `+s.d.Now+`)`+s.d.OnConflict, e.writer, now); err != nil && !s.d.Duplicate(err) {
		return "", false, err
	}
	result, err := ses.Exec(`
INSERT INTO berth_changes (writer, seq, created_at, body)
VALUES (?, ?, ?, ?)`+s.d.OnConflict, e.writer, e.seq, now, bodyVoid)
	if err != nil && !s.d.Duplicate(err) {
		return "", false, err
	}
	if err == nil {
		n, err := result.RowsAffected()
		if err != nil || n > 0 {
			return "", false, err
		}
	}
	body, err = sqlconn.First(t, func(one *sqlconn.Row) string { return one.Text(0) }, `
SELECT body
FROM berth_changes
WHERE writer = ? AND seq = ?`, e.writer, e.seq)
	return body, err == nil, err
}
