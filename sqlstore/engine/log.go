package engine

import (
	"context"

	"github.com/berthcloud/berth/changelog"
	"github.com/berthcloud/berth/sqlstore/logtable"
)

// CleanLog updates this writer's beat_at, and deletes its old entries and the writers that have
// ended. A failure is logged, and the next call deletes what is left. Stores that clean up the log
// at the same time may meet in a deadlock: another try succeeds, and the operator has nothing to
// do.
func (s *Engine[N]) CleanLog() {
	err := retry(context.Background(), s.opts.RetryTime, attempts, func() (bool, error) {
		err := s.cleanLogOnce()
		return err != nil && s.d.Retryable(err), err
	})
	if err != nil {
		s.opts.Logger.Warn("the change log could not be cleaned up", "error", err.Error())
	}
}

// cleanLogOnce does all of it in one transaction on the connection that writes.
func (s *Engine[N]) cleanLogOnce() error {
	ses := s.Writer.Own()
	defer s.Writer.GiveBack(ses)
	err := ses.Begin(context.Background(), s.d.Begin)
	if err == nil {
		err = s.table.Clean(ses)
	}
	if err == nil {
		err = ses.Do("COMMIT")
	}
	if err != nil {
		_ = ses.Do("ROLLBACK")
	}
	return err
}

// leaveLog lets tools that must not run at the same time run from now on. An error is ignored: what
// this writes gets old by itself.
func (s *Engine[N]) leaveLog() {
	if !s.d.Shared || !s.table.Present() {
		return
	}
	ses := s.Writer.Own()
	defer s.Writer.GiveBack(ses)
	if ses.Usable() {
		_ = s.table.Leave(ses)
	}
}

// ChangeLog is the change log of the database as watchers read it (Service.Watched).
func (s *Engine[N]) ChangeLog() changelog.Log {
	if s.d.Shared {
		return s.table
	}
	return s.memory
}

// Follow returns a follower of the change log, which reads as View does; nil where no other store
// writes the database.
func (s *Engine[N]) Follow() *logtable.Follower[N] {
	if !s.d.Shared {
		return nil
	}
	return s.table.Follow(s.service.Decode)
}
