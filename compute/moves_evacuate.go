package compute

import (
	"cmp"
	"context"
	"slices"

	"github.com/berthcloud/berth/allocations"
)

const (
	evacuateAction = "evacuate"
	typeEvacuate   = "evacuation"
)

// The statuses of evacuations, besides those of all. One that is done is completed when the source, back again, has
// destroyed the server.
const (
	accepted = "accepted"
	done     = "done"
)

// An Evacuation is a request to build a server anew whose host is down.
type Evacuation struct {
	Host   string // "" for any
	Forced bool   // the named host is not filtered
}

// EvacuateServer begins to build on another host a server whose host is down. The source destroys it when it is back;
// until then its migration has the allocations there. Faults: InstanceNotFound, InvalidState, ComputeHostNotFound,
// ComputeServiceInUse, ExtendedResourceRequestOldCompute.
func (s *Service) EvacuateServer(ctx context.Context, by Caller, id ID, to Evacuation) error {
	row, err := s.evacuable(ctx, id, to)
	if err != nil {
		return err
	}
	image, err := s.imageOf(ctx, row)
	if err != nil {
		return err
	}
	_, err = s.beginMove(ctx, by, id, moving{
		operation: evacuate, action: evacuateAction, kind: typeEvacuate, task: TaskRebuilding, status: accepted, events: []string{"rebuild_server"}, host: to.Host,
		may:  func(c *change) (ServerRow, error) { return s.evacuableIn(c, id, to) },
		body: body{Image: image.Image, Flavor: row.Flavor, FlavorID: row.FlavorID, Forced: to.Forced},
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

// keepFromSource has the source, should it come back, stop the server and keep it until it is known where the server is.
func (j *job) keepFromSource(ctx context.Context) (next, error) {
	m, _, err := j.migration(ctx)
	if err != nil {
		return next{}, err
	}
	p, err := j.parting(ctx, m.Source)
	return next{Change: func(c *change, row *ServerRow) error {
		row.Task = RebuildSpawning
		return c.wishAt(*row, m.Source, func(is *HostedRow) {
			is.Wish, is.Event, is.Boot = WishKept, "", ""
			is.Slots = slices.Compact(slices.Sorted(slices.Values(append(is.Slots, p.slots(p.ports...)...))))
		})
	}}, err
}

// leaveToSource has the source run the server as before, when it is back.
func (j *job) leaveToSource(ctx context.Context) (next, error) {
	m, was, err := j.migration(ctx)
	return next{Change: func(c *change, row *ServerRow) error {
		return c.wishAt(*row, m.Source, func(is *HostedRow) { is.Wish, is.Slots = was.wish(), nil })
	}}, err
}

// rebuildAtDestination has the destination build the server, which runs when its ports are bound there.
func (j *job) rebuildAtDestination(ctx context.Context) (next, error) {
	m, _, err := j.migration(ctx)
	if err != nil {
		return next{}, err
	}
	if j.b.Asked == "" {
		bound, err := j.boundThere()
		if err != nil {
			return next{}, err
		}
		return next{}, j.ask(ctx, m.Dest, "compute_rebuild_instance", func(_ *ServerRow, row *HostedRow) {
			row.Wish, row.Boot, row.Bound = WishStopped, "", bound
			row.Generation++
		})
	}
	return j.asked(ctx, m.Dest, nil)
}

// runEvacuated has the destination run the server, unless it was stopped. There is no way back any more: a server that does
// not run is in error.
func (j *job) runEvacuated(ctx context.Context) (next, error) {
	m, was, err := j.migration(ctx)
	if err != nil || was.wish() == WishStopped {
		return next{}, err
	}
	if j.b.Asked == "" {
		return next{}, j.ask(ctx, m.Dest, "compute_start_instance", func(_ *ServerRow, row *HostedRow) { row.Wish = WishRunning })
	}
	event, err := j.answerOf(ctx, m.Dest)
	if err != nil {
		return next{}, err
	}
	return next{Change: func(c *change, _ *ServerRow) error {
		if event.Result == failed {
			j.b.Trouble = &Failure{Code: 500, Message: event.Details, Details: event.Traceback}
		}
		return j.endAsked(c)
	}}, nil
}

// evacuated is the effect of an evacuation that has succeeded: the source destroys the server when it is back.
func (j *job) evacuated() effect {
	return func(c *change, row *ServerRow) error {
		m, err := One[MigrationRow](c, Where(ByID, j.b.Migration))
		if err != nil {
			return err
		}
		if row.State, row.Task = Active, ""; row.Power == ShutDown {
			row.State = Stopped
		}
		row.Fault, row.LaunchedAt = nil, c.At
		if err := c.wishAt(*row, m.Source, func(is *HostedRow) { is.Wish, is.Event = WishGone, NewID() }); err != nil {
			return err
		}
		if err := c.wish(*row, func(is *HostedRow) { is.Bound = nil }); err != nil {
			return err
		}
		if err := c.setMigration(m.ID, func(m *MigrationRow) { m.Status = done }); err != nil {
			return err
		}
		if j.b.Trouble != nil {
			if err := c.wish(*row, func(is *HostedRow) { is.Event = "" }); err != nil {
				return err
			}
			return cmp.Or(c.endAll(j.b.Action, &stepError{text: j.b.Trouble.Message, details: j.b.Trouble.Details}), c.inError(row, *j.b.Trouble))
		}
		return c.endAll(j.b.Action, nil)
	}
}

// sourceIsClean begins to release what a server still has on the host that it was evacuated from, which has destroyed it.
func (c *change) sourceIsClean(server ID, host string) error {
	moves, err := Rows[MigrationRow](c, Where(ByServer, server))
	if err != nil {
		return err
	}
	for _, m := range moves {
		if m.Type != typeEvacuate || m.Status != done || m.Source != host {
			continue
		}
		if err := c.newOperation(server, clean, body{Migration: m.ID}); err != nil {
			return err
		}
	}
	return nil
}

// sourceCleaned is the effect of that.
func (j *job) sourceCleaned() effect {
	return func(c *change, _ *ServerRow) error {
		return c.setMigration(j.b.Migration, func(m *MigrationRow) { m.Status = completed })
	}
}

// evacuatedFrom returns the evacuations from a host that is down whose allocations there wait for its return.
func (s *Service) evacuatedFrom(r Reader, host string) ([]MigrationRow, error) {
	if up, err := s.rules.HostIsUp(r, host); err != nil || up {
		return nil, err
	}
	all, err := Rows[MigrationRow](r, Where(ByStatus, done))
	return slices.DeleteFunc(all, func(m MigrationRow) bool { return m.Type != typeEvacuate || m.Source != host }), err
}

// releaseEvacuated releases what an evacuated server still has on its former host, which is not expected to come back. Should
// it, it destroys the server all the same.
func (s *Service) releaseEvacuated(ctx context.Context, m MigrationRow) error {
	e := allocations.Exchange{Placement: s.placement, Migration: string(m.ID)}
	if err := e.Confirm(ctx); err != nil {
		return err
	}
	return s.update(ctx, func(c *change) error {
		return c.setMigration(m.ID, func(m *MigrationRow) { m.Status = completed })
	})
}
