package network

import (
	"context"
	"errors"

	"github.com/berthcloud/berth/network/guarantee"
)

// Placement is what the network service needs of the placement service: Berth's in the same
// process, or any over REST. A failed call returns a fault: Unavailable when the service cannot be
// reached or is too busy, one of the errors below, or the fault that it answered. Methods may be
// called concurrently.
type Placement interface {
	// EnsureTrait makes a custom trait unless it is there.
	EnsureTrait(ctx context.Context, name string) error

	// ProviderNamed returns the provider of a name, ErrNoProvider when there is
	// none.
	ProviderNamed(ctx context.Context, name string) (Provider, error)
	// ProvidersBelow returns the tree that a provider is in, ErrNoProvider when
	// there is no such provider.
	ProvidersBelow(ctx context.Context, root string) ([]Provider, error)

	// EnsureProvider gives the provider its name and parent, and makes it when
	// it is not there.
	EnsureProvider(ctx context.Context, p Provider) error
	// RemoveProvider removes a provider; one that is not there is removed.
	// ErrInUse says that something is allocated on it, or that it has children.
	RemoveProvider(ctx context.Context, uuid string) error

	// SetTraits and SetInventories replace all traits or inventories of a provider. When others
	// change the provider concurrently, they retry, ten times in all, and then return
	// ErrGeneration; so does EnsureProvider. ErrNoProvider says that the provider does not exist,
	// ErrInUse that an inventory to be removed has allocations.
	SetTraits(ctx context.Context, uuid string, traits []string) error
	SetInventories(ctx context.Context, uuid string, inventories map[string]guarantee.Inventory) error

	// Allocations returns the allocations of a consumer. A consumer without allocations has no
	// Providers.
	Allocations(ctx context.Context, consumer string) (Allocations, error)
	// SetAllocations replaces the allocations. It returns ErrGeneration when the consumer was
	// changed since it was read, ErrCapacity when there is not enough capacity.
	SetAllocations(ctx context.Context, consumer string, a Allocations) error
}

// A Provider is a resource provider of placement's.
type Provider struct {
	UUID, Name string
	Parent     string // UUID, "" for a root
	Generation int64  // as read; ignored when written
}

// Allocations are the allocations of a consumer: amounts by provider and class.
type Allocations struct {
	Providers  map[string]map[string]int64
	Project    string
	User       string
	Type       string // consumer type, "" when placement does not say
	Generation *int64 // nil: the consumer is new
}

// The errors of a Placement besides faults.
var (
	ErrNoProvider = errors.New("network: placement has no such provider")
	ErrInUse      = errors.New("network: placement says that it is in use")
	ErrGeneration = errors.New("network: it was changed in placement concurrently")
	ErrCapacity   = errors.New("network: placement has not enough of it")
)

// Compute is the part of the compute service that gets events.
type Compute interface {
	// SendEvents delivers events about servers. Those about servers that compute does not know are
	// dropped without an error.
	SendEvents(ctx context.Context, events []ServerEvent) error
}

// A ServerEvent is one of compute's external events.
type ServerEvent struct {
	Name   string // "network-vif-plugged", "network-vif-unplugged", "network-vif-deleted", "network-changed"
	Server string // UUID
	Tag    string // the port's id, "" for none
	Status string // "completed" or "failed", "" for none
}
