package lifecycle

import (
	"context"
	"fmt"

	"github.com/berthcloud/berth/compute"
)

// sendRebuild sends the host of a server the command to build it again.
func sendRebuild(c *Change, server compute.ServerRow, d *PowerData) error {
	d.Awaited = d.Event
	return c.setDesired(server, func(row *compute.HostedRow) {
		row.Event, row.Boot, row.DesiredState = d.Event, "", compute.DesiredRunning
		if server.State == compute.Stopped {
			row.DesiredState = compute.DesiredStopped
		}
		row.Generation++
	})
}

// rebuild has the host build the server again.
func (p *powerJob) rebuild(ctx context.Context) (next, error) {
	if p.Awaited == "" {
		return next{}, p.waitAfter(ctx, func(c *Change, row *compute.ServerRow) error {
			return sendRebuild(c, *row, &p.PowerData)
		})
	}
	event, err := p.await(ctx, "")
	if err != nil {
		return next{}, err
	}
	return next{Change: func(c *Change, row *compute.ServerRow) error {
		if event.Result == compute.EventFailed {
			if err := c.setDesired(*row, func(hosted *compute.HostedRow) {
				hosted.DesiredState, hosted.Event = row.DesiredState(), ""
			}); err != nil {
				return err
			}
			text := fmt.Sprintf("Failed to rebuild instance %s: %s", row.ID, event.Details)
			if err := c.EndEvent(p.Event, &compute.StepError{Text: event.Details, Details: event.Details}); err != nil {
				return err
			}
			return c.inError(row, compute.Failure{Code: 500, Message: text, Details: event.Traceback})
		}
		if row.Task, row.LaunchedAt = "", c.At; row.State != compute.Stopped {
			row.State, row.Power = compute.Active, compute.Running
		}
		return c.EndEvent(p.Event, nil)
	}}, nil
}
