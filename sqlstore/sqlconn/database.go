package sqlconn

import (
	"context"
	"database/sql"
	"errors"
	"fmt"
	"io/fs"
	"log/slog"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"sync/atomic"
	"time"
)

// Memory is the Path of a database that is in memory and ends with its Database.
const Memory = ":memory:"

// A Source says which database to open and how. Only Path or Server must be set, Logger and Step
// too.
type Source struct {
	// Path is the file of an SQLite database, or Memory.
	Path string
	// Server is the database on a server. It goes before Path.
	Server *Server
	// Empty removes the content of a file that a service opens, as soon as it is known that no other
	// process uses it.
	Empty bool
	// BusyTimeout is how long to wait for another program that writes the same file.
	BusyTimeout time.Duration
	Logger      *slog.Logger
	// Step is called while the database is opened with what is being done. The text names no server
	// and no user.
	Step func(string)
	// Connected, when not nil, is called when a connection to a server was made.
	Connected func()
}

// A Schema is how a database gets the tables of a kind of store.
type Schema struct {
	// Look refuses a database that cannot be used. It only reads.
	Look func(context.Context, *Session) error
	// Prepare makes the tables, or brings them to what the program knows.
	Prepare func(context.Context, *Session) error
	Known   Naming
}

// A Database has the connections to one database and, if it is a file, its lock. Services open
// all of it by Open. An operator's tool makes one connection, by OpenServer or, to a file, after
// Lock by OpenFile, and calls Close also when that fails. Only NewSession and RenewConnections are
// safe for concurrent use.
type Database struct {
	source Source
	d      *Dialect
	dbs    []*sql.DB // of files
	dialer Dialer    // of servers

	// host and epoch are written by whichever session connects.
	host     atomic.Value // string: the host of the newest connection
	epoch    atomic.Int64 // rises when that changes
	sessions []*Session
	release  func()     // gives up the lock on the file
	files    *OpenFiles // nil of servers, in memory and of tools
}

// NewDatabase returns a database that is not open.
func NewDatabase(source Source) *Database {
	return &Database{source: source, d: SQLiteDialect, release: func() {}}
}

// Dialect is what the database disagrees on with others: SQLite's until a server is connected to.
func (d *Database) Dialect() *Dialect { return d.d }

// Files are the files that Open has opened; nil, on which they can be used too, where there are
// none.
func (d *Database) Files() *OpenFiles { return d.files }

// Open opens the database for a service. It looks at what is there before it changes anything,
// prepares the tables, and returns the session that writes and those that read. In memory there is
// the former alone, because each connection has a database of its own there.
func (d *Database) Open(ctx context.Context, schema Schema, readers int) (
	writer *Session, reading []*Session, err error,
) {
	switch server := d.source.Server; {
	case server != nil:
		writer, reading, err = d.openServer(ctx, schema, readers)
		if err != nil {
			err = fmt.Errorf("opening the database %s on %s: %w",
				server.Database, strings.Join(server.Hosts, ", "), err)
		}
	case d.source.Path == Memory:
		if writer, err = d.openMemory(ctx, schema); err != nil {
			err = fmt.Errorf("opening a database in memory: %w", err)
		}
	default:
		if writer, reading, err = d.openPath(ctx, schema, readers); err != nil {
			err = fmt.Errorf("opening the database %s: %w", d.source.Path, err)
		}
	}
	if err != nil {
		_ = d.Close()
		return nil, nil, err
	}
	return writer, reading, nil
}

// Close closes all connections and unlocks the file.
func (d *Database) Close() error {
	err := d.disconnect()
	d.release()
	d.release = func() {}
	return err
}

// disconnect closes all connections, the last first: the writer goes after
// the readers and, being the last on the file, folds the log into it.
func (d *Database) disconnect() error {
	for _, ses := range d.sessions {
		ses.Close()
	}
	var first error
	for _, db := range slices.Backward(d.dbs) {
		if err := db.Close(); err != nil && first == nil {
			first = d.d.Translate("closing the database", err)
		}
	}
	if d.dialer != nil {
		if err := d.dialer.Close(); err != nil && first == nil {
			first = d.d.Translate("closing the database", err)
		}
	}
	d.sessions, d.dbs = nil, nil
	return first
}

