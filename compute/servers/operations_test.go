package servers_test

import (
	"context"
	"fmt"
	"maps"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/berthcloud/berth/compute"
	"github.com/berthcloud/berth/compute/computetest"
	"github.com/berthcloud/berth/compute/fleet"
	"github.com/berthcloud/berth/fault"
	"github.com/berthcloud/berth/internal/racetest"
	"github.com/berthcloud/berth/internal/sweep"
)

// path is the way to a peer service.
func (w *fixture) path(to string) *breakable {
	return map[string]*breakable{"placement": w.paths.placement, "network": w.paths.network}[to]
}

// A request that is not answered takes effect later, whichever it is, while its worker lives: in
// the end, all that is allocated, bound and made belongs to a server all the same. A sample has an
// eighth of the scenarios.
func TestRequestsThatTakeEffectLate(t *testing.T) {
	names := sweep.Sample(t, slices.Sorted(maps.Keys(scenarios)), 8)
	if racetest.Few() {
		names = []string{"Boot"}
	}
	for _, name := range names {
		s := scenarios[name]
		for _, to := range []string{"placement", "network"} {
			t.Run(name+"/"+to, func(t *testing.T) {
				t.Parallel()
				w := newFixture(t, 10000, "cn1", "cn2")
				path := w.path(to)
				for at, met := 1, true; met && !t.Failed(); at++ {
					w.prepare(s)
					path.isLate(at)
					w.during(s, w.cloudService)
					met = path.heals()
					w.later(30 * time.Second)
					w.report()
					w.during(scenario{do: func(*fixture, *cloudService) error { return nil }, fails: s.fails}, w.cloudService)
					path.lands()
					w.afterwards(fmt.Sprintf("request %d to %s took effect late", at, to))
				}
			})
		}
	}
}

// A worker stalls, at whichever request, until its lease has expired and another one has carried
// out its operation: what it does when it goes on has no effect. A sample has an eighth of the
// scenarios.
func TestTwoLivingWorkers(t *testing.T) {
	names := sweep.Sample(t, slices.Sorted(maps.Keys(scenarios)), 8)
	if racetest.Few() {
		names = []string{"Boot"}
	}
	for _, name := range names {
		s := scenarios[name]
		for _, to := range []string{"placement", "network"} {
			t.Run(name+"/"+to, func(t *testing.T) {
				t.Parallel()
				w := newFixture(t, 10000, "cn1", "cn2")
				path := w.path(to)
				for at, met := 1, true; met && !t.Failed(); at++ {
					w.prepare(s)
					path.stalls(at, func() {
						w.later(time.Minute + time.Second)
						w.report()
						w.work(w.cloudService, nil)
					})
					w.during(s, w.serve(w.store))
					met = path.heals()
					w.afterwards(fmt.Sprintf("a worker stalled at request %d to %s", at, to))
				}
			})
		}
	}
}

// A worker that stalls before it writes its claim does not replace that of the worker that has
// chosen another host since.
func TestLateClaim(t *testing.T) {
	for at := range 6 {
		w := newFixture(t, 2500, "cn1", "cn2")
		vm := w.boot("vm", w.port(1000))
		stalled := false
		w.paths.placement.stalls(at+1, func() {
			first := must(w.Server(ctx, vm)).Host
			if stalled = first != ""; !stalled {
				return
			}
			w.later(2 * time.Minute)
			for _, name := range []string{"cn1", "cn2"} { // the chosen one is down, so that another is
				if _, node := computetest.Host(name, 0); name != first {
					w.must(w.Report(ctx, compute.Report{Host: name, Version: 66, Node: *node}))
				}
			}
			w.work(w.cloudService, nil)
		})
		_, err := w.serve(w.store).Recover(ctx)
		w.must(err)
		w.paths.placement.heals()
		w.report()
		w.work(w.cloudService, nil)
		w.agrees(fmt.Sprintf("stalled %v, at request %d", stalled, at+1))
	}
}

