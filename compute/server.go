package compute

import (
	"time"
)

// A ServerRow is a server.
type ServerRow struct {
	ID          ID
	Number      int64 // for its instance name
	Project     string
	User        string
	Name        string
	Description string
	Hostname    string
	Reservation string // that it was created with
	Index       int    // among those of its reservation

	State  string // vm_state
	Task   string // task_state, "" for none
	Power  Power
	Host   string // "" while it has none
	Node   string
	Zone   string // requested, "" for any
	Forced string // host that an administrator requested, "" for none

	Image ID // "" when it boots from a volume
	// ImageMeta is a JSON object: the image as it was when the server was created. Those of servers
	// that were created before it was kept are nil.
	ImageMeta []byte
	// Flavor is a JSON object: the flavor as it was when the server was created.
	Flavor         []byte
	FlavorID       ID
	KeyName        string
	KeyData        string
	Metadata       map[string]string
	Tags           []string // sorted
	SecurityGroups []string
	UserData       string
	ConfigDrive    bool
	DiskConfig     string
	AccessIPv4     string
	AccessIPv6     string
	Group          ID     // server group, "" for none
	Hints          []byte // scheduler hints, a JSON object

	Locked       string // "" or who locked it: "owner", "admin"
	LockedReason string
	Progress     int
	// Fault is why it is in error: a JSON object with code, message, details
	// and created; nil for none.
	Fault        []byte
	CreatedAt    time.Time
	UpdatedAt    time.Time
	LaunchedAt   time.Time // zero: never
	TerminatedAt time.Time
}

// The states of servers (vm_state).
const (
	Building = "building"
	Active   = "active"
	Paused   = "paused"
	Stopped  = "stopped"
	// Suspended is of a server whose memory its host has saved.
	Suspended = "suspended"
	// ShelvedOffloaded is of a server that is on no host, and can be built again.
	ShelvedOffloaded = "shelved_offloaded"
	Resized          = "resized" // or migrated, not confirmed yet
	Error            = "error"
	Deleted          = "deleted"
)

// What is done to servers (task_state).
const (
	Scheduling     = "scheduling"
	Networking     = "networking"
	Spawning       = "spawning"
	Deleting       = "deleting"
	TaskRebuilding = "rebuilding"
	TaskShelving   = "shelving"
	TaskUnshelving = "unshelving"
	PoweringOff    = "powering-off"
	PoweringOn     = "powering-on"
	Rebooting      = "rebooting"
	RebootingHot   = "rebooting_hard"
	Pausing        = "pausing"
	Unpausing      = "unpausing"
	Suspending     = "suspending"
	Resuming       = "resuming"

	ResizePrep      = "resize_prep"      // a host is chosen
	ResizeMigrating = "resize_migrating" // the source stops it
	ResizeMigrated  = "resize_migrated"  // its ports are bound
	ResizeFinish    = "resize_finish"    // the destination builds it
	ResizeReverting = "resize_reverting"
	Migrating       = "migrating"
	RebuildSpawning = "rebuild_spawning"
)

// A Power is whether a server runs, as its host says (power_state).
type Power int

// The power states.
const (
	Running     Power = 1
	PowerPaused Power = 3
	ShutDown    Power = 4
)

// A PortRow is a network port of a server, in the order in which they were given.
type PortRow struct {
	Port    ID
	Server  ID
	Network ID
	Index   int
	Tag     string
	// Own says that the server's creation created the port, so that it is deleted with the server.
	Own bool
	// Unplugged says that the host is not to have it: not yet, or not any more.
	Unplugged bool
	// Seen is a JSON object: the port as the network service showed it last.
	Seen []byte
}

// An ActionRow is something that was done to a server.
type ActionRow struct {
	ID        ID
	Server    ID
	Sequence  int    // among the server's
	Action    string // "create", "delete", "attach_interface", …
	Request   string // X-OpenStack-Request-ID
	Project   string
	User      string
	StartedAt time.Time
	UpdatedAt time.Time
	Message   string // "Error" when it failed, "" otherwise
}

