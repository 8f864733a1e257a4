// Package fault says whose problem an error is and what clients may match on.
// It is not for control flow between packages of one layer: a plain error does
// there.
//
// A kind decides the HTTP status, a code is the stable string that programs
// compare. Anything without a kind is internal: the caller sees no more than
// that something went wrong, and the log sees the chain.
package fault

import (
	"errors"
	"fmt"
)

// A Kind says whose problem an error is.
type Kind int

// The kinds of fault. The zero value is Internal, so that an error without a
// kind is never mistaken for the caller's.
const (
	Internal    Kind = iota // 500: ours; the message stays in the log
	Invalid                 // 400: the request cannot be understood or makes no sense
	Unauthentic             // 401: we do not know who calls
	Denied                  // 403: we know, and policy says no
	NotFound                // 404: what is named does not exist
	Conflict                // 409: the state of what it is about refuses it
	Outdated                // 412: the caller knows an older state than there is
	Unavailable             // 503: a part we need is away; try again
	Unsupported             // 501: it makes sense, and is not done here
	Failed                  // 500: it could not be done, and the caller may know why
)

// A Code is the stable string in an error answer that programs match on, such
// as "placement.concurrent_update". Codes are never reused.
type Code string

// An Error is an error that knows its kind and code. Its Error text is written
// for the caller of the API and is shown to them.
type Error interface {
	error
	Fault() (Kind, Code)
}

// Of returns the kind and code of the first Error in err's chain, Internal and
// no code when there is none or err is nil.
func Of(err error) (Kind, Code) {
	if f, ok := Find(err); ok {
		return f.Fault()
	}
	return Internal, ""
}

// Find returns the first Error in err's chain. Wrapping adds context for the
// log; the Error found here holds the text for the caller.
func Find(err error) (Error, bool) {
	var f Error
	ok := errors.As(err, &f)
	return f, ok
}

// New returns an Error of the given kind and code with a formatted text. The
// code may be empty.
func New(kind Kind, code Code, format string, args ...any) Error {
	return &plain{kind: kind, code: code, text: fmt.Sprintf(format, args...)}
}

// plain is a fault without data of its own.
type plain struct {
	kind Kind
	code Code
	text string
}

func (p *plain) Error() string       { return p.text }
func (p *plain) Fault() (Kind, Code) { return p.kind, p.code }
