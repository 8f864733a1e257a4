package daemon

// A Cause is the kind of error that kept a service from starting or running. Programs choose their
// exit codes by it.
type Cause int

// The causes.
const (
	Failed           Cause = iota // a reason without a cause of its own
	WrongSettings                 // invalid settings
	DatabaseUnusable              // the database cannot be used; it is as it was
	DatabaseInUse                 // another process has the database
	AddressUnusable               // the address to listen on cannot be had
)

// A Failure is an error with its cause. All exported functions of this package that start or run a
// service return errors of this type.
type Failure struct {
	Cause Cause
	Err   error
}

// Error implements error.
func (f *Failure) Error() string { return f.Err.Error() }

// Unwrap returns the error without its cause.
func (f *Failure) Unwrap() error { return f.Err }

// Fail returns a Failure with a cause; nil stays nil.
func Fail(cause Cause, err error) error {
	if err == nil {
		return nil
	}
	return &Failure{cause, err}
}
