package servers

import (
	"cmp"
	"context"

	"github.com/berthcloud/berth/compute"
	"github.com/berthcloud/berth/compute/lifecycle"
)

// PauseServer begins to pause a server that runs: it stays in the memory of its host. Faults are
// those of StartServer.
func (s *Service) PauseServer(ctx context.Context, by compute.Caller, id compute.ID) error {
	return s.power(ctx, by, id, "pause", lifecycle.PowerChanges["pause"])
}

// UnpauseServer begins to make a paused server go on. Faults are those of StartServer.
func (s *Service) UnpauseServer(ctx context.Context, by compute.Caller, id compute.ID) error {
	return s.power(ctx, by, id, "unpause", lifecycle.PowerChanges["unpause"])
}

// SuspendServer begins to save the memory of a server that runs, and to stop it. Faults are those
// of StartServer.
func (s *Service) SuspendServer(ctx context.Context, by compute.Caller, id compute.ID) error {
	return s.power(ctx, by, id, "suspend", lifecycle.PowerChanges["suspend"])
}

// ResumeServer begins to make a suspended server go on. Faults are those of StartServer.
func (s *Service) ResumeServer(ctx context.Context, by compute.Caller, id compute.ID) error {
	return s.power(ctx, by, id, "resume", lifecycle.PowerChanges["resume"])
}

// StartServer begins to start a server that is stopped. Faults: InstanceNotFound,
// InstanceIsLocked, InstanceNotReady, InvalidState.
func (s *Service) StartServer(ctx context.Context, by compute.Caller, id compute.ID) error {
	return s.power(ctx, by, id, "start", lifecycle.PowerChanges["start"])
}

// StopServer begins to stop a server. Faults are those of StartServer.
func (s *Service) StopServer(ctx context.Context, by compute.Caller, id compute.ID) error {
	return s.power(ctx, by, id, "stop", lifecycle.PowerChanges["stop"])
}

// RebootServer begins to reboot a server, its hardware or, if not hard, its system.
// Faults are those of StartServer.
func (s *Service) RebootServer(ctx context.Context, by compute.Caller, id compute.ID, hard bool) error {
	if hard {
		return s.power(ctx, by, id, lifecycle.RebootAction, lifecycle.HardReboot)
	}
	return s.power(ctx, by, id, lifecycle.RebootAction, lifecycle.PowerChanges[lifecycle.RebootAction])
}

// power stores a change of a server's power; its host carries it out.
func (s *Service) power(
	ctx context.Context, by compute.Caller, id compute.ID, name string, p lifecycle.PowerChange,
) error {
	return s.lifecycle.Update(ctx, func(c *lifecycle.Change) error {
		row, err := compute.OneOr[compute.ServerRow](c, compute.NoServer(id), compute.Where(compute.ByID, id))
		if err != nil {
			return err
		}
		if err := mayPower(c, row, by, name, p); err != nil {
			return err
		}
		action, err := c.RecordAction(by, id, name)
		if err != nil {
			return err
		}
		event, err := c.StartEvent(action.ID, "compute_"+name+"_instance", row.Host)
		if err != nil {
			return err
		}
		row.Task, row.UpdatedAt = p.Task, c.At
		if err := c.Replace(&row); err != nil {
			return err
		}
		return c.NewOperation(id, lifecycle.KindPower, &lifecycle.PowerData{
			Common: lifecycle.Common{Action: action.ID, Event: event.ID}, Verb: name,
		})
	})
}

// mayPower refuses what cannot be done now, in Nova's order.
func mayPower(
	c *lifecycle.Change, row compute.ServerRow, by compute.Caller, name string, p lifecycle.PowerChange,
) error {
	if err := row.CheckUnlocked(by); err != nil {
		return err
	}
	var notReady error
	if row.Host == "" {
		notReady = compute.Conflict("InstanceNotReady", "Instance %s is not ready", row.ID)
	}
	if notReady != nil && !p.HostLast {
		return notReady
	}
	if err := row.CheckState(name, p.States...); err != nil {
		return err
	}
	if err := c.Idle(row, name); err != nil {
		return err
	}
	return cmp.Or(row.CheckLaunched(name), notReady)
}
