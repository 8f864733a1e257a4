// Package inprocess has services of Berth's ask each other in one process, without
// HTTP between them: it is the twin of package client and promises the same. It is
// for programs that run several services, and not a way around their rules: what
// the wire refuses is refused here too, but nobody's rights are looked at.
package inprocess

import (
	"fmt"

	"github.com/berthcloud/berth/fault"
	"github.com/berthcloud/berth/network"
	"github.com/berthcloud/berth/placement"
)

// A Placement is a placement service as the network service sees it. It may be used
// from many goroutines.
type Placement struct{ service *placement.Service }

var _ network.Placement = (*Placement)(nil)

// NewPlacement returns the Placement of a service.
func NewPlacement(s *placement.Service) *Placement { return &Placement{s} }

// known is a fault of placement's that is one of package network's errors.
type known struct{ cause, is error }

// Error returns what placement said.
func (k *known) Error() string { return k.cause.Error() }

// Unwrap returns both.
func (k *known) Unwrap() []error { return []error{k.cause, k.is} }

// away says that placement could not do what it was asked, for a reason of its own.
type away struct{ error }

// Error says why.
func (a *away) Error() string { return fmt.Sprintf("placement is unavailable: %v", a.error) }

// Unwrap returns why.
func (a *away) Unwrap() error { return a.error }

// Fault says that a neighbour is away.
func (a *away) Fault() (fault.Kind, fault.Code) { return fault.Unavailable, "" }

// told returns what the caller is told of an error: which of package network's it
// is, when somebody else was faster, and the given one for every other conflict.
func told(err, conflict error) error {
	kind, code := fault.Of(err)
	switch {
	case err == nil:
		return nil
	case kind == fault.Internal || kind == fault.Failed:
		return &away{err}
	case kind == fault.Conflict && code == placement.CodeConcurrentUpdate:
		return &known{err, network.ErrGeneration}
	case kind == fault.Conflict && conflict != nil:
		return &known{err, conflict}
	}
	return err
}

// noProvider marks the fault of a provider that is not there.
func noProvider(err error) error {
	if isKind(err, fault.NotFound) {
		return &known{err, network.ErrNoProvider}
	}
	return err
}

func isKind(err error, want fault.Kind) bool {
	kind, _ := fault.Of(err)
	return err != nil && kind == want
}

func invalid(format string, args ...any) error {
	return fault.New(fault.Invalid, "", format, args...)
}
