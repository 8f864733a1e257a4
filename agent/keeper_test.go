package agent_test

import (
	"bytes"
	"context"
	"errors"
	"log/slog"
	"maps"
	"slices"
	"strings"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/berthcloud/berth/agent"
	"github.com/berthcloud/berth/agent/settings"
	"github.com/berthcloud/berth/network/portlist"
	"github.com/berthcloud/berth/osloconfig"
)

// A portServer is a network service that has the ports of a host. Answers are delayed as
// the real one does.
type portServer struct {
	mu       sync.Mutex
	ports    []portlist.Port
	rev      string
	err      error // of every request
	busy     bool  // no request may wait
	requests int
	wired    []map[string]bool
	change   chan struct{}
}

func newPortServer(ports ...portlist.Port) *portServer {
	return &portServer{ports: ports, rev: "1", change: make(chan struct{})}
}

func (b *portServer) Beat(context.Context, portlist.Heartbeat) (portlist.Answer, error) {
	panic("a Keeper sends no heartbeats")
}

// set replaces the ports.
func (b *portServer) set(ports ...portlist.Port) {
	b.mu.Lock()
	defer b.mu.Unlock()
	b.ports, b.rev = ports, b.rev+"+"
	close(b.change)
	b.change = make(chan struct{})
}

func (b *portServer) Ports(ctx context.Context, host, driver, known string, wait time.Duration) (portlist.List, error) {
	b.mu.Lock()
	b.requests++
	if host != "h" || driver != "openvswitch" {
		panic("requested " + driver + " of " + host)
	}
	if change := b.change; b.rev == known && b.err == nil && !b.busy {
		b.mu.Unlock()
		select {
		case <-change:
		case <-ctx.Done():
		case <-time.After(wait):
		}
		b.mu.Lock()
	}
	defer b.mu.Unlock()
	return portlist.List{Revision: b.rev, Ports: slices.Clone(b.ports)}, b.err
}

func (b *portServer) Wire(_ context.Context, _ string, plugged map[string]bool) error {
	b.mu.Lock()
	defer b.mu.Unlock()
	if b.err == nil {
		b.wired = append(b.wired, maps.Clone(plugged))
	}
	return b.err
}

// A device is an Enforcer with a memory.
type device struct {
	mu       sync.Mutex
	begin    time.Time
	at       []time.Duration
	enforced [][]portlist.Port
	plugged  map[string]bool
	findings []string
	err      error
	changed  chan struct{}
}

func newDevice() *device {
	return &device{begin: time.Now(), changed: make(chan struct{}, 1), plugged: map[string]bool{}}
}

func (d *device) Enforce(_ context.Context, ports []portlist.Port) (agent.Enforced, error) {
	d.mu.Lock()
	defer d.mu.Unlock()
	d.at, d.enforced = append(d.at, time.Since(d.begin)), append(d.enforced, slices.Clone(ports))
	plugged := map[string]bool{}
	for _, p := range ports {
		plugged[p.ID] = d.plugged[p.ID]
	}
	return agent.Enforced{Plugged: plugged, Findings: d.findings}, d.err
}

// now changes what there is.
func (d *device) now(change func()) {
	d.mu.Lock()
	defer d.mu.Unlock()
	change()
}

func (d *device) Changed() <-chan struct{} { return d.changed }

// keeping runs a keeper while the test does something.
func keeping(t *testing.T, d *device, during func(), services ...agent.Service) (*agent.Findings, string) {
	t.Helper()
	set, _, err := settings.Load(settings.OVS, osloconfig.Sources{}, settings.Names{Host: "h", Canonical: "h"})
	if err != nil {
		t.Fatal(err)
	}
	var log bytes.Buffer
	k := &agent.Keeper{
		Services: services, Settings: set, Enforcer: d, Findings: &agent.Findings{},
		Log: slog.New(slog.NewTextHandler(&log, nil)),
	}
	ctx, cancel := context.WithCancel(context.Background())
	var running sync.WaitGroup
	running.Go(func() { k.Run(ctx) })
	during()
	cancel()
	running.Wait()
	return k.Findings, log.String()
}

// after lets some time pass.
func after(d time.Duration) { time.Sleep(d); synctest.Wait() }

func TestPortsAreHeldWhenTheyChange(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		b, d := newPortServer(portlist.Port{ID: "p1"}), newDevice()
		keeping(t, d, func() {
			after(10 * time.Second)
			b.set(portlist.Port{ID: "p1"}, portlist.Port{ID: "p2"})
			after(10 * time.Second)
		}, b)
		if len(d.enforced) != 2 || len(d.enforced[1]) != 2 || d.at[0] != 0 || d.at[1] != 10*time.Second {
			t.Errorf("at %v there was held %v, want p1 at once and both after 10s", d.at, d.enforced)
		}
	})
}

func TestWhatWasSetIsLookedAtAgain(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		b, d := newPortServer(portlist.Port{ID: "p1"}), newDevice()
		keeping(t, d, func() {
			after(10 * time.Second)
			d.changed <- struct{}{}
			after(2 * time.Minute)
		}, b)
		if want := []time.Duration{0, 10 * time.Second, 70 * time.Second, 130 * time.Second}; !slices.Equal(d.at, want) {
			t.Errorf("ports are held at %v, want %v", d.at, want)
		}
	})
}

