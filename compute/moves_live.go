package compute

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"slices"

	"github.com/berthcloud/berth/fault"
	"github.com/berthcloud/berth/guarantee"
	"github.com/berthcloud/berth/watch"
)

// The actions of a live migration.
const (
	liveAction     = "os-migrateLive"
	liveNoted      = "live-migration" // as it is listed among the server's actions
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

// LiveMigrateServer begins to move a running server to another host. Faults: InstanceNotFound, InstanceIsLocked,
// InvalidState, InstanceNotReady, ComputeHostNotFound, ExtendedResourceRequestOldCompute, and NoValidHost if it waits.
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
	m := moving{
		operation: live, action: liveNoted, kind: liveMigration, task: Migrating, status: enqueued, events: []string{outer}, host: to.Host,
		may:  func(c *change) (ServerRow, error) { err := may(c); return row, err },
		body: body{Image: image.Image, Flavor: row.Flavor, FlavorID: row.FlavorID, Forced: to.Forced},
	}
	migration, err := s.beginMove(ctx, by, id, m)
	if err != nil || !to.Wait {
		return err
	}
	return s.awaitChoice(ctx, migration)
}

// awaitChoice waits until a host is chosen for a migration, not longer than Settings.HostTime. The fault says why there is
// none.
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

// CompleteLiveMigration notes that a live migration is to be completed even if the server stands still for it. Here it does
// so in any case. Faults: InstanceNotFound, InstanceIsLocked, InvalidState, MigrationNotFoundForInstance,
// InvalidMigrationState.
func (s *Service) CompleteLiveMigration(ctx context.Context, by Caller, id ID, number int64) error {
	return s.update(ctx, func(c *change) error {
		m, err := c.migrationUnderWay(by, id, number, "force_complete", "force complete", running)
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

// AbortLiveMigration begins to undo a live migration: one that is running, or also one that is not yet. It is refused when
// the server has been stopped at its source, from where on nothing is aborted, and while the migration is undone because it has failed. Faults
// are those of CompleteLiveMigration.
func (s *Service) AbortLiveMigration(ctx context.Context, by Caller, id ID, number int64, early bool) error {
	err := s.update(ctx, func(c *change) error {
		statuses := []string{running}
		if early {
			statuses = append(statuses, enqueued, preparing)
		}
		m, err := c.migrationUnderWay(by, id, number, abortMethod, abortMethod, statuses...)
		if err != nil {
			return err
		}
		under, err := One[OperationRow](c, Where(ByServer, id))
		if err != nil {
			return err
		}
		b, err := under.body()
		if err != nil {
			return err
		}
		if under.Back && !b.Abort {
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
		b.Abort, under.Awaits = true, ""
		if under.Body, err = json.Marshal(b); err != nil {
			return err
		}
		return c.Replace(&under)
	})
	s.wake()
	return err
}

// abortMethod is what refusals call it.
const abortMethod = "abort live migration"

func wrongMigrationState(server ID, number int64, state, method string) error {
	return invalid("InvalidMigrationState", "Migration %d state of instance %s is %s. Cannot %s while the migration is in this state.", number, server, state, method)
}

// migrationUnderWay returns the migration that a server is in, which must have one of some statuses.
func (c *change) migrationUnderWay(by Caller, id ID, number int64, action, method string, statuses ...string) (m MigrationRow, err error) {
	row, err := OneOr[ServerRow](c, noServer(id), Where(ByID, id))
	if err != nil {
		return m, err
	}
	if err := row.unlocked(by); err != nil {
		return m, err
	}
	if row.Task != Migrating {
		return m, busy(id, action, "task_state", row.taskShown())
	}
	m, err = migrationOf(c, id, number)
	if err == nil && !slices.Contains(statuses, m.Status) {
		err = wrongMigrationState(id, number, m.Status, method)
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
func (j *job) aborted(ctx context.Context) (next, bool, error) {
	err := j.view(ctx, func(r Reader) error {
		rows, err := Rows[OperationRow](r, Where(ByID, j.id))
		if err != nil || len(rows) == 0 {
			return err
		}
		b, err := rows[0].body()
		j.b.Abort = b.Abort
		return err
	})
	return next{Back: true, Change: j.stepFailed(errAborted.Error(), errAborted)}, j.b.Abort, err
}

// bindSecond binds the server's ports to the destination as well.
func (j *job) bindSecond(ctx context.Context) (next, error) {
	m, _, err := j.migration(ctx)
	if err != nil {
		return next{}, err
	}
	if n, is, err := j.aborted(ctx); err != nil || is {
		return n, err
	}
	if err := j.readOwnPorts(ctx); err != nil {
		return next{}, err
	}
	there, err := j.bindAllAt(ctx, m.Dest)
	if err == nil && j.op.Kind == live { // agents on the destination plug it in before the server runs there
		err = j.nameDestination(ctx, m.Dest)
	}
	switch {
	case err == nil:
		return next{Change: func(*change, *ServerRow) error {
			j.b.There = there
			return nil
		}}, nil
	case undecided(ctx, err):
		return next{}, err
	}
	return next{Back: true, Change: j.notBoundThere(err)}, nil
}

// bindAllAt binds the server's ports to a second host, and returns them as they are there.
func (j *job) bindAllAt(ctx context.Context, host string) (map[ID]Port, error) {
	if err := j.checkGroups(j.ports); err != nil {
		return nil, err
	}
	there := map[ID]Port{}
	for _, p := range j.ports {
		b := Binding{Server: j.op.Server, Host: host}
		var err error
		if b.Allocation, err = p.Asks.Binding(j.b.Claim.Mappings); err != nil {
			return nil, fmt.Errorf("%w: %w", ErrPortChanged, err)
		}
		if d, ok := j.b.Devices[p.ID]; ok {
			b.Device = &d
		}
		bound, err := j.s.network.CreateBinding(ctx, p.ID, b)
		switch {
		case err != nil:
			return nil, err
		case bound.Failed():
			return nil, &notBound{port: p.ID, host: host, why: bound.Reason}
		}
		p.Host, p.VNIC, p.VIF, p.Allocation, p.Slot = host, bound.VNIC, bound.VIF, bound.Allocation, bound.Slot
		there[p.ID] = p
	}
	return there, nil
}

// nameDestination notes on the server's ports where it is being moved to, or with "" that it is not any more. Nothing is noted of
// a port whose change the network service refuses, such as that of a whole device with a guarantee: no agent plugs it in.
func (j *job) nameDestination(ctx context.Context, host string) error {
	for _, p := range j.ports {
		var err error
		for range tries {
			if err = j.s.network.NameDestination(ctx, p.ID, host); !errors.Is(err, ErrRevision) {
				break
			}
		}
		if kind, _ := fault.Of(err); err != nil && kind != fault.Conflict && !errors.Is(err, ErrNoPort) {
			return err
		}
	}
	return nil
}

// boundThere are the ports for the row of the destination.
func (j *job) boundThere() ([]byte, error) { return json.Marshal(j.b.There) }

// unbindSecond removes the bindings to the destination.
func (j *job) unbindSecond(ctx context.Context) (next, error) {
	m, _, err := j.migration(ctx)
	if err != nil {
		return next{}, err
	}
	if j.op.Kind == live {
		if err := j.readOwnPorts(ctx); err != nil {
			return next{}, err
		}
		if err := j.nameDestination(ctx, ""); err != nil {
			return next{}, err
		}
	}
	if err := j.deleteBindings(ctx, m.Dest); j.b.Trouble == nil || !errors.Is(err, ErrBindingActive) {
		return next{}, err
	}
	return next{}, nil // it could not be bound to the source again, and the server is in error
}

// deleteBindings removes the bindings of the server's ports to a host that the server is not on.
func (j *job) deleteBindings(ctx context.Context, host string) error {
	if err := j.readOwnPorts(ctx); err != nil {
		return err
	}
	for _, p := range j.ports {
		if err := j.s.network.DeleteBinding(ctx, p.ID, host); err != nil {
			return err
		}
	}
	return nil
}

// prepareDestination has the destination build the server, which does not run there yet.
func (j *job) prepareDestination(ctx context.Context) (next, error) {
	m, _, err := j.migration(ctx)
	if err != nil {
		return next{}, err
	}
	if n, is, err := j.aborted(ctx); err != nil || is {
		return n, err
	}
	if j.b.Asked == "" {
		bound, err := j.boundThere()
		if err != nil {
			return next{}, err
		}
		return next{}, j.ask(ctx, m.Dest, "compute_pre_live_migration", func(_ *ServerRow, row *HostedRow) {
			row.Wish, row.Boot, row.Bound = WishStopped, "", bound
			row.Generation++
		})
	}
	return j.asked(ctx, m.Dest, func(c *change, _ *ServerRow) error {
		return c.setMigration(m.ID, func(m *MigrationRow) { m.Status = running })
	})
}

// asked returns what follows the answer of a host: the step is done, with an effect, or the move is undone.
func (j *job) asked(ctx context.Context, host string, done effect) (next, error) {
	event, err := j.answerOf(ctx, host)
	if err != nil {
		return next{}, err
	}
	if event.Result == failed {
		return next{Back: true, Change: j.stepFailed(event.Traceback, errors.New(event.Details))}, nil
	}
	return next{Change: func(c *change, row *ServerRow) error {
		if done != nil {
			if err := done(c, row); err != nil {
				return err
			}
		}
		return j.endAsked(c)
	}}, nil
}

// destroyAtDestination has the destination destroy what it built.
func (j *job) destroyAtDestination(ctx context.Context) (next, error) {
	m, _, err := j.migration(ctx)
	if err != nil {
		return next{}, err
	}
	return j.destroyAt(ctx, m.Dest)
}

// stopAtSource has the source stop the server and keep it. No driver moves its memory.
func (j *job) stopAtSource(ctx context.Context) (next, error) {
	m, _, err := j.migration(ctx)
	if err != nil {
		return next{}, err
	}
	if n, is, err := j.aborted(ctx); err != nil || is {
		return n, err
	}
	if j.b.Asked == "" {
		p, err := j.parting(ctx, m.Source)
		if err != nil {
			return next{}, err
		}
		return next{}, j.ask(ctx, m.Source, "compute_live_migration", func(_ *ServerRow, row *HostedRow) {
			row.Wish, row.Boot = WishKept, ""
			row.Slots = append(row.Slots, p.slots(p.ports...)...)
		})
	}
	return j.asked(ctx, m.Source, func(c *change, _ *ServerRow) error {
		if j.b.Abort { // since this step began: the next attempt goes back
			return errAborted
		}
		return c.setMigration(m.ID, func(m *MigrationRow) { m.Status = postMigrating })
	})
}

// activate makes the bindings to the destination the active ones.
func (j *job) activate(ctx context.Context) (next, error) {
	m, _, err := j.migration(ctx)
	if err != nil {
		return next{}, err
	}
	if err := j.readOwnPorts(ctx); err != nil {
		return next{}, err
	}
	for i, p := range j.ports {
		now, err := j.s.network.ActivateBinding(ctx, p.ID, m.Dest)
		switch {
		case errors.Is(err, ErrNoPort):
		case undecided(ctx, err):
			return next{}, err
		case err != nil:
			return next{Back: true, Change: j.notBoundThere(err)}, nil
		default:
			j.ports[i] = now
		}
	}
	return next{Change: func(c *change, row *ServerRow) error {
		row.Host, row.Node = m.Dest, m.DestNode
		return c.seePorts(row.ID, j.ports)
	}}, nil
}

// activateSource makes the bindings to the source the active ones again. They are made anew: one that was active before
// is not bound.
func (j *job) activateSource(ctx context.Context) (next, error) {
	m, was, err := j.migration(ctx)
	if err != nil {
		return next{}, err
	}
	if err := j.readOwnPorts(ctx); err != nil {
		return next{}, err
	}
	var trouble error
	for i, p := range j.ports {
		f, ok := was.port(p.ID)
		if !ok || p.Host == m.Source && !p.Failed() {
			continue
		}
		now, serving, err := p, guarantee.ProfileAllocation{}, error(nil)
		if serving, err = f.serving(p.Asks); err == nil {
			now, err = j.activateAt(ctx, p, Binding{Server: j.op.Server, Host: m.Source, Allocation: serving, Device: f.Device})
		}
		switch {
		case errors.Is(err, ErrNoPort):
		case undecided(ctx, err), errors.Is(err, ErrPortChanged): // since it was read
			return next{}, err
		case err != nil:
			trouble = err
		default:
			j.ports[i] = now
		}
	}
	return next{Change: func(c *change, row *ServerRow) error {
		if trouble != nil {
			j.b.Trouble = &Failure{Code: 500, Message: forUser(trouble), Details: trouble.Error()}
		}
		row.Host, row.Node = m.Source, m.SourceNode
		return c.seePorts(row.ID, j.ports)
	}}, nil
}

// activateAt binds a port to a host, and makes that binding the active one.
func (j *job) activateAt(ctx context.Context, p Port, b Binding) (Port, error) {
	is, err := j.s.network.CreateBinding(ctx, p.ID, b)
	if err == nil && is.Failed() {
		err = &notBound{port: p.ID, host: b.Host, why: is.Reason}
	}
	if err != nil {
		return p, err
	}
	return j.s.network.ActivateBinding(ctx, p.ID, b.Host)
}

// runAtDestination has the destination run the server.
func (j *job) runAtDestination(ctx context.Context) (next, error) {
	m, was, err := j.migration(ctx)
	if err != nil {
		return next{}, err
	}
	if j.b.Asked == "" {
		return next{}, j.ask(ctx, m.Dest, "compute_post_live_migration_at_destination", func(_ *ServerRow, row *HostedRow) {
			row.Wish, row.Bound = was.wish(), nil
		})
	}
	return j.asked(ctx, m.Dest, nil)
}

// leaveBehind has the source destroy the server, and removes the ports' bindings to it.
func (j *job) leaveBehind(ctx context.Context) (next, error) {
	m, _, err := j.migration(ctx)
	if err != nil {
		return next{}, err
	}
	if n, err := j.destroyAt(ctx, m.Source); err != nil {
		return n, err
	}
	return next{}, j.deleteBindings(ctx, m.Source)
}

// unbindSource removes the bindings to the source.
func (j *job) unbindSource(ctx context.Context) (next, error) {
	m, _, err := j.migration(ctx)
	if err != nil {
		return next{}, err
	}
	return next{}, j.deleteBindings(ctx, m.Source)
}

// movedLive is the effect of a live migration that has succeeded.
func (j *job) movedLive() effect {
	return func(c *change, row *ServerRow) error {
		row.Task = ""
		if err := c.setMigration(j.b.Migration, func(m *MigrationRow) { m.Status = completed }); err != nil {
			return err
		}
		return c.endAll(j.b.Action, nil)
	}
}
