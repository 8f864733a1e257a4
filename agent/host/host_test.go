package host_test

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"log/slog"
	"slices"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/berthcloud/berth/agent/driver"
	"github.com/berthcloud/berth/agent/host"
	"github.com/berthcloud/berth/compute/hostlist"
	"github.com/berthcloud/berth/internal/logtest"
)

// A service is a compute service whose list a test sets and whose calls fail when the test says
// so.
type service struct {
	mu       sync.Mutex
	changed  chan struct{}
	revision int
	wants    []hostlist.Server
	results  []hostlist.Result
	reports  int
	refuses  error    // of each report
	unknown  []string // of the last report
	fails    int      // so many calls
}

func newService() *service { return &service{changed: make(chan struct{})} }

func (s *service) want(all ...hostlist.Server) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.wants = all
	s.revision++
	close(s.changed)
	s.changed = make(chan struct{})
}

func (s *service) failing() error {
	if s.fails > 0 {
		s.fails--
		return errors.New("the service is away")
	}
	return nil
}

func (s *service) Report(_ context.Context, unknown []string) error {
	s.mu.Lock()
	defer s.mu.Unlock()
	if err := s.failing(); err != nil {
		return err
	}
	s.reports++
	s.unknown = unknown
	return s.refuses
}

// refuse has the service answer reports so.
func (s *service) refuse(err error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.refuses = err
}

func (s *service) Wanted(ctx context.Context, known string, wait time.Duration) (hostlist.List, error) {
	for {
		s.mu.Lock()
		list, changed, err := hostlist.List{Revision: fmt.Sprint(s.revision), Servers: slices.Clone(s.wants)},
			s.changed, s.failing()
		s.mu.Unlock()
		if err != nil || list.Revision != known {
			return list, err
		}
		select {
		case <-changed:
		case <-time.After(wait):
			return list, nil
		case <-ctx.Done():
			return list, ctx.Err()
		}
	}
}

func (s *service) Done(_ context.Context, results []hostlist.Result) error {
	s.mu.Lock()
	defer s.mu.Unlock()
	if err := s.failing(); err != nil {
		return err
	}
	s.results = append(s.results, results...)
	return nil
}

// heard returns what was said since the last time, sorted.
func (s *service) heard() []hostlist.Result {
	s.mu.Lock()
	defer s.mu.Unlock()
	all := s.results
	s.results = nil
	slices.SortFunc(all, func(a, b hostlist.Result) int { return strings.Compare(a.Server, b.Server) })
	return all
}

// inBubble runs a host with a fake driver, in time that passes when all wait.
func inBubble(t *testing.T, fake *driver.Fake, test func(t *testing.T, s *service)) {
	t.Helper()
	synctest.Test(t, func(t *testing.T) {
		s := newService()
		h := &host.Host{Service: s, Driver: fake, Log: logtest.Logger(), ReportInterval: 10 * time.Second, Concurrency: 2}
		ctx, cancel := context.WithCancel(t.Context())
		var running sync.WaitGroup
		running.Go(func() { h.Run(ctx) })
		test(t, s)
		cancel()
		running.Wait()
	})
}

func server(id, event string, ports ...string) hostlist.Server {
	w := hostlist.Server{ID: id, Running: true, Event: event}
	for _, p := range ports {
		w.Ports = append(w.Ports, hostlist.Port{ID: p})
	}
	return w
}

