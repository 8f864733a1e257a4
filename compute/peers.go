package compute

import (
	"context"

	"github.com/berthcloud/berth/allocations"
	"github.com/berthcloud/berth/compute/request"
	"github.com/berthcloud/berth/compute/selection"
	"github.com/berthcloud/berth/placement"
	"github.com/berthcloud/berth/placement/explain"
)

// Placement is what the compute service needs of the placement service. A failed call returns a
// fault or an error as package allocations says. Methods may be called concurrently.
type Placement interface {
	allocations.Placement

	// Candidates returns the ways to satisfy a query; none is no error. A query
	// that names what placement does not know is a fault of kind Invalid.
	Candidates(ctx context.Context, q placement.Query) (selection.Answer, error)

	// Explain returns why a query has few candidates or none, and what would help. With a host, the
	// UUID of its root provider, it returns what that host lacks as well. It returns nil when the
	// service does not explain queries; upstream's does not.
	Explain(ctx context.Context, q placement.Query, host placement.UUID) (*explain.Explanation, error)

	// Sharing returns what is allocated of providers that share via aggregates and are outside of the
	// tree of a root provider, by their UUIDs.
	Sharing(ctx context.Context, root ID, allocated allocations.Amounts) ([]request.Shared, error)

	// Aggregates returns those that a provider is in. ErrNoProvider says that there is
	// no such provider.
	Aggregates(ctx context.Context, provider ID) ([]placement.UUID, error)
	// Group adds a provider to an aggregate, or removes it. It succeeds when there is nothing to
	// change. ErrNoProvider says that the provider does not exist.
	Group(ctx context.Context, provider, aggregate ID, member bool) error
}
