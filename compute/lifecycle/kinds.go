package lifecycle

import (
	"context"
	"time"

	"github.com/berthcloud/berth/compute"
	"github.com/berthcloud/berth/compute/operation"
)

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
		chosenStatus: compute.StatusMigrating, chosenTask: compute.ResizeMigrating, destCheck: "compute_prep_resize",
		bindEvents: map[string]string{stepBind: "compute_finish_resize"}, returnEvent: "compute_finish_revert_resize",
	}
	return kinds{
		KindBoot: ofBuild(buildList{Steps: server, Done: (*buildJob).built, Undone: (*buildJob).ended}, kind{
			limit: func(s compute.Settings) time.Duration { return s.BuildTime },
		}),
		KindDelete: ofBuild(buildList{Steps: server, Undone: (*buildJob).removed}, kind{
			back: true, final: true, refused: refusedBy((*buildJob).notDestroyed),
		}),
		KindUnshelve: ofBuild(buildList{Steps: again, Done: (*buildJob).unshelved, Undone: (*buildJob).shelved}, kind{}),
		KindShelve: ofBuild(buildList{Steps: again, Undone: (*buildJob).shelved}, kind{
			back: true, refused: refusedBy((*buildJob).notShelved),
		}),

		kindAttach: ofPort(portList{
			Steps: port, Done: (*portJob).ended, Undone: (*portJob).ended, NoRetry: (*portJob).notAttached,
		}, kind{
			concurrent: true,
		}),
		KindDetach: ofPort(portList{Steps: port, Undone: (*portJob).ended}, kind{
			back: true, concurrent: true, command: commandOf(sendUnplug), refused: refusedBy((*portJob).notUnplugged),
			obsolete: isDetached,
		}),

		KindPower:   ofPower(powerList{Steps: powering}, kind{command: commandOf(sendPower)}),
		KindRebuild: ofPower(powerList{Steps: rebuilding}, kind{command: commandOf(sendRebuild)}),

		KindMove:    ofMove(moveList{Steps: moves, Undone: (*moveJob).movedBack}, kind{move: coldMove}),
		KindRevert:  ofMove(moveList{Steps: moves, Undone: (*moveJob).movedBack}, kind{move: coldMove, back: true}),
		KindConfirm: ofMove(moveList{Steps: confirmation, Done: (*moveJob).moveConfirmed}, kind{}),
		KindLive: ofMove(moveList{Steps: liveMove, Done: (*moveJob).movedLive, Undone: (*moveJob).movedBack},
			kind{move: moveKind{
				chosenStatus: compute.StatusPreparing, destCheck: "compute_check_can_live_migrate_destination",
				sourceCheck: "compute_check_can_live_migrate_source",
				bindEvents: map[string]string{
					stepBind: "compute_pre_live_migration", stepActivate: "compute_post_live_migration_at_destination",
				},
				returnEvent: "compute_rollback_live_migration", preplugged: true,
			}}),
		KindEvacuate: ofMove(moveList{Steps: evacuation, Done: (*moveJob).evacuated, Undone: (*moveJob).movedBack},
			kind{move: moveKind{
				chosenStatus: compute.StatusPreMigrating,
				bindEvents:   map[string]string{stepBind: "compute_rebuild_instance", stepActivate: "compute_rebuild_instance"},
			}}),
		kindClean: ofMove(moveList{Steps: cleaning, Done: (*moveJob).sourceCleaned}, kind{concurrent: true}),
	}
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
func refusedBy[F family](fn func(F, compute.EventRow) effect) func(*job, compute.EventRow) effect {
	return func(j *job, e compute.EventRow) effect { return fn(j.family.(F), e) }
}

// commandOf is kind.command for the data of a family.
func commandOf[D operationData](
	fn func(*Change, compute.ServerRow, D) error,
) func(*Change, compute.ServerRow, operationData) error {
	return func(c *Change, row compute.ServerRow, d operationData) error { return fn(c, row, d.(D)) }
}
