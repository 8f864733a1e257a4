package network

import (
	"context"

	"github.com/berthcloud/berth/allocations"
	"github.com/berthcloud/berth/guarantee"
)

// Placement is what the network service needs of the placement service. A failed call returns a
// fault or an error as package allocations says. Methods may be called concurrently.
type Placement interface {
	allocations.Placement

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
}

// A Provider is a resource provider of placement's.
type Provider struct {
	UUID, Name string
	Parent     string // UUID, "" for a root
	Generation int64  // as read; ignored when written
}

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