// openMemory makes the only connection.
func (d *Database) openMemory(ctx context.Context, schema Schema) (*Session, error) {
	ses, err := d.OpenFile(ctx, Memory)
	if err != nil {
		return nil, err
	}
	return ses, schema.Prepare(ctx, ses)
}

// openPath looks at the file before anything may change it, under the lock, so that no other
// process changes it either.
func (d *Database) openPath(ctx context.Context, schema Schema, readers int) (*Session, []*Session, error) {
	path, err := RealPath(d.source.Path)
	if err != nil {
		return nil, nil, err
	}
	if err := d.Lock(path); err != nil {
		return nil, nil, err
	}
	if d.source.Empty {
		for _, suffix := range []string{"", "-wal", "-shm"} {
			if err := os.Remove(path + suffix); err != nil && !errors.Is(err, fs.ErrNotExist) {
				return nil, nil, fmt.Errorf("emptying it: %w", err)
			}
		}
	}
	if err := d.inspect(ctx, path, schema); err != nil {
		return nil, nil, err
	}
	return d.openFiles(ctx, path, schema, readers)
}

// Lock makes this process the only one that works on a file, until Close. It refuses what cannot
// be a database that is written. Another process's lock is ErrInUse.
func (d *Database) Lock(path string) error {
	if err := CheckPlace(path); err != nil {
		return err
	}
	release, err := LockFile(path)
	if err == nil {
		d.release = release
	}
	return err
}

// inspect refuses a file that cannot be used, reading it only.
func (d *Database) inspect(ctx context.Context, path string, schema Schema) error {
	empty, err := CheckFile(path)
	if empty || err != nil {
		return err
	}
	ses, err := d.OpenFile(ctx, ReadOnlyURI(path, BusyPragma(d.source.BusyTimeout)))
	if err != nil {
		return err
	}
	err = schema.Look(ctx, ses)
	if end := d.disconnect(); err == nil {
		err = end
	}
	return err
}

// openFiles connects the writer before the readers: it makes the file a database with a write-ahead
// log, and its tables, and readers may do neither.
func (d *Database) openFiles(ctx context.Context, path string, schema Schema, readers int) (
	writer *Session, reading []*Session, err error,
) {
	if err := CreateFile(path); err != nil {
		return nil, nil, err
	}
	files, err := WatchFiles(d.source.Path, path, d.source.Logger)
	if err != nil {
		return nil, nil, err
	}
	writer, err = d.OpenFile(ctx, SQLiteURI(path, "rw", WriterPragmas(d.source.BusyTimeout)...))
	if err != nil {
		return nil, nil, err
	}
	if err := schema.Prepare(ctx, writer); err != nil {
		return nil, nil, err
	}
	reading, err = d.connect(ctx, SQLiteURI(path, "rw", BusyPragma(d.source.BusyTimeout), "query_only(1)"), readers)
	if err != nil {
		return nil, nil, err
	}
	for _, suffix := range []string{"-wal", "-shm"} {
		if err := files.Add(path + suffix); err != nil {
			return nil, nil, err
		}
	}
	if err := files.Check(); err != nil {
		return nil, nil, err
	}
	d.files = files
	return writer, reading, nil
}

// OpenFile makes a connection to a data source of SQLite (SQLiteURI).
func (d *Database) OpenFile(ctx context.Context, source string) (*Session, error) {
	all, err := d.connect(ctx, source, 1)
	if err != nil {
		return nil, err
	}
	return all[0], nil
}

// connect opens n sessions on one data source. The pool of database/sql
// keeps all of them open, so that pragmas of the data source are set once for each.
func (d *Database) connect(ctx context.Context, source string, n int) ([]*Session, error) {
	db, err := sql.Open("sqlite", source)
	if err != nil {
		return nil, d.d.Translate("connecting", err)
	}
	d.dbs = append(d.dbs, db)
	db.SetMaxOpenConns(n)
	db.SetMaxIdleConns(n)
	first := len(d.sessions)
	for range n {
		ses := NewSession(d.d, db.Conn)
		if err := ses.Connect(ctx); err != nil {
			return nil, d.d.Translate("connecting", err)
		}
		d.sessions = append(d.sessions, ses)
	}
	return d.sessions[first:], nil
}

