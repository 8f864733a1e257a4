package allocations_test

import (
	"errors"
	"fmt"
	"testing"
	"time"

	"github.com/berthcloud/berth/allocations"
)

// exchanging is an exchange, and its record.
func exchanging(f *fake) (*allocations.Exchange, *record) {
	r := &record{}
	return &allocations.Exchange{
		Placement: f, Server: server, Migration: migration, Record: r, Now: clock(), Pause: time.Microsecond,
	}, r
}

var destination = allocations.Amounts{other: {class: 1000}}

// standing says on which side of an exchange the allocations are.
func standing(f *fake) string {
	s, m := f.consumers[server], f.consumers[migration]
	switch {
	case s.Amounts.Equal(having(1000)) && len(m.Amounts) == 0:
		return "source"
	case s.Amounts.Equal(destination) && m.Amounts.Equal(having(1000)) && m.Type == allocations.Migration &&
		s.Type == allocations.Instance:
		return "exchanged"
	case s.Amounts.Equal(destination) && len(m.Amounts) == 0:
		return "destination"
	}
	return fmt.Sprintf("%v and %v", s.Amounts, m.Amounts)
}

// TestExchangesTakePlaceOnce breaks each request of an exchange, and of taking it back, in each
// way, while another program writes the server's allocations before any request: the exchange takes
// place or not, never in part, and after an error that is not ErrUnsettled it does not take place
// later.
func TestExchangesTakePlaceOnce(t *testing.T) {
	for _, way := range ways {
		for _, enabled := range []bool{false, true} {
			for i := 1; i <= 8; i++ {
				for rival := 0; rival <= 8; rival++ {
					oneExchange(t, way, enabled, i, rival)
				}
			}
		}
	}
}

func oneExchange(t *testing.T, way string, enabled bool, i, rival int) {
	t.Helper()
	kind := fmt.Sprintf("request %d (%v) %s, another writes before request %d", i, enabled, way, rival)
	f := newFake()
	f.give(server, having(1000))
	rewrite := func(f *fake) { f.give(server, f.consumers[server].Amounts) }
	// through does one direction until it is done, and returns the first answer.
	through := func(from, dst string, do func() error) {
		t.Helper()
		f.at, f.on, f.way, f.calls, f.rival, f.when = i, enabled, way, 0, rewrite, rival
		err := do()
		f.at, f.rival = 0, nil
		if err != nil && !errors.Is(err, allocations.ErrUnsettled) {
			f.arrive()
			if got := standing(f); from != "" && got != from {
				t.Errorf("%s: %v, and it stands at %s, want %s", kind, err, got, from)
			}
		}
		if err == nil && standing(f) != dst {
			t.Errorf("%s: done, and it stands at %s, want %s", kind, standing(f), dst)
		}
		if err := do(); err != nil {
			t.Errorf("%s: again: %v", kind, err)
		}
		f.arrive()
		if got := standing(f); got != dst {
			t.Errorf("%s: it stands at %s, want %s", kind, got, dst)
		}
	}
	e, _ := exchanging(f)
	through("source", "exchanged", func() error { return e.Begin(t.Context(), destination) })
	e, _ = exchanging(f)
	through("exchanged", "source", func() error { return e.Revert(t.Context()) })
	e, _ = exchanging(f)
	through("source", "exchanged", func() error { return e.Begin(t.Context(), destination) })
	through("", "destination", func() error { return e.Confirm(t.Context()) }) // a late one may be carried out
}

// TestExchangesSurviveTheProcess ends the process at each write of the record.
func TestExchangesSurviveTheProcess(t *testing.T) {
	for _, way := range ways {
		for i := 0; i <= 4; i++ {
			for end := 1; end <= 4; end++ {
				for _, after := range []bool{false, true} {
					f := newFake()
					f.give(server, having(1000))
					e, r := exchanging(f)
					f.at, f.way, r.endAt, r.after = i, way, end, after
					_ = e.Begin(t.Context(), destination)
					f.at, r.endAt = 0, 0
					err := e.Begin(t.Context(), destination)
					f.arrive()
					if err != nil || standing(f) != "exchanged" {
						t.Errorf("request %d %s, the process ended at write %d (%v): %v, it stands at %s", i, way, end, after, err,
							standing(f))
					}
				}
			}
		}
	}
}

// TestExchangesAreRefused: a destination without capacity, and a server without allocations, change
// nothing.
func TestExchangesAreRefused(t *testing.T) {
	f := newFake()
	e, r := exchanging(f)
	if err := e.Begin(t.Context(), destination); !errors.Is(err, allocations.ErrNotAllocated) {
		t.Errorf("Begin without allocations = %v", err)
	}
	f.give(server, having(1000))
	full := allocations.Amounts{other: {class: 10_001}}
	if err := e.Begin(t.Context(), full); !errors.Is(err, allocations.ErrCapacity) || standing(f) != "source" ||
		r.is.Attempt != nil {
		t.Errorf("Begin = %v, it stands at %s, the record is %+v", err, standing(f), r.is)
	}
	if err := e.Revert(t.Context()); err != nil || standing(f) != "source" {
		t.Errorf("Revert of nothing = %v, it stands at %s", err, standing(f))
	}
	if err := e.Confirm(t.Context()); err != nil || standing(f) != "source" {
		t.Errorf("Confirm of nothing = %v, it stands at %s", err, standing(f))
	}
	if err := e.Begin(t.Context(), destination); err != nil {
		t.Fatal(err)
	}
	delete(f.consumers, server) // somebody has deleted the server's allocations
	if err := e.Revert(t.Context()); err != nil || standing(f) != "source" {
		t.Errorf("Revert without a server's allocations = %v, it stands at %s", err, standing(f))
	}
}