// there says of each server what it is.
func exists(t *testing.T, d driver.Driver) (all []string) {
	t.Helper()
	states, err := d.Servers(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	for _, s := range states {
		all = append(all, fmt.Sprintf("%s built=%v running=%v%s %v", s.ID, s.Built, s.Running, s.Boot, s.Ports))
	}
	slices.Sort(all)
	return all
}

// gone is what is wanted of a server that is to be destroyed.
func absent(id, event string) hostlist.Server {
	return hostlist.Server{ID: id, Deleted: true, Event: event}
}

// Servers that are not listed are skipped, logged once and reported, until they are listed, or said
// to be gone.
func TestUnknownServers(t *testing.T) {
	fake := &driver.Fake{}
	for _, id := range []string{"b", "a", "c"} {
		if err := fake.Build(t.Context(), hostlist.Server{ID: id}); err != nil {
			t.Fatal(err)
		}
	}
	var logged bytes.Buffer
	synctest.Test(t, func(t *testing.T) {
		s := newService()
		h := &host.Host{
			Service: s, Driver: fake, Log: slog.New(slog.NewTextHandler(&logged, nil)), ReportInterval: 10 * time.Second,
			Concurrency: 2,
		}
		ctx, cancel := context.WithCancel(t.Context())
		var running sync.WaitGroup
		running.Go(func() { h.Run(ctx) })
		for _, step := range []struct {
			what    string
			want    []hostlist.Server
			unknown []string
			there   []string
		}{
			{"an empty list", nil, []string{"a", "b", "c"}, []string{"a", "b", "c"}},
			{"a list of others", []hostlist.Server{server("d", "e1")}, []string{"a", "b", "c"}, []string{"a", "b", "c", "d"}},
			{
				"a list with one of them",
				[]hostlist.Server{server("b", ""), server("d", "e1")},
				[]string{"a", "c"},
				[]string{"a", "b", "c", "d"},
			},
			{
				"a list with one to destroy",
				[]hostlist.Server{server("b", ""), absent("c", "e2")},
				[]string{"a", "d"},
				[]string{"a", "b", "d"},
			},
		} {
			s.want(step.want...)
			time.Sleep(3 * time.Minute)
			var states []string
			for _, line := range exists(t, fake) {
				states = append(states, line[:1])
			}
			s.mu.Lock()
			unknown := s.unknown
			s.mu.Unlock()
			if d := cmp.Diff(step.there, states); d != "" {
				t.Errorf("%s: there are (-want +got)\n%s", step.what, d)
			}
			if d := cmp.Diff(step.unknown, unknown); d != "" {
				t.Errorf("%s: reported are (-want +got)\n%s", step.what, d)
			}
		}
		cancel()
		running.Wait()
	})
	for id, want := range map[string]int{"a": 1, "b": 1, "c": 1, "d": 1} {
		if n := strings.Count(logged.String(), "that is not in its list: it is not touched\" server="+id); n != want {
			t.Errorf("the finding of server %s is logged %d times, want %d\n%s", id, n, want, &logged)
		}
	}
}

// What a service wants counts once it has accepted a report: the name may be another host's.
func TestRefusedReports(t *testing.T) {
	fake := &driver.Fake{}
	inBubble(t, fake, func(t *testing.T, s *service) {
		s.refuse(errors.New("the name is taken"))
		s.want(server("a", "e1"))
		time.Sleep(5 * time.Minute)
		if states := exists(t, fake); states != nil || s.heard() != nil {
			t.Errorf("while reports are refused, there are %q", states)
		}
		s.refuse(nil)
		time.Sleep(time.Minute)
		if d := cmp.Diff([]hostlist.Result{{Server: "a", Event: "e1"}}, s.heard()); d != "" {
			t.Errorf("once a report is accepted, it was said (-want +got)\n%s", d)
		}
	})
}

// What is to be destroyed is tried until it is.
func TestDestroyFails(t *testing.T) {
	var busy atomic.Bool
	fake := &driver.Fake{Fail: func(verb, _ string) error {
		if verb == "destroy" && busy.Load() {
			return errors.New("it is in use")
		}
		return nil
	}}
	inBubble(t, fake, func(t *testing.T, s *service) {
		s.want(server("a", ""))
		time.Sleep(time.Minute)
		busy.Store(true)
		s.want(absent("a", "e1"))
		time.Sleep(time.Minute)
		results := s.heard()
		if len(results) < 5 || len(results) > 20 || results[0].Error != "it is in use" {
			t.Errorf("of a server that cannot be destroyed it was said in a minute %+v", results)
		}
		busy.Store(false)
		time.Sleep(time.Minute)
		if d := cmp.Diff([]hostlist.Result{{Server: "a", Event: "e1"}}, s.heard()); d != "" {
			t.Errorf("it was said (-want +got)\n%s", d)
		}
		if states := exists(t, fake); states != nil {
			t.Errorf("there are %q", states)
		}
	})
}

func TestHost(t *testing.T) {
	fake := &driver.Fake{Delay: time.Second}
	inBubble(t, fake, func(t *testing.T, s *service) {
		check := func(kind string, results []hostlist.Result, servers ...string) {
			t.Helper()
			time.Sleep(20 * time.Second)
			if d := cmp.Diff(results, s.heard()); d != "" {
				t.Errorf("%s: it was said (-want +got)\n%s", kind, d)
			}
			if d := cmp.Diff(servers, exists(t, fake)); d != "" {
				t.Errorf("%s: there are (-want +got)\n%s", kind, d)
			}
		}
		s.want(server("a", "e1", "p"), server("b", "e2"), server("c", "e3"))
		check("three that are new", []hostlist.Result{
			{Server: "a", Event: "e1"},
			{Server: "b", Event: "e2"},
			{Server: "c", Event: "e3"},
		},
			"a built=true running=true [p]", "b built=true running=true []", "c built=true running=true []")

		stopped, again := server("b", ""), server("c", "e5")
		stopped.Running, again.Boot = false, "2"
		s.want(server("a", "e4", "p", "q"), stopped, again)
		check("a port, a stop and a reboot", []hostlist.Result{{Server: "a", Event: "e4"}, {Server: "c", Event: "e5"}},
			"a built=true running=true [p q]", "b built=true running=false []", "c built=true running=true2 []")

		s.want(absent("a", "e6"))
		check("one that is to go, and others that are not listed", []hostlist.Result{{Server: "a", Event: "e6"}},
			"b built=true running=false []", "c built=true running=true2 []")

		if s.reports < 5 {
			t.Errorf("it reported %d times in a minute", s.reports)
		}
	})
}

// What fails is reported once, and not tried again until something else is wanted. Without an event
// that waits for the result it is tried again.
func TestFailures(t *testing.T) {
	bad := map[string]error{
		"build a": errors.New("no such image"), "build b": fmt.Errorf("%w: the disk is too small", driver.ErrEverywhere),
	}
	tried := map[string]int{}
	fake := &driver.Fake{Fail: func(verb, id string) error {
		tried[verb+" "+id]++
		return bad[verb+" "+id]
	}}
	inBubble(t, fake, func(t *testing.T, s *service) {
		s.want(server("a", "e1"), server("b", "e2"), server("c", ""))
		time.Sleep(5 * time.Minute)
		want := []hostlist.Result{
			{Server: "a", Event: "e1", Error: "no such image"},
			{Server: "b", Event: "e2", Error: bad["build b"].Error(), Everywhere: true},
		}
		if d := cmp.Diff(want, s.heard()); d != "" {
			t.Errorf("it was said (-want +got)\n%s", d)
		}
		if d := cmp.Diff(map[string]int{"build a": 1, "build b": 1, "build c": 1}, tried); d != "" {
			t.Errorf("it was tried (-want +got)\n%s", d)
		}

		// The service gives one up, and wants the other again; what was half made of it goes.
		bad["stop c"] = errors.New("it does not listen")
		stopped := server("c", "")
		stopped.Running = false
		delete(bad, "build a")
		s.want(server("a", "e3"), absent("b", "e4"), stopped)
		time.Sleep(time.Minute)
		if d := cmp.Diff([]hostlist.Result{{Server: "a", Event: "e3"}, {Server: "b", Event: "e4"}}, s.heard()); d != "" {
			t.Errorf("it was said (-want +got)\n%s", d)
		}
		if d := cmp.Diff([]string{"a built=true running=true []", "c built=true running=true []"}, exists(t, fake)); d != "" {
			t.Errorf("there are (-want +got)\n%s", d)
		}
		if n := tried["stop c"]; n < 5 || n > 20 {
			t.Errorf("a stop that fails was tried %d times in a minute", n)
		}
	})
}

// What is wanted of a server after something has failed is done at once: the destruction of one
// that could not be built, for which the service waits before it tries another host, and what a
// user wants of one that is tried again because no event waits for it.
func TestWishesAfterFailures(t *testing.T) {
	var bad atomic.Bool
	bad.Store(true)
	fake := &driver.Fake{Fail: func(verb, _ string) error {
		if verb == "build" && bad.Load() {
			return errors.New("it cannot")
		}
		return nil
	}}
	inBubble(t, fake, func(t *testing.T, s *service) {
		s.want(server("a", "e1"), server("b", ""))
		time.Sleep(time.Second)
		if d := cmp.Diff([]hostlist.Result{{Server: "a", Event: "e1", Error: "it cannot"}}, s.heard()); d != "" {
			t.Errorf("it was said (-want +got)\n%s", d)
		}
		bad.Store(false)
		s.want(absent("a", "e2"), server("b", "e3"))
		time.Sleep(time.Millisecond)
		if d := cmp.Diff([]hostlist.Result{{Server: "a", Event: "e2"}, {Server: "b", Event: "e3"}}, s.heard()); d != "" {
			t.Errorf("it was said at once (-want +got)\n%s", d)
		}
	})
}

// A service that is away is waited for; what it has not heard it is reported again.
func TestServiceThatIsAway(t *testing.T) {
	fake := &driver.Fake{}
	inBubble(t, fake, func(t *testing.T, s *service) {
		synctest.Wait()
		s.mu.Lock()
		s.fails = 5
		s.mu.Unlock()
		s.want(server("a", "e1"))
		time.Sleep(2 * time.Minute)
		if d := cmp.Diff([]hostlist.Result{{Server: "a", Event: "e1"}}, s.heard()); d != "" || s.fails != 0 {
			t.Errorf("%d failures are left, it was said (-want +got)\n%s", s.fails, d)
		}
	})
}

// A host that is started again finds its servers, and reports again what it did: the
// service knows what it has heard.
func TestRestart(t *testing.T) {
	fake := &driver.Fake{}
	for range 2 {
		inBubble(t, fake, func(t *testing.T, s *service) {
			s.want(server("a", "e1"))
			time.Sleep(time.Minute)
			if d := cmp.Diff([]hostlist.Result{{Server: "a", Event: "e1"}}, s.heard()); d != "" {
				t.Errorf("it was said (-want +got)\n%s", d)
			}
		})
	}
	if d := cmp.Diff([]string{"a built=true running=true []"}, exists(t, fake)); d != "" {
		t.Errorf("there are (-want +got)\n%s", d)
	}
}

// Servers are paused and suspended, and go on. The result names the power that was listed; one that
// this agent does not know is not named.
func TestPowers(t *testing.T) {
	fake := &driver.Fake{}
	inBubble(t, fake, func(t *testing.T, s *service) {
		s.want(server("a", "e0"))
		time.Sleep(time.Second)
		s.heard()
		for i, step := range []struct {
			running       bool
			power, knows  string
			is            string
			actualRunning bool
		}{
			{true, "paused", "paused", "paused", true},
			{true, "", "", "", true},
			{false, "suspended", "suspended", "suspended", false},
			{true, "paused", "paused", "paused", true},
			{false, "", "", "", false},
			{true, "rescued", "", "", true},
		} {
			desired := server("a", fmt.Sprint("e", i+1))
			desired.Running, desired.Power = step.running, step.power
			s.want(desired)
			time.Sleep(time.Second)
			if d := cmp.Diff([]hostlist.Result{{Server: "a", Event: desired.Event, Power: step.knows}}, s.heard()); d != "" {
				t.Errorf("step %d: it was said (-want +got)\n%s", i, d)
			}
			states, err := fake.Servers(t.Context())
			if d := cmp.Diff([]driver.State{{ID: "a", Built: true, Running: step.actualRunning, Power: step.is}},
				states); d != "" || err != nil {
				t.Errorf("step %d, %v (-want +got)\n%s", i, err, d)
			}
		}
	})
}

// A server of another generation is built again, and a kept one stays as it is.
func TestGenerations(t *testing.T) {
	fake := &driver.Fake{}
	inBubble(t, fake, func(t *testing.T, s *service) {
		for generation, event := range []string{"e0", "e1"} {
			desired := server("a", event, "p")
			desired.Generation = int64(generation)
			s.want(desired)
			time.Sleep(time.Minute)
			if d := cmp.Diff([]hostlist.Result{{Server: "a", Event: event, Generation: int64(generation)}}, s.heard()); d != "" {
				t.Errorf("it was said (-want +got)\n%s", d)
			}
			states, err := fake.Servers(t.Context())
			if d := cmp.Diff([]driver.State{{
				ID: "a", Built: true, Running: true, Ports: []string{"p"},
				Generation: int64(generation),
			}}, states); d != "" || err != nil {
				t.Errorf("generation %d, %v (-want +got)\n%s", generation, err, d)
			}
		}
		for _, id := range []string{"a", "b"} {
			s.want(hostlist.Server{ID: id, Kept: true, Event: "kept " + id})
			time.Sleep(time.Minute)
		}
		if d := cmp.Diff([]string{"a built=true running=false []"}, exists(t, fake)); d != "" {
			t.Errorf("there are (-want +got)\n%s", d)
		}
	})
}
