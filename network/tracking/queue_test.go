package tracking_test

import (
	"context"
	"errors"
	"fmt"
	"runtime"
	"strings"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/berthcloud/berth/network"
	"github.com/berthcloud/berth/network/tracking"
)

// hold has calls wait until they are let go, or stopped.
func hold(f *fake) (release func()) {
	gate := make(chan struct{})
	f.set(func() {
		f.trouble = func(ctx context.Context, _ int) error {
			select {
			case <-gate:
				return nil
			case <-ctx.Done():
				return ctx.Err()
			}
		}
	})
	return sync.OnceFunc(func() { close(gate) })
}

// TestReportsThatCome while the agent is being synced.
func TestReportsThatCome(t *testing.T) {
	one, two := desired("host", "br-a"), desired("host", "br-a", "br-b")
	for _, tc := range []struct {
		name  string
		later []tracking.Report
		fails bool // the first sync
		syncs int
		state string // has it
	}{
		{"Same", []tracking.Report{{State: one}, {State: one}}, false, 1, "br-a"},
		{"Changed", []tracking.Report{{State: two}}, false, 2, "br-b"},
		{"NewestCounts", []tracking.Report{{State: two}, {State: one}}, false, 1, "br-a"},
		{"OnlyOneMore", []tracking.Report{{State: one}, {State: one}, {State: two}, {State: two}}, false, 2, "br-b"},
		{"Started", []tracking.Report{{State: one, Started: true}}, false, 2, "br-a"},
		{"StartedIsNotForgotten", []tracking.Report{{State: one, Started: true}, {State: one}}, false, 2, "br-a"},
		{"SameAfterFailure", []tracking.Report{{State: one}}, true, 2, "br-a"},
	} {
		t.Run(tc.name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				f := newFake("host")
				release := hold(f)
				d := run(t, f)
				d.Report(tracking.Report{Agent: "a", State: one})
				synctest.Wait()
				for _, r := range tc.later {
					r.Agent = "a"
					d.Report(r)
				}
				if tc.fails {
					f.set(func() { delete(f.providers, uuid("host")) })
				}
				release()
				got := d.results()
				if len(got) != tc.syncs {
					t.Errorf("%d syncs, want %d", len(got), tc.syncs)
				}
				if !tc.fails && !strings.Contains(f.String(), tc.state) {
					t.Errorf("placement has\n%s\nwant %s", f, tc.state)
				}
				if n := d.Waiting(); n != 0 {
					t.Errorf("%d agents wait", n)
				}
				if f.most != 1 {
					t.Errorf("%d calls at a time for one agent", f.most)
				}
			})
		})
	}
}

// TestTheNewestReportWaits in the place of the first.
func TestTheNewestReportWaits(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		f := newFake("one", "two")
		d := &desk{}
		d.Tracker = tracking.New(tracking.Options{Placement: f, Done: d.done, Concurrency: 1})
		d.Report(tracking.Report{Agent: "a", State: desired("one", "br-old")})
		d.Report(tracking.Report{Agent: "b", State: desired("two", "br-a")})
		d.Report(tracking.Report{Agent: "a", State: desired("one", "br-new")})
		if n := d.Waiting(); n != 2 {
			t.Errorf("%d agents wait, want 2", n)
		}
		ctx, cancel := context.WithCancel(t.Context())
		defer cancel()
		go d.Run(ctx)
		synctest.Wait()
		calls := f.taken()
		if len(calls) == 0 || calls[0] != "Named one" || strings.Contains(strings.Join(calls, " "), "br-old") {
			t.Errorf("calls = %q", calls)
		}
	})
}

// TestStopping cuts a sync short and reports nothing.
func TestStopping(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		f := newFake("host")
		hold(f)
		d := &desk{}
		d.Tracker = tracking.New(tracking.Options{Placement: f, Done: d.done})
		ctx, cancel := context.WithCancel(t.Context())
		stopped := make(chan struct{})
		go func() {
			d.Run(ctx)
			close(stopped)
		}()
		for i := range 10 {
			d.Report(tracking.Report{Agent: network.ID(fmt.Sprint(i)), State: desired("host", "br-a")})
		}
		synctest.Wait()
		cancel()
		<-stopped
		if got := d.results(); len(got) != 0 {
			t.Errorf("results = %+v, want none: the next heartbeat tries again", got)
		}
		if n := len(f.taken()); n != tracking.DefaultConcurrency {
			t.Errorf("%d calls, want one for each agent at a time", n)
		}
	})
}

