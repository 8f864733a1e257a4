package engine

import (
	"context"
)

// CleanLog updates this writer's beat_at, and deletes its old entries and the
// writers that have ended. A failure is logged, and the next call deletes what is left.
func (s *Engine) CleanLog() {
	for n := range attempts {
		err := s.cleanLogOnce()
		if err == nil {
			return
		}
		// Stores that tend the log at the same time may meet in a deadlock. The next try
		// succeeds, and the operator has nothing to do.
		if n+1 == attempts || !s.d.Retryable(err) {
			s.opts.Logger.Warn("the change log could not be cleaned up", "error", err.Error())
			return
		}
	}
}

// cleanLogOnce does all of it in one transaction on the connection that writes. Entries of a writer
// that is deleted go with it, by the foreign key of berth_changes.
func (s *Engine) cleanLogOnce() error {
	id := s.log.id
	keptFrom := s.log.sizes.keepFrom(s.log.seq)
	ses := s.Writer.Own()
	defer s.Writer.GiveBack(ses)
	err := s.begin(context.Background(), ses, s.d.Begin)
	for _, step := range []struct {
		query string
		args  []any
	}{
		{`UPDATE berth_writers SET beat_at = ` + s.d.Now + ` WHERE id = ?`, []any{id}},
		{`DELETE FROM berth_changes WHERE writer = ? AND seq <= ?`, []any{id, keptFrom}},
		// By the server's clock: those of other machines may be wrong.
		{`DELETE FROM berth_writers WHERE beat_at < ` + s.d.HourAgo + ` AND id <> ?`, []any{id}},
	} {
		if err == nil {
			_, err = ses.Exec(step.query, step.args...)
		}
	}
	if err == nil {
		err = ses.Do("COMMIT")
	}
	if err != nil {
		_ = ses.Do("ROLLBACK")
	}
	return err
}

// leaveLog makes the writer's beat_at old: tools that must not run at the same time may run
// then, and its entries stay for the others to read. An error is ignored: beat_at gets old by
// itself.
func (s *Engine) leaveLog() {
	if !s.d.Shared || !s.log.present {
		return
	}
	ses := s.Writer.Own()
	defer s.Writer.GiveBack(ses)
	if !ses.Usable() {
		return
	}
	_, _ = ses.Exec(`
UPDATE berth_writers
SET beat_at = `+s.d.Now+` - INTERVAL '10' MINUTE
WHERE id = ?`, s.log.id)
}
