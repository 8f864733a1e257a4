package engine

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"strings"
	"time"

	"github.com/berthcloud/berth/sqlstore/sqlconn"
)

// An Access says what is going to be done with a database. It matters for SQLite,
// whose file has one berth at a time; a server has many clients at any time.
type Access int

const (
	// Look reads. A berth may serve the file meanwhile.
	Look Access = iota
	// ReadAlone reads, with the file locked against every other berth.
	ReadAlone
	// Change reads and writes, with the file locked against every other berth.
	Change
	// Make is Change for a file that may not be there yet. It is made by what
	// writes first.
	Make
)

// A Tool is a database that an operator's program works on, while the services run or while
// none runs. Opening it changes nothing. It is for one goroutine; Close it.
type Tool struct {
	opts   Options
	schema sqlconn.Schema
	db     *sqlconn.Database
	ses    *sqlconn.Session // nil while there is no file
	access Access
	path   string // of the file, empty on a server
}

// toolTimeout is how long a database may take to answer while a tool works: a step
// of an upgrade, or a big commit, takes its time. Services have a bound of seconds
// (sqlconn.DefaultResponseTimeout).
const toolTimeout = 15 * time.Minute

// strictMode makes MySQL refuse what does not fit instead of changing it. Without it MySQL cuts
// texts that are too long and numbers that are too big, and says so in a warning only.
const strictMode = "TRADITIONAL"

// OpenTool opens a database for an operator's program. Of the options those count that say
// where it is, and Logger. A file that another berth has is ErrInUse, unless the
// access is Look; one that is not there is fs.ErrNotExist, unless it is Make.
func OpenTool(ctx context.Context, opts Options, access Access, schema sqlconn.Schema) (*Tool, error) {
	opts = opts.WithDefaults()
	if opts.Server != nil {
		// A tool may be silent itself in the middle of a transaction.
		server := *opts.Server
		server.ResponseTimeout, server.Recycle, server.SQLMode = toolTimeout, 0, strictMode
		opts.Server = &server
	}
	t := &Tool{opts: opts, schema: schema, db: sqlconn.NewDatabase(opts.source()), access: access}
	err := t.open(ctx)
	if err != nil {
		_ = t.Close()
		return nil, fmt.Errorf("opening the database %s: %w", t.Where(), err)
	}
	return t, nil
}

// open connects, or with Make notes only that there is nothing yet.
func (t *Tool) open(ctx context.Context) error {
	switch {
	case t.opts.Server != nil:
		return t.openServer(ctx)
	case t.opts.Path == Memory:
		return errors.New("it is in memory and ends with its process: name a file or a server")
	}
	return t.openFile(ctx)
}

// Where names the database for people, without a password.
func (t *Tool) Where() string {
	if server := t.opts.Server; server != nil {
		return server.Database + " on " + cmp.Or(strings.Join(server.Hosts, ", "), "this machine")
	}
	return t.opts.Path
}

// openServer makes the one connection.
func (t *Tool) openServer(ctx context.Context) (err error) {
	role := sqlconn.Reading
	if t.access >= Change {
		role = sqlconn.Writing
	}
	t.ses, err = t.db.OpenServer(ctx, role, t.schema.Known)
	return err
}

// openFile looks at the file before it does anything to it.
func (t *Tool) openFile(ctx context.Context) (err error) {
	if t.path, err = sqlconn.RealPath(t.opts.Path); err != nil {
		return err
	}
	if t.access == Look {
		return t.lookAtFile(ctx)
	}
	if err := t.there(); err != nil && t.access != Make {
		return err
	}
	if err := t.db.Lock(t.path); err != nil {
		return err
	}
	empty, err := sqlconn.CheckFile(t.path)
	switch {
	case err != nil:
		return err
	case empty && t.access == Make:
		return nil // connectFile comes when there is something to write
	case empty:
		return t.lookAtFile(ctx) // there is nothing to change
	}
	return t.connectFile(ctx)
}

// there returns an error with advice when the file does not exist.
func (t *Tool) there() error {
	_, err := os.Stat(t.path)
	if errors.Is(err, fs.ErrNotExist) {
		return fmt.Errorf("%w: name the right one, or make it with `berth db sync`", fs.ErrNotExist)
	}
	return err
}

