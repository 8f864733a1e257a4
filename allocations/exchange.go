package allocations

import (
	"cmp"
	"context"
	"errors"
	"time"
)

// The types of consumers that Nova has: a server, and the allocations on its former host while it
// moves.
const (
	Instance  = "INSTANCE"
	Migration = "MIGRATION"
)

// An Exchange moves the allocations of a server that changes its host. While it moves, the consumer
// of its migration has the allocations on the source, and the server those on the destination, as
// in Nova: both change in one write. A migration's UUID is used for one move only, so that its
// allocations show whether the exchange has taken place.
//
// What the server has of a provider that shares with both hosts, a storage for example, stays the
// server's: it is used once while the server moves (https://bugs.launchpad.net/nova/+bug/1784020).
type Exchange struct {
	Placement         Placement
	Server, Migration string
	// Kept are the amounts before the move that stay the server's, nil for none. Those of the
	// destination may differ: the migration then has what the server has less of, so that both
	// together have the larger amount until Confirm, and Revert has room for the former one.
	Kept Amounts
	// Record stores the attempts of Begin, another one those of Revert.
	Record Record
	Now    func() time.Time
	Pause  time.Duration // see Retry; 0 means Pause
}

// Begin gives the server the allocations on the destination, and the migration those that the
// server has, without those that the server keeps. A server that would keep all of them keeps none:
// a migration without allocations would be one that has not begun. The error is ErrNotAllocated
// when the server has none. After an error other than ErrUnsettled nothing has changed and nothing
// will.
func (e *Exchange) Begin(ctx context.Context, destination Amounts) error {
	return e.swap(ctx, direction{names: e.Server, moved: true}, func(server, _ Consumer) (map[string]Consumer, error) {
		if len(server.Amounts) == 0 {
			return nil, ErrNotAllocated
		}
		source := server
		source.Type, source.Generation = Migration, nil
		if remaining := e.remaining(server.Amounts, destination); len(remaining) > 0 {
			source.Amounts = remaining
		}
		server.Amounts = destination
		return map[string]Consumer{e.Server: server, e.Migration: source}, nil
	})
}

// remaining returns what a migration gets of the allocations of a server.
func (e *Exchange) remaining(before, destination Amounts) Amounts {
	kept := Amounts{}
	for provider, classes := range e.Kept {
		for class := range classes {
			kept.put(provider, class, max(0, before[provider][class]-destination[provider][class]))
		}
	}
	return before.With(kept)
}

// Revert gives the server what the migration has, which has nothing then, with what the server has
// kept as it was before the move. It does nothing when the migration has nothing. After an error
// other than ErrUnsettled nothing has changed and nothing will.
func (e *Exchange) Revert(ctx context.Context) error {
	return e.swap(ctx, direction{names: e.Migration}, func(server, migration Consumer) (map[string]Consumer, error) {
		if server.Generation == nil { // its allocations were deleted
			server = migration
			server.Type, server.Generation = Instance, nil
		}
		server.Amounts, migration.Amounts = migration.Amounts.With(e.Kept), nil
		return map[string]Consumer{e.Server: server, e.Migration: migration}, nil
	})
}

// Confirm deletes what the migration has. It may be called again.
func (e *Exchange) Confirm(ctx context.Context) error {
	return Retry(ctx, cmp.Or(e.Pause, Pause), func() error {
		c, err := e.Placement.Allocations(ctx, e.Migration)
		if err != nil || len(c.Amounts) == 0 {
			return err
		}
		c.Amounts = nil
		return e.Placement.SetAllocations(ctx, e.Migration, c)
	})
}

// A direction of an exchange says whose generation an attempt names, and whether the migration has
// allocations once it took place.
type direction struct {
	names string
	moved bool
}

// swap makes the write that next returns, once, as Change.Make does.
func (e *Exchange) swap(
	ctx context.Context, d direction, next func(server, migration Consumer) (map[string]Consumer, error),
) error {
	var last *Attempt
	err := Retry(ctx, cmp.Or(e.Pause, Pause), func() (err error) {
		last, err = e.try(ctx, d, last, next)
		return err
	})
	if err != nil && !errors.Is(err, ErrUnsettled) {
		_ = conclude(context.WithoutCancel(ctx), e.Record, last, NotDone) // what is not stored is found out again
	}
	return err
}

// try is Change.try for an exchange: an attempt in the record that is not the refused one is
// settled before another is made. It returns the attempt that it made, or refused when it made
// none.
func (e *Exchange) try(
	ctx context.Context, d direction, refused *Attempt, next func(server, migration Consumer) (map[string]Consumer, error),
) (*Attempt, error) {
	state, err := e.Record.Load(ctx)
	if err == nil && state.Attempt != nil && !state.Attempt.Is(refused) {
		state.Done, err = e.settle(ctx, d, state.Attempt)
	}
	if err != nil || state.Done {
		return nil, err
	}
	server, err := e.Placement.Allocations(ctx, e.Server)
	if err != nil {
		return refused, err
	}
	migration, err := e.Placement.Allocations(ctx, e.Migration)
	if err != nil || d.over(migration) {
		return refused, err
	}
	all, err := next(server, migration)
	if err != nil {
		return refused, err
	}
	named := all[d.names].Generation
	if named == nil {
		return refused, noGeneration(d.names)
	}
	a := Attempt{At: e.Now(), Generation: *named, Before: server.Amounts}
	if err := e.Record.Note(ctx, a); err != nil {
		return refused, err
	}
	if err = e.Placement.SetManyAllocations(ctx, all); unanswered(err) {
		err = settled(err, func() (bool, error) { return e.settle(ctx, d, &a) })
	}
	return &a, err
}

// over reports whether the allocations of the migration show that the exchange took place.
func (d direction) over(migration Consumer) bool { return (len(migration.Amounts) > 0) == d.moved }

// settle determines whether an attempt took place. One that did not will not any more: the consumer
// whose generation it names gets another one first. Writing the consumer once more as it is raises
// its generation, so that a request that is still on its way is refused when it arrives. A write of
// it that is refused itself, ErrGeneration, means that something changed it, and all is read again.
func (e *Exchange) settle(ctx context.Context, d direction, a *Attempt) (done bool, err error) {
	err = Retry(ctx, cmp.Or(e.Pause, Pause), func() error {
		c, err := e.Placement.Allocations(ctx, d.names)
		if err != nil {
			return err
		}
		if c.Generation != nil && *c.Generation == a.Generation {
			if err := e.Placement.SetAllocations(ctx, d.names, c); err != nil {
				return err
			}
		}
		migration, err := e.Placement.Allocations(ctx, e.Migration)
		done = d.over(migration)
		return err
	})
	if err != nil {
		return false, err
	}
	o := NotDone
	if done {
		o = Done
	}
	return done, e.Record.Result(ctx, o)
}
