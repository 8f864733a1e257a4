package sqlstore

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

// A dialect is everything that the databases do not agree on. Statements are
// whole when they get here: a dialect rewrites nothing in them but the marks
// for values.
type dialect struct {
	// name is the folder of the schema in migrations.
	name string
	// server says that the database is a server which others write to as
	// well: connections come and go, and a change log tells of the others.
	server bool
	// packets sends several statements at once, nil where that spares nothing.
	packets packets
	// bounded says that the driver itself ends statements that the database is
	// silent on.
	bounded bool
	// keeps is how exactly the database keeps times.
	keeps time.Duration
	// prepared says that statements are prepared once per connection; the
	// drivers of servers do as well or better without.
	prepared bool
	// rebind turns ? into the marks of the database.
	rebind func(query string) string
	// begin starts a transaction that may write and sees what others commit
	// meanwhile, beginRead one that reads one consistent picture.
	begin, beginRead string
	// lockRow is put behind a SELECT of a row that the transaction is going
	// to change, or whose place in the world it relies on.
	lockRow string
	// inOrder is put behind an UPDATE of several providers to have them locked in the
	// order of their ids, empty where that cannot be said.
	inOrder string
	// holdSlot writes a row of berth_holds, empty where locks suffice.
	holdSlot string
	// shareRow is put behind a SELECT of rows that must not go before the
	// transaction ends.
	shareRow string
	// onConflict is put behind an INSERT that may meet a unique value, where
	// the error would make the transaction unusable.
	onConflict string
	// returning says that the id of an inserted row is had by RETURNING.
	returning bool
	// foldCase says that upper and lower case are the same in comparisons,
	// foldLike that they are in LIKE.
	foldCase, foldLike bool
	// now and hourAgo are the times of the server, in UTC.
	now, hourAgo string
	// rerun says that the statements that make tables may run again: where
	// they cannot be rolled back, a beginning may have been interrupted.
	rerun bool
	// made recognises then that what a statement makes is there.
	made func(error) bool
	// enforce makes a session hold references, empty where they always are.
	enforce string
	// collations asks for those that compare texts by their bytes, the best
	// first, where tables have one.
	collations string
	// hasTable asks whether a table is there, tables which there are, but for
	// Berth's own.
	hasTable, tables string
	// duplicate recognises that a unique key was taken; orphan that a foreign
	// key has no row to point at, or would have none; retryable a
	// collision after which the transaction may run again from its start;
	// lost that the connection is of no more use; and away that the database
	// cannot be used now.
	duplicate, orphan, retryable, lost, away func(error) bool
	// locked recognises, among what is retryable, that somebody else holds a
	// lock for long.
	locked func(error) bool
	// demoted is an expression that is 1 on a server that takes no writes.
	demoted string
	// advice says what to do about an error at the start that will not go
	// away by itself, empty when it may.
	advice func(error, naming) string
}

// A naming is how operators know the database of a kind of store.
type naming struct{ section, database string }

// errSilent is what a statement ends with that the database did not answer in
// time. Its connection is closed.
var errSilent = errors.New("the database did not answer in time")

// errDemoted says that a server takes no writes any more.
var errDemoted = errors.New("the server is not the primary any more")

// gone recognises errors of connections that no driver has a number for.
func gone(err error) bool {
	var network net.Error
	return errors.Is(err, errSilent) || errors.Is(err, errDemoted) || errors.Is(err, errConnecting) || errors.Is(err, driver.ErrBadConn) || errors.Is(err, sql.ErrConnDone) ||
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

// closedError is what a closed store answers.
func closedError() error {
	return fault.New(fault.Unavailable, CodeAway, "The database is shut down.")
}

// translate turns a driver's error into one that may leave the package: the
// driver's text stays, for the log, but nothing of its types.
func (d *dialect) translate(doing string, err error) error {
	switch {
	case err == nil:
		return nil
	case errors.Is(err, errOver), errors.Is(err, errFileUnavailable):
		return err
	case d.away(err), d.retryable(err), d.lost(err):
		return fmt.Errorf("%s: %v: %w", doing, err,
			fault.New(fault.Unavailable, CodeAway, "The database is not available now. Please try again."))
	case errors.Is(err, context.Canceled), errors.Is(err, context.DeadlineExceeded):
		return err
	default:
		return fmt.Errorf("%s: %v", doing, err)
	}
}
