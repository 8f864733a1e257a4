package compute

import "github.com/berthcloud/berth/fault"

// The codes of the faults of this package and of those below it are what Nova calls the errors, and
// their texts are for the caller.

// Invalid is the fault of a request that is wrong, whatever there is.
func Invalid(code fault.Code, format string, args ...any) error {
	return fault.New(fault.Invalid, code, format, args...)
}

// Conflict is the fault of a request that is not possible now.
func Conflict(code fault.Code, format string, args ...any) error {
	return fault.New(fault.Conflict, code, format, args...)
}

// NotFound is the fault of a request for what does not exist, or is not the caller's.
func NotFound(code fault.Code, format string, args ...any) error {
	return fault.New(fault.NotFound, code, format, args...)
}

// OverQuota refuses what a quota does not allow.
func OverQuota(code fault.Code, format string, args ...any) error {
	return fault.New(fault.Denied, code, format, args...)
}

// NotConfigured is the fault of a request that needs a peer service that is not configured.
func NotConfigured(peer string) error {
	return fault.New(fault.Unavailable, "ServiceUnavailable", "The %s service is not configured.", peer)
}

// AsInvalid makes the fault of something that does not exist one of the request that names it.
func AsInvalid(err error) error {
	f, ok := fault.Find(err)
	if !ok {
		return err
	}
	kind, code := f.Fault()
	if kind != fault.NotFound {
		return err
	}
	return Invalid(code, "%s", f.Error())
}

// Code returns the code of a fault, "" for none.
func Code(err error) fault.Code {
	_, c := fault.Of(err)
	return c
}
