package wire

import "github.com/berthcloud/berth/fault"

// The code of a fault is what Nova calls the error; it is not shown. These are of
// requests that cannot be understood.
const (
	codeBadRequest fault.Code = "HTTPBadRequest"
	codeNotFound   fault.Code = "HTTPNotFound"
	codeForbidden  fault.Code = "PolicyNotAuthorized"
	codeValidation fault.Code = "ValidationError"
)

// BadRequest is the fault of a request that cannot be done as it is.
func BadRequest(format string, args ...any) error {
	return fault.New(fault.Invalid, codeBadRequest, format, args...)
}

// NotFound is the fault of something that does not exist.
func NotFound(format string, args ...any) error {
	return fault.New(fault.NotFound, codeNotFound, format, args...)
}

// IsFault reports whether an error is a fault of one of the codes.
func IsFault(err error, codes ...fault.Code) bool {
	_, code := fault.Of(err)
	for _, c := range codes {
		if code == c {
			return true
		}
	}
	return false
}

// MaxMessage bounds the message of an error, which quotes what is wrong, in bytes, as in the
// network service. Nova has no bound.
const MaxMessage = 16 << 10
