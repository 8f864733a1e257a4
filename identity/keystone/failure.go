package keystone

import (
	"errors"
	"fmt"
	"net"

	"github.com/berthcloud/berth/fault"
)

// A failure means that Keystone as a whole is unavailable, as opposed to an error of one question.
type failure struct {
	err     error
	refused bool // Keystone answers, and refuses our credentials
}

func (f *failure) Error() string { return f.err.Error() }
func (f *failure) Unwrap() error { return f.err }

// A lateAnswer is the time-out of one question.
type lateAnswer struct{ err error }

func (l *lateAnswer) Error() string { return l.err.Error() }
func (l *lateAnswer) Unwrap() error { return l.err }

// unanswered returns the error of a question that was sent and got no answer. The time-out of the
// connection's establishment is a failure of Keystone as a whole: no request has been sent yet.
// Any other time-out is of the one question.
func unanswered(err error) error {
	var timed interface{ Timeout() bool }
	if errors.As(err, &timed) && timed.Timeout() && !dialing(err) {
		return asUnavailable(&lateAnswer{err})
	}
	return failed(err)
}

// dialing reports whether an error is from establishing a connection.
func dialing(err error) bool {
	var op *net.OpError
	return errors.As(err, &op) && op.Op == "dial"
}

// failed wraps err in a failure for the circuit; nil stays nil.
func failed(err error) error {
	if err == nil {
		return nil
	}
	return asUnavailable(&failure{err: err})
}

// unavailable is an error with the cause, for the log. Callers read the fault in its chain, which
// has no address in it.
type unavailable struct{ cause error }

func (u *unavailable) Error() string   { return fmt.Sprintf("Keystone is unavailable: %v", u.cause) }
func (u *unavailable) Unwrap() []error { return []error{errUnavailable, u.cause} }

// errUnavailable is what callers read.
var errUnavailable = fault.New(fault.Unavailable, "", "The Keystone service is unavailable.")

// asUnavailable returns a fault of kind Unavailable.
func asUnavailable(cause error) error { return &unavailable{cause} }

// refuse returns a fault of kind Unauthentic. It must not quote the token.
func refuse(format string, args ...any) error {
	return fault.New(fault.Unauthentic, "", format, args...)
}
