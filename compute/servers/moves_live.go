package servers

import (
	"context"
	"errors"
	"slices"

	"github.com/berthcloud/berth/compute"
	"github.com/berthcloud/berth/compute/lifecycle"
	"github.com/berthcloud/berth/compute/scheduler"
	"github.com/berthcloud/berth/watch"
)

// The actions of a live migration.
const (
	liveAction     = "os-migrateLive"
	liveListed     = "live-migration" // as it is listed among the server's actions
	completeAction = "live_migration_force_complete"
	abortAction    = "live_migration_cancel"
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
func (s *Service) LiveMigrateServer(ctx context.Context, by compute.Caller, id compute.ID, to LiveMigration) error {
	var row compute.ServerRow
	may := func(r compute.Reader) (err error) {
		if row, err = compute.OneOr[compute.ServerRow](r, compute.NoServer(id), compute.Where(compute.ByID, id)); err != nil {
			return err
		}
		if err := row.CheckUnlocked(by); err != nil {
			return err
		}
		if err := row.CheckState(liveAction, compute.Active, compute.Paused); err != nil {
			return err
		}
		if err := s.lifecycle.Idle(r, row, liveAction); err != nil {
			return err
		}
		if row.Host == "" {
			return compute.Conflict("InstanceNotReady", "Instance %s is not ready", row.ID)
		}
		return nil
	}
	if err := s.mayMove(ctx, id, compute.GuaranteedLiveMigrate, "os-migrateLive"); err != nil {
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
		operation: lifecycle.KindLive, action: liveListed, kind: compute.TypeLive, task: compute.Migrating,
		status: compute.StatusQueued, events: []string{outer}, host: to.Host,
		may: func(c *lifecycle.Change) (compute.ServerRow, error) { err := may(c); return row, err },
		data: lifecycle.MoveData{
			HostChoice: scheduler.HostChoice{Image: image.Image, Forced: to.Forced}, Flavor: row.Flavor, FlavorID: row.FlavorID,
		},
	}
	migration, err := s.beginMove(ctx, by, id, m)
	if err != nil || !to.Wait {
		return err
	}
	return s.awaitChoice(ctx, migration)
}

// awaitChoice waits until a host is chosen for a migration, not longer than Settings.HostTime. The
// fault says why there is none.
func (s *Service) awaitChoice(ctx context.Context, m compute.MigrationRow) error {
	if !s.carriesOut() {
		return nil
	}
	type choice struct {
		made    bool
		failure error
	}
	read := func(r compute.Reader) (c choice, err error) {
		rows, err := compute.Rows[compute.MigrationRow](r, compute.Where(compute.ByServer, m.Server),
			compute.Where(compute.ByID, m.ID))
		if err != nil || len(rows) == 0 { // the server was deleted
			return choice{made: true}, err
		}
		if c.made = rows[0].Status != compute.StatusQueued; rows[0].Status == compute.StatusError {
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
func lastFailure(r compute.Reader, server compute.ID) (error, error) {
	actions, err := compute.Rows[compute.ActionRow](r, compute.Where(compute.ByServer, server))
	if err != nil || len(actions) == 0 {
		return nil, err
	}
	last := slices.MaxFunc(actions, func(a, b compute.ActionRow) int { return a.Sequence - b.Sequence })
	events, err := eventsOf(r, last.ID)
	for _, e := range events {
		if e.Result == compute.EventFailed {
			return compute.Invalid("NoValidHost", "%s", e.Details), err
		}
	}
	return nil, err
}

// migrationOf returns a migration of a server by its number. Fault: MigrationNotFound.
func migrationOf(r compute.Reader, server compute.ID, number int64) (compute.MigrationRow, error) {
	all, err := compute.Rows[compute.MigrationRow](r, compute.Where(compute.ByServer, server))
	for _, m := range all {
		if m.Number == number {
			return m, err
		}
	}
	if err == nil {
		err = compute.NotFound("MigrationNotFoundForInstance", "Migration %d not found for instance %s", number, server)
	}
	return compute.MigrationRow{}, err
}

// CompleteLiveMigration records that a live migration is to be completed even if the server stands
// still for it. Here it does so in any case. Faults: InstanceNotFound, InstanceIsLocked,
// InvalidState, MigrationNotFoundForInstance, InvalidMigrationState.
func (s *Service) CompleteLiveMigration(ctx context.Context, by compute.Caller, id compute.ID, number int64) error {
	return s.lifecycle.Update(ctx, func(c *lifecycle.Change) error {
		m, err := migrationUnderWay(c, by, id, number,
			migrationAction{"force_complete", "force complete", []string{compute.Active}, []string{compute.StatusRunning}})
		if err != nil {
			return err
		}
		action, err := c.RecordAction(by, id, completeAction)
		if err != nil {
			return err
		}
		event, err := c.StartEvent(action.ID, "compute_live_migration_force_complete", m.Source)
		if err != nil {
			return err
		}
		return c.EndEvent(event.ID, nil)
	})
}

// AbortLiveMigration begins to undo a live migration: one that is running, or also one that is not
// yet. It is refused when the server has been stopped at its source, from where on nothing is
// aborted, and while the migration is undone because it has failed for good. Faults are those of
// CompleteLiveMigration.
func (s *Service) AbortLiveMigration(
	ctx context.Context, by compute.Caller, id compute.ID, number int64, early bool,
) error {
	err := s.lifecycle.Update(ctx, func(c *lifecycle.Change) error {
		statuses := []string{compute.StatusRunning}
		if early {
			statuses = append(statuses, compute.StatusQueued, compute.StatusPreparing)
		}
		m, err := migrationUnderWay(c, by, id, number, migrationAction{abortMethod, abortMethod, nil, statuses})
		if err != nil {
			return err
		}
		operation, err := compute.One[compute.OperationRow](c, compute.Where(compute.ByServer, id))
		if err != nil {
			return err
		}
		if operation.Back && operation.UndoTo == "" && !operation.Aborted {
			return wrongMigrationState(id, number, "failed", abortMethod)
		}
		action, err := c.RecordAction(by, id, abortAction)
		if err != nil {
			return err
		}
		event, err := c.StartEvent(action.ID, "compute_live_migration_abort", m.Source)
		if err != nil {
			return err
		}
		if err := c.EndEvent(event.ID, nil); err != nil {
			return err
		}
		operation.Aborted, operation.Awaits = true, "" // a worker is to see it, whatever it waits for
		return c.Replace(&operation)
	})
	s.lifecycle.Wake()
	return err
}

// abortMethod is what refusals call it.
const abortMethod = "abort live migration"

func wrongMigrationState(server compute.ID, number int64, state, method string) error {
	return compute.Invalid("InvalidMigrationState",
		"Migration %d state of instance %s is %s. Cannot %s while the migration is in this state.", number, server,
		state, method)
}

// migrationUnderWay returns the migration that a server is in, unless a state forbids the action.
func migrationUnderWay(
	c *lifecycle.Change, by compute.Caller, id compute.ID, number int64, a migrationAction,
) (m compute.MigrationRow, err error) {
	row, err := compute.OneOr[compute.ServerRow](c, compute.NoServer(id), compute.Where(compute.ByID, id))
	if err != nil {
		return m, err
	}
	if err := row.CheckUnlocked(by); err != nil {
		return m, err
	}
	if a.states != nil {
		if err := row.CheckState(a.action, a.states...); err != nil {
			return m, err
		}
	}
	if row.Task != compute.Migrating {
		return m, compute.Busy(id, a.action, "task_state", taskShown(row))
	}
	m, err = migrationOf(c, id, number)
	if err == nil && !slices.Contains(a.statuses, m.Status) {
		err = wrongMigrationState(id, number, m.Status, a.method)
	}
	return m, err
}

// taskShown is the task_state in refusals.
func taskShown(s compute.ServerRow) string {
	if s.Task == "" {
		return "None"
	}
	return s.Task
}

// A migrationAction is something that is done to a migration in progress.
type migrationAction struct {
	action, method string   // in refusals, for the server and for the migration
	states         []string // vm_state, nil for any
	statuses       []string // of the migration
}
