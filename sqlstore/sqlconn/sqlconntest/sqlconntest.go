// Package sqlconntest has a database for tests of what works on connections: SQLite in a file, as
// if it were on a server that others write to, whose connections fail as a test says.
package sqlconntest

import (
	"context"
	"database/sql"
	"database/sql/driver"
	"errors"
	"path/filepath"
	"sync"
	"testing"
	"time"

	"github.com/berthcloud/berth/sqlstore/sqlconn"
)

// What a [Fault] may return. The dialect of a Server knows what each is.
var (
	ErrLost      = errors.New("planted: the connection is lost")
	ErrCollision = errors.New("planted: a deadlock")
	ErrLocked    = errors.New("planted: a lock was not released in time")
	ErrFull      = errors.New("planted: no room")
	ErrRefused   = errors.New("planted: the server takes no connections")
)

// A Fault decides on a statement, first before it runs and then before its answer is given, which
// is lost when the fault returns an error. It may be called from several goroutines.
type Fault func(statement string, ran bool) error

// A Server is a database on a server of its own. It is safe for concurrent use.
type Server struct {
	dialect *sqlconn.Dialect
	db      *sql.DB

	mu      sync.Mutex
	fault   Fault
	refused bool
	host    string
	dials   int
}

// New returns a server with an empty database, which ends with the test.
func New(t testing.TB) *Server {
	t.Helper()
	s := &Server{dialect: newDialect(), host: "first"}
	source := sqlconn.SQLiteURI(filepath.Join(t.TempDir(), "db"), "rwc",
		sqlconn.BusyPragma(time.Second), "journal_mode(WAL)", "foreign_keys(1)")
	plain, err := sql.Open("sqlite", source)
	if err != nil {
		t.Fatal(err)
	}
	s.db = sql.OpenDB(connector{s, plain.Driver(), source})
	s.db.SetMaxIdleConns(-1) // as with a server, a connection that is closed is gone
	t.Cleanup(func() { s.db.Close(); plain.Close() })
	return s
}

// newDialect is SQLite's with what only servers have.
func newDialect() *sqlconn.Dialect {
	d := *sqlconn.SQLiteDialect
	d.Shared = true
	d.Now, d.HourAgo, d.Demoted = "CURRENT_TIMESTAMP", "DATETIME('now', '-1 hour')", "0"
	d.WithClock = "? || STRFTIME('%Y-%m-%d %H:%M:%f', 'now')"
	d.Advice = func(error, sqlconn.Naming) string { return "" }
	lost, retryable, unavailable, full := d.Lost, d.Retryable, d.Unavailable, d.Full
	d.Lost = func(err error) bool {
		return errors.Is(err, ErrLost) || errors.Is(err, ErrRefused) || errors.Is(err, sqlconn.ErrDemoted) ||
			errors.Is(err, sqlconn.ErrSilent) || errors.Is(err, sql.ErrConnDone) || lost(err)
	}
	d.Locked = func(err error) bool { return errors.Is(err, ErrLocked) }
	d.Retryable = func(err error) bool {
		return errors.Is(err, ErrCollision) || d.Locked(err) || d.Orphan(err) || retryable(err)
	}
	d.Full = func(err error) bool { return errors.Is(err, ErrFull) || full(err) }
	d.Unavailable = func(err error) bool { return errors.Is(err, ErrFull) || unavailable(err) }
	return &d
}

// Options describe the server to what opens a database.
func (s *Server) Options() *sqlconn.Server {
	dialer := func() (*sqlconn.Dialect, sqlconn.Dialer) { return s.dialect, s }
	return &sqlconn.Server{Database: "test", Dialer: dialer}
}

// Dialect is the server's. It must not be changed once connections are made.
func (s *Server) Dialect() *sqlconn.Dialect { return s.dialect }

// SetFault has each statement fail as a function decides; nil for none.
func (s *Server) SetFault(f Fault) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.fault = f
}

// Refuse has the server take no connections, or take them again. Those that are open stay.
func (s *Server) Refuse(refused bool) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.refused = refused
}

// SetHost names the host that new connections lead to.
func (s *Server) SetHost(host string) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.host = host
}

// Dials is how many connections were made.
func (s *Server) Dials() int {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.dials
}

// Dial implements sqlconn.Dialer. Each statement goes in a round trip of its own.
func (s *Server) Dial(ctx context.Context, _ sqlconn.Role) (*sql.Conn, sqlconn.Place, error) {
	s.mu.Lock()
	refused, host := s.refused, s.host
	s.mu.Unlock()
	if refused {
		return nil, sqlconn.Place{}, ErrRefused
	}
	conn, err := s.db.Conn(ctx)
	if err == nil {
		s.mu.Lock()
		s.dials++
		s.mu.Unlock()
	}
	return conn, sqlconn.Place{Host: host, Single: true}, err
}

// Close implements sqlconn.Dialer. The database goes on, for others.
func (s *Server) Close() error { return nil }

// Query returns the only number that a statement answers, on a connection without faults.
func (s *Server) Query(t testing.TB, statement string, args ...any) (n int64) {
	t.Helper()
	s.mu.Lock()
	fault := s.fault
	s.fault = nil
	s.mu.Unlock()
	defer s.SetFault(fault)
	if err := s.db.QueryRow(statement, args...).Scan(&n); err != nil {
		t.Fatalf("%s: %v", statement, err)
	}
	return n
}

// decide calls the fault.
func (s *Server) decide(statement string, ran bool) error {
	s.mu.Lock()
	fault := s.fault
	s.mu.Unlock()
	if fault == nil {
		return nil
	}
	return fault(statement, ran)
}

// A connector makes connections whose statements the server decides on.
type connector struct {
	server *Server
	driver driver.Driver
	source string
}

func (c connector) Connect(context.Context) (driver.Conn, error) {
	inner, err := c.driver.Open(c.source)
	if err != nil {
		return nil, err
	}
	return &conn{Conn: inner, server: c.server}, nil
}

func (c connector) Driver() driver.Driver { return c.driver }

// A conn is a connection. Once it is lost all that it is used for fails.
type conn struct {
	driver.Conn
	server *Server
	lost   bool
}

func (c *conn) Prepare(query string) (driver.Stmt, error) {
	if c.lost {
		return nil, ErrLost
	}
	inner, err := c.Conn.Prepare(query)
	if err != nil {
		return nil, err
	}
	return &stmt{Stmt: inner, conn: c, query: query}, nil
}

// A stmt is a prepared statement. database/sql runs all statements by it, since a conn has no other
// way.
type stmt struct {
	driver.Stmt
	conn  *conn
	query string
}

// decide calls the fault, unless the connection is lost.
func (s *stmt) decide(ran bool) error {
	if s.conn.lost {
		return ErrLost
	}
	err := s.conn.server.decide(s.query, ran)
	s.conn.lost = errors.Is(err, ErrLost)
	return err
}

func (s *stmt) ExecContext(ctx context.Context, args []driver.NamedValue) (driver.Result, error) {
	if err := s.decide(false); err != nil {
		return nil, err
	}
	result, err := s.Stmt.(driver.StmtExecContext).ExecContext(ctx, args)
	if err != nil {
		return nil, err
	}
	return result, s.decide(true)
}

func (s *stmt) QueryContext(ctx context.Context, args []driver.NamedValue) (driver.Rows, error) {
	if err := s.decide(false); err != nil {
		return nil, err
	}
	rows, err := s.Stmt.(driver.StmtQueryContext).QueryContext(ctx, args)
	if err != nil {
		return nil, err
	}
	if err := s.decide(true); err != nil {
		rows.Close()
		return nil, err
	}
	return rows, nil
}
