package compute

import (
	"context"
	"encoding/json"
	"fmt"
	"time"

	"github.com/berthcloud/berth/compute/operation"
)

// The kinds of operations.
const (
	kindBoot     = "boot"
	kindDelete   = "delete"
	kindShelve   = "shelve"
	kindUnshelve = "unshelve"

	kindAttach = "attach"
	kindDetach = "detach"

	kindPower   = "power"
	kindRebuild = "rebuild"

	kindMove     = "move" // a resize or a cold migration
	kindLive     = "live" // a live migration
	kindEvacuate = "evacuate"
	kindClean    = "clean" // what an evacuated server has on its former host is released
	// A move ends with one of these.
	kindConfirm = "confirm"
	kindRevert  = "revert"
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
type effect = func(*change, *ServerRow) error

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
	command func(*change, ServerRow, operationData) error
	// limit, unless nil, is the age of a server up to which its host may take its time; 0 means
	// any.
	limit func(Settings) time.Duration
	// refused, unless nil, is the effect that ends the operation when the host cannot undo its
	// part. Without it the host is waited for, which retries by itself.
	refused func(*job, EventRow) effect
	// obsolete, unless nil, ends an operation that has waited for another one and has nothing to
	// do any more.
	obsolete func(c *change, server ID, d operationData) (bool, error)
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

// newKinds returns the operations.
//
// A list is written in the order of doing; undoing is the same list from its end, so that the order
// has to be right in both directions. Three rules decide it: nothing is requested of a host before
// what it needs is claimed and bound, so that a failure before that costs the host nothing; nothing
// is given back before its host has let go of it; and what cannot be undone comes last.
func newKinds() kinds {
	// Ports come first, since their resource requests decide which hosts will do. They are bound
	// after the claim, which says which providers serve them, and before the host builds the
	// server, whose agents need to know what they plug in.
	server := []buildStep{
		{Name: stepPorts, Batch: createPorts, Undo: (*buildJob).removePorts},
		{Name: stepClaim, Batch: chooseHosts, Undo: (*buildJob).unclaim},
		{Name: stepBind, Do: (*buildJob).bind, Undo: (*buildJob).unbindAll},
		{Name: stepHost, Do: (*buildJob).build, Undo: (*buildJob).destroy},
	}
	// A shelved server keeps its ports, and they have their allocations from its host: there is no
	// step for them.
	again := []buildStep{
		{Name: stepClaim, Do: (*buildJob).claimAgain, Undo: (*buildJob).unclaim},
		{Name: stepBind, Do: (*buildJob).bindToHost, Undo: (*buildJob).unbindFromHost},
		{Name: stepHost, Do: (*buildJob).buildAgain, Undo: (*buildJob).destroy},
	}
	// As the first list, for one port on a host that is known.
	port := []portStep{
		{Name: stepPorts, Do: (*portJob).createPort, Undo: (*portJob).removePort},
		{Name: stepClaim, Do: (*portJob).claimPort, Undo: (*portJob).release},
		{Name: stepBind, Do: (*portJob).bindPort, Undo: (*portJob).unbindPort},
		{Name: stepHost, Do: (*portJob).plug, Undo: (*portJob).unplug},
	}
	// The source stops the server before its ports are bound elsewhere: a server must not run
	// without its ports.
	moves := []moveStep{
		{Name: stepClaim, Do: (*moveJob).chooseDestination, Undo: (*moveJob).returnAllocations},
		{Name: stepSource, Do: (*moveJob).leaveSource, Undo: (*moveJob).returnToSource},
		{Name: stepBind, Do: (*moveJob).bindToHost, Undo: (*moveJob).bindToSource},
		{Name: stepHost, Do: (*moveJob).buildAtDestination, Undo: (*moveJob).leaveDestination},
	}
	// The allocations of the source are released when it has destroyed the server, which uses them
	// until then.
	confirmation := []moveStep{
		{Name: stepLeave, Do: (*moveJob).destroyAtSource},
		{Name: stepRelease, Do: (*moveJob).releaseSource},
	}
	// The destination has bindings and the server's image before the source stops the server, since
	// each moment between "source" and "host" is one in which the server stands still. From "host"
	// on the server runs there, on the active bindings: there is no way back without losing what it
	// has done since, so that the steps from there on are only repeated.
	liveMove := []moveStep{
		{Name: stepClaim, Do: (*moveJob).chooseDestination, Undo: (*moveJob).returnAllocations},
		{Name: stepBind, Do: (*moveJob).bindSecond, Undo: (*moveJob).unbindSecond},
		{Name: stepPrepare, Do: (*moveJob).prepareDestination, Undo: (*moveJob).destroyAtDestination},
		{Name: stepSource, Do: (*moveJob).stopAtSource, Undo: (*moveJob).returnToSource},
		{Name: stepActivate, Do: (*moveJob).activate, Undo: (*moveJob).activateSource},
		{Name: stepHost, Do: (*moveJob).runAtDestination},
		{Name: stepLeave, Do: (*moveJob).destroyAfterMove},
		{Name: stepRelease, Do: (*moveJob).releaseSource},
	}
	// The source may come back at any time: first of all its row says that it must not run the
	// server. The destination is bound before it prepares the server, since what it builds has the
	// ports as they are bound there. The allocations on the source are not released here but by
	// "clean", when the source is back and has destroyed the server.
	evacuation := []moveStep{
		{Name: stepClaim, Do: (*moveJob).chooseDestination, Undo: (*moveJob).returnAllocations},
		{Name: stepSource, Do: (*moveJob).keepFromSource, Undo: (*moveJob).leaveToSource},
		{Name: stepBind, Do: (*moveJob).bindSecond, Undo: (*moveJob).unbindSecond},
		{Name: stepPrepare, Do: (*moveJob).rebuildAtDestination, Undo: (*moveJob).destroyAtDestination},
		{Name: stepActivate, Do: (*moveJob).activate, Undo: (*moveJob).activateSource},
		{Name: stepHost, Do: (*moveJob).runEvacuated},
		{Name: stepLeave, Do: (*moveJob).unbindSource},
	}
	cleaning := []moveStep{{Name: stepRelease, Do: (*moveJob).releaseSource}}
	powering := []powerStep{{Name: stepHost, Do: (*powerJob).changePower}}
	rebuilding := []powerStep{{Name: stepHost, Do: (*powerJob).rebuild}}

	coldMove := moveKind{
		chosenStatus: migrating, chosenTask: ResizeMigrating, destCheck: "compute_prep_resize",
		bindEvents: map[string]string{stepBind: "compute_finish_resize"}, returnEvent: "compute_finish_revert_resize",
	}
	return kinds{
		kindBoot: ofBuild(buildList{Steps: server, Done: (*buildJob).built, Undone: (*buildJob).ended}, kind{
			limit: func(s Settings) time.Duration { return s.BuildTime },
		}),
		kindDelete: ofBuild(buildList{Steps: server, Undone: (*buildJob).removed}, kind{
			back: true, final: true, refused: refusedBy((*buildJob).notDestroyed),
		}),
		kindUnshelve: ofBuild(buildList{Steps: again, Done: (*buildJob).unshelved, Undone: (*buildJob).shelved}, kind{}),
		kindShelve: ofBuild(buildList{Steps: again, Undone: (*buildJob).shelved}, kind{
			back: true, refused: refusedBy((*buildJob).notShelved),
		}),

		kindAttach: ofPort(portList{Steps: port, Done: (*portJob).ended, Undone: (*portJob).ended, NoRetry: (*portJob).notAttached}, kind{
			concurrent: true,
		}),
		kindDetach: ofPort(portList{Steps: port, Undone: (*portJob).ended}, kind{
			back: true, concurrent: true, command: commandOf(sendUnplug), refused: refusedBy((*portJob).notUnplugged), obsolete: isDetached,
		}),

		kindPower:   ofPower(powerList{Steps: powering}, kind{command: commandOf(sendPower)}),
		kindRebuild: ofPower(powerList{Steps: rebuilding}, kind{command: commandOf(sendRebuild)}),

		kindMove:    ofMove(moveList{Steps: moves, Undone: (*moveJob).movedBack}, kind{move: coldMove}),
		kindRevert:  ofMove(moveList{Steps: moves, Undone: (*moveJob).movedBack}, kind{move: coldMove, back: true}),
		kindConfirm: ofMove(moveList{Steps: confirmation, Done: (*moveJob).moveConfirmed}, kind{}),
		kindLive: ofMove(moveList{Steps: liveMove, Done: (*moveJob).movedLive, Undone: (*moveJob).movedBack}, kind{move: moveKind{
			chosenStatus: preparing, destCheck: "compute_check_can_live_migrate_destination", sourceCheck: "compute_check_can_live_migrate_source",
			bindEvents:  map[string]string{stepBind: "compute_pre_live_migration", stepActivate: "compute_post_live_migration_at_destination"},
			returnEvent: "compute_rollback_live_migration", preplugged: true,
		}}),
		kindEvacuate: ofMove(moveList{Steps: evacuation, Done: (*moveJob).evacuated, Undone: (*moveJob).movedBack}, kind{move: moveKind{
			chosenStatus: preMigrating,
			bindEvents:   map[string]string{stepBind: "compute_rebuild_instance", stepActivate: "compute_rebuild_instance"},
		}}),
		kindClean: ofMove(moveList{Steps: cleaning, Done: (*moveJob).sourceCleaned}, kind{concurrent: true}),
	}
}

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
func (k kind) read(row OperationRow) (operationData, error) {
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
	shared() *common
}

// common is what operations of all families store.
type common struct {
	Action ID `json:"action"`
	Event  ID `json:"event,omitempty"` // the step of the action that is under way
	// By is who requested it, for whom requests are sent to other services: the zero value for what
	// the service does by itself.
	By Caller `json:"by,omitzero"`
	// Awaited is the event that the host was sent a command for, in the current direction.
	Awaited ID `json:"asked,omitempty"`
	// Reservation is that of the servers that are created together, as long as their operations are
	// carried out together.
	Reservation string `json:"reservation,omitempty"`
	// Unavailable, unless nil, is why the operation could not go on when it was released last:
	// another service was unavailable.
	Unavailable *waitCause `json:"unavailable,omitempty"`
}

func (c *common) shared() *common { return c }

// A waitCause is the error of a service that is waited for: for users, and for administrators.
type waitCause struct {
	Text    string `json:"text"`
	Details string `json:"details"`
}

// The lists of each family.
type (
	buildStep = operation.Step[*buildJob, effect]
	buildList = operation.List[*buildJob, effect]
	portStep  = operation.Step[*portJob, effect]
	portList  = operation.List[*portJob, effect]
	moveStep  = operation.Step[*moveJob, effect]
	moveList  = operation.List[*moveJob, effect]
	powerStep = operation.Step[*powerJob, effect]
	powerList = operation.List[*powerJob, effect]
)

func ofBuild(l buildList, k kind) kind {
	return ofFamily(l, k, func(j *job) *buildJob { return &buildJob{hostCommands: hostCommands{j}} })
}

func ofPort(l portList, k kind) kind {
	return ofFamily(l, k, func(j *job) *portJob { return &portJob{hostCommands: hostCommands{j}} })
}

func ofMove(l moveList, k kind) kind {
	return ofFamily(l, k, func(j *job) *moveJob { return &moveJob{hostCommands: hostCommands{j}} })
}

func ofPower(l powerList, k kind) kind {
	return ofFamily(l, k, func(j *job) *powerJob { return &powerJob{hostCommands: hostCommands{j}} })
}

// ofFamily completes a kind with a list of a family, whose jobs newFamily makes.
func ofFamily[F family](l operation.List[F, effect], k kind, newFamily func(*job) F) kind {
	type do = func(*job, context.Context) (next, error)
	doing := func(fn func(F, context.Context) (next, error)) do {
		if fn == nil {
			return nil
		}
		return func(j *job, ctx context.Context) (next, error) { return fn(j.family.(F), ctx) }
	}
	ending := func(fn func(F) effect) func(*job) effect {
		if fn == nil {
			return nil
		}
		return func(j *job) effect { return fn(j.family.(F)) }
	}
	k.family = func(j *job) family { return newFamily(j) }
	k.list = list{Done: ending(l.Done), Undone: ending(l.Undone)}
	if l.NoRetry != nil {
		k.NoRetry = func(j *job, err error) effect { return l.NoRetry(j.family.(F), err) }
	}
	for _, s := range l.Steps {
		general := step{Name: s.Name, Do: doing(s.Do), Undo: doing(s.Undo)}
		if s.Batch != nil {
			general.Batch = func(ctx context.Context, jobs []*job) ([]next, error) {
				all := make([]F, len(jobs))
				for i, j := range jobs {
					all[i] = j.family.(F)
				}
				return s.Batch(ctx, all)
			}
		}
		k.Steps = append(k.Steps, general)
	}
	return k
}

// refusedBy is kind.refused for a family.
func refusedBy[F family](fn func(F, EventRow) effect) func(*job, EventRow) effect {
	return func(j *job, e EventRow) effect { return fn(j.family.(F), e) }
}

// commandOf is kind.command for the data of a family.
func commandOf[D operationData](fn func(*change, ServerRow, D) error) func(*change, ServerRow, operationData) error {
	return func(c *change, row ServerRow, d operationData) error { return fn(c, row, d.(D)) }
}
