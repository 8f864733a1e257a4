package compute

import (
	"context"
	"encoding/json"
	"errors"
	"slices"

	"github.com/berthcloud/berth/watch"
)

// The actions of a live migration.
const (
	liveAction     = "os-migrateLive"
	liveListed     = "live-migration" // as it is listed among the server's actions
	completeAction = "live_migration_force_complete"
	abortAction    = "live_migration_cancel"
)

// The statuses of live migrations, besides those of all.
const (
	enqueued  = "queued"    // a host is chosen
	preparing = "preparing" // the destination gets the server's ports, and builds it
	running   = "running"   // the source stops it
	completed = "completed"
	cancelled = "cancelled"
)

// A LiveMigration is a request to move a server that goes on running.
type LiveMigration struct {
	Host string // "" for any
	// Forced says that the named host is not filtered.
	Forced bool
	// Wait says that the answer waits for the choice of the host. Its faults are then the caller's.
	Wait bool
}

// LiveMigrateServer begins to move a running server to another host. Faults: InstanceNotFound,
// InstanceIsLocked, InvalidState, InstanceNotReady, ComputeHostNotFound,
// ExtendedResourceRequestOldCompute, and NoValidHost if it waits.
func (s *Service) LiveMigrateServer(ctx context.Context, by Caller, id ID, to LiveMigration) error {
	var row ServerRow
	may := func(r Reader) (err error) {
		if row, err = OneOr[ServerRow](r, noServer(id), Where(ByID, id)); err != nil {
			return err
		}
		if err := row.unlocked(by); err != nil {
			return err
		}
		if err := row.in(liveAction, Active, Paused); err != nil {
			return err
		}
		if err := s.kinds.idle(r, row, liveAction); err != nil {
			return err
		}
		if row.Host == "" {
			return conflict("InstanceNotReady", "Instance %s is not ready", row.ID)
		}
		return nil
	}
	if err := s.mayMoveGroups(ctx, id); err != nil {
		return err
	}
	if err := s.store.View(ctx, may); err != nil {
		return err
	}
	image, err := s.imageOf(ctx, row)
	if err != nil {
		return err
	}
	outer := "conductor_migrate_server"
	if !to.Wait {
		outer = "conductor_live_migrate_instance"
	}
	m := moveRequest{
		operation: kindLive, action: liveListed, kind: liveMigration, task: Migrating, status: enqueued, events: []string{outer}, host: to.Host,
		may:  func(c *change) (ServerRow, error) { err := may(c); return row, err },
		data: moveData{hostChoice: hostChoice{Image: image.Image, Forced: to.Forced}, Flavor: row.Flavor, FlavorID: row.FlavorID},
	}
	migration, err := s.beginMove(ctx, by, id, m)
	if err != nil || !to.Wait {
		return err
	}
	return s.awaitChoice(ctx, migration)
}

// awaitChoice waits until a host is chosen for a migration, not longer than Settings.HostTime. The
// fault says why there is none.
func (s *Service) awaitChoice(ctx context.Context, m MigrationRow) error {
	if s.working.Load() == 0 {
		return nil
	}
	type choice struct {
		made    bool
		failure error
	}
	read := func(r Reader) (c choice, err error) {
		rows, err := Rows[MigrationRow](r, Where(ByServer, m.Server), Where(ByID, m.ID))
		if err != nil || len(rows) == 0 { // the server was deleted
			return choice{made: true}, err
		}
		if c.made = rows[0].Status != enqueued; rows[0].Status == migrationFail {
			c.failure, err = lastFailure(r, m.Server)
		}
		return c, err
	}
	c, err := watch.Await(ctx, s.store.Store, s.rules.Settings.HostTime, read, func(c choice) bool { return c.made })
	if ctx.Err() != nil {
		return nil // the caller is not there any more, and the migration goes on
	}
	return errors.Join(err, c.failure)
}

// lastFailure returns why the last action of a server failed.
func lastFailure(r Reader, server ID) (error, error) {
	actions, err := Rows[ActionRow](r, Where(ByServer, server))
	if err != nil || len(actions) == 0 {
		return nil, err
	}
	last := slices.MaxFunc(actions, func(a, b ActionRow) int { return a.Place - b.Place })
	events, err := eventsOf(r, last.ID)
	for _, e := range events {
		if e.Result == failed {
			return invalid("NoValidHost", "%s", e.Details), err
		}
	}
	return nil, err
}

