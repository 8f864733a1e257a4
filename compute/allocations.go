package compute

import (
	"context"
	"errors"
	"fmt"

	"github.com/berthcloud/berth/allocations"
	"github.com/berthcloud/berth/compute/operation"
)

// setAllocations replaces the allocations of a server, whatever they are. Only steps that are retried
// or final call it. Errors are those of Placement.
func (s *Service) setAllocations(ctx context.Context, server ServerRow, amounts allocations.Amounts) error {
	return allocations.Retry(ctx, allocations.Pause, func() error {
		now, err := s.placement.Allocations(ctx, string(server.ID))
		if err != nil || now.Amounts.Equal(amounts) {
			return err
		}
		now.Amounts, now.Project, now.User, now.Type = amounts, server.Project, server.User, allocations.Instance
		return s.placement.SetAllocations(ctx, string(server.ID), now)
	})
}

// claimAllocations writes the claim of a server, which has no allocations: what another worker has claimed for it
// is not replaced. Errors are those of Placement, and errNotTaken.
func (s *Service) claimAllocations(ctx context.Context, server ServerRow, amounts allocations.Amounts) error {
	return allocations.Retry(ctx, allocations.Pause, func() error {
		now, err := s.placement.Allocations(ctx, string(server.ID))
		switch {
		case err != nil || now.Amounts.Equal(amounts):
			return err
		case len(now.Amounts) > 0:
			return errNotTaken
		}
		return s.placement.SetAllocations(ctx, string(server.ID), allocations.Consumer{
			Amounts: amounts, Project: server.Project, User: server.User, Type: allocations.Instance,
		})
	})
}

// adjust adds the operation's amounts to the server's allocations, or subtracts them when sign is -1,
// exactly once however often it is called. It logs amounts that are not allocated and cannot be
// subtracted. Errors are those of allocations.Change.Make, and of save. After one that is no
// *operation.Unanswered nothing is under way.
func (j *job) adjust(ctx context.Context, sign int64) error {
	if len(j.b.Amounts) == 0 {
		return nil
	}
	c := j.change(sign)
	_, err := c.Make(ctx)
	var short *allocations.Shortage
	switch {
	case errors.As(err, &short):
		j.s.rules.Log.ErrorContext(ctx, "a server has less allocated than it should release", "server", j.op.Server, "port", j.b.Port, "error", err)
		return nil
	case err != nil && sign < 0 && j.unknown():
		return nil // they stay allocated until the server is deleted
	case errors.As(err, new(*operation.Unanswered)) && !errors.Is(err, allocations.ErrUnsettled):
		return errors.New(err.Error()) // it was found not to have taken place
	case err != nil || j.b.Done:
		return err
	}
	return c.Record.Result(ctx, allocations.Done)
}

// settle determines, once, whether the last attempt to add the operation's amounts took place. When that is
// unknown, it counts as not done: what was not added must not be released.
func (j *job) settle(ctx context.Context) error {
	if j.b.Settled {
		return nil
	}
	if _, err := j.change(1).Settle(ctx); err != nil && !j.unknown() {
		return err
	}
	if j.b.Attempt = nil; !j.b.Done {
		j.b.Amounts = nil
	}
	j.b.Settled, j.b.Done = true, false
	return j.save(ctx)
}

// settleReleases has the network service complete what is under way with the server's allocations. Its error has no
// other consequence than that the step is repeated.
func (j *job) settleReleases(ctx context.Context) error {
	if err := j.s.network.Settle(ctx, j.op.Server); err != nil {
		return &ownError{err}
	}
	return nil
}

// unknown reports whether it is unknown what became of the last attempt.
func (j *job) unknown() bool { return j.b.Attempt != nil && j.b.Attempt.Lost }

// change is the change of the server's allocations by the operation's amounts.
func (j *job) change(sign int64) *allocations.Change {
	return &allocations.Change{
		Placement: j.s.placement, Record: &operationRecord{j, sign}, Now: j.s.rules.Now,
		Apply: func(held, differences allocations.Amounts) (allocations.Amounts, error) {
			switch {
			case sign < 0:
				return held.Minus(j.b.Amounts)
			case len(held) == 0:
				return nil, allocations.ErrCapacity // only its boot may claim for a server without allocations
			}
			return held.Plus(differences), nil
		},
	}
}

// An operationRecord stores the attempts at a change in the body of its operation.
type operationRecord struct {
	j    *job
	sign int64
}

var _ allocations.Record = (*operationRecord)(nil)

// Load returns what the operation has.
func (r *operationRecord) Load(context.Context) (allocations.State, error) {
	b := &r.j.b
	differences := b.Amounts
	if r.sign < 0 {
		differences = b.Amounts.Negated()
	}
	return allocations.State{Consumer: string(r.j.op.Server), Differences: differences, Attempt: b.Attempt, Done: b.Done}, nil
}

// Note stores an attempt.
func (r *operationRecord) Note(ctx context.Context, a allocations.Attempt) error {
	r.j.b.Attempt = &a
	return r.commit(ctx)
}

// Result stores the outcome of the attempt.
func (r *operationRecord) Result(ctx context.Context, o allocations.Outcome) error {
	j := r.j
	if o == allocations.Unknown {
		lost := *j.b.Attempt
		lost.Lost = true
		j.b.Attempt = &lost
		j.s.rules.Log.ErrorContext(ctx, "it is unknown whether the resources of a port were added to or removed from a server's allocation: others changed it",
			"server", j.op.Server, "port", j.b.Port, "amounts", j.b.Amounts)
	} else {
		j.b.Attempt, j.b.Done = nil, o == allocations.Done
	}
	return r.commit(ctx)
}

func (r *operationRecord) commit(ctx context.Context) error {
	err := r.j.save(ctx)
	if errors.Is(err, operation.ErrTurned) || errors.Is(err, operation.ErrLost) {
		return fmt.Errorf("%w: %w", allocations.ErrEnded, err)
	}
	return err
}
