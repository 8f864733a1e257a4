package compute

import (
	"context"
	"errors"

	"github.com/berthcloud/berth/compute/operation"
	"github.com/berthcloud/berth/fault"
)

// A Retryable error is one from which nothing follows but that a step is repeated: of the service's
// own database, or of a request that changes nothing for the operation.
type Retryable struct{ Err error }

// Error is its cause's.
func (e *Retryable) Error() string { return e.Err.Error() }

// Unwrap returns it.
func (e *Retryable) Unwrap() error { return e.Err }

// OutcomeUnknown reports whether nothing follows from an error of a step but that it is repeated:
// it is unknown whether a request took place, another service is unavailable, or the step could not
// be carried out here.
func OutcomeUnknown(ctx context.Context, err error) bool {
	return ctx.Err() != nil || errors.Is(err, operation.ErrLost) || errors.Is(err, operation.ErrReplaced) ||
		errors.As(err, new(*Retryable)) || IsUnavailable(err)
}

// IsUnavailable reports whether an error is that of a request that another service has not taken,
// or not answered.
func IsUnavailable(err error) bool {
	kind, _ := fault.Of(err)
	return kind == fault.Unavailable || errors.As(err, new(*operation.Unanswered))
}

// NotTaken reports whether an error is that of a request that another service has not taken, so
// that it had no effect.
func NotTaken(err error) bool {
	return IsUnavailable(err) && !errors.As(err, new(*operation.Unanswered))
}
