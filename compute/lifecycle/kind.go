package lifecycle

import (
	"encoding/json"
	"fmt"
	"time"

	"github.com/berthcloud/berth/compute"
	"github.com/berthcloud/berth/compute/operation"
)

// The kinds of operations.
const (
	KindBoot     = "boot"
	KindDelete   = "delete"
	KindShelve   = "shelve"
	KindUnshelve = "unshelve"

	kindAttach = "attach"
	KindDetach = "detach"

	KindPower   = "power"
	KindRebuild = "rebuild"

	KindMove     = "move" // a resize or a cold migration
	KindLive     = "live" // a live migration
	KindEvacuate = "evacuate"
	kindClean    = "clean" // what an evacuated server has on its former host is released
	// A move ends with one of these.
	KindConfirm = "confirm"
	KindRevert  = "revert"
)

// The steps of operations.
const (
	stepPorts  = "ports"  // ports are created in networks
	stepClaim  = "claim"  // a candidate is chosen, stored and claimed
	stepSource = "source" // the host that the server leaves does its part
	stepBind   = "bind"   // ports are bound to the host
	stepHost   = "host"   // the host does its part

	stepPrepare  = "prepare"  // the destination builds the server, which does not run there yet
	stepActivate = "activate" // the ports change to the destination
	stepLeave    = "leave"    // the former host destroys the server
	stepRelease  = "release"  // what was allocated there is released
)

// An effect is what a step changes in the database: rows, and the server of the operation, which is
// stored after it. It may run more than once.
type effect = func(*Change, *compute.ServerRow) error

type (
	next = operation.Next[effect]
	step = operation.Step[*job, effect]
	list = operation.List[*job, effect]
)

// A kind of operation is a list of steps, and what others need to know about it. Whatever depends
// on the kind of an operation is here.
type kind struct {
	list
	// family makes what an operation of this kind has besides its job: its data, which is empty,
	// and its steps.
	family func(*job) family
	// back says that it begins at the end of its list: it undoes what another kind does.
	back bool
	// concurrent says that it sets no task_state, as in Nova: another action with the server waits
	// for its end.
	concurrent bool
	// final says that nothing follows it. Any other kind becomes the deletion of its server when
	// that is requested.
	final bool
	// command, unless nil, is the command to the host that its first step sends. It is sent already
	// when the operation begins.
	command func(*Change, compute.ServerRow, operationData) error
	// limit, unless nil, is the age of a server up to which its host may take its time; 0 means
	// any.
	limit func(compute.Settings) time.Duration
	// refused, unless nil, is the effect that ends the operation when the host cannot undo its
	// part. Without it the host is waited for, which retries by itself.
	refused func(*job, compute.EventRow) effect
	// obsolete, unless nil, ends an operation that has waited for another one and has nothing to
	// do any more.
	obsolete func(c *Change, server compute.ID, d operationData) (bool, error)
	// move is what differs between moves.
	move moveKind
}

// A moveKind is what differs between the kinds of moves: the events are Nova's.
type moveKind struct {
	// When a host is chosen: the status of the migration, the task_state of the server unless it
	// stays, and the checks that have succeeded on both hosts then, "" for none.
	chosenStatus           string
	chosenTask             string
	destCheck, sourceCheck string
	// bindEvents are the events, on the destination, in which Nova binds ports, by step: no host
	// does that here.
	bindEvents map[string]string
	// returnEvent is the event in which the source runs the server again.
	returnEvent string
	// preplugged says that network agents on the destination plug its ports in before the server
	// runs there.
	preplugged bool
}

// kinds are the kinds of operations by their names.
type kinds map[string]kind

// first is the cursor that an operation begins with.
func (k kind) first() operation.Cursor {
	if k.back {
		return k.Last()
	}
	return operation.Cursor{Step: k.Steps[0].Name}
}

// batched reports whether operations of a reservation carry out a step together.
func (k kind) batched(at operation.Cursor) bool {
	s, ok := k.At(at)
	return ok && s.Batch != nil && !at.Back
}

// read returns the data of an operation of the kind.
func (k kind) read(row compute.OperationRow) (operationData, error) {
	d := k.family(nil).clear()
	if err := json.Unmarshal(row.Body, d); err != nil {
		return nil, fmt.Errorf("reading operation %s: %w", row.ID, err)
	}
	return d, nil
}

// A family is what operations of related kinds have in common: their data and their steps.
type family interface {
	// data is what is stored.
	data() operationData
	// clear makes the data empty, and returns it.
	clear() operationData
}

// operationData is what an operation needs to go on, and to undo. Its JSON is an object with the
// members of all parts; their names are not to change.
type operationData interface {
	shared() *Common
}

// Common is what operations of all families store.
type Common struct {
	Action compute.ID `json:"action"`
	Event  compute.ID `json:"event,omitempty"` // the step of the action that is under way
	// By is who requested it, for whom requests are sent to other services: the zero value for what
	// the service does by itself.
	By compute.Caller `json:"by,omitzero"`
	// Awaited is the event that the host was sent a command for, in the current direction.
	Awaited compute.ID `json:"asked,omitempty"`
	// Reservation is that of the servers that are created together, as long as their operations are
	// carried out together.
	Reservation string `json:"reservation,omitempty"`
	// Unavailable, unless nil, is why the operation could not go on when it was released last:
	// another service was unavailable.
	Unavailable *WaitCause `json:"unavailable,omitempty"`
}

func (c *Common) shared() *Common { return c }

// A WaitCause is the error of a service that is waited for: for users, and for administrators.
type WaitCause struct {
	Text    string `json:"text"`
	Details string `json:"details"`
}
