package lifecycle

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"slices"
	"time"

	"github.com/berthcloud/berth/allocations"
	"github.com/berthcloud/berth/compute"
	"github.com/berthcloud/berth/compute/operation"
	"github.com/berthcloud/berth/compute/serverports"
)

// isDetached ends a detachment, when the operations before it have ended, of a port that was
// removed from its server in the meantime: as in Nova, its event says so.
func isDetached(c *Change, server compute.ID, d operationData) (bool, error) {
	detachment := d.(*PortData)
	rows, err := compute.Rows[compute.PortRow](c, compute.Where(compute.ByPort, detachment.Port),
		compute.Where(compute.ByServer, server))
	if err != nil || len(rows) > 0 {
		return false, err
	}
	text := fmt.Sprintf("Port %s is not attached", detachment.Port)
	return true, c.EndEvent(detachment.Event, &compute.StepError{Text: text, Details: text})
}

// notUnplugged is the effect of a host that could not unplug the port: the server keeps it.
func (p *portJob) notUnplugged(compute.EventRow) effect {
	return func(c *Change, row *compute.ServerRow) error { return c.setUnplugged(row.ID, p.Port, false) }
}

// unbindPort unbinds the port from the server and stores what must be released for it. The program
// that unbinds a port releases its allocation: what the port had at the revision at which it was
// unbound here, and nothing when another program deleted it before, because the network service
// releases it then.
func (p *portJob) unbindPort(ctx context.Context) (next, error) {
	if err := p.settle(ctx); err != nil {
		return next{}, err
	}
	for range serverports.Tries {
		port, err := p.s.network.Port(ctx, p.Port)
		switch {
		case errors.Is(err, compute.ErrNoPort):
			return next{}, p.unbindRemoved(ctx)
		case err != nil:
			return next{}, err
		case port.Server != string(p.subject): // the unbinding was not answered, or another program did it
			if p.Bound && p.Pending == nil && port.Server == "" {
				p.Amounts = port.Allocated()
			}
			p.Pending, p.Done = nil, false
			return next{}, nil
		}
		again, err := p.recordUnbinding(ctx, port)
		if err != nil {
			return next{}, err
		}
		unbound, err := p.s.network.UnbindPort(ctx, p.subject, port.ID, port.Revision)
		switch {
		case err == nil:
			if unbound.Allocation = port.Allocation; p.Bound { // its network's policy does not raise its revision
				p.Amounts = unbound.Allocated()
			}
			p.Pending, p.Done = nil, false
			return next{}, nil
		case errors.Is(err, compute.ErrNoPort):
			if !again {
				p.Pending = nil
			}
			return next{}, p.unbindRemoved(ctx)
		case !errors.Is(err, compute.ErrRevision):
			return next{}, err
		}
	}
	return next{}, fmt.Errorf("unbinding port %s: %w", p.Port, compute.ErrRevision)
}

// recordUnbinding stores the port's allocation, and that it is unbound at its revision. It reports
// whether an earlier unbinding at that revision was stored, which may still take effect.
func (p *portJob) recordUnbinding(ctx context.Context, port compute.Port) (again bool, err error) {
	allocated := port.Allocated()
	p.Bound = p.Bound || len(allocated) > 0
	again = p.Pending != nil && p.Pending.Revision == port.Revision
	p.Pending = nil
	if !p.Bound {
		return again, nil // only this operation releases what was claimed for it
	}
	if p.Amounts = allocated; len(allocated) == 0 {
		return again, nil
	}
	if err := p.recordPending(ctx, port.Revision); err != nil {
		return again, err
	}
	return again, p.save(ctx)
}

// recordPending stores that a request for the port is about to be sent; the caller commits it.
func (p *portJob) recordPending(ctx context.Context, revision int64) error {
	current, err := p.s.placement.Allocations(ctx, string(p.subject))
	p.Pending = &pendingRequest{At: p.s.rules.Now(), Revision: revision, Allocated: current.Amounts.Concerned(p.Amounts)}
	p.pendingFor()
	return err
}

// pendingFor returns for how long this process has known of the request that may have taken place.
func (p *portJob) pendingFor() time.Duration {
	p.s.dueNow.mu.Lock()
	defer p.s.dueNow.mu.Unlock()
	return p.s.dueNow.pending.age(p.id, p.Pending.At.UTC().Format(time.RFC3339Nano), p.s.elapsed())
}

// unbindRemoved continues when the port does not exist any more.
func (p *portJob) unbindRemoved(ctx context.Context) error {
	if p.Pending != nil && len(p.Amounts) > 0 {
		allocated, err := p.stillAllocated(ctx)
		if err != nil {
			return err
		}
		if !allocated {
			p.Amounts = nil
		}
	} else if p.Bound {
		p.Amounts = nil
	}
	p.Pending, p.Done = nil, false
	return nil
}

// releaseTime bounds how long the network service takes to release the allocation of a deleted
// port: it completes after three minutes what another of its instances has abandoned.
const releaseTime = 5 * time.Minute

