package placementclient

import (
	"context"
	"net/http"

	"github.com/berthcloud/berth/allocations"
	"github.com/berthcloud/berth/client"
	"github.com/berthcloud/berth/compute"
	"github.com/berthcloud/berth/compute/operation"
	"github.com/berthcloud/berth/placement"
)

// A Compute is the compute service's client of a placement service. It may be used
// concurrently. It needs version 1.36 of the API, and 1.39 for ports with a choice of physical
// networks.
type Compute struct{ *Client }

var _ compute.Placement = (*Compute)(nil)

// NewCompute returns a Compute. It sends no request.
func NewCompute(opts client.Options) *Compute {
	opts.BeforeChange = operation.Leased
	return &Compute{New(opts)}
}

// Aggregates is compute.Placement's.
func (c *Compute) Aggregates(ctx context.Context, provider compute.ID) ([]placement.UUID, error) {
	var cur wireAggregates
	err := c.get(ctx, providerPath(string(provider))+"/aggregates", &cur)
	if r := client.Refused(err, http.StatusNotFound); r != nil {
		return nil, client.Known(r, allocations.ErrNoProvider)
	}
	all := make([]placement.UUID, len(cur.Aggregates))
	for i, id := range cur.Aggregates {
		all[i] = placement.UUID(id)
	}
	return all, err
}

// Group is compute.Placement's.
func (c *Compute) Group(ctx context.Context, provider, aggregate compute.ID, member bool) error {
	return c.setMember(ctx, string(provider), string(aggregate), member)
}
