package network

import (
	"time"

	"github.com/berthcloud/berth/guarantee"
	"github.com/berthcloud/berth/network/binding"
)

// An AgentRow is the last report of an agent on a host.
type AgentRow struct {
	ID             ID
	Type           string // "Open vSwitch agent", "NIC Switch agent", "OVN Controller agent"
	Binary         string
	Host           string
	Topic          string
	Zone           string // availability zone, "" for none
	Description    string
	AdminStateUp   bool
	CreatedAt      time.Time
	StartedAt      time.Time
	HeartbeatAt    time.Time
	Configurations []byte // a JSON object
	Versions       []byte // resource_versions, a JSON object

	// Synced is how the last sync of its devices to placement ended, SyncError why it failed, and
	// SyncedAt when one last succeeded.
	Synced    SyncState
	SyncError string
	SyncedAt  time.Time

	// Hypervisors are those below which placement may have providers of the agent:
	// those that it reports, and those that it reported and that were not cleared
	// yet. Kept are the names of providers that it does not have any more and that
	// stay while something is allocated on them.
	Hypervisors []string
	Kept        []string
}

// A SyncState is the attribute resources_synced.
type SyncState int

// The states.
const (
	SyncNever  SyncState = iota // it never had devices: null
	SyncDone                    // true
	SyncFailed                  // false
	SyncDue                     // its last report has not been synced yet: null
)

// A SyncResult is how a sync of an agent's devices to placement ended.
type SyncResult struct {
	// State is the desired state of placement.
	State guarantee.State
	// Failure names the provider and has placement's answer to the first call
	// that failed, in one line of 500 bytes at most. "" says that all calls
	// succeeded.
	Failure string
	// Kept are the names of providers that the agent does not have any more and
	// that stay because something is allocated on them. They are no failure.
	Kept []string
	// Cleared are hypervisors that are not in State and below which no provider of the agent
	// remains.
	Cleared []string
}

// Alive reports whether the last heartbeat of an agent is recent, in both directions: one from the
// future was sent before the clock was set back.
func (r Rules) Alive(a AgentRow) bool {
	return r.Now().Sub(a.HeartbeatAt).Abs() < r.Settings.AgentDownTime
}

// BindingAgent returns what package binding has to know of an agent.
func (r Rules) BindingAgent(a AgentRow) binding.Agent {
	return binding.Agent{
		Type: a.Type, Host: a.Host, Configurations: a.Configurations,
		AdminStateUp: a.AdminStateUp, Alive: r.Alive(a), HeartbeatAt: a.HeartbeatAt,
	}
}
