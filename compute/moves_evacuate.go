package compute

import (
	"cmp"
	"context"
	"encoding/json"
	"slices"

	"github.com/berthcloud/berth/allocations"
)

const (
	evacuateAction = "evacuate"
	typeEvacuate   = "evacuation"
)

// The statuses of evacuations, besides those of all. One that is done is completed when the source,
// back again, has destroyed the server.
const (
	accepted = "accepted"
	done     = "done"
)

// An Evacuation is a request to build a server again whose host is down.
type Evacuation struct {
	Host   string // "" for any
	Forced bool   // the named host is not filtered
}

// EvacuateServer begins to build on another host a server whose host is down. The source destroys
// it when it is back; until then its migration has the allocations there. Faults: InstanceNotFound,
// InvalidState, ComputeHostNotFound, ComputeServiceInUse, ExtendedResourceRequestOldCompute.
func (s *Service) EvacuateServer(ctx context.Context, by Caller, id ID, to Evacuation) error {
	row, err := s.evacuable(ctx, id, to)
	if err != nil {
		return err
	}
	image, err := s.imageOf(ctx, row)
	if err != nil {
		return err
	}
	_, err = s.beginMove(ctx, by, id, moveRequest{
		operation: kindEvacuate, action: evacuateAction, kind: typeEvacuate, task: TaskRebuilding, status: accepted, events: []string{"rebuild_server"}, host: to.Host,
		may:  func(c *change) (ServerRow, error) { return s.evacuableIn(c, id, to) },
		data: moveData{hostChoice: hostChoice{Image: image.Image, Forced: to.Forced}, Flavor: row.Flavor, FlavorID: row.FlavorID},
	})
	return err
}

func (s *Service) evacuable(ctx context.Context, id ID, to Evacuation) (row ServerRow, err error) {
	if err := s.mayMoveGroups(ctx, id); err != nil {
		return row, err
	}
	err = s.store.View(ctx, func(r Reader) error {
		row, err = s.evacuableIn(r, id, to)
		return err
	})
	return row, err
}

// evacuableIn refuses in Nova's order. A lock does not matter.
func (s *Service) evacuableIn(r Reader, id ID, to Evacuation) (ServerRow, error) {
	row, err := OneOr[ServerRow](r, noServer(id), Where(ByID, id))
	if err != nil {
		return row, err
	}
	if to.Host != "" {
		if _, err := OneOr[ServiceRow](r, notFound("ComputeHostNotFound", "Compute host %s not found.", to.Host), Where(ByHost, to.Host)); err != nil {
			return row, err
		}
		if to.Host == row.Host {
			return row, invalid("HTTPBadRequest", "The target host can't be the same one.")
		}
	}
	if err := row.in(evacuateAction, Active, Stopped, Error); err != nil {
		return row, err
	}
	if err := s.kinds.idle(r, row, evacuateAction); err != nil {
		return row, err
	}
	if row.Host == "" {
		return row, conflict("InstanceNotReady", "Instance %s is not ready", row.ID)
	}
	up, err := s.rules.HostIsUp(r, row.Host)
	if err == nil && up {
		err = invalid("ComputeServiceInUse", "Compute service of %s is still in use.", row.Host)
	}
	return row, err
}

// keepFromSource has the source, should it come back, stop the server and keep it until it is known
// where the server is.
func (m *moveJob) keepFromSource(ctx context.Context) (next, error) {
	migration, _, err := m.migration(ctx)
	if err != nil {
		return next{}, err
	}
	state, err := m.hostedState(ctx, migration.Source)
	return next{Change: func(c *change, row *ServerRow) error {
		row.Task = RebuildSpawning
		return c.wishAt(*row, migration.Source, func(hosted *HostedRow) {
			hosted.Wish, hosted.Event, hosted.Boot = WishKept, "", ""
			hosted.Slots = state.allSlots(hosted.Slots)
		})
	}}, err
}

