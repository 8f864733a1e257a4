package client

import (
	"context"
	"errors"
	"fmt"
	"net/http"
	"slices"
	"strings"

	"github.com/berthcloud/berth/compute"
	"github.com/berthcloud/berth/network"
	"github.com/berthcloud/berth/network/guarantee"
	"github.com/berthcloud/berth/placement"
)

// A ComputePlacement is the compute service's client of a placement service. It may be used
// concurrently. It needs version 1.36 of the API, and 1.39 for ports with a choice of physical
// networks.
type ComputePlacement struct{ placement *Placement }

var _ compute.Placement = (*ComputePlacement)(nil)

// NewComputePlacement returns a ComputePlacement. It sends no request.
func NewComputePlacement(opts Options) *ComputePlacement {
	return &ComputePlacement{NewPlacement(opts)}
}

// Close closes idle connections.
func (c *ComputePlacement) Close() { c.placement.Close() }

// instance is the type of the consumers that servers are.
const instance = "INSTANCE"

// Allocation implements compute.Placement.
func (c *ComputePlacement) Allocation(ctx context.Context, consumer compute.ID) (compute.Allocation, error) {
	a, err := c.placement.Allocations(ctx, string(consumer))
	return compute.Allocation{Amounts: guarantee.Amounts(a.Providers), Project: a.Project, User: a.User, Generation: a.Generation}, err
}

// SetAllocation implements compute.Placement.
func (c *ComputePlacement) SetAllocation(ctx context.Context, consumer compute.ID, h compute.Allocation) error {
	a := network.Allocations{Providers: h.Amounts, Project: h.Project, User: h.User, Type: instance, Generation: h.Generation}
	err := network.Swap(ctx, func() error {
		err := c.placement.SetAllocations(ctx, string(consumer), a)
		if r := refused(err, http.StatusConflict); r != nil && strings.Contains(r.Detail, consumerConflict) {
			return &known{r, compute.ErrGeneration}
		}
		return err
	})
	switch {
	case errors.Is(err, network.ErrCapacity):
		return &known{refused(err, http.StatusConflict), compute.ErrCapacity}
	case errors.Is(err, network.ErrGeneration):
		return fmt.Errorf("the providers do not come to rest: %w", err)
	}
	return err
}

// consumerConflict distinguishes the conflict of a consumer from that of a provider. Both have the
// same code, and Nova distinguishes them by this text, too.
const consumerConflict = "consumer generation conflict"

// wireAggregates are those of a provider in placement's JSON.
type wireAggregates struct {
	Aggregates []string `json:"aggregates"`
	Generation int64    `json:"resource_provider_generation"`
}

func (w *wireAggregates) check() bool { return w.Aggregates != nil }

// Aggregates is compute.Placement's.
func (c *ComputePlacement) Aggregates(ctx context.Context, provider compute.ID) ([]placement.UUID, error) {
	var is wireAggregates
	err := c.placement.get(ctx, providerPath(string(provider))+"/aggregates", &is)
	if r := refused(err, http.StatusNotFound); r != nil {
		return nil, &known{r, compute.ErrNoProvider}
	}
	all := make([]placement.UUID, len(is.Aggregates))
	for i, id := range is.Aggregates {
		all[i] = placement.UUID(id)
	}
	return all, err
}

// Group is compute.Placement's.
func (c *ComputePlacement) Group(ctx context.Context, provider, aggregate compute.ID, member bool) error {
	path := providerPath(string(provider)) + "/aggregates"
	err := swap(ctx, func() error {
		var is wireAggregates
		if err := c.placement.get(ctx, path, &is); err != nil {
			return err
		}
		at := slices.Index(is.Aggregates, string(aggregate))
		switch {
		case (at >= 0) == member:
			return nil
		case member:
			is.Aggregates = append(is.Aggregates, string(aggregate))
		default:
			is.Aggregates = slices.Delete(is.Aggregates, at, at+1)
		}
		return c.placement.put(ctx, path, is)
	})
	if r := refused(err, http.StatusNotFound); r != nil {
		return &known{r, compute.ErrNoProvider}
	}
	return err
}
