package compute

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"reflect"

	"github.com/berthcloud/berth/allocations"
	"github.com/berthcloud/berth/compute/healing"
	"github.com/berthcloud/berth/compute/operation"
	"github.com/berthcloud/berth/guarantee"
)

// healOne heals the allocation of a server, or one port of it. It returns ErrTaken when something else is under
// way, and a *healing.Problem when it is not healed.
func (s *Service) healOne(ctx context.Context, server ID, b body) error {
	began := s.now()
	j := &job{s: s, id: newID(), worker: s.newWorker(), op: OperationRow{Server: server}, b: b}
	err := s.update(ctx, func(c *change) error {
		row, err := One[ServerRow](c, Where(ByID, server))
		if err != nil {
			return err
		}
		under, err := underWay(c, row, "")
		if err == nil && under != "" {
			err = ErrTaken
		}
		if err != nil {
			return err
		}
		j.op = OperationRow{ID: j.id, Server: server, Kind: heal, Worker: j.worker, Lease: c.leaseEnd(), CreatedAt: c.at}
		j.op.moveTo(c.kinds[heal].first())
		if j.op.Body, err = json.Marshal(j.b); err != nil {
			return err
		}
		return c.Insert(&j.op)
	})
	if errors.Is(err, ErrNoRow) {
		return ErrTaken // it was deleted
	}
	if err != nil {
		return err
	}
	ctx = context.WithoutCancel(ctx) // a caller that goes away does not stop it half way
	cause := s.runner.Finish(ctx, began, j, func(context.Context) error { return nil })
	if cause == nil || errors.Is(cause, operation.ErrTurned) {
		return cause
	}
	left := 1
	err = s.store.View(ctx, func(r Reader) error {
		rows, err := Rows[OperationRow](r, Where(ByID, j.id))
		left = len(rows)
		return err
	})
	p := &healing.Problem{Code: healing.NotAllocated, Err: cause}
	_ = errors.As(cause, &p)
	if err != nil || left > 0 {
		p = healing.Problemf(healing.NotUndone, "it is not known yet whether the allocation of server %s was changed; an operation undoes it: %w", server, cause)
	}
	return p
}

// healClaim adds what is missing to the server's allocation: all of it, or that of a port.
func (j *job) healClaim(ctx context.Context) (next, error) {
	if j.b.Port != "" {
		return j.healAdd(ctx)
	}
	err := allocations.Retry(ctx, allocations.Pause, func() error {
		server, err := j.server(ctx)
		if err != nil {
			return err
		}
		plan, err := j.s.healingPlan(ctx, server.ID, j.id, healing.Choice{Force: j.b.Replace, SkipPorts: true})
		switch {
		case err != nil:
			return err
		case plan.Problem != nil:
			return plan.Problem
		case plan.Whole == nil:
			return nil // another run has done it
		}
		now := plan.Held
		now.Amounts, now.Project, now.User, now.Type = plan.Whole, server.Project, server.User, allocations.Instance
		return j.s.placement.SetAllocations(ctx, string(server.ID), now)
	})
	if errors.Is(err, allocations.ErrCapacity) {
		err = healing.Problemf(healing.NotAllocated, "its host has not the capacity for server %s: %w", j.op.Server, err)
	}
	return next{End: true}, err
}

// healAdd adds what a port lacks to the server's allocation.
func (j *job) healAdd(ctx context.Context) (next, error) {
	plan, err := j.s.healingPlan(ctx, j.op.Server, j.id, healing.Choice{})
	switch {
	case err != nil:
		return next{}, err
	case plan.Problem != nil:
		return next{}, plan.Problem
	}
	for _, m := range plan.Ports {
		switch {
		case m.Port.Asks.ID != string(j.b.Port):
			continue
		case m.Problem != nil:
			return next{}, m.Problem
		}
		j.ports = []Port{{ID: j.b.Port, Asks: m.Port.Asks}}
		j.b.Amounts, j.b.Names, j.b.Bound = m.Amounts, &m.Allocation, m.Lost()
		if err = j.adjust(ctx, 1); errors.Is(err, allocations.ErrCapacity) {
			err = healing.Problemf(healing.NotAllocated, "the provider of port %s has not the capacity for it: %w", j.b.Port, err)
		}
		return next{}, err
	}
	return next{End: true}, nil // another run has done it
}

// healName has the port name its providers.
func (j *job) healName(ctx context.Context) (next, error) {
	for range tries {
		p, err := j.s.network.Port(ctx, j.b.Port)
		if err != nil {
			return next{}, notNamed(j.b.Port, err)
		}
		server, err := j.server(ctx)
		switch {
		case err != nil:
			return next{}, err
		case p.Server != string(server.ID) || p.Host != server.Host || !reflect.DeepEqual(p.Asks, j.ports[0].Asks):
			return next{}, notNamed(p.ID, ErrPortChanged)
		case reflect.DeepEqual(p.Allocation, *j.b.Names):
			return next{}, nil
		case !p.Allocation.Empty():
			return next{}, notNamed(p.ID, ErrPortChanged)
		}
		if err := j.noteUnsure(ctx, p.Revision); err != nil {
			return next{}, notNamed(p.ID, err)
		}
		if err := j.save(ctx); err != nil {
			return next{}, err
		}
		p, err = j.s.network.NameProviders(ctx, p.ID, p.Revision, *j.b.Names)
		switch {
		case errors.Is(err, ErrRevision):
			continue
		case err != nil:
			return next{}, notNamed(j.b.Port, err)
		case p.Failed():
			return next{}, notNamed(p.ID, &notBound{port: p.ID, host: p.Host, why: p.Reason})
		}
		return next{Change: func(c *change, row *ServerRow) error { return c.seePorts(row.ID, []Port{p}) }}, nil
	}
	return next{}, notNamed(j.b.Port, ErrRevision)
}

func notNamed(port ID, err error) error {
	return healing.Problemf(healing.NotNamed, "port %s cannot name its provider: %w", port, err)
}

// healForget undoes healName. A port that names its providers all the same keeps them, and what was added for it.
func (j *job) healForget(ctx context.Context) (next, error) {
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
		}
		names := p.Server == string(j.op.Server) && reflect.DeepEqual(p.Allocation, *j.b.Names)
		if names && p.Failed() {
			_, err := j.s.network.NameProviders(ctx, p.ID, p.Revision, guarantee.ProfileAllocation{})
			if err != nil && !errors.Is(err, ErrRevision) && !errors.Is(err, ErrNoPort) {
				return next{}, err
			}
			continue
		}
		if names {
			j.b.Amounts = nil
		}
		j.b.Unsure, j.b.Done = nil, false
		return next{Change: func(c *change, row *ServerRow) error { return c.seePorts(row.ID, []Port{p}) }}, nil
	}
	return next{}, fmt.Errorf("port %s: %w", j.b.Port, ErrRevision)
}

// notHealed is the effect of a healing that failed: none, since no action of a user's shows it.
func (j *job) notHealed(error) effect { return nil }
