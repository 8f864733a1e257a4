package compute

import (
	"cmp"
	"context"
	"slices"
	"time"
)

// A powering is something done to the power of servers.
type powering struct {
	action string
	task   string
	states []string // vm_state
}

// StartServer begins to start a server that is stopped. Faults: InstanceNotFound,
// InstanceIsLocked, InstanceNotReady, InvalidState.
func (s *Service) StartServer(ctx context.Context, by Caller, id ID) error {
	return s.power(ctx, by, id, powering{"start", PoweringOn, []string{Stopped}})
}

// StopServer begins to stop a server. Faults are those of StartServer.
func (s *Service) StopServer(ctx context.Context, by Caller, id ID) error {
	return s.power(ctx, by, id, powering{"stop", PoweringOff, []string{Active, Error}})
}

// RebootServer begins to reboot a server, its hardware or, if not hard, its system.
// Faults are those of StartServer.
func (s *Service) RebootServer(ctx context.Context, by Caller, id ID, hard bool) error {
	p := powering{"reboot", Rebooting, []string{Active}}
	if hard {
		p.task, p.states = RebootingHot, []string{Active, Stopped, Paused, Error}
	}
	return s.power(ctx, by, id, p)
}

// power stores a change of a server's power; its host carries it out.
func (s *Service) power(ctx context.Context, by Caller, id ID, p powering) error {
	host := ""
	err := s.update(ctx, func(c *change) error {
		row, err := found[ServerRow](c, noServer(id), Where(ByID, id))
		if err != nil {
			return err
		}
		host = row.Host
		if err := c.mayPower(row, by, p); err != nil {
			return err
		}
		action, err := c.act(by, id, p.action)
		if err != nil {
			return err
		}
		event, err := c.begin(action.ID, "compute_"+p.action+"_instance", row.Host)
		if err != nil {
			return err
		}
		row.Task, row.UpdatedAt = p.task, c.at
		if err := c.Replace(&row); err != nil {
			return err
		}
		return c.newOperation(id, power, stepHost, body{Action: action.ID, Event: event.ID, Verb: p.action})
	})
	s.hosts.notify(host)
	return err
}

// mayPower refuses what cannot be done now, in Nova's order: only a reboot looks last for the host.
func (c *change) mayPower(row ServerRow, by Caller, p powering) error {
	if err := row.unlocked(by); err != nil {
		return err
	}
	var notReady error
	if row.Host == "" {
		notReady = conflict("InstanceNotReady", "Instance %s is not ready", row.ID)
	}
	if notReady != nil && p.action != "reboot" {
		return notReady
	}
	if !slices.Contains(p.states, row.State) {
		return busy(row.ID, p.action, "vm_state", row.State)
	}
	if err := idleServer(c, row, p.action); err != nil {
		return err
	}
	return cmp.Or(row.launched(p.action), notReady)
}

// DeleteServer begins to delete a server, whatever else is under way with it. For the end it
// waits, a little, when the server is on no host, as Nova's API does. Faults:
// InstanceNotFound, InstanceIsLocked.
func (s *Service) DeleteServer(ctx context.Context, by Caller, id ID) error {
	alone := false
	err := s.update(ctx, func(c *change) error {
		row, err := found[ServerRow](c, noServer(id), Where(ByID, id))
		if err != nil {
			return err
		}
		if err := row.unlocked(by); err != nil || row.Task == Deleting {
			return err // it is deleted already
		}
		if err := c.canWork(); err != nil {
			return err
		}
		row.Task, row.Progress, row.UpdatedAt = Deleting, 0, c.at
		if err := c.Replace(&row); err != nil {
			return err
		}
		action, err := c.act(by, id, "delete")
		if err != nil {
			return err
		}
		under, err := Rows[OperationRow](c, Where(ByServer, id))
		if err != nil || len(under) > 0 {
			return err // its worker becomes the deletion
		}
		alone = row.Host == ""
		return c.newOperation(id, remove, stepHost, body{Action: action.ID})
	})
	s.wake()
	if err == nil && alone {
		s.awaitEnd(ctx, id)
	}
	return err
}

const (
	// endTime is how long a caller waits for the deletion of a server without a host, and
	// lookForEnd the interval of checking.
	endTime    = 5 * time.Second
	lookForEnd = 10 * time.Millisecond
)

// awaitEnd waits until a server is deleted, not longer than endTime, and only while operations are
// carried out here.
func (s *Service) awaitEnd(ctx context.Context, id ID) {
	ctx, cancel := context.WithTimeout(ctx, endTime)
	defer cancel()
	for s.working.Load() > 0 {
		if _, err := s.Server(ctx, id); err != nil {
			return
		}
		select {
		case <-ctx.Done():
		case <-time.After(lookForEnd):
		}
	}
}
