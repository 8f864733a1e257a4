package compute

import (
	"context"
	"errors"
	"fmt"
	"time"

	"github.com/berthcloud/berth/allocations"
	"github.com/berthcloud/berth/guarantee"
)

// Detach begins to detach a port from a server. One that was created for it is deleted. Faults:
// InstanceNotFound, PortNotFound, InstanceIsLocked, InvalidState.
func (s *Service) Detach(ctx context.Context, by Caller, server, port ID) error {
	return s.update(ctx, func(c *change) error {
		row, err := s.attachableTo(c, by, server, "detach_interface")
		if err != nil {
			return err
		}
		p, err := OneOr[PortRow](c, notFound("PortNotFound", "Port id %s could not be found.", port), Where(ByPort, port), Where(ByServer, server))
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
		return c.newOperation(server, detach, body{Action: action.ID, Event: event.ID, Port: port, Own: p.Own, Bound: true, Settled: true})
	})
}

// tries is the number of attempts to unbind a port that others change concurrently.
const tries = 10

// detached ends a detachment, when its turn comes, of a port that was removed from its server in the meantime:
// as in Nova, its event says so.
func detached(c *change, server ID, b body) (bool, error) {
	rows, err := Rows[PortRow](c, Where(ByPort, b.Port), Where(ByServer, server))
	if err != nil || len(rows) > 0 {
		return false, err
	}
	text := fmt.Sprintf("Port %s is not attached", b.Port)
	return true, c.end(b.Event, &stepError{text: text, details: text})
}

// notUnplugged is the effect of a host that could not unplug the port: the server keeps it.
func (j *job) notUnplugged(EventRow) effect {
	return func(c *change, row *ServerRow) error { return c.setUnplugged(row.ID, j.b.Port, false) }
}

// unbind unbinds the port from the server and stores what must be released for it. The program that
// unbinds a port releases its allocation: what the port had at the revision at which it was unbound
// here, and nothing when another program deleted it before, because the network service releases it
// then.
func (j *job) unbind(ctx context.Context) (next, error) {
	if err := j.settle(ctx); err != nil {
		return next{}, err
	}
	for range tries {
		p, err := j.s.network.Port(ctx, j.b.Port)
		switch {
		case errors.Is(err, ErrNoPort):
			return next{}, j.unbindRemoved(ctx)
		case err != nil:
			return next{}, err
		case p.Server != string(j.op.Server): // the unbinding was not answered, or another program did it
			if j.b.Bound && j.b.Unsure == nil && p.Server == "" {
				j.b.Amounts = p.allocation()
			}
			j.b.Unsure, j.b.Done = nil, false
			return next{}, nil
		}
		again, err := j.noteUnbinding(ctx, p)
		if err != nil {
			return next{}, err
		}
		now, err := j.s.network.UnbindPort(ctx, j.op.Server, p.ID, p.Revision)
		switch {
		case err == nil:
			if now.Allocation = p.Allocation; j.b.Bound { // its network's policy does not raise its revision
				j.b.Amounts = now.allocation()
			}
			j.b.Unsure, j.b.Done = nil, false
			return next{}, nil
		case errors.Is(err, ErrNoPort):
			if !again {
				j.b.Unsure = nil
			}
			return next{}, j.unbindRemoved(ctx)
		case !errors.Is(err, ErrRevision):
			return next{}, err
		}
	}
	return next{}, fmt.Errorf("unbinding port %s: %w", j.b.Port, ErrRevision)
}

// noteUnbinding stores the port's allocation, and that it is unbound at its revision. It reports
// whether an earlier unbinding at that revision was stored, which may still take effect.
func (j *job) noteUnbinding(ctx context.Context, p Port) (again bool, err error) {
	held := p.allocation()
	j.b.Bound = j.b.Bound || len(held) > 0
	again = j.b.Unsure != nil && j.b.Unsure.Revision == p.Revision
	j.b.Unsure = nil
	if !j.b.Bound {
		return again, nil // only this operation releases what was claimed for it
	}
	if j.b.Amounts = held; len(held) == 0 {
		return again, nil
	}
	if err := j.noteUnsure(ctx, p.Revision); err != nil {
		return again, err
	}
	return again, j.save(ctx)
}

// noteUnsure stores that a request for the port is about to be sent; the caller commits it.
func (j *job) noteUnsure(ctx context.Context, revision int64) error {
	now, err := j.s.placement.Allocations(ctx, string(j.op.Server))
	j.b.Unsure = &unsure{At: j.s.rules.Now(), Revision: revision, Held: now.Amounts.Concerned(j.b.Amounts)}
	j.unsureFor()
	return err
}

// unsureFor returns for how long this process has known of the request that may have taken place.
func (j *job) unsureFor() time.Duration {
	j.s.dueNow.mu.Lock()
	defer j.s.dueNow.mu.Unlock()
	return j.s.dueNow.unsures.age(j.id, j.b.Unsure.At.UTC().Format(time.RFC3339Nano), j.s.elapsed())
}

// unbindRemoved continues when the port does not exist any more.
func (j *job) unbindRemoved(ctx context.Context) error {
	if j.b.Unsure != nil && len(j.b.Amounts) > 0 {
		held, err := j.stillAllocated(ctx)
		if err != nil {
			return err
		}
		if !held {
			j.b.Amounts = nil
		}
	} else if j.b.Bound {
		j.b.Amounts = nil
	}
	j.b.Unsure, j.b.Done = nil, false
	return nil
}

// releaseTime bounds how long the network service takes to release the allocation of a deleted
// port: it completes after three minutes what another of its instances has left.
const releaseTime = 5 * time.Minute

// stillAllocated reports whether the server still has the allocation of a port that was deleted while
// its binding was unknown. Then this operation releases it, once the network service would have
// done so. What cannot be determined stays allocated until the server is deleted.
func (j *job) stillAllocated(ctx context.Context) (bool, error) {
	now, err := j.s.placement.Allocations(ctx, string(j.op.Server))
	if err != nil {
		return false, err
	}
	is, before := now.Amounts.Concerned(j.b.Amounts), j.b.Unsure.Held
	given, err := before.Minus(j.b.Amounts)
	switch {
	case err == nil && is.Equal(given):
		return false, nil
	case !is.Equal(before):
		j.s.rules.Log.ErrorContext(ctx, "the allocation of a deleted port cannot be released: others changed it, and it is unknown whether the network service released it",
			"server", j.op.Server, "port", j.b.Port, "amounts", j.b.Amounts)
		return false, nil
	case j.unsureFor() < releaseTime:
		return false, fmt.Errorf("port %s is deleted, and the network service may be about to release its allocation", j.b.Port)
	}
	return true, nil
}

// allocation is the allocation of a bound port: its resource request, on the providers that its profile
// names. Without those it is empty.
func (p Port) allocation() allocations.Amounts {
	held := allocations.Amounts{}
	for _, g := range p.Asks.Groups {
		provider := p.Allocation.Old
		if id, err := guarantee.ParseUUID(g.ID); err == nil && p.Allocation.Groups != nil {
			provider = p.Allocation.Groups[id]
		}
		if provider != (guarantee.UUID{}) {
			held = held.Plus(allocations.Amounts{provider.String(): g.Resources})
		}
	}
	return held
}