// migrationOf returns a migration of a server by its number. Fault: MigrationNotFound.
func migrationOf(r Reader, server ID, number int64) (MigrationRow, error) {
	all, err := Rows[MigrationRow](r, Where(ByServer, server))
	for _, m := range all {
		if m.Number == number {
			return m, err
		}
	}
	if err == nil {
		err = notFound("MigrationNotFoundForInstance", "Migration %d not found for instance %s", number, server)
	}
	return MigrationRow{}, err
}

// CompleteLiveMigration records that a live migration is to be completed even if the server stands
// still for it. Here it does so in any case. Faults: InstanceNotFound, InstanceIsLocked,
// InvalidState, MigrationNotFoundForInstance, InvalidMigrationState.
func (s *Service) CompleteLiveMigration(ctx context.Context, by Caller, id ID, number int64) error {
	return s.update(ctx, func(c *change) error {
		m, err := c.migrationUnderWay(by, id, number, migrationAction{"force_complete", "force complete", []string{Active}, []string{running}})
		if err != nil {
			return err
		}
		action, err := c.act(by, id, completeAction)
		if err != nil {
			return err
		}
		event, err := c.begin(action.ID, "compute_live_migration_force_complete", m.Source)
		if err != nil {
			return err
		}
		return c.end(event.ID, nil)
	})
}

// AbortLiveMigration begins to undo a live migration: one that is running, or also one that is not
// yet. It is refused when the server has been stopped at its source, from where on nothing is
// aborted, and while the migration is undone because it has failed. Faults are those of
// CompleteLiveMigration.
func (s *Service) AbortLiveMigration(ctx context.Context, by Caller, id ID, number int64, early bool) error {
	err := s.update(ctx, func(c *change) error {
		statuses := []string{running}
		if early {
			statuses = append(statuses, enqueued, preparing)
		}
		m, err := c.migrationUnderWay(by, id, number, migrationAction{abortMethod, abortMethod, nil, statuses})
		if err != nil {
			return err
		}
		operation, err := One[OperationRow](c, Where(ByServer, id))
		if err != nil {
			return err
		}
		if operation.Back && !operation.Aborted {
			return wrongMigrationState(id, number, "failed", abortMethod)
		}
		action, err := c.act(by, id, abortAction)
		if err != nil {
			return err
		}
		event, err := c.begin(action.ID, "compute_live_migration_abort", m.Source)
		if err != nil {
			return err
		}
		if err := c.end(event.ID, nil); err != nil {
			return err
		}
		operation.Aborted, operation.Awaits = true, "" // a worker is to see it, whatever it waits for
		return c.Replace(&operation)
	})
	s.wake()
	return err
}

// abortMethod is what refusals call it.
const abortMethod = "abort live migration"

func wrongMigrationState(server ID, number int64, state, method string) error {
	return invalid("InvalidMigrationState", "Migration %d state of instance %s is %s. Cannot %s while the migration is in this state.", number, server, state, method)
}

// A migrationAction is something that is done to a migration in progress.
type migrationAction struct {
	action, method string   // in refusals, for the server and for the migration
	states         []string // vm_state, nil for any
	statuses       []string // of the migration
}

// migrationUnderWay returns the migration that a server is in, unless a state forbids the action.
func (c *change) migrationUnderWay(by Caller, id ID, number int64, a migrationAction) (m MigrationRow, err error) {
	row, err := OneOr[ServerRow](c, noServer(id), Where(ByID, id))
	if err != nil {
		return m, err
	}
	if err := row.unlocked(by); err != nil {
		return m, err
	}
	if a.states != nil {
		if err := row.in(a.action, a.states...); err != nil {
			return m, err
		}
	}
	if row.Task != Migrating {
		return m, busy(id, a.action, "task_state", row.taskShown())
	}
	m, err = migrationOf(c, id, number)
	if err == nil && !slices.Contains(a.statuses, m.Status) {
		err = wrongMigrationState(id, number, m.Status, a.method)
	}
	return m, err
}

// taskShown is the task_state in refusals.
func (s ServerRow) taskShown() string {
	if s.Task == "" {
		return "None"
	}
	return s.Task
}

// errAborted is why an aborted live migration is undone.
var errAborted = errors.New("the live migration was aborted")

