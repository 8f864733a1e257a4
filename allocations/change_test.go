package allocations_test

import (
	"context"
	"errors"
	"fmt"
	"testing"
	"time"

	"github.com/berthcloud/berth/allocations"
)

const (
	server, migration, bridge, class = "server", "migration", "cn1/br0", "NET"
	other                            = "cn2/br0"
)

// having returns amounts on the bridge.
func having(n int64) allocations.Amounts { return allocations.Amounts{bridge: {class: n}} }

// give lets a consumer have amounts, whatever it has.
func (f *fake) give(consumer string, amounts allocations.Amounts) {
	c := f.consumers[consumer]
	c.Amounts, c.Project, c.User, c.Type = amounts, "p", "u", allocations.Instance
	if err := f.set(map[string]allocations.Consumer{consumer: c}); err != nil {
		panic(err)
	}
}

// has returns what a consumer has on the bridge.
func (f *fake) has(consumer string) int64 { return f.consumers[consumer].Amounts[bridge][class] }

// changing is a change of what the server has, and its record.
func changing(f *fake, differences int64) (*allocations.Change, *record) {
	r := &record{is: allocations.State{Consumer: server, Differences: having(differences)}}
	return &allocations.Change{Placement: f, Record: r, Now: clock(), Pause: time.Microsecond}, r
}

// TestChangesTakePlaceOnce breaks each request of a change in each way, once and from then on; then
// placement answers again, what is late arrives before each request of those that follow, and the
// change is tried until it is made.
func TestChangesTakePlaceOnce(t *testing.T) {
	for _, differences := range []int64{500, -500, -1000} {
		for _, way := range ways {
			for _, enabled := range []bool{false, true} {
				for i := 1; ; i++ {
					met := false
					for arrives := 0; arrives <= 12; arrives++ {
						met = oneChange(t, differences, way, enabled, i, arrives)
					}
					if !met {
						break
					}
				}
			}
		}
	}
}

func oneChange(t *testing.T, differences int64, way string, enabled bool, i, arrives int) (met bool) {
	t.Helper()
	kind := fmt.Sprintf("%+d, request %d (%v) %s, what is late arrives before request %d", differences, i, enabled,
		way, arrives)
	f := newFake()
	f.give(server, allocations.Amounts{"cn1": {"VCPU": 1}, bridge: {class: 1000}})
	c, r := changing(f, differences)
	f.at, f.on, f.way = i, enabled, way
	_, err := c.Make(t.Context())
	met = f.calls >= i
	if err == nil && f.has(server) != 1000+differences {
		t.Errorf("%s: made, and the server has %d", kind, f.has(server))
	}
	final := err != nil && !errors.Is(err, allocations.ErrUnsettled)
	f.at, f.calls = 0, 0
	f.rival, f.when = (*fake).arrive, arrives
	if final { // it must not take place any more
		f.arrive()
		if f.has(server) != 1000 {
			t.Errorf("%s: %v, and the server has %d", kind, err, f.has(server))
		}
	}
	if err == nil {
		r.is.Done, r.is.Attempt = true, nil // as the caller stores it
	}
	for range 3 {
		if last, err := c.Make(t.Context()); err == nil && last != nil {
			r.is.Done, r.is.Attempt = true, nil
		}
	}
	f.arrive()
	if got := f.has(server); got != 1000+differences || f.consumers[server].Amounts["cn1"]["VCPU"] != 1 {
		t.Errorf("%s: the server has %d at last, want %d", kind, got, 1000+differences)
	}
	return met
}

// TestChangesSurviveTheProcess ends the process at each write of the record, before and after it;
// the next process continues.
func TestChangesSurviveTheProcess(t *testing.T) {
	for _, way := range ways {
		for i := 0; i <= 4; i++ {
			for end := 1; end <= 4; end++ {
				for _, after := range []bool{false, true} {
					f := newFake()
					f.give(server, having(1000))
					c, r := changing(f, 500)
					f.at, f.way = i, way
					r.endAt, r.after = end, after
					_, _ = c.Make(t.Context())
					f.at, r.endAt = 0, 0
					next := &allocations.Change{Placement: f, Record: r, Now: clock(), Pause: time.Microsecond}
					_, err := next.Make(t.Context())
					f.arrive()
					if err != nil || f.has(server) != 1500 {
						t.Errorf("request %d %s, the process ended at write %d (%v): %v, the server has %d", i, way, end, after, err,
							f.has(server))
					}
				}
			}
		}
	}
}

