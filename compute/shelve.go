package compute

import (
	"cmp"
	"context"
	"errors"
)

// Shelving and its way back, as Nova calls the actions and their events.
const (
	shelveAction   = "shelve"
	offloadAction  = "shelveOffload"
	unshelveAction = "unshelve"

	eventShelve   = "compute_shelve_instance"
	eventUnshelve = "compute_unshelve_instance"
	eventChoose   = "schedule_instances"
	eventImage    = "get_image_info"
)

// ShelveServer begins to take a server from its host and to release its allocations. The server
// keeps its ports, which are bound to no host then; what was on its disk is lost. Faults:
// InstanceNotFound, InstanceIsLocked, InvalidState, InstanceNotReady.
func (s *Service) ShelveServer(ctx context.Context, by Caller, id ID) error {
	err := s.update(ctx, func(c *change) error {
		row, err := c.free(by, id, shelveAction, Active, Stopped, Paused, Suspended)
		if err != nil {
			return err
		}
		if err := row.launched(shelveAction); err != nil {
			return err
		}
		if row.Host == "" {
			return conflict("InstanceNotReady", "Instance %s is not ready", id)
		}
		row.Task, row.UpdatedAt = TaskShelving, c.At
		if err := c.Replace(&row); err != nil {
			return err
		}
		action, err := c.act(by, id, shelveAction)
		if err != nil {
			return err
		}
		event, err := c.begin(action.ID, eventShelve, row.Host)
		if err != nil {
			return err
		}
		return c.newOperation(id, kindShelve, &buildData{common: common{Action: action.ID, Event: event.ID}})
	})
	s.wake()
	return err
}

// OffloadServer takes a shelved server from its host. There is none that is on a host. Faults:
// InstanceNotFound, InstanceIsLocked, InvalidState.
func (s *Service) OffloadServer(ctx context.Context, by Caller, id ID) error {
	return s.update(ctx, func(c *change) error {
		_, err := c.free(by, id, offloadAction)
		return err
	})
}

// free returns a server that nothing is under way with and that is in one of some states.
func (c *change) free(by Caller, id ID, action string, states ...string) (ServerRow, error) {
	row, err := OneOr[ServerRow](c, noServer(id), Where(ByID, id))
	if err != nil {
		return row, err
	}
	if err := row.unlocked(by); err != nil {
		return row, err
	}
	if err := row.in(action, states...); err != nil {
		return row, err
	}
	return row, c.kinds.idle(c, row, action)
}

// An Unshelving says where a shelved server is to be built.
type Unshelving struct {
	Zone *string // the new availability zone, "" for any; nil: as it was
	Host string  // "" for any
	// MayChoose returns why the caller may not choose a host.
	MayChoose func() error
}

// UnshelveServer begins to build a shelved server on a host. Faults: InstanceNotFound,
// InstanceIsLocked, InvalidState, InvalidRequest, ComputeHostNotFound,
// ExtendedResourceRequestOldCompute, UnshelveHostNotInAZ, what MayChoose returns.
func (s *Service) UnshelveServer(ctx context.Context, by Caller, id ID, to Unshelving) error {
	if err := s.mayMoveGroups(ctx, id); err != nil {
		return err
	}
	var row ServerRow
	err := s.store.View(ctx, func(r Reader) (err error) {
		row, err = OneOr[ServerRow](r, noServer(id), Where(ByID, id))
		return err
	})
	if err != nil {
		return err
	}
	image, imageErr := s.imageOf(ctx, row)
	hasHosts := true // a zone that is requested
	if to.Zone != nil && *to.Zone != "" {
		if hasHosts, err = s.zoneHasHosts(ctx, *to.Zone); err != nil {
			return err
		}
	}
	err = s.update(ctx, func(c *change) error {
		row, err := c.free(by, id, unshelveAction, ShelvedOffloaded)
		if err != nil {
			return err
		}
		d := &buildData{hostChoice: hostChoice{Image: image.Image}}
		if to.Zone != nil {
			row.Zone = *to.Zone
			if !hasHosts {
				return invalid("InvalidRequest", "The requested availability zone is not available")
			}
		}
		if to.Host != "" {
			if err := to.MayChoose(); err != nil {
				return err
			}
			if d.Node, err = c.wantedNode(&draft{ServerSpec: ServerSpec{Host: to.Host}}); err != nil {
				return err
			}
			in, err := ZonesByHost(c, to.Host)
			if err != nil {
				return err
			}
			if row.Zone != "" && cmp.Or(in[to.Host], c.Settings.DefaultZone) != row.Zone {
				return conflict("UnshelveHostNotInAZ", "Host %q is not in the availability zone %q.", to.Host, row.Zone)
			}
		}
		if imageErr != nil {
			return imageErr
		}
		row.Task, row.UpdatedAt = TaskUnshelving, c.At
		if err := c.Replace(&row); err != nil {
			return err
		}
		action, err := c.act(by, id, unshelveAction)
		if err != nil {
			return err
		}
		choose, err := c.begin(action.ID, eventChoose, "")
		if err != nil {
			return err
		}
		read, err := c.begin(action.ID, eventImage, "")
		if err == nil {
			err = c.end(read.ID, nil)
		}
		if err != nil {
			return err
		}
		d.Action, d.Event = action.ID, choose.ID
		return c.newOperation(id, kindUnshelve, d)
	})
	s.wake()
	return err
}