// TestSlowAgentsAreGivenUp after the bound, and do not hold up the others.
func TestSlowAgentsAreGivenUp(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		f := newFake("slow", "quick")
		f.trouble = func(ctx context.Context, n int) error {
			if n > 0 {
				return ctx.Err()
			}
			<-ctx.Done()
			return errors.New("placement is unavailable: timeout")
		}
		begin := time.Now()
		d := run(t, f, func(o *tracking.Options) { o.Timeout = time.Minute })
		d.Report(tracking.Report{Agent: "slow", State: desired("slow", "br-a")})
		synctest.Wait()
		if got := d.report(t, tracking.Report{Agent: "quick", State: desired("quick", "br-a")}); got.Failure != "" ||
			!time.Now().Equal(begin) {
			t.Errorf("the other agent's sync after %v: %+v", time.Since(begin), got)
		}
		time.Sleep(time.Minute)
		want := []outcome{{
			"slow",
			network.SyncResult{State: desired("slow", "br-a"), Failure: "slow: placement is unavailable: timeout"},
			begin.Add(time.Minute),
		}}
		if diff := cmp.Diff(want, d.results(), cmp.AllowUnexported(outcome{})); diff != "" {
			t.Errorf("results (-want +got):\n%s", diff)
		}
	})
}

// TestRushOfAgents has a thousand start at once, each call taking a while.
func TestRushOfAgents(t *testing.T) {
	agents := 1000
	if testing.Short() {
		agents = 100
	}
	synctest.Test(t, func(t *testing.T) {
		var roots []string
		for i := range agents {
			roots = append(roots, fmt.Sprintf("host%d", i))
		}
		f := newFake(roots...)
		f.trouble = func(context.Context, int) error {
			time.Sleep(2 * time.Millisecond)
			return nil
		}
		d := run(t, f)
		before := heap()
		begin := time.Now()
		var g sync.WaitGroup
		for i, host := range roots {
			g.Go(func() {
				for range 3 { // heartbeats that come before its turn
					d.Report(tracking.Report{Agent: network.ID(fmt.Sprint(i)), State: desired(host, "br-a", "br-b"), Started: true})
				}
			})
		}
		g.Wait()
		waiting := heap()
		for d.Waiting() > 0 {
			time.Sleep(time.Second)
			synctest.Wait()
		}
		time.Sleep(time.Second)
		synced := make(map[network.ID]bool)
		for _, o := range d.results() {
			if o.Failure != "" {
				t.Fatalf("agent %s: %s", o.agent, o.Failure)
			}
			synced[o.agent] = true
		}
		calls := len(f.taken())
		t.Logf("%d calls, %d at a time at most, in %v of 2 ms each; %d kB while all wait", calls, f.most, time.Since(begin),
			(int64(waiting)-int64(before))/1024)
		if len(synced) != agents || f.most > tracking.DefaultConcurrency {
			t.Errorf("%d agents synced, %d at a time; want %d and %d", len(synced), f.most, agents, tracking.DefaultConcurrency)
		}
		// Some that began before the third heartbeat are synced twice, with a look at what is there.
		if limit := (agents + 2*tracking.DefaultConcurrency) * 9; calls > limit {
			t.Errorf("%d calls, want %d at most", calls, limit)
		}
	})
}

func heap() uint64 {
	var m runtime.MemStats
	runtime.GC()
	runtime.ReadMemStats(&m)
	return m.HeapAlloc
}

// BenchmarkSync is one agent with four devices whose placement answers at once.
func BenchmarkSync(b *testing.B) {
	f := newFake("host")
	done := make(chan network.SyncResult)
	tr := tracking.New(tracking.Options{
		Placement: f, Done: func(_ context.Context, _ network.ID, r network.SyncResult) { done <- r },
	})
	ctx, cancel := context.WithCancel(b.Context())
	defer cancel()
	go tr.Run(ctx)
	r := tracking.Report{Agent: "a", State: desired("host", "a", "b", "c", "d"), Started: true}
	b.ReportAllocs()
	for b.Loop() {
		tr.Report(r)
		if got := <-done; got.Failure != "" {
			b.Fatal(got.Failure)
		}
		f.taken()
	}
}
