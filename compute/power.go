package compute

import (
	"cmp"
	"context"
	"slices"
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
		return c.newOperation(id, kindPower, &powerData{common: common{Action: action.ID, Event: event.ID}, Verb: p.action})
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

// A powerJob is one command to the host of a server: it changes the power, or builds the server
// again.
type powerJob struct {
	hostCommands
	powerData
}

// powerData is what such an operation stores.
type powerData struct {
	common
	// Verb is what is done to the power: "start", "stop", "reboot".
	Verb string `json:"verb,omitempty"`
}

func (p *powerJob) data() operationData { return &p.powerData }

func (p *powerJob) clear() operationData {
	p.powerData = powerData{}
	return &p.powerData
}

// sendPower sends the host of a server the command to change its power.
func sendPower(c *change, server ServerRow, d *powerData) error {
	d.Awaited = d.Event
	return c.wish(server, func(row *HostedRow) {
		row.Event, row.Boot, row.Wish = d.Event, "", WishRunning
		switch d.Verb {
		case "stop":
			row.Wish = WishStopped
		case "reboot":
			row.Boot = d.Event
		}
	})
}

// changePower has the host change the power of the server.
func (p *powerJob) changePower(ctx context.Context) (next, error) {
	if p.Awaited == "" {
		return next{}, p.waitAfter(ctx, func(c *change, row *ServerRow) error { return sendPower(c, *row, &p.powerData) })
	}
	event, err := p.await(ctx, "")
	if err != nil {
		return next{}, err
	}
	return next{Change: func(c *change, row *ServerRow) error {
		row.Task = ""
		var failure *stepError
		switch {
		case event.Result == failed:
			failure = &stepError{text: event.Details, details: event.Details}
		case p.Verb == "stop":
			row.State, row.Power = Stopped, ShutDown
		default:
			row.State, row.Power = Active, Running
		}
		if err := c.wish(*row, func(hosted *HostedRow) { hosted.Wish, hosted.Event, hosted.Boot = row.usual(), "", "" }); err != nil {
			return err
		}
		return c.end(p.Event, failure) // one that the host has reported stays
	}}, nil
}