// Whatever waits for a host that is down ends: what was to be done fails, what was to be undone is.
func TestHostsThatAreDownAreNotWaitedFor(t *testing.T) {
	w := newFixture(t, 5000, "cn1")
	port := w.port(1000)
	vm := w.boot("vm", port, w.port(0))
	w.work(w.cloudService, nil)
	dies := func(do func() error) {
		t.Helper()
		w.report()
		w.must(do())
		must(w.Recover(ctx))
		w.later(2 * time.Minute)
		must(w.Recover(ctx))
	}
	dies(func() error { return w.StopServer(ctx, ann, vm) })
	if one := must(w.Server(ctx, vm)); one.Task != "" || one.State != compute.Active ||
		!strings.Contains(w.why(vm), "its host is down") {
		t.Errorf("the server is %s, %s: %s", one.State, one.Task, w.why(vm))
	}
	w.agrees("a stop on a host that is down")
	dies(func() error { return w.Detach(ctx, ann, vm, port) })
	if one := must(w.Server(ctx, vm)); len(one.Ports) != 1 || w.used()[egress] != 0 {
		t.Errorf("the server has %d ports, %v is used", len(one.Ports), w.used())
	}
	w.report()
	if listed := must(w.Wanted(ctx, "cn1")); len(listed) != 1 || len(listed[0].Ports) != 1 || !listed[0].Running {
		t.Errorf("the host is to do %+v", listed)
	}
	w.must(w.RebootServer(ctx, ann, vm, true))
	w.work(w.cloudService, nil)
	w.agrees("a host that is back")
}

// A device, and the bandwidth, of a server that could not be built are given to others when its
// host has destroyed it; the device of a server on a host that is down, when that is back and has
// destroyed it.
func TestNothingIsGivenBackBeforeItsHostHasLetGo(t *testing.T) {
	w := newFixture(t, 0, "cn1")
	w.nics("cn1", "2000")
	takes := func(what, want string, fails func(string, fleet.Wanted) *fleet.Result) compute.ID {
		t.Helper()
		vm := w.boot("vm", w.port(1500, "direct"))
		must(w.Recover(ctx))
		w.hostsWork(w.cloudService, fails)
		must(w.Recover(ctx))
		if got := w.state(vm); got != want {
			t.Errorf("%s: the server is %s, want %s: %s", what, got, want, w.why(vm))
		}
		return vm
	}
	all := func(string, fleet.Wanted) *fleet.Result {
		return &fleet.Result{Error: "it cannot", Everywhere: true}
	}
	takes("the first", compute.Active, nil) // of two NICs with bandwidth for one
	failed := takes("it cannot be built", compute.Error, all)
	if used := w.used()[egress]; used != 3000 {
		t.Errorf("%d is used while the host has the server", used)
	}
	takes("before the host has destroyed it", compute.Error, nil)
	w.work(w.cloudService, nil)
	w.agrees("the host has destroyed it")
	vm := takes("afterwards", compute.Active, nil)
	w.work(w.cloudService, nil)
	w.agrees("two servers")
	slot := must(w.Server(ctx, vm)).Ports[0].Shown.Slot
	w.must(w.DeleteServer(ctx, ann, failed))
	w.must(w.DeleteServer(ctx, ann, vm))
	w.later(2 * time.Minute)
	must(w.Recover(ctx))
	if w.state(vm) != "gone" || w.used()[egress] != 1500 {
		t.Errorf("the server is %s, %v is used", w.state(vm), w.used())
	}
	w.report()
	w.nics("cn1", "2000")
	state := compute.Active
	if slot == "0000:01:00.1" {
		state = compute.Error // the only function of its NIC
	}
	again := takes("the host is back", state, func(_ string, want fleet.Wanted) *fleet.Result {
		if want.Deleted {
			return &fleet.Result{Error: "it is in use"}
		}
		return nil
	})
	if ports := must(w.Server(ctx, again)).Ports; len(ports) == 1 && ports[0].Shown.Slot == slot {
		t.Errorf("the device %s is given to another server while its host has the deleted one", slot)
	}
	w.work(w.cloudService, nil)
	w.agrees("the host has destroyed the deleted one")
}

// A counter is a store that counts its transactions.
type counter struct {
	compute.Store
	updates int
}

func (c *counter) Update(ctx context.Context, now time.Time, fn func(compute.Writer) error) error {
	c.updates++
	return c.Store.Update(ctx, now, fn)
}

// Looking for operations that are due writes nothing, whether there are some that wait or none.
func TestLookingIsARead(t *testing.T) {
	w := newFixture(t, 2500, "cn1")
	store := &counter{Store: w.store}
	s := w.serve(store)
	look := func(what string) {
		t.Helper()
		store.updates = 0
		must(s.Recover(ctx))
		if store.updates != 0 {
			t.Errorf("%s: %d transactions write", what, store.updates)
		}
	}
	look("without operations")
	w.boot("vm", w.port(1000))
	must(s.Recover(ctx))
	look("with one that waits for its host")
	w.paths.network.breaks(1, true, false)
	w.hostsWork(w.cloudService, func(string, fleet.Wanted) *fleet.Result {
		return &fleet.Result{Error: "it cannot", Everywhere: true}
	})
	must(s.Recover(ctx))
	w.paths.network.heals()
	look("with one that waits for a retry")
	w.afterwards("that")
}

