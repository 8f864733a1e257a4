// Package inprocess connects Berth's services within one process, without HTTP: it has the same
// contracts as package client. It is for programs that run several services. Requests that the wire
// refuses are refused here too, but there is no check of permissions.
package inprocess

import (
	"fmt"

	"github.com/berthcloud/berth/allocations"
	"github.com/berthcloud/berth/fault"
	"github.com/berthcloud/berth/network"
	"github.com/berthcloud/berth/placement"
	"github.com/berthcloud/berth/placement/service"
)

// A Placement is a placement service from the view of the network service. It may be used
// concurrently.
type Placement struct{ service *service.Service }

var _ network.Placement = (*Placement)(nil)

// NewPlacement returns the Placement of a service.
func NewPlacement(s *service.Service) *Placement { return &Placement{s} }

// known is a fault of placement's that is one of package allocations' errors.
type known struct{ cause, is error }

// Error returns placement's message.
func (k *known) Error() string { return k.cause.Error() }

// Unwrap returns both.
func (k *known) Unwrap() []error { return []error{k.cause, k.is} }

// away is an internal or unavailable fault of placement's.
type away struct{ error }

// Error returns the reason.
func (a *away) Error() string { return fmt.Sprintf("placement is unavailable: %v", a.error) }

// Unwrap returns why.
func (a *away) Unwrap() error { return a.error }

// Fault classifies the error as an unavailable service.
func (a *away) Fault() (fault.Kind, fault.Code) { return fault.Unavailable, "" }

// told converts an error for the caller: to the one of package allocations for a concurrent change,
// and to the given one for every other conflict.
func told(err, conflict error) error {
	kind, code := fault.Of(err)
	switch {
	case err == nil:
		return nil
	case kind == fault.Internal || kind == fault.Failed:
		return &away{err}
	case kind == fault.Conflict && code == placement.CodeConcurrentUpdate:
		return &known{err, allocations.ErrGeneration}
	case kind == fault.Conflict && conflict != nil:
		return &known{err, conflict}
	}
	return err
}

// noProvider marks the fault of a missing provider.
func noProvider(err error) error {
	if isKind(err, fault.NotFound) {
		return &known{err, allocations.ErrNoProvider}
	}
	return err
}

// isKind reports whether an error is a fault of a kind; nil is of none.
func isKind(err error, want fault.Kind) bool {
	kind, _ := fault.Of(err)
	return err != nil && kind == want
}

// invalid returns the fault of a request that the wire refuses with 400.
func invalid(format string, args ...any) error {
	return fault.New(fault.Invalid, "", format, args...)
}
