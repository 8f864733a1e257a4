package compute

import (
	"cmp"
	"context"
	"slices"

	"github.com/berthcloud/berth/compute/operation"
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
	return s.update(ctx, func(c *change) error {
		row, err := OneOr[ServerRow](c, noServer(id), Where(ByID, id))
		if err != nil {
			return err
		}
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
		row.Task, row.UpdatedAt = p.task, c.At
		if err := c.Replace(&row); err != nil {
			return err
		}
		return c.newOperation(id, power, body{Action: action.ID, Event: event.ID, Verb: p.action})
	})
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
	if err := c.kinds.idle(c, row, p.action); err != nil {
		return err
	}
	return cmp.Or(row.launched(p.action), notReady)
}

// askPower asks the host of a server to change its power.
func askPower(c *change, server ServerRow, b *body) error {
	b.Asked = b.Event
	return c.wish(server, func(is *HostedRow) {
		is.Event, is.Boot, is.Wish = b.Event, "", WishRunning
		switch b.Verb {
		case "stop":
			is.Wish = WishStopped
		case "reboot":
			is.Boot = b.Event
		}
	})
}

// asking asks the host of the server for something, and waits for it.
func (j *job) asking(ctx context.Context, ask func(*change, ServerRow, *body) error) error {
	err := j.save(ctx, func(c *change, row *ServerRow) error { return ask(c, *row, &j.b) })
	if err == nil {
		err = &operation.Wait{Event: string(j.b.Asked)}
	}
	return err
}

// changePower has the host change the power of the server.
func (j *job) changePower(ctx context.Context) (next, error) {
	if j.b.Asked == "" {
		return next{}, j.asking(ctx, askPower)
	}
	event, err := j.answer(ctx)
	if err != nil {
		return next{}, err
	}
	return next{Change: func(c *change, row *ServerRow) error {
		row.Task = ""
		var t *stepError
		switch {
		case event.Result == failed:
			t = &stepError{text: event.Details, details: event.Details}
		case j.b.Verb == "stop":
			row.State, row.Power = Stopped, ShutDown
		default:
			row.State, row.Power = Active, Running
		}
		if err := c.wish(*row, func(is *HostedRow) { is.Wish, is.Event, is.Boot = row.usual(), "", "" }); err != nil {
			return err
		}
		return c.end(j.b.Event, t) // a failure that was noted stays
	}}, nil
}
