package compute

import (
	"context"
	"errors"
	"syscall"

	"github.com/berthcloud/berth/allocations"
	"github.com/berthcloud/berth/compute/operation"
	"github.com/berthcloud/berth/fault"
	"github.com/berthcloud/berth/guarantee"
)

// fenced sends a request that changes something in another service: only while the worker has its
// operation, and with a *operation.Unanswered when it may take effect later. A refused connection
// did nothing.
func fenced(ctx context.Context, send func() error) error {
	if err := operation.Leased(ctx); err != nil {
		return err
	}
	err := send()
	if kind, _ := fault.Of(err); kind == fault.Unavailable && !errors.Is(err, syscall.ECONNREFUSED) {
		return &operation.Unanswered{Err: err}
	}
	return err
}

// FencePlacement returns a client whose changes are fenced, nil for nil.
func FencePlacement(p Placement) Placement {
	if p == nil {
		return nil
	}
	return fencedPlacement{p}
}

// FenceNetwork returns a client whose changes are fenced, nil for nil.
func FenceNetwork(n Network) Network {
	if n == nil {
		return nil
	}
	return fencedNetwork{n}
}

// A fencedPlacement is a Placement whose changes are fenced.
type fencedPlacement struct{ Placement }

// SetAllocations is allocations.Placement's.
func (p fencedPlacement) SetAllocations(ctx context.Context, consumer string, c allocations.Consumer) error {
	return fenced(ctx, func() error { return p.Placement.SetAllocations(ctx, consumer, c) })
}

// SetManyAllocations is allocations.Placement's.
func (p fencedPlacement) SetManyAllocations(ctx context.Context, consumers map[string]allocations.Consumer) error {
	return fenced(ctx, func() error { return p.Placement.SetManyAllocations(ctx, consumers) })
}

// A fencedNetwork is a Network whose changes are fenced.
type fencedNetwork struct{ Network }

// CreatePort is Network's.
func (n fencedNetwork) CreatePort(ctx context.Context, spec PortSpec) (p Port, err error) {
	err = fenced(ctx, func() error {
		p, err = n.Network.CreatePort(ctx, spec)
		return err
	})
	return p, err
}

// BindPort is Network's.
func (n fencedNetwork) BindPort(ctx context.Context, p Port, b Binding) (bound Port, err error) {
	err = fenced(ctx, func() error {
		bound, err = n.Network.BindPort(ctx, p, b)
		return err
	})
	return bound, err
}

// NameProviders is Network's.
func (n fencedNetwork) NameProviders(
	ctx context.Context, id ID, revision int64, a guarantee.ProfileAllocation,
) (p Port, err error) {
	err = fenced(ctx, func() error {
		p, err = n.Network.NameProviders(ctx, id, revision, a)
		return err
	})
	return p, err
}

// NameDestination is Network's.
func (n fencedNetwork) NameDestination(ctx context.Context, id ID, host string) error {
	return fenced(ctx, func() error { return n.Network.NameDestination(ctx, id, host) })
}

// UnbindPort is Network's.
func (n fencedNetwork) UnbindPort(ctx context.Context, server, id ID, revision int64) (p Port, err error) {
	err = fenced(ctx, func() error {
		p, err = n.Network.UnbindPort(ctx, server, id, revision)
		return err
	})
	return p, err
}

// DeletePort is Network's.
func (n fencedNetwork) DeletePort(ctx context.Context, id ID) error {
	return fenced(ctx, func() error { return n.Network.DeletePort(ctx, id) })
}

// CreateBinding is Network's.
func (n fencedNetwork) CreateBinding(ctx context.Context, id ID, b Binding) (binding PortBinding, err error) {
	err = fenced(ctx, func() error {
		binding, err = n.Network.CreateBinding(ctx, id, b)
		return err
	})
	return binding, err
}

// ActivateBinding is Network's.
func (n fencedNetwork) ActivateBinding(ctx context.Context, id ID, host string) (p Port, err error) {
	err = fenced(ctx, func() error {
		p, err = n.Network.ActivateBinding(ctx, id, host)
		return err
	})
	return p, err
}

// DeleteBinding is Network's.
func (n fencedNetwork) DeleteBinding(ctx context.Context, id ID, host string) error {
	return fenced(ctx, func() error { return n.Network.DeleteBinding(ctx, id, host) })
}
