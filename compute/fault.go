package compute

import "github.com/berthcloud/berth/fault"

// The code of a fault of this package is what Nova calls the error, and its text is
// for the caller.

func invalid(code fault.Code, format string, args ...any) error {
	return fault.New(fault.Invalid, code, format, args...)
}

func conflict(code fault.Code, format string, args ...any) error {
	return fault.New(fault.Conflict, code, format, args...)
}

func notFound(code fault.Code, format string, args ...any) error {
	return fault.New(fault.NotFound, code, format, args...)
}

// overQuota refuses what a quota does not allow.
func overQuota(code fault.Code, format string, args ...any) error {
	return fault.New(fault.Denied, code, format, args...)
}

// absent says that the service runs without a neighbour that is needed.
func absent(neighbour string) error {
	return fault.New(fault.Unavailable, "ServiceUnavailable", "The %s service is not configured.", neighbour)
}

// asInvalid makes a fault of something that is not there one of the request that
// names it.
func asInvalid(err error) error {
	f, ok := fault.Find(err)
	if !ok {
		return err
	}
	kind, code := f.Fault()
	if kind != fault.NotFound {
		return err
	}
	return invalid(code, "%s", f.Error())
}
