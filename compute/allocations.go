package compute

import (
	"context"
	"errors"

	"github.com/berthcloud/berth/compute/selection"
	"github.com/berthcloud/berth/network/guarantee"
)

// tries is the number of attempts when others change an allocation concurrently.
const tries = 10

// setAllocation replaces the allocation of a server, whatever it is now. Only steps that are retried or
// final call it. Errors are those of Placement.SetAllocation.
func (s *Service) setAllocation(ctx context.Context, server ServerRow, amounts guarantee.Amounts) (err error) {
	for range tries {
		var now Allocation
		if now, err = s.placement.Allocation(ctx, server.ID); err != nil {
			return err
		}
		if equal(now.Amounts, amounts) {
			return nil
		}
		now.Amounts, now.Project, now.User = amounts, server.Project, server.User
		if err = s.placement.SetAllocation(ctx, server.ID, now); !errors.Is(err, ErrGeneration) {
			return err
		}
	}
	return err
}

// equal reports whether amounts are equal, where an absent class equals zero.
func equal(a, b guarantee.Amounts) bool { return contains(a, b) && contains(b, a) }

func contains(a, b guarantee.Amounts) bool {
	for provider, classes := range b {
		for class, n := range classes {
			if a[provider][class] != n {
				return false
			}
		}
	}
	return true
}

// adjust adds the operation's amounts to the server's allocation, or subtracts them when sign is
// -1, exactly once however often it is called: see decision 24. It logs amounts that are not
// allocated and cannot be subtracted. Errors are those of Placement, and of commit.
func (j *job) adjust(ctx context.Context, sign int64) error {
	if err := j.settle(ctx, sign); err != nil || j.b.Done {
		return err
	}
	var err error
	for range tries {
		var now Allocation
		if now, err = j.s.placement.Allocation(ctx, j.op.Server); err != nil {
			return err
		}
		if now.Generation == nil && sign > 0 {
			return ErrCapacity // without an allocation only its boot may claim for it
		}
		next := j.changed(ctx, now.Amounts, sign)
		if equal(next, now.Amounts) {
			return nil
		}
		j.b.Attempt = &attempt{Generation: *now.Generation, Before: concerned(now.Amounts, j.b.Amounts)}
		if err := j.commit(ctx, j.op.Step, nil); err != nil {
			return err
		}
		now.Amounts = next
		err = j.s.placement.SetAllocation(ctx, j.op.Server, now)
		if err != nil && !errors.Is(err, ErrGeneration) && !errors.Is(err, ErrCapacity) {
			return err // it may have taken place
		}
		j.b.Attempt, j.b.Done = nil, err == nil
		if err := j.commit(ctx, j.op.Step, nil); err != nil {
			return err
		}
		if !errors.Is(err, ErrGeneration) {
			return err
		}
	}
	return err
}

// changed is the allocation after an adjustment.
func (j *job) changed(ctx context.Context, held guarantee.Amounts, sign int64) guarantee.Amounts {
	if sign > 0 {
		return selection.Plus(held, j.b.Amounts)
	}
	next, err := selection.Minus(held, j.b.Amounts)
	if err != nil {
		j.s.log.ErrorContext(ctx, "a server has less allocated than it should release", "server", j.op.Server, "port", j.b.Port, "error", err)
		return held
	}
	return next
}

// settle finds out whether the last attempt of an adjustment took place. One that did not
// will not any more: it may be on its way still, and would then find a consumer of another
// generation.
func (j *job) settle(ctx context.Context, sign int64) error {
	if j.b.Attempt == nil {
		return nil
	}
	now, err := j.s.placement.Allocation(ctx, j.op.Server)
	if err != nil {
		return err
	}
	is := concerned(now.Amounts, j.b.Amounts)
	wanted := guarantee.Amounts{}
	for provider, classes := range j.b.Attempt.Before {
		wanted[provider] = map[string]int64{}
		for class, n := range classes {
			wanted[provider][class] = n + sign*j.b.Amounts[provider][class]
		}
	}
	unchanged := equal(is, j.b.Attempt.Before)
	switch {
	case unchanged && now.Generation != nil && *now.Generation == j.b.Attempt.Generation:
		if err := j.s.placement.SetAllocation(ctx, j.op.Server, now); err != nil { // which raises the generation
			return err
		}
	case equal(is, wanted):
		j.b.Done = true
	case !unchanged:
		j.s.log.ErrorContext(ctx, "it is unknown whether the resources of a port were added to or removed from a server's allocation: others changed it",
			"server", j.op.Server, "port", j.b.Port, "amounts", j.b.Amounts)
	}
	j.b.Attempt = nil
	return j.commit(ctx, j.op.Step, nil)
}

// concerned is the part of amounts that others are about, zeros included.
func concerned(held, others guarantee.Amounts) guarantee.Amounts {
	part := guarantee.Amounts{}
	for provider, classes := range others {
		part[provider] = map[string]int64{}
		for class := range classes {
			part[provider][class] = held[provider][class]
		}
	}
	return part
}
