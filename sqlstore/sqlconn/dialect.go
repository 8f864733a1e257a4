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
// for values.
type Dialect struct {
	// Name is the folder of the schema in migrations.
	Name string
	// Shared says that the database is a server which others write to as
	// well: connections come and go, and a change log tells of the others.
	Shared bool
	// packets sends several statements at once, nil where that spares nothing.
	packets packets
	// Bounded says that the driver itself ends statements that the database is
	// silent on.
	Bounded bool
	// Keeps is how exactly the database keeps times.
	Keeps time.Duration
	// prepared says that statements are prepared once per connection; the
	// drivers of servers do as well or better without.
	prepared bool
	// rebind turns ? into the marks of the database.
	rebind func(query string) string
	// Begin starts a transaction that may write and sees what others commit
	// meanwhile, BeginRead one that reads one consistent state.
	Begin, BeginRead string
	// LockRow is put behind a SELECT of a row that the transaction is going
	// to change, or whose place in the snapshot it relies on.
	LockRow string
	// InOrder is put behind an UPDATE of several providers to have them locked in the
	// order of their ids, empty where that cannot be said.
	InOrder string
	// HoldSlot writes a row of berth_holds, empty where locks suffice.
	HoldSlot string
	// ShareRow is put behind a SELECT of rows that must not go before the
	// transaction ends.
	ShareRow string
	// OnConflict is put behind an INSERT that may meet a unique value, where
	// the error would make the transaction unusable.
	OnConflict string
	// returning says that the id of an inserted row is had by RETURNING.
	returning bool
	// FoldCase says that upper and lower case are the same in comparisons,
	// FoldLike that they are in LIKE.
	FoldCase, FoldLike bool
	// Now and HourAgo are the times of the server, in UTC.
	Now, HourAgo string
	// Rerun says that the statements that make tables may run again: where
	// they cannot be rolled back, a beginning may have been interrupted.
	Rerun bool
	// Made recognises then that what a statement makes is there.
	Made func(error) bool
	// Enforce makes a session hold references, empty where they always are.
	Enforce string
	// Collations asks for those that compare texts by their bytes, the best
	// first, where tables have one.
	Collations string
	// hasTable asks whether a table is there, Tables which there are, but for
	// Berth's own.
	hasTable, Tables string
	// Duplicate recognises that a unique key was taken; Orphan that a foreign
	// key has no row to point at, or would have none; Retryable a
	// collision after which the transaction may run again from its start;
	// Lost that the connection is of no more use; and Away that the database
	// cannot be used now.
	Duplicate, Orphan, Retryable, Lost, Away func(error) bool
	// Locked recognises, among what is retryable, that somebody else holds a
	// lock for long.
	Locked func(error) bool
	// Demoted is an expression that is 1 on a server that takes no writes.
	Demoted string
	// Advice says what to do about an error at the start that will not go
	// away by itself, empty when it may.
	Advice func(error, Naming) string
}

// A Naming is how operators know the database of a kind of store.
type Naming struct{ Section, Database string }

// ErrSilent is what a statement ends with that the database did not answer in
// time. Its connection is closed.
var ErrSilent = errors.New("the database did not answer in time")

// ErrDemoted says that a server takes no writes any more.
var ErrDemoted = errors.New("the server is not the primary any more")

// gone recognises errors of connections that no driver has a number for.
func gone(err error) bool {
	var network net.Error
	return errors.Is(err, ErrSilent) || errors.Is(err, ErrDemoted) || errors.Is(err, ErrConnecting) || errors.Is(err, driver.ErrBadConn) || errors.Is(err, sql.ErrConnDone) ||
		errors.Is(err, io.EOF) || errors.Is(err, io.ErrUnexpectedEOF) || errors.Is(err, net.ErrClosed) ||
		errors.As(err, &network)
}

// The codes of the faults that a store raises itself, all Unavailable.
const (
	// CodeBusy says that too many Updates wait already.
	CodeBusy fault.Code = "berth.store_busy"
	// CodeAway says that the database cannot be used now.
	CodeAway fault.Code = "berth.store_away"
)

// ClosedError is what a closed store answers.
func ClosedError() error {
	return fault.New(fault.Unavailable, CodeAway, "The database is shut down.")
}

// Translate turns a driver's error into one that may leave the package: the
// driver's text stays, for the log, but nothing of its types.
func (d *Dialect) Translate(doing string, err error) error {
	switch {
	case err == nil:
		return nil
	case errors.Is(err, errOver), errors.Is(err, errFileUnavailable):
		return err
	case d.Away(err), d.Retryable(err), d.Lost(err):
		return fmt.Errorf("%s: %v: %w", doing, err,
			fault.New(fault.Unavailable, CodeAway, "The database is not available now. Please try again."))
	case errors.Is(err, context.Canceled), errors.Is(err, context.DeadlineExceeded):
		return err
	default:
		return fmt.Errorf("%s: %v", doing, err)
	}
}
