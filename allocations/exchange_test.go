package allocations_test

import (
	"errors"
	"fmt"
	"testing"
	"time"

	"github.com/berthcloud/berth/allocations"
)

// A transfer is an exchange between two hosts: what the server has before it and after it, what it
// keeps of the former, and what its migration has meanwhile.
type transfer struct{ before, after, kept, meanwhile allocations.Amounts }

const storage = "nfs"

// on returns amounts of a host and, unless it is 0, of the storage.
func on(host string, shared int64) allocations.Amounts {
	a := allocations.Amounts{host: {class: 1000}}
	if shared > 0 {
		a[storage] = map[string]int64{class: shared}
	}
	return a
}

// transfers are exchanges without a storage, and with one that serves both hosts: all of it is the
// server's, so that it cannot be claimed twice.
var transfers = map[string]transfer{
	"hosts only":  {before: on(bridge, 0), after: on(other, 0), meanwhile: on(bridge, 0)},
	"same amount": {on(bridge, 10_000), on(other, 10_000), allocations.Amounts{storage: {class: 10_000}}, on(bridge, 0)},
	"larger":      {on(bridge, 4000), on(other, 10_000), allocations.Amounts{storage: {class: 4000}}, on(bridge, 0)},
	"smaller": {
		on(bridge, 10_000), on(other, 4000), allocations.Amounts{storage: {class: 10_000}}, on(bridge, 6000),
	},
	"other storage": {before: on(bridge, 10_000), after: on(other, 0), meanwhile: on(bridge, 10_000)},
	"nothing else": {
		before: allocations.Amounts{storage: {class: 4000}}, after: on(other, 4000),
		kept: allocations.Amounts{storage: {class: 4000}}, meanwhile: allocations.Amounts{storage: {class: 4000}},
	},
}

var plain = transfers["hosts only"]

// exchange is an exchange, and its record.
func (x transfer) exchange(f *fake) (*allocations.Exchange, *record) {
	r := &record{}
	return &allocations.Exchange{
		Placement: f, Server: server, Migration: migration, Kept: x.kept, Record: r, Now: clock(), Pause: time.Microsecond,
	}, r
}

// standing says on which side of an exchange the allocations are.
func (x transfer) standing(f *fake) string {
	s, m := f.consumers[server], f.consumers[migration]
	switch {
	case s.Amounts.Equal(x.before) && len(m.Amounts) == 0:
		return "source"
	case s.Amounts.Equal(x.after) && m.Amounts.Equal(x.meanwhile) && m.Type == allocations.Migration &&
		s.Type == allocations.Instance:
		return "exchanged"
	case s.Amounts.Equal(x.after) && len(m.Amounts) == 0:
		return "destination"
	}
	return fmt.Sprintf("%v and %v", s.Amounts, m.Amounts)
}

// TestExchangesTakePlaceOnce breaks each request of an exchange, and of taking it back, in each
// way, while another program writes the server's allocations before any request: the exchange takes
// place or not, never in part, and after an error that is not ErrUnsettled it does not take place
// later.
func TestExchangesTakePlaceOnce(t *testing.T) {
	for name, x := range transfers {
		rivals := 8
		if name != "hosts only" && name != "smaller" {
			rivals = 0 // what another program does there does not depend on the amounts
		}
		for _, way := range ways {
			for _, enabled := range []bool{false, true} {
				for i := 1; i <= 8; i++ {
					for rival := 0; rival <= rivals; rival++ {
						oneExchange(t, name, x, way, enabled, i, rival)
					}
				}
			}
		}
	}
}

