package compute

import (
	"cmp"
	"context"
	"fmt"
)

// eventDelete is the event of a server's deletion, as Nova calls it.
const eventDelete = "compute_terminate_instance"

// destroy has the host destroy the server. One that is down does so when it is back, and
// is not waited for.
func (j *job) destroy(ctx context.Context) error {
	if j.b.Event == "" {
		return j.commit(ctx, stepHost, func(c *change, row *ServerRow) error {
			event, err := c.begin(j.b.Action, eventDelete, row.Host)
			j.b.Event = event.ID
			if err == nil && row.Host == "" {
				err = c.answered(event.ID)
			}
			return err
		})
	}
	event, err := j.awaited(ctx)
	if err != nil {
		return err
	}
	if event.Result == failed && !event.FinishedAt.IsZero() {
		return j.finish(ctx, func(c *change, row *ServerRow) error {
			return c.inError(row, Failure{Code: 500, Message: fmt.Sprintf("Failed to delete instance %s: %s", row.ID, event.Details), Details: event.Traceback})
		})
	}
	return j.commit(ctx, stepUnbind, func(c *change, row *ServerRow) error {
		if event.Result == failed { // the host is down: it destroys the server when it is back
			return c.leaveAt(row.Host, row.ID)
		}
		return nil
	})
}

// freeAllPorts frees the server's ports.
func (j *job) freeAllPorts(ctx context.Context) error {
	if err := j.freePorts(ctx); err != nil {
		return err
	}
	return j.commit(ctx, stepRelease, nil)
}

// release deletes the server's allocation and its rows. Its actions are kept.
func (j *job) release(ctx context.Context) error {
	server, err := j.server(ctx)
	if err != nil {
		return err
	}
	if err := j.s.setAllocations(ctx, server, nil); err != nil {
		return err
	}
	err = j.update(ctx, func(c *change) error {
		row, err := c.mine(j)
		if err != nil {
			return err
		}
		if _, err := c.Remove(&PortRow{}, Where(ByServer, row.ID)); err != nil {
			return err
		}
		if _, err := c.Remove(&OperationRow{}, Where(ByID, j.op.ID)); err != nil {
			return err
		}
		if j.b.Event != "" {
			if err := c.end(j.b.Event, nil); err != nil {
				return err
			}
		}
		if _, err = c.Remove(&ServerRow{}, Where(ByID, row.ID)); err != nil || row.LaunchedAt.IsZero() {
			return err
		}
		return c.Insert(&DeletedRow{row.ID, row.Project, row.Name, row.Flavor, row.LaunchedAt, c.at})
	})
	j.s.hosts.notify(server.Host)
	return cmp.Or(err, errOver)
}

// powered looks what became of the server's power.
func (j *job) powered(ctx context.Context) error {
	event, err := j.awaited(ctx)
	if err != nil {
		return err
	}
	return j.finish(ctx, func(c *change, row *ServerRow) error {
		row.Task = ""
		switch {
		case event.Result == failed:
		case j.b.Verb == "stop":
			row.State, row.Power = Stopped, ShutDown
		default:
			row.State, row.Power = Active, Running
		}
		return c.end(j.b.Event, nil) // a failure that was noted stays
	})
}
