package sqlconn

import (
	"context"
	"database/sql"
	"errors"
	"fmt"
	"maps"
	"net/url"
	"strings"
	"time"
)

// The values of Server.Dialect.
const (
	MySQL      = "mysql" // MariaDB and Galera too
	PostgreSQL = "postgresql"
)

// A Server is a database on a server.
type Server struct {
	Dialect  string // MySQL or PostgreSQL
	User     string
	Password string
	// Hosts are the servers as host or host:port, or the path of a socket (of
	// its directory for PostgreSQL). Each is as good as the other: the first
	// that takes writes is used until it is lost. None means this machine.
	Hosts    []string
	Database string
	// Params are what a SQLAlchemy URL has behind its ?, with the names of
	// PyMySQL or libpq.
	Params url.Values
	// SQLMode is set for each session, on MySQL; empty for the server's own.
	SQLMode string
	// Retries is how often to try again when the server cannot be reached at
	// the start, -1 for ever, and RetryInterval how long to wait in between.
	Retries       int
	RetryInterval time.Duration
	// Recycle is how long a connection is used; 0 for ever.
	Recycle time.Duration

	// Quiet is how long the server may take to answer one statement; ResponseTimeout
	// when 0.
	ResponseTimeout time.Duration
}

const (
	// connectTimeout bounds the making of a connection to one host.
	connectTimeout = 5 * time.Second
	// ResponseTimeout is how long a server may take to answer one statement. It is
	// more than LockWait.
	DefaultResponseTimeout = 20 * time.Second
	// LockWait is how long a server waits for a lock: longer
	// than PostgreSQL takes to find a deadlock.
	LockWait = 2 * time.Second
	// idleTransaction is when a server ends a transaction without statements, so that
	// a connection that is cut off does not keep its locks.
	idleTransaction = 10 * time.Second
)

// A Role is what a session is for.
type Role int

const (
	Reading Role = iota
	Writing
)

// A Dialer makes connections to a server, set up for their role, and says where
// they lead.
type Dialer interface {
	Dial(ctx context.Context, r Role) (*sql.Conn, place, error)
	Close() error
}

// A place is the server that a connection leads to.
type place struct {
	Host string // which of several
	// Node says that it is a node of a Galera cluster.
	Node bool
	// Nowait says that it knows NOWAIT.
	Nowait bool
}

// ErrConnecting marks that a connection could not be made.
var ErrConnecting = errors.New("connecting")

// A connectError is why a connection could not be made, in one line.
type connectError struct{ error }

// ConnectFailure is a driver's error for a connection that could not be made.
func ConnectFailure(err error) error { return connectError{err} }

func (e connectError) Error() string {
	return "connecting: " + strings.Join(strings.FieldsFunc(e.error.Error(), func(c rune) bool { return c == '\n' || c == '\t' }), " ")
}

func (e connectError) Unwrap() error { return e.error }

func (e connectError) Is(target error) bool { return target == ErrConnecting }

// NewDialer returns the dialer of a server and its dialect. It fails when the settings are wrong, without connecting.
func NewDialer(server Server) (*Dialect, Dialer, error) {
	switch server.Dialect {
	case MySQL:
		dial, err := newMySQLDialer(server)
		if err != nil {
			return MySQLDialect, nil, err
		}
		return MySQLDialect, dial, nil
	case PostgreSQL:
		dial, err := newPostgresDialer(server)
		if err != nil {
			return PostgreSQLDialect, nil, err
		}
		return PostgreSQLDialect, dial, nil
	}
	return SQLiteDialect, nil, fmt.Errorf("there is no dialect %q", server.Dialect)
}

// IdleForLong makes a server accept transactions without statements for any time.
func IdleForLong(ctx context.Context, d *Dialect, conn *sql.Conn) error {
	if d == PostgreSQLDialect {
		_, err := conn.ExecContext(ctx, "SET idle_in_transaction_session_timeout = 0")
		return err
	}
	_, err := conn.ExecContext(ctx, "SET SESSION idle_transaction_timeout = 0")
	if mysqlCode(err) == 1193 {
		return nil // only MariaDB has it
	}
	return err
}

// Named is the server with the name that it shows its administrators for who is
// connected, unless the URL has one.
func (s *Server) Named(program string) *Server {
	renamed := *s
	renamed.Params = maps.Clone(s.Params)
	if renamed.Params == nil {
		renamed.Params = url.Values{}
	}
	if s.Dialect == PostgreSQL && !renamed.Params.Has("application_name") {
		renamed.Params.Set("application_name", program)
	}
	return &renamed
}
