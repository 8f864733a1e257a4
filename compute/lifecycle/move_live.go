package lifecycle

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"maps"
	"slices"

	"github.com/berthcloud/berth/compute"
	"github.com/berthcloud/berth/compute/scheduler"
	"github.com/berthcloud/berth/compute/serverports"
)

// errAborted is why an aborted live migration is undone.
var errAborted = errors.New("the live migration was aborted")

// aborted returns the undoing of a live migration that was aborted, and whether it was.
func (m *moveJob) aborted(ctx context.Context) (next, bool, error) {
	err := m.view(ctx, func(r compute.Reader) error {
		rows, err := compute.Rows[compute.OperationRow](r, compute.Where(compute.ByID, m.id))
		if len(rows) > 0 {
			m.op.Aborted = rows[0].Aborted
		}
		return err
	})
	return next{Back: true, Change: m.stepFailed(errAborted.Error(), errAborted)}, m.op.Aborted, err
}

// mayMoveLive refuses a server with PCI devices by an alias that is not live_migratable, as Nova
// does (nova.conductor.tasks.live_migrate). Mediated devices move: the destination has others, of
// the same types.
func (m *moveJob) mayMoveLive(ctx context.Context) error {
	state, err := m.hostedState(ctx, "")
	if err != nil {
		return err
	}
	assignment, err := compute.ReadAssignment(state.row.Assignment)
	if err != nil || assignment == nil {
		return err
	}
	for _, d := range assignment.PCIDevices {
		if !d.LiveMigratable {
			return &compute.Failure{Code: 400, Message: fmt.Sprintf("Migration pre-check error: server %s has the PCI device "+
				"%s by the alias %s, which is not live_migratable.", m.subject, d.Address, d.Alias)}
		}
	}
	return nil
}

// checkMdevTypes refuses a destination of a live migration whose mediated devices are of other
// types than those that the server has, as Nova's hosts do: what runs in it goes on with them.
func checkMdevTypes(former []byte, chosen *compute.Assignment) error {
	has, err := compute.ReadAssignment(former)
	if err != nil || has == nil || len(has.Mdevs) == 0 {
		return err
	}
	count := func(a *compute.Assignment) map[string]int {
		types := map[string]int{}
		if a != nil {
			for _, d := range a.Mdevs {
				types[d.Type]++
			}
		}
		return types
	}
	from, to := count(has), count(chosen)
	if maps.Equal(from, to) {
		return nil
	}
	return &scheduler.HostRefused{Why: fmt.Sprintf("the server has mediated devices of the types %v, and would get %v",
		slices.Sorted(maps.Keys(from)), slices.Sorted(maps.Keys(to)))}
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
	bound, err := m.s.bindings.BindSecond(ctx, m.ports, serverports.BindingTarget{
		Server: m.subject, Host: migration.Dest, Mappings: m.Claim.Mappings, Devices: m.Devices,
	})
	if err == nil && m.kind().move.preplugged {
		err = m.s.bindings.SetDestination(ctx, m.ports, migration.Dest)
	}
	switch {
	case err == nil:
		return next{Change: func(*Change, *compute.ServerRow) error {
			m.DestinationPorts = bound
			return nil
		}}, nil
	case compute.OutcomeUnknown(ctx, err):
		return next{}, err
	}
	return m.refusedAt(ctx, migration.Dest, err.Error(), m.notBoundThere(err)), nil
}

// refusedAt returns the undoing of a live migration whose destination has refused the server before
// anything has moved, with the effect of the failed step. Another destination is chosen after it,
// unless one was requested or Settings.LiveRetries have been tried. Other moves are undone.
func (m *moveJob) refusedAt(ctx context.Context, host, why string, failed effect) next {
	if m.op.Kind != KindLive || m.Node != "" || m.op.Aborted {
		return next{Back: true, Change: failed}
	}
	tried, most := len(m.Refused)+1, m.s.rules.Settings.LiveRetries
	if most >= 0 && tried > most {
		return next{Back: true, Change: func(c *Change, row *compute.ServerRow) error {
			event, err := m.failedAndEvent(c, row, failed)
			if err != nil {
				return err
			}
			return c.EndEvent(event.ID, &compute.StepError{
				Text: fmt.Sprintf("Exceeded maximum number of retries. Exceeded max scheduling retries %d for instance %s "+
					"during live migration", tried, row.ID),
				Details: host + ": " + why,
			})
		}}
	}
	m.s.rules.Log.WarnContext(ctx, "a destination has refused a live migration; another one is chosen",
		"server", m.subject, "host", host, "error", why)
	return next{Back: true, UndoTo: stepClaim, Change: func(c *Change, row *compute.ServerRow) error {
		refused := map[string]string{host: fmt.Sprintf("%.*s", maxCause, why)}
		maps.Copy(refused, m.Refused)
		m.Refused = refused
		_, err := m.failedAndEvent(c, row, failed)
		return err
	}}
}

