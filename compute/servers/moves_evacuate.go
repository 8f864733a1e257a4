package servers

import (
	"context"

	"github.com/berthcloud/berth/compute"
	"github.com/berthcloud/berth/compute/lifecycle"
	"github.com/berthcloud/berth/compute/scheduler"
)

// evacuateAction is the action of an evacuation, as Nova calls it.
const evacuateAction = "evacuate"

// An Evacuation is a request to build a server again whose host is down.
type Evacuation struct {
	Host   string // "" for any
	Forced bool   // the named host is not filtered
	// Stop leaves the server stopped at the destination, unless it was in error.
	Stop bool
}

// EvacuateServer begins to build on another host a server whose host is down. The source destroys
// it when it is back; until then its migration has the allocations there. Faults: InstanceNotFound,
// InvalidState, ComputeHostNotFound, ComputeServiceInUse, ExtendedResourceRequestOldCompute.
func (s *Service) EvacuateServer(ctx context.Context, by compute.Caller, id compute.ID, to Evacuation) error {
	row, err := s.evacuable(ctx, id, to)
	if err != nil {
		return err
	}
	image, err := s.imageOf(ctx, row)
	if err != nil {
		return err
	}
	_, err = s.beginMove(ctx, by, id, moveRequest{
		operation: lifecycle.KindEvacuate, action: evacuateAction, kind: compute.TypeEvacuate, task: compute.TaskRebuilding,
		status: compute.StatusAccepted, events: []string{"rebuild_server"}, host: to.Host,
		may: func(c *lifecycle.Change) (compute.ServerRow, error) { return s.evacuableIn(c, id, to) },
		data: lifecycle.MoveData{
			HostChoice: scheduler.HostChoice{Image: image.Image, Forced: to.Forced}, Flavor: row.Flavor, FlavorID: row.FlavorID,
			Stop: to.Stop,
		},
	})
	return err
}

func (s *Service) evacuable(ctx context.Context, id compute.ID, to Evacuation) (row compute.ServerRow, err error) {
	if err := s.mayMove(ctx, id, compute.GuaranteedEvacuate, evacuateAction); err != nil {
		return row, err
	}
	err = s.store.View(ctx, func(r compute.Reader) error {
		row, err = s.evacuableIn(r, id, to)
		return err
	})
	return row, err
}

// evacuableIn refuses in Nova's order. A lock does not matter.
func (s *Service) evacuableIn(r compute.Reader, id compute.ID, to Evacuation) (compute.ServerRow, error) {
	row, err := compute.OneOr[compute.ServerRow](r, compute.NoServer(id), compute.Where(compute.ByID, id))
	if err != nil {
		return row, err
	}
	if to.Host != "" {
		absent := compute.NotFound("ComputeHostNotFound", "Compute host %s not found.", to.Host)
		if _, err := compute.OneOr[compute.ServiceRow](r, absent, compute.Where(compute.ByHost, to.Host)); err != nil {
			return row, err
		}
		if to.Host == row.Host {
			return row, compute.Invalid("HTTPBadRequest", "The target host can't be the same one.")
		}
	}
	if err := row.CheckState(evacuateAction, compute.Active, compute.Stopped, compute.Error); err != nil {
		return row, err
	}
	if err := s.lifecycle.Idle(r, row, evacuateAction); err != nil {
		return row, err
	}
	if row.Host == "" {
		return row, compute.Conflict("InstanceNotReady", "Instance %s is not ready", row.ID)
	}
	up, err := s.rules.HostIsUp(r, row.Host)
	if err == nil && up {
		err = compute.Invalid("ComputeServiceInUse", "Compute service of %s is still in use.", row.Host)
	}
	return row, err
}
