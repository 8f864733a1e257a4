package servers

import (
	"cmp"
	"context"

	"github.com/berthcloud/berth/compute"
	"github.com/berthcloud/berth/compute/lifecycle"
	"github.com/berthcloud/berth/compute/scheduler"
)

// Shelving and its way back, as Nova calls the actions and their events.
const (
	shelveAction   = "shelve"
	offloadAction  = "shelveOffload"
	unshelveAction = "unshelve"

	eventShelve = "compute_shelve_instance"
	eventChoose = "schedule_instances"
	eventImage  = "get_image_info"
)

// ShelveServer begins to take a server from its host and to release its allocations. The server
// keeps its ports, which are bound to no host then; what was on its disk is lost. Faults:
// InstanceNotFound, InstanceIsLocked, InvalidState, InstanceNotReady.
func (s *Service) ShelveServer(ctx context.Context, by compute.Caller, id compute.ID) error {
	err := s.lifecycle.Update(ctx, func(c *lifecycle.Change) error {
		row, err := freeServer(c, by, id, shelveAction, compute.Active, compute.Stopped, compute.Paused, compute.Suspended)
		if err != nil {
			return err
		}
		if err := row.CheckLaunched(shelveAction); err != nil {
			return err
		}
		if row.Host == "" {
			return compute.Conflict("InstanceNotReady", "Instance %s is not ready", id)
		}
		row.Task, row.UpdatedAt = compute.TaskShelving, c.At
		if err := c.Replace(&row); err != nil {
			return err
		}
		action, err := c.RecordAction(by, id, shelveAction)
		if err != nil {
			return err
		}
		event, err := c.StartEvent(action.ID, eventShelve, row.Host)
		if err != nil {
			return err
		}
		return c.NewOperation(id, lifecycle.KindShelve, &lifecycle.BuildData{
			Common: lifecycle.Common{Action: action.ID, Event: event.ID},
		})
	})
	s.lifecycle.Wake()
	return err
}

// OffloadServer takes a shelved server from its host. There is none that is on a host. Faults:
// InstanceNotFound, InstanceIsLocked, InvalidState.
func (s *Service) OffloadServer(ctx context.Context, by compute.Caller, id compute.ID) error {
	return s.lifecycle.Update(ctx, func(c *lifecycle.Change) error {
		_, err := freeServer(c, by, id, offloadAction)
		return err
	})
}

// freeServer returns a server that nothing is under way with and that is in one of some states.
func freeServer(
	c *lifecycle.Change, by compute.Caller, id compute.ID, action string, states ...string,
) (compute.ServerRow, error) {
	row, err := compute.OneOr[compute.ServerRow](c, compute.NoServer(id), compute.Where(compute.ByID, id))
	if err != nil {
		return row, err
	}
	if err := row.CheckUnlocked(by); err != nil {
		return row, err
	}
	if err := row.CheckState(action, states...); err != nil {
		return row, err
	}
	return row, c.Idle(row, action)
}

// An Unshelving says where a shelved server is to be built.
type Unshelving struct {
	Zone *string // the new availability zone, "" for any; nil: as it was
	Host string  // "" for any
	// MayChoose returns why the caller may not choose a host.
	MayChoose func() error
}

// UnshelveServer begins to build a shelved server on a host. Faults: InstanceNotFound,
// InstanceIsLocked, InvalidState, InvalidRequest, ComputeHostNotFound,
// ExtendedResourceRequestOldCompute, UnshelveHostNotInAZ, what MayChoose returns.
func (s *Service) UnshelveServer(ctx context.Context, by compute.Caller, id compute.ID, to Unshelving) error {
	if err := s.mayMove(ctx, id, compute.GuaranteedUnshelve, unshelveAction); err != nil {
		return err
	}
	var row compute.ServerRow
	err := s.store.View(ctx, func(r compute.Reader) (err error) {
		row, err = compute.OneOr[compute.ServerRow](r, compute.NoServer(id), compute.Where(compute.ByID, id))
		return err
	})
	if err != nil {
		return err
	}
	image, imageErr := s.imageOf(ctx, row)
	hasHosts := true // a zone that is requested
	if to.Zone != nil && *to.Zone != "" {
		if hasHosts, err = s.hosts.ZoneHasHosts(ctx, *to.Zone); err != nil {
			return err
		}
	}
	err = s.lifecycle.Update(ctx, func(c *lifecycle.Change) error {
		row, err := freeServer(c, by, id, unshelveAction, compute.ShelvedOffloaded)
		if err != nil {
			return err
		}
		d := &lifecycle.BuildData{HostChoice: scheduler.HostChoice{Image: image.Image}}
		if to.Zone != nil {
			row.Zone = *to.Zone
			if !hasHosts {
				return compute.Invalid("InvalidRequest", "The requested availability zone is not available")
			}
		}
		if to.Host != "" {
			if err := to.MayChoose(); err != nil {
				return err
			}
			if d.Node, err = wantedNode(c, &validatedSpec{ServerSpec: ServerSpec{Host: to.Host}}); err != nil {
				return err
			}
			in, err := compute.ZonesByHost(c, to.Host)
			if err != nil {
				return err
			}
			if row.Zone != "" && cmp.Or(in[to.Host], c.Settings.DefaultZone) != row.Zone {
				return compute.Conflict("UnshelveHostNotInAZ", "Host %q is not in the availability zone %q.", to.Host, row.Zone)
			}
		}
		if imageErr != nil {
			return imageErr
		}
		row.Task, row.UpdatedAt = compute.TaskUnshelving, c.At
		if err := c.Replace(&row); err != nil {
			return err
		}
		action, err := c.RecordAction(by, id, unshelveAction)
		if err != nil {
			return err
		}
		choose, err := c.StartEvent(action.ID, eventChoose, "")
		if err != nil {
			return err
		}
		read, err := c.StartEvent(action.ID, eventImage, "")
		if err == nil {
			err = c.EndEvent(read.ID, nil)
		}
		if err != nil {
			return err
		}
		d.Action, d.Event = action.ID, choose.ID
		return c.NewOperation(id, lifecycle.KindUnshelve, d)
	})
	s.lifecycle.Wake()
	return err
}
