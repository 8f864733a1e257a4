package allocations_test

import (
	"context"
	"maps"
	"time"

	"github.com/berthcloud/berth/allocations"
	"github.com/berthcloud/berth/fault"
)

// A fake is a placement service in memory, with the rules about generations and capacity, whose
// writes fail as a test sets.
type fake struct {
	consumers map[string]allocations.Consumer
	capacity  int64 // of each class of each provider

	calls int
	at    int         // the call that goes wrong, 0 for none
	on    bool        // and all after it
	way   string      // how: see ways
	late  []func()    // requests that have not arrived yet
	rival func(*fake) // what another program does before call rivalAt
	when  int         // that call
}

// ways are how a request goes wrong.
var ways = []string{
	"answered never", // and not carried out
	"answered late",  // carried out, and the answer is lost
	"carried out late",
	"refused", // by another program's change
}

var errAway = fault.New(fault.Unavailable, "", "placement does not answer")

func newFake() *fake {
	return &fake{capacity: 10_000, consumers: map[string]allocations.Consumer{}}
}

// call carries out a request, in the way that it goes.
func (f *fake) call(do func() error, write bool) error {
	f.calls++
	if f.rival != nil && f.calls == f.when {
		f.rival(f)
	}
	if f.at == 0 || f.calls < f.at || f.calls > f.at && !f.on {
		return do()
	}
	switch f.way {
	case "answered late":
		_ = do()
	case "carried out late":
		f.late = append(f.late, func() { _ = do() })
	case "refused":
		if write {
			return allocations.ErrGeneration
		}
		return do()
	}
	return errAway
}

// arrive carries out the requests that are on their way.
func (f *fake) arrive() {
	for _, do := range f.late {
		do()
	}
	f.late = nil
}

func (f *fake) Allocations(_ context.Context, consumer string) (c allocations.Consumer, err error) {
	err = f.call(func() error {
		c = f.consumers[consumer]
		c.Amounts = c.Amounts.Plus(nil)
		if c.Generation != nil {
			g := *c.Generation
			c.Generation = &g
		}
		return nil
	}, false)
	return c, err
}

func (f *fake) SetAllocations(ctx context.Context, consumer string, c allocations.Consumer) error {
	return f.SetManyAllocations(ctx, map[string]allocations.Consumer{consumer: c})
}

func (f *fake) SetManyAllocations(_ context.Context, all map[string]allocations.Consumer) error {
	return f.call(func() error { return f.set(all) }, true)
}

func (f *fake) set(all map[string]allocations.Consumer) error {
	next := maps.Clone(f.consumers)
	for id, c := range all {
		generation := f.consumers[id].Generation
		if (generation == nil) != (c.Generation == nil) || generation != nil && *generation != *c.Generation {
			return allocations.ErrGeneration
		}
		raised := int64(1)
		if generation != nil {
			raised = *generation + 1
		}
		c.Generation = &raised
		if next[id] = c; len(c.Amounts) == 0 {
			delete(next, id)
		}
	}
	used := allocations.Amounts{}
	for _, c := range next {
		used = used.Plus(c.Amounts)
	}
	for _, classes := range used {
		for _, n := range classes {
			if n > f.capacity {
				return allocations.ErrCapacity
			}
		}
	}
	f.consumers = next
	return nil
}

// A record is what a service has in its database; a test can make it fail.
type record struct {
	is    allocations.State
	calls int
	endAt int // the call of Note or Result at which the process ends, 0 for none
	after bool
}

func (r *record) Load(context.Context) (allocations.State, error) { return r.is, nil }

func (r *record) Note(_ context.Context, a allocations.Attempt) error {
	return r.write(func() { r.is.Attempt = &a })
}

func (r *record) Result(_ context.Context, o allocations.Outcome) error {
	return r.write(func() {
		if o == allocations.Unknown {
			lost := *r.is.Attempt
			lost.Lost = true
			r.is.Attempt = &lost
			return
		}
		r.is.Attempt, r.is.Done = nil, o == allocations.Done
	})
}

// write stores something, unless the process has ended.
func (r *record) write(do func()) error {
	r.calls++
	if r.endAt == 0 || r.calls < r.endAt {
		do()
		return nil
	}
	if r.calls == r.endAt && r.after {
		do()
	}
	return allocations.ErrEnded // for the process that has ended nothing more happens
}

// clock returns another time at each call, so that no two attempts are the same one.
func clock() func() time.Time {
	at := time.Date(2026, 1, 1, 0, 0, 0, 0, time.UTC)
	return func() time.Time {
		at = at.Add(time.Second)
		return at
	}
}
