package compute

import (
	"context"
	"errors"
	"fmt"
	"time"

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

// unplugged looks whether the host has unplugged the port.
func (j *job) unplugged(ctx context.Context) error {
	event, err := j.awaited(ctx)
	if err != nil {
		return err
	}
	if event.Result == failed {
		return j.finish(ctx, func(*change, *ServerRow) error { return nil })
	}
	return j.commit(ctx, stepUnbind, nil)
}

// unbind takes the port from the server and notes what is to be given back for it. Who unbinds a
// port gives back what it holds: that is what it held at the revision at which it was unbound here,
// and nothing when somebody removed it before, for then the network service does.
func (j *job) unbind(ctx context.Context) error {
	for range tries {
		p, err := j.s.network.Port(ctx, j.b.Port)
		switch {
		case errors.Is(err, ErrNoPort):
			return j.removed(ctx)
		case err != nil:
			return err
		case p.Server != string(j.op.Server): // the unbinding was not answered, or somebody else's
			if j.bound() && j.b.Unsure == nil && p.Server == "" {
				j.b.Amounts = p.holds()
			}
			return j.unbound(ctx, p)
		}
		again, err := j.noteUnbinding(ctx, p)
		if err != nil {
			return err
		}
		now, err := j.s.network.UnbindPort(ctx, j.op.Server, p.ID, p.Revision)
		switch {
		case err == nil:
			if now.Allocation = p.Allocation; j.bound() { // its network's policy does not raise its revision
				j.b.Amounts = now.holds()
			}
			return j.unbound(ctx, now)
		case errors.Is(err, ErrNoPort):
			if !again {
				j.b.Unsure = nil
			}
			return j.removed(ctx)
		case !errors.Is(err, ErrRevision):
			return err
		}
	}
	return fmt.Errorf("unbinding port %s: %w", j.b.Port, ErrRevision)
}

// bound reports whether the port was bound.
func (j *job) bound() bool { return j.op.Kind == detach || j.b.Bound }

// noteUnbinding notes what the port holds, and that it is unbound at its revision. It reports
// whether an earlier unbinding at that revision was noted, which may take place still.
func (j *job) noteUnbinding(ctx context.Context, p Port) (again bool, err error) {
	held := p.holds()
	j.b.Bound = j.b.Bound || len(held) > 0
	again = j.b.Unsure != nil && j.b.Unsure.Revision == p.Revision
	j.b.Unsure = nil
	if !j.bound() {
		return again, nil // nobody gives back what was claimed for it but this operation
	}
	if j.b.Amounts = held; len(held) == 0 {
		return again, nil
	}
	if err := j.noteUnsure(ctx, p.Revision); err != nil {
		return again, err
	}
	return again, j.commit(ctx, j.op.Step, nil)
}

// noteUnsure notes that a request about the port is going to be sent; it is to be committed.
func (j *job) noteUnsure(ctx context.Context, revision int64) error {
	now, err := j.s.placement.Held(ctx, j.op.Server)
	j.b.Unsure = &unsure{At: j.s.now(), Revision: revision, Held: concerned(now.Amounts, j.b.Amounts)}
	return err
}

// unbound goes on when the port is not the server's any more. One that was made for the server is
// removed, unless somebody else has taken it.
func (j *job) unbound(ctx context.Context, p Port) error {
	if j.b.Own && p.Server == "" {
		if err := j.s.network.DeletePort(ctx, p.ID); err != nil {
			return err
		}
	}
	j.b.Unsure, j.b.Done = nil, false
	return j.commit(ctx, stepRelease, nil)
}

// removed goes on when the port is not there any more.
func (j *job) removed(ctx context.Context) error {
	if j.b.Unsure != nil && len(j.b.Amounts) > 0 {
		held, err := j.stillHeld(ctx)
		if err != nil {
			return err
		}
		if !held {
			j.b.Amounts = nil
		}
	} else if j.bound() {
		j.b.Amounts = nil
	}
	j.b.Unsure, j.b.Done = nil, false
	return j.commit(ctx, stepRelease, nil)
}

// releaseTime is how long the network service may take to give back what a removed port held: it
// finishes after three minutes what another of its instances has left.
const releaseTime = 5 * time.Minute

// stillHeld reports whether the server holds what a port held that was removed while it was not
// known whether it was bound. Then it is this operation's to give back, once the network service
// would have done so. What cannot be told stays held until the server is deleted.
func (j *job) stillHeld(ctx context.Context) (bool, error) {
	now, err := j.s.placement.Held(ctx, j.op.Server)
	if err != nil {
		return false, err
	}
	is, before := concerned(now.Amounts, j.b.Amounts), j.b.Unsure.Held
	given, err := selection.Minus(before, j.b.Amounts)
	switch {
	case err == nil && equal(is, given):
		return false, nil
	case !equal(is, before):
		j.s.log.ErrorContext(ctx, "it cannot be told who gives back what a removed port held: others changed the same",
			"server", j.op.Server, "port", j.b.Port, "amounts", j.b.Amounts)
		return false, nil
	case j.s.now().Sub(j.b.Unsure.At) < releaseTime:
		return false, fmt.Errorf("port %s is removed, and the network service may be about to give back what it held", j.b.Port)
	}
	return true, nil
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