// failedAndEvent carries out the effect of a failed step, and begins the event of the choice that
// follows.
func (m *moveJob) failedAndEvent(c *Change, row *compute.ServerRow, failed effect) (compute.EventRow, error) {
	if err := failed(c, row); err != nil {
		return compute.EventRow{}, err
	}
	return c.StartEvent(m.Action, eventChoose, "")
}

// eventChoose is the choice of a destination after one has refused the server.
const eventChoose = "conductor_live_migrate_instance"

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
		if err := m.s.bindings.SetDestination(ctx, m.ports, ""); err != nil {
			return next{}, err
		}
	}
	if err := m.s.bindings.DeleteSecond(ctx, m.ports, migration.Dest); m.FinalError == nil ||
		!errors.Is(err, compute.ErrBindingActive) {
		return next{}, err
	}
	return next{}, nil // it could not be bound to the source again, and the server is in error
}

// deleteBindings removes the bindings of the server's ports to a host that the server is not on.
func (m *moveJob) deleteBindings(ctx context.Context, host string) error {
	if err := m.readOwnPorts(ctx); err != nil {
		return err
	}
	return m.s.bindings.DeleteSecond(ctx, m.ports, host)
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
		assignment, err := m.StoredAssignment()
		if err != nil {
			return next{}, err
		}
		return next{}, m.send(ctx, migration.Dest, "compute_pre_live_migration",
			func(_ *compute.ServerRow, row *compute.HostedRow) {
				row.DesiredState, row.Boot, row.Bound, row.Assignment = compute.DesiredStopped, "", bound, assignment
				row.Generation++
			})
	}
	event, err := m.await(ctx, migration.Dest)
	if err != nil {
		return next{}, err
	}
	if event.Result == compute.EventFailed {
		return m.refusedAt(ctx, migration.Dest, event.Details, m.commandFailed(event)), nil
	}
	return next{Change: m.commandDone(func(c *Change, _ *compute.ServerRow) error {
		return c.SetMigration(migration.ID, func(row *compute.MigrationRow) { row.Status = compute.StatusRunning })
	})}, nil
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
		return next{}, m.send(ctx, migration.Source, "compute_live_migration",
			func(_ *compute.ServerRow, row *compute.HostedRow) {
				row.DesiredState, row.Boot = compute.DesiredRetained, ""
				row.Slots = state.allSlots(row.Slots)
			})
	}
	return m.doneOrUndo(ctx, migration.Source, func(c *Change, _ *compute.ServerRow) error {
		if m.op.Aborted { // since this step began: the next attempt goes back
			return errAborted
		}
		return c.SetMigration(migration.ID, func(row *compute.MigrationRow) { row.Status = compute.StatusPostMigrating })
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
	active, err := m.s.bindings.Activate(ctx, m.ports, migration.Dest)
	switch {
	case compute.OutcomeUnknown(ctx, err):
		return next{}, err
	case err != nil:
		return next{Back: true, Change: m.notBoundThere(err)}, nil
	}
	return next{Change: func(c *Change, row *compute.ServerRow) error {
		row.Host, row.Node = migration.Dest, migration.DestNode
		return serverports.RecordPorts(c.Tx, row.ID, active)
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
		serving, err := before.serving(p.ResourceRequest)
		if err == nil {
			current, err = m.s.bindings.BindAndActivate(ctx, p, compute.Binding{
				Server: m.subject, Host: migration.Source, Allocation: serving, Device: before.Device,
			})
		}
		switch {
		case errors.Is(err, compute.ErrNoPort):
		case compute.OutcomeUnknown(ctx, err), errors.Is(err, compute.ErrPortChanged): // since it was read
			return next{}, err
		case err != nil:
			finalErr = err
		default:
			m.ports[i] = current
		}
	}
	return next{Change: func(c *Change, row *compute.ServerRow) error {
		if finalErr != nil {
			m.FinalError = &compute.Failure{Code: 500, Message: serverports.ForUser(finalErr), Details: finalErr.Error()}
		}
		row.Host, row.Node = migration.Source, migration.SourceNode
		return serverports.RecordPorts(c.Tx, row.ID, m.ports)
	}}, nil
}

// runAtDestination has the destination run the server.
func (m *moveJob) runAtDestination(ctx context.Context) (next, error) {
	migration, source, err := m.migration(ctx)
	if err != nil {
		return next{}, err
	}
	if m.Awaited == "" {
		return next{}, m.send(ctx, migration.Dest, "compute_post_live_migration_at_destination",
			func(_ *compute.ServerRow, row *compute.HostedRow) {
				row.DesiredState, row.Bound = source.desiredState(), nil
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
	return func(c *Change, row *compute.ServerRow) error {
		row.Task = ""
		if err := c.SetMigration(m.Migration, func(row *compute.MigrationRow) {
			row.Status = compute.StatusCompleted
		}); err != nil {
			return err
		}
		return c.EndEvents(m.Action, nil)
	}
}
