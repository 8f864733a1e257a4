package sqlstore

import (
	"context"
	"database/sql"
	"sync/atomic"
	"time"
)

// A session is one connection, made again when it was lost, with the statements
// prepared on it. It is used by one goroutine at a time. Statements run to
// their end or until the database has been silent for too long: one cancelled by
// its caller would take the transaction of others with it, so the contexts of
// callers are looked at in between.
type session struct {
	d    *dialect
	open func(context.Context) (*sql.Conn, error)
	// patience is how long the database may be silent, 0 for as long as the
	// driver lets it; lifetime how long a connection is used, 0 for ever.
	patience, lifetime time.Duration

	// epoch, of a server, rises when connections that were made before are to
	// be made again.
	epoch *atomic.Int64

	conn  *sql.Conn // nil when there is none
	at    int64     // the epoch of the connection
	born  time.Time
	dead  bool      // an error said that the connection is of no more use
	heard time.Time // when the database answered the last time
	ready map[string]*sql.Stmt

	// nowait says that the server tells at once that a row is locked.
	nowait bool
	// single says that each statement goes in a packet of its own (packet.go).
	single bool
	put    []string // statements that go with the next one
	// opening says that the first of them begins a transaction.
	opening bool
	// often says that the statements come again and again, and are worth preparing
	// where others are not.
	often bool
}

// connect makes the connection unless there is a good one.
func (s *session) connect(ctx context.Context) error {
	if s.usable() {
		return nil
	}
	s.close()
	if s.epoch != nil {
		s.at = s.epoch.Load() // before: what rises it meanwhile counts
	}
	conn, err := s.open(ctx)
	if err != nil {
		return err
	}
	s.conn, s.born, s.dead, s.ready = conn, time.Now(), false, map[string]*sql.Stmt{}
	return nil
}

// usable reports whether there is a connection to go on with.
func (s *session) usable() bool {
	return s.conn != nil && !s.dead &&
		(s.lifetime <= 0 || time.Since(s.born) < s.lifetime) &&
		(s.epoch == nil || s.at == s.epoch.Load())
}

// fresh reports whether the connection was made for this transaction: then its
// failing is news, and not the end of one that had been idle.
func (s *session) fresh(since time.Time) bool { return !s.born.Before(since) }

// close gives the connection up; there is nobody left to hear of an error.
func (s *session) close() {
	if s.conn == nil {
		return
	}
	s.unprepare()
	_ = s.conn.Close()
	s.conn = nil
}

// unprepare forgets all prepared statements.
func (s *session) unprepare() {
	for _, st := range s.ready {
		_ = st.Close()
	}
	s.ready = map[string]*sql.Stmt{}
}

// prepare returns the prepared form of a statement written with ? for values.
// The number of texts is bounded: lists in them have few lengths.
func (s *session) prepare(query string) (*sql.Stmt, error) {
	if st := s.ready[query]; st != nil {
		return st, nil
	}
	if len(s.ready) >= maxReady {
		s.unprepare()
	}
	st, err := s.conn.PrepareContext(context.Background(), s.d.rebind(query))
	if err != nil {
		return nil, err
	}
	s.ready[query] = st
	return st, nil
}

// maxReady is how many prepared statements a connection has. All go when there are
// more, which is seldom.
const maxReady = 400

// do runs a statement without values or rows.
func (s *session) do(query string) error {
	_, err := s.exec(query)
	return err
}

// exec runs a statement that has no rows.
func (s *session) exec(query string, args ...any) (result sql.Result, err error) {
	err = s.attempt(func(w *watch) (bool, error) {
		var err error
		result, err = s.run(w.ctx, query, args)
		return err == nil, err
	})
	return result, err
}

func (s *session) run(ctx context.Context, query string, args []any) (sql.Result, error) {
	switch {
	case len(s.put) > 0:
		return s.packets().exec(ctx, s, query, args)
	case !s.d.prepared:
		return s.conn.ExecContext(ctx, s.d.rebind(query), args...)
	}
	st, err := s.prepare(query)
	if err != nil {
		return nil, err
	}
	return st.ExecContext(ctx, args...)
}

// query runs a statement and calls fn with its rows. What fn returns is
// returned.
func (s *session) query(fn func(*sql.Rows, *watch) error, query string, args ...any) error {
	return s.attempt(func(w *watch) (bool, error) {
		rows, err := s.rows(w.ctx, query, args)
		if err != nil {
			return false, err
		}
		defer rows.Close()
		return true, fn(rows, w)
	})
}

func (s *session) rows(ctx context.Context, query string, args []any) (*sql.Rows, error) {
	switch {
	case len(s.put) > 0:
		return s.packets().rows(ctx, s, query, args)
	case !s.d.prepared && !s.often:
		return s.conn.QueryContext(ctx, s.d.rebind(query), args...)
	}
	st, err := s.prepare(query)
	switch {
	case err == nil:
		return st.QueryContext(ctx, args...)
	case s.d.prepared || s.d.lost(err):
		return nil, err
	}
	// The server has as many prepared statements as it may have.
	return s.conn.QueryContext(ctx, s.d.rebind(query), args...)
}

// A watch ends a statement that the database does not answer.
type watch struct {
	ctx      context.Context // of the statement alone
	patience time.Duration
	timer    *time.Timer
	fired    atomic.Bool
	cancel   context.CancelFunc
}

func (s *session) watch() *watch {
	w := &watch{ctx: context.Background(), patience: s.patience}
	if w.patience <= 0 {
		return w
	}
	w.ctx, w.cancel = context.WithCancel(w.ctx)
	w.timer = time.AfterFunc(w.patience, func() {
		w.fired.Store(true)
		w.cancel()
	})
	return w
}

// heard says that the database is not silent.
func (w *watch) heard() {
	if w.timer != nil {
		w.timer.Reset(w.patience)
	}
}

// ended stops the watch over a statement and looks at how it ended.
func (s *session) ended(w *watch, err error) error {
	if w.timer != nil {
		w.timer.Stop()
		w.cancel()
		if err != nil && w.fired.Load() {
			err = errSilent
		}
	}
	switch {
	case err == nil:
		s.heard = time.Now()
	case s.d.lost(err):
		s.dead = true
	}
	return err
}

// keepStill takes the right to write for the reading transaction under way on a file, with a
// statement that changes nothing. It returns false when there is something newer
// than what was read, or somebody else writes.
func (s *session) keepStill(statement string) bool {
	if s.do("PRAGMA query_only(0)") != nil {
		return false
	}
	err := s.do(statement)
	if s.do("PRAGMA query_only(1)") != nil {
		s.dead = true
	}
	return err == nil
}