func oneExchange(t *testing.T, name string, x transfer, way string, enabled bool, i, rival int) {
	t.Helper()
	kind := fmt.Sprintf("%s: request %d (%v) %s, another writes before request %d", name, i, enabled, way, rival)
	f := newFake()
	f.give(server, x.before)
	rewrite := func(f *fake) { f.give(server, f.consumers[server].Amounts) }
	// through does one direction until it is done, and returns the first answer.
	through := func(from, dst string, do func() error) {
		t.Helper()
		f.at, f.on, f.way, f.calls, f.rival, f.when = i, enabled, way, 0, rewrite, rival
		err := do()
		f.at, f.rival = 0, nil
		if err != nil && !errors.Is(err, allocations.ErrUnsettled) {
			f.arrive()
			if got := x.standing(f); from != "" && got != from {
				t.Errorf("%s: %v, and it stands at %s, want %s", kind, err, got, from)
			}
		}
		if err == nil && x.standing(f) != dst {
			t.Errorf("%s: done, and it stands at %s, want %s", kind, x.standing(f), dst)
		}
		if err := do(); err != nil {
			t.Errorf("%s: again: %v", kind, err)
		}
		f.arrive()
		if got := x.standing(f); got != dst {
			t.Errorf("%s: it stands at %s, want %s", kind, got, dst)
		}
	}
	e, _ := x.exchange(f)
	through("source", "exchanged", func() error { return e.Begin(t.Context(), x.after) })
	e, _ = x.exchange(f)
	through("exchanged", "source", func() error { return e.Revert(t.Context()) })
	e, _ = x.exchange(f)
	through("source", "exchanged", func() error { return e.Begin(t.Context(), x.after) })
	through("", "destination", func() error { return e.Confirm(t.Context()) }) // a late one may be carried out
}

// TestExchangesSurviveTheProcess ends the process at each write of the record.
func TestExchangesSurviveTheProcess(t *testing.T) {
	for name, x := range transfers {
		for _, way := range ways {
			for i := 0; i <= 4; i++ {
				for end := 1; end <= 4; end++ {
					for _, after := range []bool{false, true} {
						f := newFake()
						f.give(server, x.before)
						e, r := x.exchange(f)
						f.at, f.way, r.endAt, r.after = i, way, end, after
						_ = e.Begin(t.Context(), x.after)
						f.at, r.endAt = 0, 0
						err := e.Begin(t.Context(), x.after)
						f.arrive()
						if err != nil || x.standing(f) != "exchanged" {
							t.Errorf("%s: request %d %s, the process ended at write %d (%v): %v, it stands at %s", name, i, way, end,
								after, err, x.standing(f))
						}
					}
				}
			}
		}
	}
}

// TestExchangesAreRefused: a destination without capacity, and a server without allocations, change
// nothing.
func TestExchangesAreRefused(t *testing.T) {
	f, x := newFake(), plain
	e, r := x.exchange(f)
	if err := e.Begin(t.Context(), x.after); !errors.Is(err, allocations.ErrNotAllocated) {
		t.Errorf("Begin without allocations = %v", err)
	}
	f.give(server, x.before)
	full := allocations.Amounts{other: {class: 10_001}}
	if err := e.Begin(t.Context(), full); !errors.Is(err, allocations.ErrCapacity) || x.standing(f) != "source" ||
		r.is.Attempt != nil {
		t.Errorf("Begin = %v, it stands at %s, the record is %+v", err, x.standing(f), r.is)
	}
	if err := e.Revert(t.Context()); err != nil || x.standing(f) != "source" {
		t.Errorf("Revert of nothing = %v, it stands at %s", err, x.standing(f))
	}
	if err := e.Confirm(t.Context()); err != nil || x.standing(f) != "source" {
		t.Errorf("Confirm of nothing = %v, it stands at %s", err, x.standing(f))
	}
	if err := e.Begin(t.Context(), x.after); err != nil {
		t.Fatal(err)
	}
	delete(f.consumers, server) // somebody has deleted the server's allocations
	if err := e.Revert(t.Context()); err != nil || x.standing(f) != "source" {
		t.Errorf("Revert without a server's allocations = %v, it stands at %s", err, x.standing(f))
	}
}
