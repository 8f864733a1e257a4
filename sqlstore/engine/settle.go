package engine

import (
	"context"
	"errors"
	"fmt"

	"github.com/berthcloud/berth/changelog"
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
func (s *Engine[N]) settle(e changelog.Entry, members []*job[N]) (committed bool, err error) {
	s.opts.Logger.Warn("a commit was not answered: looking it up", "updates", len(members))
	// The old connection may be stuck, with its locks.
	ses := s.db.NewSession(sqlconn.Writing)
	defer ses.Close()
	// In any case the number is used.
	defer s.table.Renew()
	err = retry(context.Background(), s.opts.RetryTime, maxAttempts, func() (retryable bool, err error) {
		committed, err = s.proven(ses, e)
		return err != nil && !s.isClosing(), err
	})
	if err == nil {
		s.opts.Logger.Info("a commit that was not answered is settled", "committed", committed)
		if s.opts.Metrics.Settled != nil {
			s.opts.Metrics.Settled(committed)
		}
		return committed, nil
	}
	s.opts.Logger.Error("the outcome of a commit is not known", "updates", len(members), "error", err.Error())
	if s.opts.Metrics.Unsettled != nil {
		s.opts.Metrics.Unsettled()
	}
	return false, fmt.Errorf("%w: %v", errUnsettled, err)
}

// proven looks for an entry and takes its place when it is not there (logtable.Table.Settle).
func (s *Engine[N]) proven(ses *sqlconn.Session, e changelog.Entry) (bool, error) {
	if err := ses.Begin(context.Background(), s.d.Begin); err != nil {
		return false, err
	}
	committed, err := s.table.Settle(ses, e)
	if err != nil || committed {
		_ = ses.Do("ROLLBACK")
		return committed, err
	}
	return false, ses.Do("COMMIT")
}