// aborted returns the undoing of a live migration that was aborted, and whether it was.
func (m *moveJob) aborted(ctx context.Context) (next, bool, error) {
	err := m.view(ctx, func(r Reader) error {
		rows, err := Rows[OperationRow](r, Where(ByID, m.id))
		if len(rows) > 0 {
			m.op.Aborted = rows[0].Aborted
		}
		return err
	})
	return next{Back: true, Change: m.stepFailed(errAborted.Error(), errAborted)}, m.op.Aborted, err
}

// bindSecond binds the server's ports to the destination as well.
func (m *moveJob) bindSecond(ctx context.Context) (next, error) {
	migration, _, err := m.migration(ctx)
	if err != nil {
		return next{}, err
	}
	if n, aborted, err := m.aborted(ctx); err != nil || aborted {
		return n, err
	}
	if err := m.readOwnPorts(ctx); err != nil {
		return next{}, err
	}
	bound, err := m.s.bindings.bindSecond(ctx, m.ports, bindingTarget{
		server: m.subject, host: migration.Dest, mappings: m.Claim.Mappings, devices: m.Devices,
	})
	if err == nil && m.kind().move.preplugged {
		err = m.s.bindings.setDestination(ctx, m.ports, migration.Dest)
	}
	switch {
	case err == nil:
		return next{Change: func(*change, *ServerRow) error {
			m.DestinationPorts = bound
			return nil
		}}, nil
	case outcomeUnknown(ctx, err):
		return next{}, err
	}
	return next{Back: true, Change: m.notBoundThere(err)}, nil
}

// unbindSecond removes the bindings to the destination.
func (m *moveJob) unbindSecond(ctx context.Context) (next, error) {
	migration, _, err := m.migration(ctx)
	if err != nil {
		return next{}, err
	}
	if err := m.readOwnPorts(ctx); err != nil {
		return next{}, err
	}
	if m.kind().move.preplugged {
		if err := m.s.bindings.setDestination(ctx, m.ports, ""); err != nil {
			return next{}, err
		}
	}
	if err := m.s.bindings.deleteSecond(ctx, m.ports, migration.Dest); m.FinalError == nil || !errors.Is(err, ErrBindingActive) {
		return next{}, err
	}
	return next{}, nil // it could not be bound to the source again, and the server is in error
}

// deleteBindings removes the bindings of the server's ports to a host that the server is not on.
func (m *moveJob) deleteBindings(ctx context.Context, host string) error {
	if err := m.readOwnPorts(ctx); err != nil {
		return err
	}
	return m.s.bindings.deleteSecond(ctx, m.ports, host)
}

// prepareDestination has the destination build the server, which does not run there yet.
func (m *moveJob) prepareDestination(ctx context.Context) (next, error) {
	migration, _, err := m.migration(ctx)
	if err != nil {
		return next{}, err
	}
	if n, aborted, err := m.aborted(ctx); err != nil || aborted {
		return n, err
	}
	if m.Awaited == "" {
		bound, err := json.Marshal(m.DestinationPorts)
		if err != nil {
			return next{}, err
		}
		return next{}, m.send(ctx, migration.Dest, "compute_pre_live_migration", func(_ *ServerRow, row *HostedRow) {
			row.Wish, row.Boot, row.Bound = WishStopped, "", bound
			row.Generation++
		})
	}
	return m.doneOrUndo(ctx, migration.Dest, func(c *change, _ *ServerRow) error {
		return c.setMigration(migration.ID, func(row *MigrationRow) { row.Status = running })
	})
}

// destroyAtDestination has the destination destroy what it built.
func (m *moveJob) destroyAtDestination(ctx context.Context) (next, error) {
	migration, _, err := m.migration(ctx)
	if err != nil {
		return next{}, err
	}
	return m.destroyAt(ctx, migration.Dest)
}