// openServer makes the connection that writes. Those that read are made when they are used.
func (d *Database) openServer(ctx context.Context, schema Schema, readers int) (*Session, []*Session, error) {
	if err := d.dial(); err != nil {
		return nil, nil, err
	}
	writer := d.NewSession(Writing)
	d.sessions = append(d.sessions, writer)
	if err := d.reach(ctx, writer, schema.Known); err != nil {
		return nil, nil, err
	}
	if err := schema.Prepare(ctx, writer); err != nil {
		return nil, nil, err
	}
	reading := make([]*Session, readers)
	for i := range reading {
		reading[i] = d.NewSession(Reading)
	}
	d.sessions = append(d.sessions, reading...)
	return writer, reading, nil
}

// OpenServer makes one connection for a tool. Its statements may take as long as the server's
// ResponseTimeout, and its transactions may be idle for any time.
func (d *Database) OpenServer(ctx context.Context, r Role, known Naming) (*Session, error) {
	if err := d.dial(); err != nil {
		return nil, err
	}
	var ses *Session
	ses = NewSession(d.d, func(ctx context.Context) (*sql.Conn, error) {
		conn, at, err := d.dialer.Dial(ctx, r)
		if err != nil {
			return nil, fmt.Errorf("%w: %w", ErrConnecting, err)
		}
		ses.Reached(Place{Single: at.Single})
		return conn, d.d.idleForLong(ctx, conn)
	})
	ses.Limit(d.source.Server.ResponseTimeout, 0, nil)
	d.sessions = append(d.sessions, ses)
	return ses, d.reach(ctx, ses, known)
}

// dial chooses the dialect and the dialer of the server.
func (d *Database) dial() (err error) {
	d.d, d.dialer, err = NewDialer(*d.source.Server)
	return err
}

// reach makes the first connection, again and again while no server answers. What
// will not change by itself is an error at once.
func (d *Database) reach(ctx context.Context, ses *Session, known Naming) error {
	server, log := d.source.Server, d.source.Logger
	d.source.Step("connecting")
	for n := 0; ; n++ {
		err := ses.Connect(ctx)
		if err == nil {
			d.source.Step("looking at its tables")
			return nil
		}
		if advice := d.d.Advice(err, known); advice != "" {
			return fmt.Errorf("%w: %s", err, advice)
		}
		if ctx.Err() != nil || server.Retries >= 0 && n >= server.Retries {
			return err
		}
		d.source.Step(fmt.Sprintf("connecting, after %d attempts without success, for which the log has the reasons", n+1))
		log.Warn("the database cannot be reached yet", "error", err.Error(), "again in", server.RetryInterval.String())
		select {
		case <-time.After(server.RetryInterval):
		case <-ctx.Done():
			return ctx.Err()
		}
	}
}

// NewSession returns a session on the server that connects when it is first used. The time-out of a
// driver that bounds its statements itself is left to it (Dialect.Bounded).
func (d *Database) NewSession(r Role) *Session {
	timeout := DefaultResponseTimeout
	if d.d.Bounded {
		timeout = 0
	}
	var ses *Session
	ses = NewSession(d.d, func(ctx context.Context) (*sql.Conn, error) {
		conn, at, err := d.dialer.Dial(ctx, r)
		if err != nil {
			return nil, ConnectFailure(err)
		}
		ses.Reached(at)
		if old := d.host.Swap(at.Host); old != nil && old != at.Host {
			// Others may still talk to a host that was taken out of
			// service and does not say so.
			d.RenewConnections()
		}
		if d.source.Connected != nil {
			d.source.Connected()
		}
		return conn, nil
	})
	ses.Limit(timeout, d.source.Server.Recycle, &d.epoch)
	return ses
}

// RenewConnections has each session of NewSession connect again before its next transaction.
func (d *Database) RenewConnections() { d.epoch.Add(1) }

// RealPath returns the one name of a file, so that two names of it lead to one
// lock. The file need not exist, its directory must.
func RealPath(path string) (string, error) {
	abs, err := filepath.Abs(path)
	if err != nil {
		return "", err
	}
	if real, err := filepath.EvalSymlinks(abs); err == nil {
		return real, nil
	}
	dir, err := filepath.EvalSymlinks(filepath.Dir(abs))
	if err != nil {
		return "", fmt.Errorf("the directory %s cannot be used: %w", filepath.Dir(abs), err)
	}
	return filepath.Join(dir, filepath.Base(abs)), nil
}