// lookAtFile connects to a file that a berth may be using.
func (t *Tool) lookAtFile(ctx context.Context) error {
	info, err := os.Stat(t.path)
	if err != nil {
		return t.there()
	}
	source := sqlconn.SQLiteURI(t.path, "rw", sqlconn.BusyPragma(t.opts.BusyTimeout), "query_only(1)")
	if info.Mode().Perm()&0o222 == 0 {
		source = sqlconn.ReadOnlyURI(t.path)
	}
	return t.connect(ctx, source)
}

// connectFile connects to a file that is this process's own, making it when it
// is to be written.
func (t *Tool) connectFile(ctx context.Context) error {
	pragmas := []string{sqlconn.BusyPragma(t.opts.BusyTimeout), "query_only(1)"}
	if t.access >= Change {
		if err := sqlconn.CreateFile(t.path); err != nil {
			return err
		}
		pragmas = sqlconn.WriterPragmas(t.opts.BusyTimeout)
	}
	return t.connect(ctx, sqlconn.SQLiteURI(t.path, "rw", pragmas...))
}

// connect makes the one connection of a tool to a file.
func (t *Tool) connect(ctx context.Context, source string) (err error) {
	t.ses, err = t.db.OpenFile(ctx, source)
	return err
}

// Close ends the connection and unlocks the file.
func (t *Tool) Close() error {
	t.ses = nil
	return t.db.Close()
}

// Exists reports whether there is a database already. A file that is to be made is not.
func (t *Tool) Exists() bool { return t.ses != nil }

// File returns the path of the file, empty on a server.
func (t *Tool) File() string { return t.path }

// Use runs fn on the connection, outside of a transaction. With Make, a file that does not exist is
// made before.
func (t *Tool) Use(ctx context.Context, fn func(context.Context, *sqlconn.Session) error) error {
	if t.ses == nil {
		if err := t.connectFile(ctx); err != nil {
			return err
		}
	}
	return fn(ctx, t.ses)
}

// Server reports whether the database is on a server.
func (t *Tool) Server() bool { return t.db.Dialect().Shared }

// OwnUpgrade returns the version of Berth's own tables on a server, 0 for none, and the one that
// PrepareServer brings them to. Tables of a newer program are an error.
func (t *Tool) OwnUpgrade(r *sqlconn.Tx) (from, to int, err error) {
	from, err = ownVersion(r, t.opts, t.schema.Known)
	return from, t.opts.OwnTables.Version, err
}

// PrepareServer makes the tables of the Schema, and the engine's own, unless they exist. The
// database must be on a server.
func (t *Tool) PrepareServer(ctx context.Context) error {
	return wholeSchema(t.schema, t.opts).Prepare(ctx, t.ses)
}

// Read runs fn in a transaction that only reads and sees one consistent state. It is not tried
// again.
func (t *Tool) Read(ctx context.Context, fn func(*sqlconn.Tx) error) error {
	if t.ses == nil {
		return errNoDatabase
	}
	if err := t.ses.Begin(ctx, t.db.Dialect().BeginRead); err != nil {
		return t.db.Dialect().Translate("beginning to read", err)
	}
	err := fn(t.ses.Tx(ctx))
	if end := t.ses.Do("ROLLBACK"); err == nil {
		err = t.db.Dialect().Translate("ending to read", end)
	}
	return err
}

// Write runs fn in one transaction. It is not tried again.
func (t *Tool) Write(ctx context.Context, fn func(*sqlconn.Tx) error) error {
	if err := t.ses.Begin(ctx, t.db.Dialect().Begin); err != nil {
		return t.db.Dialect().Translate("beginning to write", err)
	}
	err := fn(t.ses.Tx(ctx).Stamped(sqlconn.Stamp(time.Now())))
	if err == nil {
		err = ctx.Err()
	}
	if err == nil {
		return t.db.Dialect().Translate("committing", t.ses.Do("COMMIT"))
	}
	_ = t.ses.Do("ROLLBACK")
	return err
}

// Attempt is Write for a function that may run again from its start: it is tried again after a
// collision until Options.RetryTime is over.
func (t *Tool) Attempt(ctx context.Context, fn func(*sqlconn.Tx) error) error {
	return retry(ctx, t.opts.RetryTime, maxAttempts, func() (retryable bool, err error) {
		var cause error
		err = t.Write(ctx, func(w *sqlconn.Tx) error {
			err := fn(w)
			cause = w.Cause()
			return err
		})
		return err != nil && cause != nil && t.db.Dialect().Retryable(cause), err
	})
}

// errNoDatabase says that there is no file yet.
var errNoDatabase = errors.New("it is empty: make the tables with `berth db sync`")
