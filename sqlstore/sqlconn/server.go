package sqlconn

import (
	"context"
	"database/sql"
	"maps"
	"net/url"
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

	// Standby accepts a server that takes no writes, for a program that looks at one. Without it such
	// a server is refused.
	Standby bool

	// ResponseTimeout is how long the server may take to answer one statement; DefaultResponseTimeout
	// when 0.
	ResponseTimeout time.Duration

	// Dialer, when not nil, makes the connections instead of one of the Dialect: tests have one.
	Dialer func() (*Dialect, Dialer)
}

const (
	// connectTimeout bounds the making of a connection to one host.
	connectTimeout = 5 * time.Second
	// DefaultResponseTimeout is how long a server may take to answer one statement. It is
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
	// Reading is the role of sessions that are lent to any View, Writing that of the one for Updates:
	// it is set up so that several statements go in one text, and reads what others commit meanwhile.
	Reading Role = iota
	Writing
)

// A Dialer makes connections to a server, set up for their role, and says where
// they lead.
type Dialer interface {
	Dial(ctx context.Context, r Role) (*sql.Conn, Place, error)
	Close() error
}

// A Place is the server that a connection leads to.
type Place struct {
	// Host changes when another server has taken over, on which all connections are made again.
	Host string // which of several
	// Single says that each statement goes in a round trip of its own: to a node of a Galera
	// cluster, and on MySQL's connections that read, which are not set up for several.
	Single bool
	// Nowait says that it knows NOWAIT.
	Nowait bool
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
