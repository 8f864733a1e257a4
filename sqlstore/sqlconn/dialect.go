package sqlconn

import (
	"context"
	"database/sql"
	"database/sql/driver"
	"errors"
	"fmt"
	"io"
	"net"
	"time"

	"github.com/berthcloud/berth/fault"
)

// A Dialect is everything that the databases do not agree on. Statements are
// whole when they get here: a dialect rewrites nothing in them but the marks
// for values. It knows no table: what a service says differently is the service's.
type Dialect struct {
	// Name is the folder of the schema in migrations.
	Name string
	// Shared says that the database is on a server, which others write to as
	// well: connections may be lost, and there is a change log.
	Shared bool
	// pipeline sends several statements at once, nil where that spares nothing.
	pipeline pipeline
	// Bounded says that the driver itself ends statements that the database does
	// not answer.
	Bounded bool
	// Precision is the precision of times in the database: others are cut to it.
	Precision time.Duration
	// TimesAsText says that times are better selected as text, since the driver is slow to read
	// them.
	TimesAsText bool
	// prepared says that statements are prepared once per connection; the
	// drivers of servers do as well or better without.
	prepared bool
	// rebind turns ? into the marks of the database.
	rebind func(query string) string
	// returning says that RETURNING gives the id of an inserted row.
	returning bool
	// FoldCase says that upper and lower case are the same in comparisons,
	// FoldLike that they are in LIKE.
	FoldCase, FoldLike bool
	// Rerun says that the statements that make tables may run again: where
	// they cannot be rolled back, a beginning may have been interrupted.
	Rerun bool

	Clauses
	Catalog
	Errors
}

// Clauses are statements, and parts of them, that each database writes in its own way.
type Clauses struct {
	// Begin starts a transaction that may write and sees what others commit
	// meanwhile, BeginRead one that reads one consistent state.
	Begin, BeginRead string
	// LockRow is put behind a SELECT of a row that the transaction is going
	// to change, or whose place in the snapshot it relies on.
	LockRow string
	// InOrder is put after an UPDATE of several rows to have them locked in the
	// order of their ids, empty where that cannot be said.
	InOrder string
	// ShareRow is put behind a SELECT of rows that must not be deleted before the
	// transaction ends.
	ShareRow string
	// OnConflict is put behind an INSERT that may meet a unique value, where
	// the error would make the transaction unusable.
	OnConflict string
	// Now and HourAgo are the times of the server, in UTC.
	Now, HourAgo string
	// WithClock is a text and behind it the time of the server when the statement began, in UTC with
	// microseconds.
	WithClock string
	// Enforce makes a session check foreign keys, empty where they always are.
	Enforce string
	// unlimitedIdle has the session accept transactions without statements for any time, empty where
	// nothing bounds it.
	unlimitedIdle string
	// Demoted is an expression that is 1 on a server that takes no writes.
	Demoted string
}

// A Catalog has the queries about what is in a database.
type Catalog struct {
	// hasTable reads whether a table exists, Tables lists them, without
	// Berth's own.
	hasTable, Tables string
	// Collations requests those that compare texts by their bytes, the best
	// first, where tables have one.
	Collations string
}

// Errors recognise what a driver's error means.
type Errors struct {
	// Exists recognises, where Rerun is set, that what a statement makes exists.
	Exists func(error) bool
	// Duplicate recognises a violated unique key; Orphan a violated foreign
	// key; Retryable a collision after which the transaction may run again from
	// its start; Lost that the connection cannot be used any more; and Unavailable that
	// the database cannot be used at the moment.
	Duplicate, Orphan, Retryable, Lost, Unavailable func(error) bool
	// Locked recognises, among what is retryable, that waiting for a lock took
	// too long.
	Locked func(error) bool
	// Full recognises, among what is unavailable, that there was no room for a write, which was
	// not made. ReadOnly recognises that the database takes no writes.
	Full, ReadOnly func(error) bool
	// Unstorable recognises that a text has a character that the character set of the database lacks.
	Unstorable func(error) bool
	// Advice says what the operator can do about an error at the start, empty when
	// another try may succeed; nil where there is none.
	Advice func(error, Naming) string
}

// A Naming is how operators know the database of a kind of store, for the advice in errors: the
// section of the configuration file, the name of the database, and how to allow an upgrade.
type Naming struct{ Section, Database, Allow string }

// connectionFailed recognises errors of connections that have no number of the database's.
func connectionFailed(err error) bool {
	var network net.Error
	return errors.Is(err, ErrSilent) || errors.Is(err, ErrDemoted) || errors.Is(err, ErrConnecting) ||
		errors.Is(err, driver.ErrBadConn) || errors.Is(err, sql.ErrConnDone) ||
		errors.Is(err, io.EOF) || errors.Is(err, io.ErrUnexpectedEOF) || errors.Is(err, net.ErrClosed) ||
		errors.As(err, &network)
}

// Translate turns a driver's error into one that may leave the package: the driver's text, for the
// log, without its types. An error of the connection, a collision, or a database that cannot be
// used is a fault of kind Unavailable with CodeUnavailable. The end of a context is returned as it
// is.
func (d *Dialect) Translate(doing string, err error) error {
	switch {
	case err == nil:
		return nil
	case errors.Is(err, errOver), errors.Is(err, errFileUnavailable):
		return err
	case d.Unstorable(err):
		return fmt.Errorf("%s: %v: %w", doing, err,
			fault.New(fault.Invalid, "", "A name or an id has a character that the database cannot have in its character set."))
	case d.Full(err):
		return fmt.Errorf("%s: %v: %w", doing, err,
			fault.New(fault.Unavailable, CodeUnavailable, "The database has no room for changes now. Please try again later."))
	case d.Unavailable(err), d.Retryable(err), d.Lost(err):
		return fmt.Errorf("%s: %v: %w", doing, err,
			fault.New(fault.Unavailable, CodeUnavailable, "The database is not available now. Please try again."))
	case errors.Is(err, context.Canceled), errors.Is(err, context.DeadlineExceeded):
		return err
	default:
		return fmt.Errorf("%s: %v", doing, err)
	}
}
