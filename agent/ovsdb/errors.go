package ovsdb

import (
	"errors"
	"fmt"
)

// Codes of an OperationError that callers compare with; RFC 7047, section 3, lists
// all.
const (
	TimedOut             = "timed out" // a Wait was not met
	ConstraintViolation  = "constraint violation"
	ReferentialIntegrity = "referential integrity violation"
	NotLeader            = "not leader" // of a cluster: the transaction was not carried out
)

// An OperationError reports that the server refused a transaction, of which
// nothing was carried out.
type OperationError struct {
	Index   int    // of the operation; that of none when the commit was refused
	Name    string // of the operation, such as "insert"
	Code    string // what is wrong, such as ConstraintViolation
	Details string
}

func (e *OperationError) Error() string {
	return fmt.Sprintf("ovsdb: operation %d (%s): %s: %.300s", e.Index, e.Name, e.Code, e.Details)
}

// A ResponseError reports that the server refused a request as a whole.
type ResponseError struct {
	Method string
	Text   string // as the server sent it: a string or an object, in JSON
}

func (e *ResponseError) Error() string {
	return fmt.Sprintf("ovsdb: the server refused %s: %.300s", e.Method, e.Text)
}

// A ProtocolError reports that the server violated the protocol. The connection is closed.
type ProtocolError struct {
	What string // was sent
	Err  error
}

func (e *ProtocolError) Error() string { return fmt.Sprintf("ovsdb: %s: %v", e.What, e.Err) }
func (e *ProtocolError) Unwrap() error { return e.Err }

// A LostError reports that the connection or the time ended after a request had been sent: it is
// unknown whether it was carried out.
type LostError struct {
	Method string
	Err    error
}

func (e *LostError) Error() string {
	return fmt.Sprintf("ovsdb: %s has no answer, and may have been carried out: %v", e.Method, e.Err)
}
func (e *LostError) Unwrap() error { return e.Err }

// An UnavailableError reports that no remote could be used in time. Nothing was
// sent.
type UnavailableError struct {
	Database string
	Err      error // the last thing that went wrong
}

func (e *UnavailableError) Error() string {
	return fmt.Sprintf("ovsdb: no connection to the database %s: %v", e.Database, e.Err)
}
func (e *UnavailableError) Unwrap() error { return e.Err }

var (
	errTooFew    = errors.New("there are fewer results than operations")
	errTooShort  = errors.New("it has too few elements")
	errNoRow     = errors.New("the row is not there")
	errTooLong   = errors.New("the message is too long")
	errNotYet    = errors.New("not connected yet")
	errNotLeader = errors.New("the server does not lead its cluster")
)