// claimAgain chooses and claims a host for a shelved server.
func (b *buildJob) claimAgain(ctx context.Context) (next, error) {
	err := b.releaseEarlier(ctx)
	if err != nil {
		return next{}, err
	}
	if b.ports, err = b.currentPorts(ctx); err == nil {
		err = b.s.place(ctx, []claimant{b}, b.ports)
	}
	var f *Failure
	switch {
	case errors.As(err, &f):
		failure := f.of(b.subject)
		return next{Back: true, Change: b.stepFailed(f.Details, &failure)}, nil
	case err != nil:
		return next{}, err
	}
	return next{Change: func(c *change, row *ServerRow) error {
		if err := c.end(b.Event, nil); err != nil {
			return err
		}
		event, err := c.begin(b.Action, eventUnshelve, row.Host)
		b.Event, row.Task = event.ID, Spawning
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
		b.ports, err = b.bindAll(ctx, server, b.ports, b.hostClaim)
	}
	switch {
	case err == nil:
		return next{Change: func(c *change, row *ServerRow) error { return c.seePorts(row.ID, b.ports) }}, nil
	case outcomeUnknown(ctx, err):
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
		b.ports, err = b.s.bindings.bindToNoHost(ctx, b.ports, server.ID, b.s.owner(zone))
	}
	if err != nil {
		return next{}, err
	}
	return next{Change: func(c *change, row *ServerRow) error { return c.seePorts(row.ID, b.ports) }}, nil
}

// buildAgain has the host build a shelved server.
func (b *buildJob) buildAgain(ctx context.Context) (next, error) {
	if b.Awaited == "" {
		return next{}, b.waitAfter(ctx, func(c *change, row *ServerRow) error {
			b.Awaited = b.Event
			return c.wishBuilt(*row, b.Event)
		})
	}
	event, err := b.await(ctx, "")
	if err != nil || event.Result == succeeded {
		return next{}, err
	}
	return next{Back: true, Change: b.stepFailed(event.Traceback, errors.New(event.Details))}, nil
}

// unshelved is the effect of a server that runs again.
func (b *buildJob) unshelved() effect {
	return func(c *change, row *ServerRow) error {
		row.State, row.Task, row.Power, row.LaunchedAt = Active, "", Running, c.At
		return c.end(b.Event, nil)
	}
}

// shelved is the effect of a server that is on no host any more, or not again.
func (b *buildJob) shelved() effect {
	return func(c *change, row *ServerRow) error {
		row.State, row.Task, row.Power = ShelvedOffloaded, "", ShutDown
		return c.endAll(b.Action, nil)
	}
}

// notShelved is the effect of a host that could not destroy the server, which stays there.
func (b *buildJob) notShelved(EventRow) effect {
	return func(c *change, row *ServerRow) error {
		row.Task = ""
		return c.wish(*row, func(hosted *HostedRow) { hosted.Wish, hosted.Event, hosted.Slots = row.usual(), "", nil })
	}
}
