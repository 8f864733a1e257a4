// Package sqlconn has connections to SQL databases, and the transactions on them.
//
// From the top down: database.go opens a database and closes it; dial.go chooses the dialer of a
// server (mysql.go, postgres.go); tx.go has what statements are run with, pool.go and session.go
// the connections below it, and dialect.go what the databases disagree on. A database in a file is
// locked (lock.go), checked (file.go) and watched (file_lost.go).
//
// There is one set of statements for all databases. What they disagree on is a [Dialect]:
// SQLite in a file, MariaDB or MySQL, and PostgreSQL as servers. A [Session] is one connection,
// made again when it was lost, on which several statements go in one round trip where the
// database takes them; a [Pool] has the idle ones. A [Tx] is the transaction that a
// session is in, and [Row] a row of an answer. Errors of drivers leave the package as
// text only: Dialect.Translate says what they mean.
//
// The package knows no service and none of its tables.
package sqlconn

import (
	"context"
	"database/sql"
	"sync/atomic"
	"time"
)

// A Session is one connection, made again when it was lost, with the statements
// prepared on it. It is used by one goroutine at a time. Statements run to
// their end or until the database has been silent for too long: one cancelled by
// its caller would take the transaction of others with it, so the contexts of
// callers are looked at in between.
type Session struct {
	dialect *Dialect
	open    func(context.Context) (*sql.Conn, error)
	// responseTimeout is how long the database may take to answer a statement, and between
	// rows, 0 for the driver's own bound; lifetime how long a connection is used, 0 for ever.
	responseTimeout, lifetime time.Duration

	// epoch, of a server, rises when connections that were made before are to
	// be made again.
	epoch *atomic.Int64

	conn *sql.Conn // nil when there is none
	at   int64     // the epoch of the connection
	born time.Time
	dead bool // an error showed that the connection cannot be used any more
	// ready has the prepared statements by their text with ? for values. They end with the
	// connection.
	ready map[string]*sql.Stmt
	// spare is the row of the last answer, for the next one; nil while an answer is read.
	spare *Row

	place Place    // that the connection leads to
	put   []string // statements that go with the next one
	// opening says that the first of them begins a transaction.
	opening       bool
	prepareAlways bool
}

// NewSession returns a session that connects with open when it is first used.
func NewSession(d *Dialect, open func(context.Context) (*sql.Conn, error)) *Session {
	return &Session{dialect: d, open: open}
}

// Dialect is what the database disagrees on with others.
func (s *Session) Dialect() *Dialect { return s.dialect }

// Conn is the connection, nil when there is none. What runs on it is neither watched over nor
// prepared.
func (s *Session) Conn() *sql.Conn { return s.conn }

// Limit bounds how long the database may take to answer a statement, and between rows, 0 for the
// driver's own bound, and how long a connection is used, 0 for ever. A connection that was made
// before epoch, when not nil, rose is made again.
func (s *Session) Limit(response, lifetime time.Duration, epoch *atomic.Int64) {
	s.responseTimeout, s.lifetime, s.epoch = response, lifetime, epoch
}

// Reached says which server a connection that is being opened leads to.
func (s *Session) Reached(at Place) { s.place = at }

// Nowait reports whether the server knows NOWAIT: an error at once for a locked row.
func (s *Session) Nowait() bool { return s.place.Nowait }

// PrepareAlways says whether the statements are repeated, and are worth preparing where others are
// not.
func (s *Session) PrepareAlways(always bool) { s.prepareAlways = always }

// Dead reports whether an error showed that the connection cannot be used any more.
func (s *Session) Dead() bool { return s.dead }

// Discard has the connection made again before the session is used.
func (s *Session) Discard() { s.dead = true }

