package keystone

import (
	"fmt"

	"github.com/berthcloud/berth/fault"
)

// A failure says that Keystone as a whole cannot be asked, rather than that it
// did not like one question.
type failure struct {
	err     error
	refused bool // Keystone answers, and does not want our credentials
}

func (f *failure) Error() string { return f.err.Error() }
func (f *failure) Unwrap() error { return f.err }

// failed returns a failure for the circuit; nil stays nil.
func failed(err error) error {
	if err == nil {
		return nil
	}
	return away(&failure{err: err})
}

// unavailable is what callers are told; why is for the log.
type unavailable struct{ cause error }

func (u *unavailable) Error() string { return fmt.Sprintf("Keystone cannot be asked: %v", u.cause) }
func (u *unavailable) Unwrap() error { return u.cause }

// Fault says that Keystone is away.
func (u *unavailable) Fault() (fault.Kind, fault.Code) { return fault.Unavailable, "" }

// away returns a fault of kind Unavailable.
func away(cause error) error { return &unavailable{cause} }

// refuse returns a fault of kind Unauthentic. It must not quote the token.
func refuse(format string, args ...any) error {
	return fault.New(fault.Unauthentic, "", format, args...)
}