// An EventRow is a step of an action.
type EventRow struct {
	ID         ID
	Action     ID
	Sequence   int
	Event      string // "compute__do_build_and_run_instance", …
	Host       string
	StartedAt  time.Time
	FinishedAt time.Time // zero: not yet
	Result     string    // "Success", "Error" or ""; of one that has not finished, how its host did it
	Traceback  string
	Details    string
}

// A MigrationRow is a move of a server. Its id is the consumer of the server's former allocation at
// the source.
type MigrationRow struct {
	ID         ID
	Number     int64
	Server     ID
	Project    string
	User       string
	Type       string // "migration", "resize", "live-migration" or "evacuation"
	Status     string
	Source     string // host
	SourceNode string
	Dest       string
	DestNode   string
	OldFlavor  ID
	NewFlavor  ID
	// Former is a JSON object: what the server had before the move, for its way back.
	Former    []byte
	CreatedAt time.Time
	UpdatedAt time.Time
}

// A DeletedRow is the record of a deleted server that had been launched, for the usage of its
// project.
type DeletedRow struct {
	ID           ID
	Project      string
	Name         string
	Flavor       []byte // as in the ServerRow
	LaunchedAt   time.Time
	TerminatedAt time.Time
}

// A HostedRow says what a host is to make of a server. The first step that requests it from the
// host makes the row, and the host's report that the server is destroyed removes it, which may be
// after the server's deletion. A server that was moved, or deleted while its host was down, has one
// on its former host.
type HostedRow struct {
	Server       ID
	Host         string
	DesiredState string // WishRunning, WishStopped, WishPaused, WishSuspended, WishKept, WishGone
	// Generation rises when the host is to build the server again.
	Generation int64
	// Event is whose result the host has yet to report, "" for none.
	Event ID
	// Refused is the last event that it could not end and was requested again, "" for none.
	Refused ID
	// Boot, unless empty, is a start that the server must have had.
	Boot ID
	// Slots are the PCI devices that the host may still have given to the server, though no port
	// has them.
	Slots []string
	// Bound, unless nil, is a JSON object: the server's ports by their ids, as they are bound to
	// this host while the server is on another one.
	Bound []byte
	// Assignment is an Assignment in JSON, what the server has of the host of its own; nil for
	// nothing.
	Assignment []byte
	CreatedAt  time.Time
}

// What a host is to make of a server.
const (
	DesiredRunning   = "running"
	DesiredStopped   = "stopped"
	DesiredPaused    = "paused"
	DesiredSuspended = "suspended"
	// DesiredRetained is for a server that runs on another host and may come back: it is stopped, its
	// ports are unplugged, and the host keeps the rest of it.
	DesiredRetained = "kept"
	DesiredAbsent   = "gone"
)

// An OperationRow is something under way with a server that concerns other services
// (decision 31). A server has one at most.
type OperationRow struct {
	ID     ID
	Server ID
	Kind   string
	Step   string
	Back   bool   // steps are undone
	UndoTo string // the last step that is undone and then done again, "" for all of them
	Body   []byte // what is needed to go on, and to undo: a JSON object
	// Queue has the operations that begin when this one ends, Aborted says that it is to be undone.
	// Requests write them while a worker rewrites the rest: it keeps them as they are.
	Queue   []byte // a JSON array, nil for none
	Aborted bool
	// Awaits is the event that a worker has to wait for before it takes the operation, "" for none.
	Awaits ID
	// Reservation is that of the servers whose operations are taken together, "" for none.
	Reservation string
	// Worker has the operation until Lease; then anybody may go on with it. Its name says of which
	// run of the program it is, if that is known: a run that has ended loses it earlier.
	Worker    string
	Lease     time.Time
	CreatedAt time.Time
}