// Connect makes the connection unless there is a good one.
func (s *Session) Connect(ctx context.Context) error {
	if s.Usable() {
		return nil
	}
	s.Close()
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

// Usable reports whether there is a connection to go on with.
func (s *Session) Usable() bool {
	return s.conn != nil && !s.dead &&
		(s.lifetime <= 0 || time.Since(s.born) < s.lifetime) &&
		(s.epoch == nil || s.at == s.epoch.Load())
}

// Fresh reports whether the connection was made after a time, the beginning of a transaction: one
// that was made before may have been closed by the server while it was idle, and is worth another
// try.
func (s *Session) Fresh(since time.Time) bool { return !s.born.Before(since) }

// Close closes the connection, if there is one. Errors are ignored.
func (s *Session) Close() {
	if s.conn == nil {
		return
	}
	s.unprepare()
	_ = s.conn.Close()
	s.conn = nil
}

// unprepare closes all prepared statements.
func (s *Session) unprepare() {
	for _, st := range s.ready {
		_ = st.Close()
	}
	s.ready = map[string]*sql.Stmt{}
}

// prepare returns the prepared form of a statement written with ? for values.
// The number of texts is bounded: lists in them have few lengths.
func (s *Session) prepare(query string) (*sql.Stmt, error) {
	if st := s.ready[query]; st != nil {
		return st, nil
	}
	if len(s.ready) >= maxReady {
		s.unprepare()
	}
	st, err := s.conn.PrepareContext(context.Background(), s.dialect.rebind(query))
	if err != nil {
		return nil, err
	}
	s.ready[query] = st
	return st, nil
}

// maxReady is how many prepared statements a connection has. All are closed when there would be
// more, which is seldom.
const maxReady = 400

// Do runs a statement without values or rows.
func (s *Session) Do(query string) error {
	_, err := s.Exec(query)
	return err
}

// Exec runs a statement that has no rows.
func (s *Session) Exec(query string, args ...any) (result sql.Result, err error) {
	err = s.attempt(func(w *watch) (bool, error) {
		var err error
		result, err = s.run(w.ctx, query, args)
		return err == nil, err
	})
	return result, err
}

// run sends a statement: behind those that were put off, unprepared where the dialect does not
// prepare, else prepared.
func (s *Session) run(ctx context.Context, query string, args []any) (sql.Result, error) {
	switch {
	case len(s.put) > 0:
		return s.pipeline().exec(ctx, s, query, args)
	case !s.dialect.prepared:
		return s.conn.ExecContext(ctx, s.dialect.rebind(query), args...)
	}
	st, err := s.prepare(query)
	if err != nil {
		return nil, err
	}
	return st.ExecContext(ctx, args...)
}

// query runs a statement and calls fn with its rows. What fn returns is
// returned.
func (s *Session) query(fn func(*sql.Rows, *watch) error, query string, args ...any) error {
	return s.attempt(func(w *watch) (bool, error) {
		rows, err := s.rows(w.ctx, query, args)
		if err != nil {
			return false, err
		}
		defer rows.Close()
		return true, fn(rows, w)
	})
}

// rows is run for a statement with rows, which the caller closes.
func (s *Session) rows(ctx context.Context, query string, args []any) (*sql.Rows, error) {
	switch {
	case len(s.put) > 0:
		return s.pipeline().rows(ctx, s, query, args)
	case !s.dialect.prepared && !s.prepareAlways:
		return s.conn.QueryContext(ctx, s.dialect.rebind(query), args...)
	}
	st, err := s.prepare(query)
	switch {
	case err == nil:
		return st.QueryContext(ctx, args...)
	case s.dialect.prepared || s.dialect.Lost(err):
		return nil, err
	}
	// The server has as many prepared statements as it may have.
	return s.conn.QueryContext(ctx, s.dialect.rebind(query), args...)
}

// A watch ends a statement that the database does not answer.
type watch struct {
	ctx     context.Context // of the statement alone
	timeout time.Duration
	timer   *time.Timer
	fired   atomic.Bool
	cancel  context.CancelFunc
}

// watch begins to watch over a statement. Without a time-out of the session it never fires.
func (s *Session) watch() *watch {
	w := &watch{ctx: context.Background(), timeout: s.responseTimeout}
	if w.timeout <= 0 {
		return w
	}
	w.ctx, w.cancel = context.WithCancel(w.ctx)
	w.timer = time.AfterFunc(w.timeout, func() {
		w.fired.Store(true)
		w.cancel()
	})
	return w
}

// heard restarts the time-out: the database has answered.
func (w *watch) heard() {
	if w.timer != nil {
		w.timer.Reset(w.timeout)
	}
}

// ended stops the watch over a statement and looks at how it ended.
func (s *Session) ended(w *watch, err error) error {
	if w.timer != nil {
		w.timer.Stop()
		w.cancel()
		if err != nil && w.fired.Load() {
			err = ErrSilent
		}
	}
	if err != nil && s.dialect.Lost(err) {
		s.dead = true
	}
	return err
}

// TakeWriteLock takes the right to write for the reading transaction under way on a file, with a
// statement that changes nothing. It returns false when there is something newer
// than what was read, or another connection writes. query_only is lifted for the statement alone. A
// session on which it cannot be set again is not used any more.
func (s *Session) TakeWriteLock(statement string) bool {
	if s.Do("PRAGMA query_only(0)") != nil {
		return false
	}
	err := s.Do(statement)
	if s.Do("PRAGMA query_only(1)") != nil {
		s.dead = true
	}
	return err == nil
}
