package network

import "time"

// An AgentRow is what an agent on a host last said of itself.
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

	// Synced says how the last attempt to bring its devices into placement
	// ended, SyncError why it failed, and SyncedAt when it last succeeded.
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
	SyncNever  SyncState = iota // there was nothing to bring: null
	SyncDone                    // true
	SyncFailed                  // false
	SyncDue                     // what it reported has not been tried yet: null
)
