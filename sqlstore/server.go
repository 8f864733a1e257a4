package sqlstore

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

	// quiet is how long the server may be silent on one statement; patience
	// when 0.
	quiet time.Duration
}

const (
	// connectTimeout bounds the making of a connection to one host.
	connectTimeout = 5 * time.Second
	// patience is how long a server may be silent on one statement. It is
	// more than the time that servers are told to wait for locks.
	patience = 20 * time.Second
	// lockWait is how long a server waits for a lock that others hold: longer
	// than PostgreSQL takes to find a deadlock.
	lockWait = 2 * time.Second
	// idleTransaction is when a server ends a transaction that it hears
	// nothing of, so that a connection that is cut off holds no locks.
	idleTransaction = 10 * time.Second
)

// A role is what a session is for.
type role int

const (
	reading role = iota
	writing
)

// A dialer makes connections to a server, set up for their role, and says where
// they lead.
type dialer interface {
	dial(ctx context.Context, r role) (*sql.Conn, place, error)
	close() error
}

// A place is where a connection leads.
type place struct {
	host string // which of several
	// node says that it is a node of a Galera cluster.
	node bool
	// nowait says that it knows NOWAIT.
	nowait bool
}

// errConnecting marks that a connection could not be made.
var errConnecting = errors.New("connecting")

// A connectError is why a connection could not be made, in one line.
type connectError struct{ error }

func (e connectError) Error() string {
	return "connecting: " + strings.Join(strings.FieldsFunc(e.error.Error(), func(c rune) bool { return c == '\n' || c == '\t' }), " ")
}

func (e connectError) Unwrap() error { return e.error }

func (e connectError) Is(target error) bool { return target == errConnecting }

// newDialer returns what connects to a server.
func newDialer(server Server) (*dialect, dialer, error) {
	switch server.Dialect {
	case MySQL:
		dial, err := newMySQLDialer(server)
		if err != nil {
			return mysqlDialect, nil, err
		}
		return mysqlDialect, dial, nil
	case PostgreSQL:
		dial, err := newPostgresDialer(server)
		if err != nil {
			return postgresDialect, nil, err
		}
		return postgresDialect, dial, nil
	}
	return sqliteDialect, nil, fmt.Errorf("there is no dialect %q", server.Dialect)
}

// idleForLong takes back what makes a server end transactions that are quiet.
func idleForLong(ctx context.Context, d *dialect, conn *sql.Conn) error {
	if d == postgresDialect {
		_, err := conn.ExecContext(ctx, "SET idle_in_transaction_session_timeout = 0")
		return err
	}
	_, err := conn.ExecContext(ctx, "SET SESSION idle_transaction_timeout = 0")
	if mysqlCode(err) == 1193 {
		return nil // only MariaDB has it
	}
	return err
}

// named is the server with the name that it shows its administrators for who is
// connected, unless the URL has one.
func (s *Server) named(program string) *Server {
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
