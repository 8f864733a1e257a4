package compute

import (
	"cmp"
	"context"
	"strings"
)

// A powerChange is something that is done to the power of servers, by the name of Nova's action.
type powerChange struct {
	task   string
	states []string // vm_state
	// wish is what the host is to make of the server, and restart says that it must start it again in
	// any case.
	wish    string
	restart bool
	// hostLast says that Nova checks last whether the server has a host.
	hostLast bool
	// fatal says that a server is in error when its host has failed at it.
	fatal bool
}

const rebootAction = "reboot"

var powerChanges = map[string]powerChange{
	"start":      {task: PoweringOn, states: []string{Stopped}, wish: WishRunning},
	"stop":       {task: PoweringOff, states: []string{Active, Error}, wish: WishStopped},
	rebootAction: {task: Rebooting, states: []string{Active}, wish: WishRunning, restart: true, hostLast: true},
	"pause":      {task: Pausing, states: []string{Active}, wish: WishPaused, hostLast: true},
	"unpause":    {task: Unpausing, states: []string{Paused}, wish: WishRunning, hostLast: true},
	"suspend":    {task: Suspending, states: []string{Active}, wish: WishSuspended, hostLast: true, fatal: true},
	"resume":     {task: Resuming, states: []string{Suspended}, wish: WishRunning, hostLast: true, fatal: true},
}

// hardReboot is the reboot that replaces what is left of the server's guest, in whatever state it is.
var hardReboot = powerChange{
	task: RebootingHot, states: []string{Active, Stopped, Paused, Suspended, Error}, wish: WishRunning, restart: true, hostLast: true,
}

// powerStates are the vm_state and the power_state of a server whose host has done what it wished. A
// suspended server has no guest: its power is that of a stopped one, as with Nova's libvirt driver.
var powerStates = map[string]struct {
	state string
	power Power
}{
	WishRunning:   {Active, Running},
	WishStopped:   {Stopped, ShutDown},
	WishPaused:    {Paused, PowerPaused},
	WishSuspended: {Suspended, ShutDown},
}

// StartServer begins to start a server that is stopped. Faults: InstanceNotFound,
// InstanceIsLocked, InstanceNotReady, InvalidState.
func (s *Service) StartServer(ctx context.Context, by Caller, id ID) error {
	return s.power(ctx, by, id, "start", powerChanges["start"])
}

// StopServer begins to stop a server. Faults are those of StartServer.
func (s *Service) StopServer(ctx context.Context, by Caller, id ID) error {
	return s.power(ctx, by, id, "stop", powerChanges["stop"])
}

// RebootServer begins to reboot a server, its hardware or, if not hard, its system.
// Faults are those of StartServer.
func (s *Service) RebootServer(ctx context.Context, by Caller, id ID, hard bool) error {
	if hard {
		return s.power(ctx, by, id, rebootAction, hardReboot)
	}
	return s.power(ctx, by, id, rebootAction, powerChanges[rebootAction])
}

// PauseServer begins to pause a server that runs: it stays in the memory of its host. Faults are
// those of StartServer.
func (s *Service) PauseServer(ctx context.Context, by Caller, id ID) error {
	return s.power(ctx, by, id, "pause", powerChanges["pause"])
}

// UnpauseServer begins to make a paused server go on. Faults are those of StartServer.
func (s *Service) UnpauseServer(ctx context.Context, by Caller, id ID) error {
	return s.power(ctx, by, id, "unpause", powerChanges["unpause"])
}

// SuspendServer begins to save the memory of a server that runs, and to stop it. Faults are those of
// StartServer.
func (s *Service) SuspendServer(ctx context.Context, by Caller, id ID) error {
	return s.power(ctx, by, id, "suspend", powerChanges["suspend"])
}

// ResumeServer begins to make a suspended server go on. Faults are those of StartServer.
func (s *Service) ResumeServer(ctx context.Context, by Caller, id ID) error {
	return s.power(ctx, by, id, "resume", powerChanges["resume"])
}

// power stores a change of a server's power; its host carries it out.
func (s *Service) power(ctx context.Context, by Caller, id ID, name string, p powerChange) error {
	return s.update(ctx, func(c *change) error {
		row, err := OneOr[ServerRow](c, noServer(id), Where(ByID, id))
		if err != nil {
			return err
		}
		if err := c.mayPower(row, by, name, p); err != nil {
			return err
		}
		action, err := c.act(by, id, name)
		if err != nil {
			return err
		}
		event, err := c.begin(action.ID, "compute_"+name+"_instance", row.Host)
		if err != nil {
			return err
		}
		row.Task, row.UpdatedAt = p.task, c.At
		if err := c.Replace(&row); err != nil {
			return err
		}
		return c.newOperation(id, kindPower, &powerData{common: common{Action: action.ID, Event: event.ID}, Verb: name})
	})
}

// mayPower refuses what cannot be done now, in Nova's order.
func (c *change) mayPower(row ServerRow, by Caller, name string, p powerChange) error {
	if err := row.unlocked(by); err != nil {
		return err
	}
	var notReady error
	if row.Host == "" {
		notReady = conflict("InstanceNotReady", "Instance %s is not ready", row.ID)
	}
	if notReady != nil && !p.hostLast {
		return notReady
	}
	if err := row.in(name, p.states...); err != nil {
		return err
	}
	if err := c.kinds.idle(c, row, name); err != nil {
		return err
	}
	return cmp.Or(row.launched(name), notReady)
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
	// Verb is what is done to the power, a name in powerChanges.
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
	p := powerChanges[d.Verb]
	return c.wish(server, func(row *HostedRow) {
		row.Event, row.Boot, row.Wish = d.Event, "", p.wish
		if p.restart {
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
		verb := powerChanges[p.Verb]
		wish := row.usual()
		var failure *stepError
		if event.Result == failed {
			failure = &stepError{text: event.Details, details: event.Details}
			// A host that has not tried has changed nothing.
			tried := event.Details != hostIsDown && !strings.HasPrefix(event.Details, olderAgent)
			if verb.fatal && tried {
				if err := c.inError(row, Failure{Code: 500, Message: event.Details, Details: event.Traceback}); err != nil {
					return err
				}
			}
		} else {
			done := powerStates[verb.wish]
			row.State, row.Power = done.state, done.power
			wish = row.usual()
		}
		// After a failure the host is to have the server as it was: one that could not be resumed stays
		// suspended, though it is in error.
		err := c.wish(*row, func(hosted *HostedRow) { hosted.Wish, hosted.Event, hosted.Boot = wish, "", "" })
		if err != nil {
			return err
		}
		return c.end(p.Event, failure) // one that the host has reported stays
	}}, nil
}
