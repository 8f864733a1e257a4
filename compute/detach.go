package compute

import (
	"context"
	"errors"

	"github.com/berthcloud/berth/compute/selection"
	"github.com/berthcloud/berth/network/guarantee"
)

// Detach begins to take a port from a server. One that was made for it is removed. Faults:
// InstanceNotFound, PortNotFound, InstanceIsLocked, InvalidState.
func (s *Service) Detach(ctx context.Context, by Caller, server, port ID) error {
	host := ""
	err := s.update(ctx, func(c *change) error {
		row, err := attachableTo(c, by, server, "detach_interface")
		if err != nil {
			return err
		}
		host = row.Host
		p, err := found[PortRow](c, notFound("PortNotFound", "Port id %s could not be found.", port), Where(ByPort, port), Where(ByServer, server))
		if err != nil {
			return err
		}
		action, err := c.act(by, server, "detach_interface")
		if err != nil {
			return err
		}
		event, err := c.begin(action.ID, "compute_detach_interface", row.Host)
		if err != nil {
			return err
		}
		return c.newOperation(server, detach, stepHost, body{Action: action.ID, Event: event.ID, Port: port, Own: p.Own})
	})
	s.hosts.tell(host)
	return err
}

// unplugged looks whether the host has unplugged the port. What the port holds is noted
// before it is unbound: afterwards nobody knows.
func (j *job) unplugged(ctx context.Context) error {
	event, err := j.awaited(ctx)
	if err != nil {
		return err
	}
	if event.Result == failed {
		return j.finish(ctx, func(*change, *ServerRow) error { return nil })
	}
	p, err := j.s.network.Port(ctx, j.b.Port)
	if err != nil && !errors.Is(err, ErrNoPort) {
		return err
	}
	j.b.Amounts = p.holds()
	return j.commit(ctx, stepUnbind, nil)
}

// unbind frees the port.
func (j *job) unbind(ctx context.Context) error {
	if err := j.s.freePort(ctx, PortRow{Port: j.b.Port, Server: j.op.Server, Own: j.b.Own}); err != nil {
		return err
	}
	return j.commit(ctx, stepRelease, nil)
}

// holds is what a bound port holds: what it asks for, of the providers that its profile
// names. Without those it holds nothing.
func (p Port) holds() guarantee.Amounts {
	held := guarantee.Amounts{}
	for _, g := range p.Asks.Groups {
		provider := p.Allocation.Old
		if id, err := guarantee.ParseUUID(g.ID); err == nil && p.Allocation.Groups != nil {
			provider = p.Allocation.Groups[id]
		}
		if provider != (guarantee.UUID{}) {
			held = selection.Plus(held, guarantee.Amounts{provider.String(): g.Resources})
		}
	}
	return held
}
