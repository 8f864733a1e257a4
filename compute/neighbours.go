package compute

import (
	"context"
	"errors"

	"github.com/berthcloud/berth/compute/selection"
	"github.com/berthcloud/berth/network/guarantee"
	"github.com/berthcloud/berth/placement"
)

// Placement is what the compute service needs of the placement service: Berth's in the same
// process, or any over REST. A failed call returns a fault: Unavailable when the service cannot be
// reached or is too busy, one of the errors below, or the fault that it answered. Methods may be
// called concurrently.
type Placement interface {
	// Candidates returns the ways to satisfy a query; none is no error. A query
	// that names what placement does not know is a fault of kind Invalid.
	Candidates(ctx context.Context, q placement.Query) (selection.Answer, error)

	// Allocation returns the allocation of a consumer. A consumer without one has no Amounts and no
	// Generation.
	Allocation(ctx context.Context, consumer ID) (Allocation, error)
	// SetAllocation replaces the allocation of a consumer, or deletes it when there are no amounts. It
	// returns ErrGeneration when the consumer was changed since it was read, ErrCapacity when there
	// is not enough capacity. It retries when only providers were changed concurrently.
	SetAllocation(ctx context.Context, consumer ID, h Allocation) error

	// Aggregates returns those that a provider is in. ErrNoProvider says that there is
	// no such provider.
	Aggregates(ctx context.Context, provider ID) ([]placement.UUID, error)
	// Group adds a provider to an aggregate, or removes it. It succeeds when there is nothing to
	// change. ErrNoProvider says that the provider does not exist.
	Group(ctx context.Context, provider, aggregate ID, member bool) error
}

// An Allocation is that of a consumer.
type Allocation struct {
	Amounts    guarantee.Amounts // by provider and class
	Project    string
	User       string
	Generation *int64 // nil: the consumer is new
}

// The errors of a Placement besides faults.
var (
	ErrNoProvider = errors.New("compute: placement has no such provider")
	ErrGeneration = errors.New("compute: the allocation was changed concurrently")
	ErrCapacity   = errors.New("compute: placement has not enough of it")
)