// A port whose policy changes while its server is bound is not the fault of the host.
func TestChangedPortsAreNotTheHostsFault(t *testing.T) {
	w := newFixture(t, 10000, "cn1")
	policy := w.policy(500)
	s := scenario{do: scenarios["Boot"].do, fails: func(*fixture) func(string, fleet.Wanted) *fleet.Result {
		return func(_ string, want fleet.Wanted) *fleet.Result {
			if want.Deleted {
				return nil
			}
			return &fleet.Result{Error: "bad image", Everywhere: true} // a success would end the count
		}
	}}
	for at, met := 1, true; met && !t.Failed(); at++ {
		w.prepare(s)
		w.paths.network.happens(at, func() { w.changePolicies(policy) })
		w.during(s, w.cloudService)
		met = w.paths.network.heals()
		w.afterwards(fmt.Sprintf("the port changed before request %d", at))
		if n := must(w.Hypervisors(ctx))[0].Failed; n != 0 {
			t.Errorf("the port changed before request %d: %d builds failed", at, n)
		}
	}
}

// A server is deleted while a port is attached to it, and the host does not answer.
func TestDeleteWhileAPortIsAttached(t *testing.T) {
	w := newFixture(t, 2500, "cn1")
	vm := w.running()
	port := w.port(1000)
	attached := make(chan error, 1)
	go func() {
		_, err := w.Attach(ctx, ann, vm, compute.NetworkSpec{Port: port})
		attached <- err
	}()
	w.becomes("commanded", func() bool {
		listed := must(w.Wanted(ctx, "cn1"))
		return len(listed) == 1 && len(listed[0].Ports) == 1
	})
	w.must(w.DeleteServer(ctx, ann, vm))
	w.refusedWith(<-attached, fault.Conflict, compute.InvalidState)
	w.work(w.cloudService, nil)
	w.agrees("a server deleted while a port is attached")
	if all := must(w.network.Ports(ctx)); w.state(vm) != "gone" || len(all) != 1 || all[0].DeviceID != "" {
		t.Errorf("the server is %s, ports are %+v", w.state(vm), all)
	}
}

// A server that a host has still, or may have, from an earlier stay is not the one that it is to
// build. A host that does not know generations cannot build it.
func TestRemainsOnAHostAreNotBuilt(t *testing.T) {
	w := newFixture(t, 2500, "cn1", "cn2")
	vm := w.boot("vm", w.port(1000))
	for _, host := range []string{"cn1", "cn2"} {
		w.add(&compute.HostedRow{
			Server: vm, Host: host, DesiredState: compute.DesiredAbsent, Event: computetest.ID("gone"), Generation: 4,
			CreatedAt: computetest.Now,
		})
	}
	must(w.Recover(ctx))
	first := must(w.Server(ctx, vm)).Host
	listed := must(w.Wanted(ctx, first))[0]
	if listed.Deleted || listed.Generation != 5 {
		t.Errorf("the host is to have %+v", listed)
	}
	w.must(w.Done(ctx, first, []fleet.Result{{Server: string(vm), Event: listed.Event}}))
	w.work(w.cloudService, nil)
	if second := must(w.Server(ctx, vm)).Host; second == first || w.state(vm) != compute.Active {
		t.Errorf("the server is %s on %q, and was on %s: %s", w.state(vm), second, first, w.why(vm))
	}
	w.agrees("remains")
}

// A server whose disks are retained stays on its host without its ports, and its devices stay given
// to it.
func TestKeptServers(t *testing.T) {
	w := newFixture(t, 2500, "cn1")
	vm := w.boot("vm", w.port(1000))
	w.work(w.cloudService, nil)
	row := computetest.Read[compute.HostedRow](w, w.store)[0]
	row.DesiredState, row.Event, row.Slots = compute.DesiredRetained, computetest.ID("event"), []string{"0000:01:00.1"}
	w.must(w.store.Update(ctx, w.clock(), func(c compute.Writer) error { return c.Replace(&row) }))
	if listed := must(w.Wanted(ctx, "cn1")); len(listed) != 1 || !listed[0].Kept || listed[0].Running ||
		len(listed[0].Ports) != 0 {
		t.Errorf("the host is to have %+v", listed)
	}
	w.must(w.Done(ctx, "cn1", []fleet.Result{{Server: string(vm), Event: string(row.Event)}}))
	if row = computetest.Read[compute.HostedRow](w, w.store)[0]; row.Event != "" || len(row.Slots) != 1 {
		t.Errorf("the row is %+v", row)
	}
}
