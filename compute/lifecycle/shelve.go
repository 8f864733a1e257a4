package lifecycle

import (
	"context"
	"errors"

	"github.com/berthcloud/berth/compute"
	"github.com/berthcloud/berth/compute/scheduler"
	"github.com/berthcloud/berth/compute/serverports"
)

// eventUnshelve is the event of the host that builds a shelved server, as Nova calls it.
const eventUnshelve = "compute_unshelve_instance"

// claimAgain chooses and claims a host for a shelved server.
func (b *buildJob) claimAgain(ctx context.Context) (next, error) {
	err := b.releaseEarlier(ctx)
	if err != nil {
		return next{}, err
	}
	if b.ports, err = b.currentPorts(ctx); err == nil {
		err = b.s.scheduler.Place(ctx, []scheduler.Claimant{b}, b.ports)
	}
	var f *compute.Failure
	switch {
	case errors.As(err, &f):
		failure := f.For(b.subject)
		return next{Back: true, Change: b.stepFailed(f.Details, &failure)}, nil
	case err != nil:
		return next{}, err
	}
	return next{Change: func(c *Change, row *compute.ServerRow) error {
		if err := c.EndEvent(b.Event, nil); err != nil {
			return err
		}
		event, err := c.StartEvent(b.Action, eventUnshelve, row.Host)
		b.Event, row.Task = event.ID, compute.Spawning
		return err
	}}, nil
}

// bindToHost binds the ports that the server has now to its new host.
func (b *buildJob) bindToHost(ctx context.Context) (next, error) {
	server, err := b.server(ctx)
	if err != nil {
		return next{}, err
	}
	if b.ports, err = b.currentPorts(ctx); err == nil {
		b.ports, err = b.bindAll(ctx, server, b.ports, b.HostClaim)
	}
	switch {
	case err == nil:
		return next{
			Change: func(c *Change, row *compute.ServerRow) error { return serverports.RecordPorts(c.Tx, row.ID, b.ports) },
		}, nil
	case compute.OutcomeUnknown(ctx, err):
		return next{}, err
	}
	return next{Back: true, Change: b.stepFailed(err.Error(), err)}, nil
}

// unbindFromHost binds the ports of a server to no host.
func (b *buildJob) unbindFromHost(ctx context.Context) (next, error) {
	server, err := b.server(ctx)
	if err != nil {
		return next{}, err
	}
	zone, err := b.s.zoneOf(ctx, server.Host)
	if err != nil {
		return next{}, asRetryable(err)
	}
	if b.ports, err = b.currentPorts(ctx); err == nil {
		b.ports, err = b.s.bindings.BindToNoHost(ctx, b.ports, server.ID, serverports.Owner(b.s.rules, zone))
	}
	if err != nil {
		return next{}, err
	}
	return next{
		Change: func(c *Change, row *compute.ServerRow) error { return serverports.RecordPorts(c.Tx, row.ID, b.ports) },
	}, nil
}

// buildAgain has the host build a shelved server.
func (b *buildJob) buildAgain(ctx context.Context) (next, error) {
	if b.Awaited == "" {
		return next{}, b.waitAfter(ctx, func(c *Change, row *compute.ServerRow) error {
			b.Awaited = b.Event
			return c.setDesiredBuilt(*row, b.Event, b.HostClaim)
		})
	}
	event, err := b.await(ctx, "")
	if err != nil || event.Result == compute.EventSucceeded {
		return next{}, err
	}
	return next{Back: true, Change: b.stepFailed(event.Traceback, errors.New(event.Details))}, nil
}

// unshelved is the effect of a server that runs again.
func (b *buildJob) unshelved() effect {
	return func(c *Change, row *compute.ServerRow) error {
		row.State, row.Task, row.Power, row.LaunchedAt = compute.Active, "", compute.Running, c.At
		return c.EndEvent(b.Event, nil)
	}
}

// shelved is the effect of a server that is on no host any more, or not again.
func (b *buildJob) shelved() effect {
	return func(c *Change, row *compute.ServerRow) error {
		row.State, row.Task, row.Power = compute.ShelvedOffloaded, "", compute.ShutDown
		return c.EndEvents(b.Action, nil)
	}
}

// notShelved is the effect of a host that could not destroy the server, which stays there.
func (b *buildJob) notShelved(compute.EventRow) effect {
	return func(c *Change, row *compute.ServerRow) error {
		row.Task = ""
		return c.setDesired(*row, func(hosted *compute.HostedRow) {
			hosted.DesiredState, hosted.Event, hosted.Slots = row.DesiredState(), "", nil
		})
	}
}
