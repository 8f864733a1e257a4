package lifecycle

import (
	"context"
	"strings"

	"github.com/berthcloud/berth/compute"
)

// A PowerChange is something that is done to the power of servers, by the name of Nova's action.
type PowerChange struct {
	Task   string
	States []string // vm_state
	// desired is what the host is to make of the server, and restart says that it must start it again
	// in any case.
	desired string
	restart bool
	// HostLast says that Nova checks last whether the server has a host.
	HostLast bool
	// fatal says that a server is in error when its host has failed at it.
	fatal bool
}

const RebootAction = "reboot"

var PowerChanges = map[string]PowerChange{
	"start": {Task: compute.PoweringOn, States: []string{compute.Stopped}, desired: compute.DesiredRunning},
	"stop": {
		Task: compute.PoweringOff, States: []string{compute.Active, compute.Error},
		desired: compute.DesiredStopped,
	},
	RebootAction: {
		Task: compute.Rebooting, States: []string{compute.Active}, desired: compute.DesiredRunning,
		restart: true, HostLast: true,
	},
	"pause": {Task: compute.Pausing, States: []string{compute.Active}, desired: compute.DesiredPaused, HostLast: true},
	"unpause": {
		Task: compute.Unpausing, States: []string{compute.Paused}, desired: compute.DesiredRunning,
		HostLast: true,
	},
	"suspend": {
		Task: compute.Suspending, States: []string{compute.Active}, desired: compute.DesiredSuspended,
		HostLast: true, fatal: true,
	},
	"resume": {
		Task: compute.Resuming, States: []string{compute.Suspended}, desired: compute.DesiredRunning,
		HostLast: true, fatal: true,
	},
}

// HardReboot is the reboot that replaces what is left of the server's guest, in whatever state it
// is.
var HardReboot = PowerChange{
	Task:    compute.RebootingHot,
	States:  []string{compute.Active, compute.Stopped, compute.Paused, compute.Suspended, compute.Error},
	desired: compute.DesiredRunning, restart: true, HostLast: true,
}

// powerStates are the vm_state and the power_state of a server whose host has done its part. A
// suspended server has no guest: its power is that of a stopped one, as with Nova's libvirt driver.
var powerStates = map[string]struct {
	state string
	power compute.Power
}{
	compute.DesiredRunning:   {compute.Active, compute.Running},
	compute.DesiredStopped:   {compute.Stopped, compute.ShutDown},
	compute.DesiredPaused:    {compute.Paused, compute.PowerPaused},
	compute.DesiredSuspended: {compute.Suspended, compute.ShutDown},
}

// A powerJob is one command to the host of a server: it changes the power, or builds the server
// again.
type powerJob struct {
	hostCommands
	PowerData
}

// PowerData is what such an operation stores.
type PowerData struct {
	Common
	// Verb is what is done to the power, a name in powerChanges.
	Verb string `json:"verb,omitempty"`
}

func (p *powerJob) data() operationData { return &p.PowerData }

func (p *powerJob) clear() operationData {
	p.PowerData = PowerData{}
	return &p.PowerData
}

// sendPower sends the host of a server the command to change its power.
func sendPower(c *Change, server compute.ServerRow, d *PowerData) error {
	d.Awaited = d.Event
	p := PowerChanges[d.Verb]
	return c.setDesired(server, func(row *compute.HostedRow) {
		row.Event, row.Boot, row.DesiredState = d.Event, "", p.desired
		if p.restart {
			row.Boot = d.Event
		}
	})
}

// changePower has the host change the power of the server.
func (p *powerJob) changePower(ctx context.Context) (next, error) {
	if p.Awaited == "" {
		return next{}, p.waitAfter(ctx, func(c *Change, row *compute.ServerRow) error {
			return sendPower(c, *row, &p.PowerData)
		})
	}
	event, err := p.await(ctx, "")
	if err != nil {
		return next{}, err
	}
	return next{Change: func(c *Change, row *compute.ServerRow) error {
		row.Task = ""
		verb := PowerChanges[p.Verb]
		desired := row.DesiredState()
		var failure *compute.StepError
		if event.Result == compute.EventFailed {
			failure = &compute.StepError{Text: event.Details, Details: event.Details}
			// A host that has not tried has changed nothing.
			tried := event.Details != hostIsDown && !strings.HasPrefix(event.Details, olderAgent)
			if verb.fatal && tried {
				if err := c.inError(row, compute.Failure{Code: 500, Message: event.Details, Details: event.Traceback}); err != nil {
					return err
				}
			}
		} else {
			done := powerStates[verb.desired]
			row.State, row.Power = done.state, done.power
			desired = row.DesiredState()
		}
		// After a failure the host is to have the server as it was: one that could not be resumed stays
		// suspended, though it is in error.
		err := c.setDesired(*row, func(hosted *compute.HostedRow) {
			hosted.DesiredState, hosted.Event, hosted.Boot = desired, "", ""
		})
		if err != nil {
			return err
		}
		return c.EndEvent(p.Event, failure) // one that the host has reported stays
	}}, nil
}
