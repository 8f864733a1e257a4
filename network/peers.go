package network

import "context"

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