// Before it is known which ports there are, nothing is changed: all of them may be.
func TestNothingIsHeldBeforePortsAreKnown(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		b, d := newPortServer(), newDevice()
		b.err = errors.New("away")
		keeping(t, d, func() {
			d.changed <- struct{}{}
			after(10 * time.Minute)
			if len(d.enforced) != 0 {
				t.Errorf("ports are held at %v", d.at)
			}
			if b.requests < 20 || b.requests > 60 {
				t.Errorf("the service gets %d requests in ten minutes, want it about every 15 to 30 s", b.requests)
			}
			b.mu.Lock()
			b.err = nil
			b.mu.Unlock()
			after(30 * time.Second)
			if len(d.enforced) != 1 {
				t.Errorf("ports are held at %v, want once when the service is back", d.at)
			}
		}, b)
	})
}

func TestNextServiceIsPolledForPorts(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		away, b, d := newPortServer(), newPortServer(portlist.Port{ID: "p1"}), newDevice()
		away.err = errors.New("away")
		d.plugged["p1"] = true
		keeping(t, d, func() { after(time.Minute) }, away, b)
		if len(d.enforced) == 0 || len(b.wired) != 1 {
			t.Errorf("requests delayed %d times, reported %v, want both from the service that answers", len(d.enforced), b.wired)
		}
	})
}

// A service that lets no request wait is not polled all the time.
func TestBusyServiceIsLeftAlone(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		b, d := newPortServer(), newDevice()
		b.busy = true
		keeping(t, d, func() { after(time.Minute) }, b)
		if b.requests < 6 || b.requests > 14 {
			t.Errorf("it gets %d requests in a minute, want once in 5 to 10 s", b.requests)
		}
	})
}

func TestLinkStatesAreReported(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		b, d := newPortServer(portlist.Port{ID: "p1"}, portlist.Port{ID: "p2", Status: portlist.Active},
			portlist.Port{ID: "p3", Status: portlist.Active}), newDevice()
		d.plugged["p1"], d.plugged["p3"] = true, true
		keeping(t, d, func() {
			after(time.Second)
			d.now(func() { d.plugged["p2"] = true })
			d.changed <- struct{}{}
			after(3 * time.Minute)
			// It was bound again.
			b.set(portlist.Port{ID: "p1"}, portlist.Port{ID: "p2", Status: portlist.Active},
				portlist.Port{ID: "p3", Status: portlist.Active})
			after(time.Second)
		}, b)
		want := []map[string]bool{{"p1": true, "p2": false}, {"p2": true}, {"p1": true}}
		if !slices.EqualFunc(b.wired, want, maps.Equal) {
			t.Errorf("reported %v, want %v", b.wired, want)
		}
	})
}

// What could not be reported is reported later.
func TestLinkStatesAreReportedUntilAccepted(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		b, d := newPortServer(portlist.Port{ID: "p1"}), newDevice()
		keeping(t, d, func() {
			after(time.Second)
			b.mu.Lock()
			b.err = errors.New("away")
			b.mu.Unlock()
			d.now(func() { d.plugged["p1"] = true })
			d.changed <- struct{}{}
			after(time.Minute)
			b.mu.Lock()
			b.err = nil
			b.mu.Unlock()
			after(time.Minute)
		}, b)
		if len(b.wired) != 1 {
			t.Errorf("reported %v, want p1 once", b.wired)
		}
	})
}

func TestFindingsAreLoggedOnceAndKept(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		b, d := newPortServer(portlist.Port{ID: "p1"}), newDevice()
		d.findings = []string{"port p1: no rate"}
		findings, log := keeping(t, d, func() { after(5 * time.Minute) }, b)
		if got := findings.List(); !slices.Equal(got, d.findings) {
			t.Errorf("the findings are %q, want %q", got, d.findings)
		}
		if n := strings.Count(log, "no rate"); n != 1 {
			t.Errorf("the finding is in the log %d times, want once:\n%s", n, log)
		}
	})
}

func TestBlindHoldersAreTriedAgain(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		b, d := newPortServer(portlist.Port{ID: "p1"}), newDevice()
		d.err = errors.New("the switch is away")
		findings, log := keeping(t, d, func() {
			after(5 * time.Minute)
			var n int
			d.now(func() { n = len(d.at) })
			if n < 10 || n > 30 {
				t.Errorf("it is tried %d times in five minutes, want it about every 15 to 30 s", n)
			}
			d.now(func() { d.err = nil })
			after(time.Minute)
		}, b)
		if n := strings.Count(log, "the switch is away"); n != 1 || !strings.Contains(log, "again") {
			t.Errorf("the failure is in the log %d times, want once, and that it is over:\n%s", n, log)
		}
		if got := findings.List(); len(got) != 0 {
			t.Errorf("in the end the findings are %q, want none", got)
		}
	})
}

func TestFindingsAreBounded(t *testing.T) {
	var f agent.Findings
	if got := f.List(); got == nil || len(got) != 0 {
		t.Errorf("at first there is %v, want an empty list", got)
	}
	f.Set(make([]string, 1000))
	if got := f.List(); len(got) != 51 || got[50] != "and 950 more" {
		t.Errorf("of 1000 findings %d are reported, the last is %q", len(got), got[len(got)-1])
	}
}
