package resource

import "github.com/berthcloud/berth/fault"

// The code of a fault is what Neutron calls the type of an error. Those of package
// network have their own; these are of requests that cannot be understood.
const (
	codeBadRequest   fault.Code = "HTTPBadRequest"
	codeInvalidInput fault.Code = "InvalidInput"
	codeNotFound     fault.Code = "HTTPNotFound"
	codeForbidden    fault.Code = "PolicyNotAuthorized"
)

// BadRequest is the fault of a malformed request.
func BadRequest(format string, args ...any) error {
	return fault.New(fault.Invalid, codeBadRequest, format, args...)
}

// InvalidInput is a value that cannot be converted.
func InvalidInput(format string, args ...any) error {
	return fault.New(fault.Invalid, codeInvalidInput, "Invalid input for operation: "+format+".", args...)
}

// InvalidValue is a value that a check refuses.
func InvalidValue(attribute, reason string) error {
	return BadRequest("Invalid input for %s. Reason: %s.", attribute, reason)
}

// notFound hides that policy refuses.
func notFound() error {
	return fault.New(fault.NotFound, codeNotFound, "The resource could not be found.")
}

// NewFault is one of Neutron's errors with status 400 and a type of its own.
func NewFault(kind fault.Code, format string, args ...any) error {
	return fault.New(fault.Invalid, kind, format, args...)
}