// TestRivals has another program change the same amounts before each request of a change whose
// write is lost, or not answered: the change of each takes place once. Two changes of the other
// after a write that was not answered leave the outcome unknown, which stays so. The other's change
// is another one: decision 30 says what follows from the same one.
func TestRivals(t *testing.T) {
	for _, way := range []string{"answered never", "answered late", "carried out late"} {
		for writes := 1; writes <= 2; writes++ {
			for when := 1; when <= 6; when++ {
				for _, delta := range []int64{300, 700} {
					oneRivalry(t, way, writes, when, delta)
				}
			}
		}
	}
}

func oneRivalry(t *testing.T, way string, writes, when int, delta int64) {
	t.Helper()
	kind := fmt.Sprintf("the write is %s, and another changes %d by %d before request %d", way, writes, delta, when)
	f := newFake()
	f.give(server, having(1000))
	c, r := changing(f, 500)
	f.at, f.way, f.when = 2, way, when
	rivals := int64(0)
	f.rival = func(f *fake) {
		for range writes {
			f.give(server, having(f.has(server)+delta))
			rivals += delta
		}
	}
	_, err := c.Make(t.Context())
	f.arrive()
	unknown := r.is.Attempt != nil && r.is.Attempt.Lost
	switch mine := f.has(server) - 1000 - rivals; {
	case unknown:
		if !errors.Is(err, allocations.ErrUnsettled) || writes == 1 && way == "answered never" {
			t.Errorf("%s: %v, and the outcome is unknown", kind, err)
		}
		if _, err := c.Make(t.Context()); !errors.Is(err, allocations.ErrUnsettled) || f.has(server)-1000-rivals != mine {
			t.Errorf("%s: again: %v, the server has %d", kind, err, f.has(server))
		}
	case err == nil && mine != 500, err != nil && mine != 0:
		t.Errorf("%s: %v, and the server has %d", kind, err, f.has(server))
	}
}

// TestChangesAreRefused: what placement refuses, and what cannot be computed, changes nothing, and
// the record says so.
func TestChangesAreRefused(t *testing.T) {
	for _, tc := range []struct {
		what        string
		allocated   allocations.Amounts
		differences allocations.Amounts
		way         string
		want        error
	}{
		{"too much", having(1000), having(9001), "", allocations.ErrCapacity},
		{"no allocations", nil, having(1), "", allocations.ErrNotAllocated},
		{"changes all the time", having(1000), having(1), "refused", allocations.ErrGeneration},
	} {
		f := newFake()
		if tc.allocated != nil {
			f.give(server, tc.allocated)
		}
		r := &record{is: allocations.State{Consumer: server, Differences: tc.differences}}
		f.at, f.on, f.way = 1, tc.way != "", tc.way
		if f.way == "" {
			f.at = 0
		}
		c := &allocations.Change{Placement: f, Record: r, Now: clock(), Pause: time.Microsecond}
		_, err := c.Make(t.Context())
		if !errors.Is(err, tc.want) || r.is.Attempt != nil || r.is.Done || !f.consumers[server].Amounts.Equal(tc.allocated) {
			t.Errorf("%s: %v, want %v; the record is %+v", tc.what, err, tc.want, r.is)
		}
	}
}

// TestRetryEnds: a change that is always too late is tried ten times, and once when no caller
// waits.
func TestRetryEnds(t *testing.T) {
	tries := 0
	change := func() error {
		tries++
		return fmt.Errorf("again: %w", allocations.ErrGeneration)
	}
	if err := allocations.Retry(t.Context(), time.Microsecond, change); !errors.Is(err, allocations.ErrGeneration) ||
		tries != 10 {
		t.Errorf("Retry = %v after %d tries, want 10", err, tries)
	}
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	tries = 0
	if err := allocations.Retry(ctx, time.Hour, change); !errors.Is(err, allocations.ErrGeneration) || tries != 1 {
		t.Errorf("Retry = %v after %d tries, want 1", err, tries)
	}
}
