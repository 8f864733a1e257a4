package lifecycle

import (
	"cmp"
	"context"
	"encoding/json"
	"slices"

	"github.com/berthcloud/berth/allocations"
	"github.com/berthcloud/berth/compute"
)

// keepFromSource has the source, should it come back, stop the server and keep it until it is known
// where the server is.
func (m *moveJob) keepFromSource(ctx context.Context) (next, error) {
	migration, _, err := m.migration(ctx)
	if err != nil {
		return next{}, err
	}
	state, err := m.hostedState(ctx, migration.Source)
	return next{Change: func(c *Change, row *compute.ServerRow) error {
		row.Task = compute.RebuildSpawning
		return c.setDesiredAt(*row, migration.Source, func(hosted *compute.HostedRow) {
			hosted.DesiredState, hosted.Event, hosted.Boot = compute.DesiredRetained, "", ""
			hosted.Slots = state.allSlots(hosted.Slots)
		})
	}}, err
}

// leaveToSource has the source run the server as before, when it is back.
func (m *moveJob) leaveToSource(ctx context.Context) (next, error) {
	migration, source, err := m.migration(ctx)
	return next{Change: func(c *Change, row *compute.ServerRow) error {
		return c.setDesiredAt(*row, migration.Source, func(hosted *compute.HostedRow) {
			hosted.DesiredState, hosted.Slots = source.desiredState(), nil
		})
	}}, err
}

// rebuildAtDestination has the destination build the server, which runs when its ports are bound
// there.
func (m *moveJob) rebuildAtDestination(ctx context.Context) (next, error) {
	migration, _, err := m.migration(ctx)
	if err != nil {
		return next{}, err
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
		return next{}, m.send(ctx, migration.Dest, "compute_rebuild_instance",
			func(_ *compute.ServerRow, row *compute.HostedRow) {
				row.DesiredState, row.Boot, row.Bound, row.Assignment = compute.DesiredStopped, "", bound, assignment
				row.Generation++
			})
	}
	return m.doneOrUndo(ctx, migration.Dest, nil)
}

// runEvacuated has the destination run the server, unless it was stopped or is to be. There is no
// way back any more: a server that does not run is in error.
func (m *moveJob) runEvacuated(ctx context.Context) (next, error) {
	migration, source, err := m.migration(ctx)
	if err != nil || m.stops(source) || source.desiredState() == compute.DesiredStopped {
		return next{}, err
	}
	if m.Awaited == "" {
		return next{}, m.send(ctx, migration.Dest, "compute_start_instance",
			func(_ *compute.ServerRow, row *compute.HostedRow) { row.DesiredState = compute.DesiredRunning })
	}
	event, err := m.await(ctx, migration.Dest)
	if err != nil {
		return next{}, err
	}
	return next{Change: func(c *Change, _ *compute.ServerRow) error {
		if event.Result == compute.EventFailed {
			m.FinalError = &compute.Failure{Code: 500, Message: event.Details, Details: event.Traceback}
		}
		return m.endAwaited(c)
	}}, nil
}

// stops reports whether an evacuation stops the server at the destination. One that was in error is
// started all the same, as in Nova's ComputeManager._do_rebuild_instance.
func (m *moveJob) stops(source SourceState) bool { return m.Stop && source.State != compute.Error }

// evacuated is the effect of an evacuation that has succeeded: the source destroys the server when
// it is back.
func (m *moveJob) evacuated() effect {
	return func(c *Change, row *compute.ServerRow) error {
		migration, err := compute.One[compute.MigrationRow](c, compute.Where(compute.ByID, m.Migration))
		if err != nil {
			return err
		}
		source, err := sourceOf(migration)
		if err != nil {
			return err
		}
		if m.stops(source) {
			row.Power = compute.ShutDown
		}
		if row.State, row.Task = compute.Active, ""; row.Power == compute.ShutDown {
			row.State = compute.Stopped
		} else {
			row.Power = compute.Running // it was built again
		}
		row.Fault, row.LaunchedAt = nil, c.At
		if err := c.setDesiredAt(*row, migration.Source, func(hosted *compute.HostedRow) {
			hosted.DesiredState, hosted.Event = compute.DesiredAbsent, compute.NewID()
		}); err != nil {
			return err
		}
		if err := c.setDesired(*row, func(hosted *compute.HostedRow) { hosted.Bound = nil }); err != nil {
			return err
		}
		if err := c.SetMigration(migration.ID, func(row *compute.MigrationRow) {
			row.Status = compute.StatusDone
		}); err != nil {
			return err
		}
		if m.FinalError != nil {
			if err := c.setDesired(*row, func(hosted *compute.HostedRow) { hosted.Event = "" }); err != nil {
				return err
			}
			return cmp.Or(c.EndEvents(m.Action, &compute.StepError{Text: m.FinalError.Message, Details: m.FinalError.Details}),
				c.inError(row, *m.FinalError))
		}
		return c.EndEvents(m.Action, nil)
	}
}

// sourceIsClean begins to release what a server still has on the host that it was evacuated from,
// which has destroyed it.
func (c *Change) sourceIsClean(server compute.ID, host string) error {
	moves, err := compute.Rows[compute.MigrationRow](c, compute.Where(compute.ByServer, server))
	if err != nil {
		return err
	}
	for _, m := range moves {
		if m.Type != compute.TypeEvacuate || m.Status != compute.StatusDone || m.Source != host {
			continue
		}
		if err := c.NewOperation(server, kindClean, &MoveData{Migration: m.ID}); err != nil {
			return err
		}
	}
	return nil
}

// sourceCleaned is the effect of that.
func (m *moveJob) sourceCleaned() effect {
	return func(c *Change, _ *compute.ServerRow) error {
		return c.SetMigration(m.Migration, func(row *compute.MigrationRow) { row.Status = compute.StatusCompleted })
	}
}

// ReleaseEvacuated releases what servers that were evacuated from a host that is down still have
// there: nothing else does when the host does not come back.
func (s *Service) ReleaseEvacuated(ctx context.Context, host string) error {
	var all []compute.MigrationRow
	err := s.store.View(ctx, func(r compute.Reader) error {
		all = nil
		if up, err := s.rules.HostIsUp(r, host); err != nil || up {
			return err
		}
		rows, err := compute.Rows[compute.MigrationRow](r, compute.Where(compute.ByStatus, compute.StatusDone))
		all = slices.DeleteFunc(rows, func(m compute.MigrationRow) bool {
			return m.Type != compute.TypeEvacuate || m.Source != host
		})
		return err
	})
	for _, m := range all {
		if err == nil {
			err = s.releaseEvacuated(ctx, m)
		}
	}
	return err
}

// releaseEvacuated releases what an evacuated server still has on its former host, which is not
// expected to come back. Should it, it destroys the server all the same.
func (s *Service) releaseEvacuated(ctx context.Context, m compute.MigrationRow) error {
	e := allocations.Exchange{Placement: s.placement, Migration: string(m.ID)}
	if err := e.Confirm(ctx); err != nil {
		return err
	}
	return s.Update(ctx, func(c *Change) error {
		return c.SetMigration(m.ID, func(m *compute.MigrationRow) { m.Status = compute.StatusCompleted })
	})
}
