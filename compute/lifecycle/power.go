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
	// wish is what the host is to make of the server, and restart says that it must start it again in
	// any case.
	wish    string
	restart bool
	// HostLast says that Nova checks last whether the server has a host.
	HostLast bool
	// fatal says that a server is in error when its host has failed at it.
	fatal bool
}

const RebootAction = "reboot"

var PowerChanges = map[string]PowerChange{
	"start":      {Task: compute.PoweringOn, States: []string{compute.Stopped}, wish: compute.WishRunning},
	"stop":       {Task: compute.PoweringOff, States: []string{compute.Active, compute.Error}, wish: compute.WishStopped},
	RebootAction: {Task: compute.Rebooting, States: []string{compute.Active}, wish: compute.WishRunning, restart: true, HostLast: true},
	"pause":      {Task: compute.Pausing, States: []string{compute.Active}, wish: compute.WishPaused, HostLast: true},
	"unpause":    {Task: compute.Unpausing, States: []string{compute.Paused}, wish: compute.WishRunning, HostLast: true},
	"suspend":    {Task: compute.Suspending, States: []string{compute.Active}, wish: compute.WishSuspended, HostLast: true, fatal: true},
	"resume":     {Task: compute.Resuming, States: []string{compute.Suspended}, wish: compute.WishRunning, HostLast: true, fatal: true},
}

// HardReboot is the reboot that replaces what is left of the server's guest, in whatever state it is.
var HardReboot = PowerChange{
	Task: compute.RebootingHot, States: []string{compute.Active, compute.Stopped, compute.Paused, compute.Suspended, compute.Error}, wish: compute.WishRunning, restart: true, HostLast: true,
}

// powerStates are the vm_state and the power_state of a server whose host has done what it wished. A
// suspended server has no guest: its power is that of a stopped one, as with Nova's libvirt driver.
var powerStates = map[string]struct {
	state string
	power compute.Power
}{
	compute.WishRunning:   {compute.Active, compute.Running},
	compute.WishStopped:   {compute.Stopped, compute.ShutDown},
	compute.WishPaused:    {compute.Paused, compute.PowerPaused},
	compute.WishSuspended: {compute.Suspended, compute.ShutDown},
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
	return c.wish(server, func(row *compute.HostedRow) {
		row.Event, row.Boot, row.Wish = d.Event, "", p.wish
		if p.restart {
			row.Boot = d.Event
		}
	})
}

// changePower has the host change the power of the server.
func (p *powerJob) changePower(ctx context.Context) (next, error) {
	if p.Awaited == "" {
		return next{}, p.waitAfter(ctx, func(c *Change, row *compute.ServerRow) error { return sendPower(c, *row, &p.PowerData) })
	}
	event, err := p.await(ctx, "")
	if err != nil {
		return next{}, err
	}
	return next{Change: func(c *Change, row *compute.ServerRow) error {
		row.Task = ""
		verb := PowerChanges[p.Verb]
		wish := row.DesiredState()
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
			done := powerStates[verb.wish]
			row.State, row.Power = done.state, done.power
			wish = row.DesiredState()
		}
		// After a failure the host is to have the server as it was: one that could not be resumed stays
		// suspended, though it is in error.
		err := c.wish(*row, func(hosted *compute.HostedRow) { hosted.Wish, hosted.Event, hosted.Boot = wish, "", "" })
		if err != nil {
			return err
		}
		return c.EndEvent(p.Event, failure) // one that the host has reported stays
	}}, nil
}