// stopAtSource has the source stop the server and keep it. No driver moves its memory.
func (m *moveJob) stopAtSource(ctx context.Context) (next, error) {
	migration, _, err := m.migration(ctx)
	if err != nil {
		return next{}, err
	}
	if n, aborted, err := m.aborted(ctx); err != nil || aborted {
		return n, err
	}
	if m.Awaited == "" {
		state, err := m.hostedState(ctx, migration.Source)
		if err != nil {
			return next{}, err
		}
		return next{}, m.send(ctx, migration.Source, "compute_live_migration", func(_ *ServerRow, row *HostedRow) {
			row.Wish, row.Boot = WishKept, ""
			row.Slots = state.allSlots(row.Slots)
		})
	}
	return m.doneOrUndo(ctx, migration.Source, func(c *change, _ *ServerRow) error {
		if m.op.Aborted { // since this step began: the next attempt goes back
			return errAborted
		}
		return c.setMigration(migration.ID, func(row *MigrationRow) { row.Status = postMigrating })
	})
}

// activate makes the bindings to the destination the active ones.
func (m *moveJob) activate(ctx context.Context) (next, error) {
	migration, _, err := m.migration(ctx)
	if err != nil {
		return next{}, err
	}
	if err := m.readOwnPorts(ctx); err != nil {
		return next{}, err
	}
	active, err := m.s.bindings.activate(ctx, m.ports, migration.Dest)
	switch {
	case outcomeUnknown(ctx, err):
		return next{}, err
	case err != nil:
		return next{Back: true, Change: m.notBoundThere(err)}, nil
	}
	return next{Change: func(c *change, row *ServerRow) error {
		row.Host, row.Node = migration.Dest, migration.DestNode
		return c.seePorts(row.ID, active)
	}}, nil
}

// activateSource makes the bindings to the source the active ones again. They are created again:
// one that was active before is not bound.
func (m *moveJob) activateSource(ctx context.Context) (next, error) {
	migration, source, err := m.migration(ctx)
	if err != nil {
		return next{}, err
	}
	if err := m.readOwnPorts(ctx); err != nil {
		return next{}, err
	}
	var finalErr error
	for i, p := range m.ports {
		before, ok := source.port(p.ID)
		if !ok || p.Host == migration.Source && !p.Failed() {
			continue
		}
		current := p
		serving, err := before.serving(p.Asks)
		if err == nil {
			current, err = m.s.bindings.bindAndActivate(ctx, p, Binding{Server: m.subject, Host: migration.Source, Allocation: serving, Device: before.Device})
		}
		switch {
		case errors.Is(err, ErrNoPort):
		case outcomeUnknown(ctx, err), errors.Is(err, ErrPortChanged): // since it was read
			return next{}, err
		case err != nil:
			finalErr = err
		default:
			m.ports[i] = current
		}
	}
	return next{Change: func(c *change, row *ServerRow) error {
		if finalErr != nil {
			m.FinalError = &Failure{Code: 500, Message: forUser(finalErr), Details: finalErr.Error()}
		}
		row.Host, row.Node = migration.Source, migration.SourceNode
		return c.seePorts(row.ID, m.ports)
	}}, nil
}

// runAtDestination has the destination run the server.
func (m *moveJob) runAtDestination(ctx context.Context) (next, error) {
	migration, source, err := m.migration(ctx)
	if err != nil {
		return next{}, err
	}
	if m.Awaited == "" {
		return next{}, m.send(ctx, migration.Dest, "compute_post_live_migration_at_destination", func(_ *ServerRow, row *HostedRow) {
			row.Wish, row.Bound = source.wish(), nil
		})
	}
	return m.doneOrUndo(ctx, migration.Dest, nil)
}

// destroyAfterMove has the source destroy the server, and removes the ports' bindings to it.
func (m *moveJob) destroyAfterMove(ctx context.Context) (next, error) {
	migration, _, err := m.migration(ctx)
	if err != nil {
		return next{}, err
	}
	if n, err := m.destroyAt(ctx, migration.Source); err != nil {
		return n, err
	}
	return next{}, m.deleteBindings(ctx, migration.Source)
}

// unbindSource removes the bindings to the source.
func (m *moveJob) unbindSource(ctx context.Context) (next, error) {
	migration, _, err := m.migration(ctx)
	if err != nil {
		return next{}, err
	}
	return next{}, m.deleteBindings(ctx, migration.Source)
}

// movedLive is the effect of a live migration that has succeeded.
func (m *moveJob) movedLive() effect {
	return func(c *change, row *ServerRow) error {
		row.Task = ""
		if err := c.setMigration(m.Migration, func(row *MigrationRow) { row.Status = completed }); err != nil {
			return err
		}
		return c.endAll(m.Action, nil)
	}
}
