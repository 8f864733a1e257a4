package compute

import (
	"context"
	"errors"

	"github.com/berthcloud/berth/compute/selection"
	"github.com/berthcloud/berth/network/guarantee"
	"github.com/berthcloud/berth/placement"
)

// Placement is what the compute service needs of the placement service: Berth's in the
// same process, or any over REST. A failed call returns a fault: Unavailable when
// the service is away or too busy, one of the errors below, or whatever else it
// answered. Methods may be called from many goroutines.
type Placement interface {
	// Candidates returns the ways to satisfy a query; none is no error. A query
	// that names what placement does not know is a fault of kind Invalid.
	Candidates(ctx context.Context, q placement.Query) (selection.Answer, error)

	// Held returns what a consumer holds. One that holds nothing has no Amounts
	// and no Generation.
	Held(ctx context.Context, consumer ID) (Holding, error)
	// Hold replaces what a consumer holds, nothing included. It returns
	// ErrGeneration when somebody else changed the consumer since it was read,
	// ErrCapacity when there is not enough. That others changed the providers
	// meanwhile is tried again.
	Hold(ctx context.Context, consumer ID, h Holding) error

	// Aggregates returns those that a provider is in. ErrNoProvider says that there is
	// no such provider.
	Aggregates(ctx context.Context, provider ID) ([]placement.UUID, error)
	// Group puts a provider into an aggregate, or takes it out. Who is there, or
	// is not, already is left so. ErrNoProvider says that there is no such
	// provider.
	Group(ctx context.Context, provider, aggregate ID, member bool) error
}

// A Holding is what a consumer holds.
type Holding struct {
	Amounts    guarantee.Amounts // by provider and class
	Project    string
	User       string
	Generation *int64 // nil: the consumer is new
}

// The errors of a Placement besides faults of its own.
var (
	ErrNoProvider = errors.New("compute: placement has no such provider")
	ErrGeneration = errors.New("compute: somebody else changed what is held")
	ErrCapacity   = errors.New("compute: placement has not enough of it")
)
