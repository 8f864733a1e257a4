package sqlconn

import (
	"errors"
	"strings"

	"github.com/berthcloud/berth/fault"
)

// ErrSilent is what a statement ends with that the database did not answer in
// time. Its connection is closed.
var ErrSilent = errors.New("the database did not answer in time")

// ErrDemoted says that a server takes no writes any more.
var ErrDemoted = errors.New("the server is not the primary any more")

// The codes of the faults that a store raises itself, all Unavailable.
const (
	// CodeBusy says that too many Updates wait already.
	CodeBusy fault.Code = "berth.store_busy"
	// CodeUnavailable says that the database cannot be used at the moment.
	CodeUnavailable fault.Code = "berth.store_away"
)

// ClosedError is what a closed store answers.
func ClosedError() error {
	return fault.New(fault.Unavailable, CodeUnavailable, "The database is shut down.")
}

// ErrConnecting marks that a connection could not be made.
var ErrConnecting = errors.New("connecting")

// A connectError is why a connection could not be made, in one line. Drivers report each host on a
// line of its own, which a log would break.
type connectError struct{ error }

// ConnectFailure is a driver's error for a connection that could not be made.
func ConnectFailure(err error) error { return connectError{err} }

func (e connectError) Error() string {
	return "connecting: " +
		strings.Join(strings.FieldsFunc(e.error.Error(), func(c rune) bool { return c == '\n' || c == '\t' }), " ")
}

func (e connectError) Unwrap() error { return e.error }

func (e connectError) Is(target error) bool { return target == ErrConnecting }

// errOver is what a transaction answers after its function returned.
var errOver = errors.New("sqlstore: used after its transaction")

// ErrNoRow says that a statement did not find the row that it is about.
var ErrNoRow = errors.New("sqlstore: no such row")

// errFileUnavailable is the fault of a file that was lost or cannot be looked for.
var errFileUnavailable = fault.New(fault.Unavailable, CodeUnavailable,
	"The database is not available now. Please try again.")
