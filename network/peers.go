package network

import (
	"context"
	"errors"
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

// Aggregates is the part of the compute service that has host aggregates.
type Aggregates interface {
	// Aggregates returns all aggregates, with their hosts.
	Aggregates(ctx context.Context) ([]Aggregate, error)
	// CreateAggregate creates an aggregate without hosts. ErrTaken says that another one has the name.
	CreateAggregate(ctx context.Context, name string) (Aggregate, error)
	// AddHost brings a host into an aggregate, in which it may be already. ErrNoHost says that compute
	// does not know the host, or the aggregate.
	AddHost(ctx context.Context, aggregate int64, host string) error
	// RemoveHost takes a host out of an aggregate, in which it need not be.
	RemoveHost(ctx context.Context, aggregate int64, host string) error
	// DeleteAggregate deletes an aggregate without hosts, which need not exist.
	DeleteAggregate(ctx context.Context, aggregate int64) error
}

// An Aggregate is a group of compute's hosts.
type Aggregate struct {
	Number int64  // of compute
	ID     string // UUID, of placement
	Name   string
	Hosts  []string
}

// ErrNoHost says that compute does not know a host.
var ErrNoHost = errors.New("network: compute does not know the host")