// leaveToSource has the source run the server as before, when it is back.
func (m *moveJob) leaveToSource(ctx context.Context) (next, error) {
	migration, source, err := m.migration(ctx)
	return next{Change: func(c *change, row *ServerRow) error {
		return c.wishAt(*row, migration.Source, func(hosted *HostedRow) { hosted.Wish, hosted.Slots = source.wish(), nil })
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
		return next{}, m.send(ctx, migration.Dest, "compute_rebuild_instance", func(_ *ServerRow, row *HostedRow) {
			row.Wish, row.Boot, row.Bound = WishStopped, "", bound
			row.Generation++
		})
	}
	return m.doneOrUndo(ctx, migration.Dest, nil)
}

// runEvacuated has the destination run the server, unless it was stopped. There is no way back any
// more: a server that does not run is in error.
func (m *moveJob) runEvacuated(ctx context.Context) (next, error) {
	migration, source, err := m.migration(ctx)
	if err != nil || source.wish() == WishStopped {
		return next{}, err
	}
	if m.Awaited == "" {
		return next{}, m.send(ctx, migration.Dest, "compute_start_instance", func(_ *ServerRow, row *HostedRow) { row.Wish = WishRunning })
	}
	event, err := m.await(ctx, migration.Dest)
	if err != nil {
		return next{}, err
	}
	return next{Change: func(c *change, _ *ServerRow) error {
		if event.Result == failed {
			m.FinalError = &Failure{Code: 500, Message: event.Details, Details: event.Traceback}
		}
		return m.endAwaited(c)
	}}, nil
}

// evacuated is the effect of an evacuation that has succeeded: the source destroys the server when
// it is back.
func (m *moveJob) evacuated() effect {
	return func(c *change, row *ServerRow) error {
		migration, err := One[MigrationRow](c, Where(ByID, m.Migration))
		if err != nil {
			return err
		}
		if row.State, row.Task = Active, ""; row.Power == ShutDown {
			row.State = Stopped
		} else {
			row.Power = Running // it was built again
		}
		row.Fault, row.LaunchedAt = nil, c.At
		if err := c.wishAt(*row, migration.Source, func(hosted *HostedRow) { hosted.Wish, hosted.Event = WishGone, NewID() }); err != nil {
			return err
		}
		if err := c.wish(*row, func(hosted *HostedRow) { hosted.Bound = nil }); err != nil {
			return err
		}
		if err := c.setMigration(migration.ID, func(row *MigrationRow) { row.Status = done }); err != nil {
			return err
		}
		if m.FinalError != nil {
			if err := c.wish(*row, func(hosted *HostedRow) { hosted.Event = "" }); err != nil {
				return err
			}
			return cmp.Or(c.endAll(m.Action, &stepError{text: m.FinalError.Message, details: m.FinalError.Details}), c.inError(row, *m.FinalError))
		}
		return c.endAll(m.Action, nil)
	}
}

// sourceIsClean begins to release what a server still has on the host that it was evacuated from,
// which has destroyed it.
func (c *change) sourceIsClean(server ID, host string) error {
	moves, err := Rows[MigrationRow](c, Where(ByServer, server))
	if err != nil {
		return err
	}
	for _, m := range moves {
		if m.Type != typeEvacuate || m.Status != done || m.Source != host {
			continue
		}
		if err := c.newOperation(server, kindClean, &moveData{Migration: m.ID}); err != nil {
			return err
		}
	}
	return nil
}

// sourceCleaned is the effect of that.
func (m *moveJob) sourceCleaned() effect {
	return func(c *change, _ *ServerRow) error {
		return c.setMigration(m.Migration, func(row *MigrationRow) { row.Status = completed })
	}
}

// ReleaseEvacuated releases what servers that were evacuated from a host that is down still have
// there: nothing else does when the host does not come back.
func (s *Service) ReleaseEvacuated(ctx context.Context, host string) error {
	var all []MigrationRow
	err := s.store.View(ctx, func(r Reader) error {
		all = nil
		if up, err := s.rules.HostIsUp(r, host); err != nil || up {
			return err
		}
		rows, err := Rows[MigrationRow](r, Where(ByStatus, done))
		all = slices.DeleteFunc(rows, func(m MigrationRow) bool { return m.Type != typeEvacuate || m.Source != host })
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
func (s *Service) releaseEvacuated(ctx context.Context, m MigrationRow) error {
	e := allocations.Exchange{Placement: s.placement, Migration: string(m.ID)}
	if err := e.Confirm(ctx); err != nil {
		return err
	}
	return s.update(ctx, func(c *change) error {
		return c.setMigration(m.ID, func(m *MigrationRow) { m.Status = completed })
	})
}
