package engine

import (
	"context"
	"errors"

	"github.com/berthcloud/berth/sqlstore/sqlconn"
)

// View runs fn in a transaction that only reads and sees one consistent state, again after a
// collision or the loss of a connection until Options.RetryTime is over. It returns the error of
// fn, or an Unavailable fault when there is no connection or the engine is closed. A panic in fn
// goes through to the caller.
func (s *Engine[N]) View(ctx context.Context, fn func(*sqlconn.Tx) error) error {
	return retry(ctx, s.opts.RetryTime, maxAttempts, func() (bool, error) { return s.viewOnce(ctx, fn) })
}

// Read is View for an fn that runs one statement, or several that need not see the same state. On a
// server they run outside of a transaction, and prepared: their texts are to be the same each time.
func (s *Engine[N]) Read(ctx context.Context, fn func(*sqlconn.Tx) error) error {
	if !s.d.Shared {
		return s.View(ctx, fn)
	}
	return retry(ctx, s.opts.RetryTime, maxAttempts, func() (bool, error) { return s.readOnce(ctx, fn) })
}

// failed reports whether a transaction that only reads is worth another try after an error. When
// the server is not the primary any more, all connections are made again before that: it answers,
// with what was true when it was.
func (s *Engine[N]) failed(t *sqlconn.Tx, err error) bool {
	if errors.Is(t.Cause(), sqlconn.ErrDemoted) {
		s.db.RenewConnections()
	}
	return err != nil && t.Cause() != nil && s.retryable(t.Cause())
}

// readOnce runs fn once and says whether it should run again.
func (s *Engine[N]) readOnce(ctx context.Context, fn func(*sqlconn.Tx) error) (retryable bool, err error) {
	ses, err := s.readers.Borrow(ctx)
	if err != nil {
		return false, err
	}
	ses.PrepareAlways(true)
	defer func() { ses.PrepareAlways(false); s.readers.GiveBack(ses) }()
	if err := ses.Connect(ctx); err != nil {
		return s.retryable(err), s.d.Translate("connecting", err)
	}
	ses.Opening()
	t := ses.Tx(ctx).Traced(s.opts.Trace)
	err = fn(t)
	return s.failed(t, err), err
}

// viewOnce runs fn once and says whether it should run again, after an error that
// another try may not meet. The transaction is rolled back, never committed: it wrote nothing, and
// a rollback cannot fail for what others did.
func (s *Engine[N]) viewOnce(ctx context.Context, fn func(*sqlconn.Tx) error) (retryable bool, err error) {
	if err := s.db.Files().Check(); err != nil {
		return false, err
	}
	ses, err := s.readers.Borrow(ctx)
	if err != nil {
		return false, err
	}
	defer s.readers.GiveBack(ses)
	if err := ses.Begin(ctx, s.d.BeginRead); err != nil {
		return s.retryable(err), s.d.Translate("beginning to read", err)
	}
	t := ses.Tx(ctx).Traced(s.opts.Trace).WithParallel(s.parallel)
	defer func() {
		t.End()
		if end := ses.Do("ROLLBACK"); end != nil && err == nil {
			retryable, err = s.retryable(end), s.d.Translate("ending to read", end)
		}
	}()
	err = fn(t)
	return s.failed(t, err), err
}

// DataVersion queries the connection that writes: SQLite shows each connection whether
// another one has committed, and the others of this store only read.
func (s *Engine[N]) DataVersion(ctx context.Context) (int64, error) {
	ses, err := s.Writer.Borrow(ctx)
	if err != nil {
		return 0, err
	}
	defer s.Writer.GiveBack(ses)
	if err := ses.Connect(ctx); err != nil {
		return 0, s.d.Translate("connecting", err)
	}
	return sqlconn.First(ses.Tx(ctx), sqlconn.Integer, "PRAGMA data_version")
}