// stillAllocated reports whether the server still has the allocation of a port that was deleted
// while its binding was unknown. Then this operation releases it, once the network service would
// have done so. What cannot be determined stays allocated until the server is deleted.
func (p *portJob) stillAllocated(ctx context.Context) (bool, error) {
	consumer, err := p.s.placement.Allocations(ctx, string(p.subject))
	if err != nil {
		return false, err
	}
	current, before := consumer.Amounts.Concerned(p.Amounts), p.Pending.Allocated
	released, err := before.Minus(p.Amounts)
	switch {
	case err == nil && current.Equal(released):
		return false, nil
	case !current.Equal(before):
		p.s.rules.Log.ErrorContext(ctx,
			"the allocation of a deleted port cannot be released: others changed it, and it is unknown whether the network "+
				"service released it",
			"server", p.subject, "port", p.Port, "amounts", p.Amounts)
		return false, nil
	case p.pendingFor() < releaseTime:
		return false, fmt.Errorf("port %s is deleted, and the network service may be about to release its allocation", p.Port)
	}
	return true, nil
}

// sendUnplug sends the host of a server the command to unplug the port of an operation.
func sendUnplug(c *Change, server compute.ServerRow, d *PortData) error {
	d.Awaited = cmp.Or(d.Event, compute.NewID())
	if err := c.setUnplugged(server.ID, d.Port, true); err != nil {
		return err
	}
	return c.setDesired(server, func(row *compute.HostedRow) { row.Event = d.Awaited })
}

// unplug has the host unplug the port that is detached. Nothing is given back before it has, unless
// it is down.
func (p *portJob) unplug(ctx context.Context) (next, error) {
	state, err := p.hostedState(ctx, "")
	if err != nil {
		return next{}, err
	}
	i := slices.IndexFunc(state.ports, func(port compute.ServerPort) bool { return port.Port == p.Port })
	never := !state.exists || p.Port == "" || i >= 0 && state.ports[i].Unplugged
	switch {
	case state.event.Result == compute.EventFailed && p.kind().refused != nil:
		return next{End: true, Change: p.kind().refused(p.job, state.event)}, nil
	case p.Awaited == "" && never,
		p.Awaited != "" && (!state.exists || state.row.Event != p.Awaited && state.row.Refused != p.Awaited):
		return next{}, nil
	}
	if p.Awaited == "" || state.row.Refused == p.Awaited {
		err := p.save(ctx, func(c *Change, server *compute.ServerRow) error { return sendUnplug(c, *server, &p.PortData) })
		if err != nil {
			return next{}, err
		}
	}
	if state.up {
		return next{}, &operation.Wait{Event: string(p.Awaited)}
	}
	return next{Change: func(c *Change, server *compute.ServerRow) error {
		if i < 0 {
			return nil
		}
		return c.setDesired(*server, func(row *compute.HostedRow) {
			row.Slots = append(row.Slots, state.slots(state.ports[i])...)
		})
	}}, nil
}

// adjust adds the operation's amounts to the server's allocations, or subtracts them when sign is
// -1, exactly once however often it is called. It logs amounts that are not allocated and cannot be
// subtracted. Errors are those of allocations.Change.Make, and of save. After one that is no
// *operation.Unanswered nothing is under way.
func (p *portJob) adjust(ctx context.Context, sign int64) error {
	if len(p.Amounts) == 0 {
		return nil
	}
	record := &portRecord{p, sign}
	_, err := p.s.claims.change(record, p.Amounts, sign).Make(ctx)
	var short *allocations.Shortage
	switch {
	case errors.As(err, &short):
		p.s.rules.Log.ErrorContext(ctx, "a server has less allocated than it should release", "server", p.subject,
			"port", p.Port, "error", err)
		return nil
	case err != nil && sign < 0 && p.unknown():
		return nil // they stay allocated until the server is deleted
	case err != nil:
		return notWritten(err)
	case p.Done:
		return nil
	}
	return record.Result(ctx, allocations.Done)
}

// settle determines, once, whether the last attempt to add the operation's amounts took place. When
// that is unknown, it counts as not done: what was not added must not be released.
func (p *portJob) settle(ctx context.Context) error {
	if p.Settled {
		return nil
	}
	if _, err := p.s.claims.change(&portRecord{p, 1}, p.Amounts, 1).Settle(ctx); err != nil && !p.unknown() {
		return err
	}
	if p.Attempt = nil; !p.Done {
		p.Amounts = nil
	}
	p.Settled, p.Done = true, false
	return p.save(ctx)
}

// unknown reports whether it is unknown what became of the last attempt.
func (p *portJob) unknown() bool { return p.Attempt != nil && p.Attempt.Lost }

// A portRecord stores the attempts at a change in the data of its operation.
type portRecord struct {
	p    *portJob
	sign int64
}

var _ allocations.Record = (*portRecord)(nil)

// Load returns what the operation has.
func (r *portRecord) Load(context.Context) (allocations.State, error) {
	differences := r.p.Amounts
	if r.sign < 0 {
		differences = differences.Negated()
	}
	return allocations.State{
		Consumer: string(r.p.subject), Differences: differences, Attempt: r.p.Attempt, Done: r.p.Done,
	}, nil
}

// Note stores an attempt.
func (r *portRecord) Note(ctx context.Context, a allocations.Attempt) error {
	r.p.Attempt = &a
	return r.p.saveAttempt(ctx)
}

// Result stores the outcome of the attempt.
func (r *portRecord) Result(ctx context.Context, o allocations.Outcome) error {
	p := r.p
	if o == allocations.Unknown {
		lost := *p.Attempt
		lost.Lost = true
		p.Attempt = &lost
		p.s.rules.Log.ErrorContext(ctx,
			"it is unknown whether the resources of a port were added to or removed from a server's allocation: "+
				"others changed it",
			"server", p.subject, "port", p.Port, "amounts", p.Amounts)
	} else {
		p.Attempt, p.Done = nil, o == allocations.Done
	}
	return p.saveAttempt(ctx)
}
