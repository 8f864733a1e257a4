package servers_test

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"log/slog"
	"runtime"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/berthcloud/berth/compute"
	"github.com/berthcloud/berth/compute/computetest"
	"github.com/berthcloud/berth/compute/fleet"
	"github.com/berthcloud/berth/fault"
	"github.com/berthcloud/berth/internal/racetest"
	"github.com/berthcloud/berth/internal/sweep"
	"github.com/berthcloud/berth/network"
	"github.com/berthcloud/berth/network/ports"
)

// besides are what is done with a port of a server that has another one with a guarantee, at the
// same provider: what is given back twice is taken from that one.
var besides = map[string]scenario{
	"Detach": {
		begin: func(w *fixture) { w.must(w.bootOn(w.cloudService, 1, w.port(1000), w.port(1000))) },
		do: func(w *fixture, s *cloudService) error {
			return s.Detach(ctx, ann, w.only(), w.boundWith(1000)[0])
		},
	},
	"Attach": {
		begin: func(w *fixture) { w.must(w.bootOn(w.cloudService, 1, w.port(1000))) },
		do: func(w *fixture, s *cloudService) error {
			_, err := w.attach(s, w.only(), compute.NetworkSpec{Port: w.port(1000)}, nil)
			return err
		},
	},
	"AttachFails": {
		begin: func(w *fixture) { w.must(w.bootOn(w.cloudService, 1, w.port(1000))) },
		do: func(w *fixture, s *cloudService) error {
			fails := func(string, fleet.Wanted) *fleet.Result { return &fleet.Result{Error: "no slot"} }
			_, err := w.attach(s, w.only(), compute.NetworkSpec{Port: w.port(1000)}, fails)
			return err
		},
	},
	"Delete": {
		begin: func(w *fixture) { w.must(w.bootOn(w.cloudService, 1, w.port(1000), w.port(1000))) },
		do:    func(w *fixture, s *cloudService) error { return s.DeleteServer(ctx, ann, w.only()) },
	},
}

// boundWith are the server's ports that promise so much, in the order of their making.
func (w *fixture) boundWith(rate int64) (all []compute.ID) {
	w.Helper()
	policies := map[network.ID]network.ID{}
	for _, p := range must(w.network.Ports(ctx)) {
		policies[p.ID] = p.Policy
	}
	for _, p := range must(w.Server(ctx, w.only())).Ports {
		if policies[network.ID(p.Port)] == w.policy(rate) {
			all = append(all, p.Port)
		}
	}
	return all
}

// removePort removes a port, if it is there.
func (w *fixture) removePort(id network.ID) {
	w.Helper()
	if err := w.network.DeletePort(ctx, id); err != nil {
		if kind, _ := fault.Of(err); kind != fault.NotFound {
			w.Error(err)
		}
	}
}

// theOne returns the port that a scenario of besides is about: the one that it detaches, or the
// last that was made.
func (w *fixture) theOne(name string) network.ID {
	w.Helper()
	if name != "Attach" && name != "AttachFails" {
		bound := w.boundWith(1000)
		if len(bound) == 0 {
			w.Fatalf("no port is bound: %+v", must(w.Server(ctx, w.only())))
		}
		return network.ID(bound[0])
	}
	return w.last
}

// A port that is removed while it is taken from a server, or given to one, before whichever
// request: what was allocated is released, once. A sample has every fourth request.
func TestPortThatIsRemovedMeanwhile(t *testing.T) {
	first, step := sweep.Every(t, 4)
	for name, s := range besides {
		for _, to := range []string{"placement", "network"} {
			if racetest.Few() && (name != "Detach" || to == "placement") {
				continue
			}
			t.Run(name+"/"+to, func(t *testing.T) {
				t.Parallel()
				w := newFixture(t, 10000, "cn1", "cn2")
				path := map[string]*breakable{"placement": w.paths.placement, "network": w.paths.network}[to]
				for at, met := 1+first, true; met && !t.Failed(); at += step {
					w.prepare(s)
					var port network.ID
					if !strings.HasPrefix(name, "Attach") {
						port = w.theOne(name)
					}
					path.happens(at, func() {
						if port == "" {
							port = w.theOne(name)
						}
						w.removePort(port)
					})
					w.during(s, w.cloudService)
					met = path.heals()
					w.afterwards(fmt.Sprintf("the port was removed before request %d", at))
				}
			})
		}
	}
}

// The same when the process ends, or a request is not answered, and the port is removed before the
// next one goes on. A sample has every fourth request.
func TestPortThatIsRemovedAfterwards(t *testing.T) {
	first, step := sweep.Every(t, 4)
	for name, s := range besides {
		for _, how := range []string{"process", "network before", "network after", "placement after"} {
			if racetest.Few() && (name != "Detach" || how != "process") {
				continue
			}
			t.Run(name+"/"+how, func(t *testing.T) {
				t.Parallel()
				w := newFixture(t, 10000, "cn1", "cn2")
				to, when, _ := strings.Cut(how, " ")
				path := map[string]*breakable{"placement": w.paths.placement, "network": w.paths.network, "process": {}}[to]
				for at, met := 1+first, true; met && !t.Failed(); at += step {
					w.prepare(s)
					var port network.ID
					if !strings.HasPrefix(name, "Attach") {
						port = w.theOne(name)
					}
					service := w.cloudService
					store := &dying{Store: w.store, endAt: at}
					if to == "process" {
						service = w.serve(store)
					} else {
						path.breaks(at, true, when == "after")
					}
					w.during(s, service)
					if met = path.heals(); to == "process" {
						met = store.updates >= at
					}
					if port == "" {
						port = w.theOne(name)
					}
					w.removePort(port)
					w.afterwards(fmt.Sprintf("%s %d, and the port was removed", how, at))
				}
			})
		}
	}
}

// Placement carries out requests of a detachment and does not answer, and the network service
// changes the same amounts for another port: it may be unknown whether the port's allocation was
// released. It is not released again then, as the other port has allocations on the same provider.
func TestUnknownReleasesAreNotRepeated(t *testing.T) {
	w := newFixture(t, 10000, "cn1")
	s := besides["Detach"]
	for at, met := 1, true; met && !t.Failed(); at++ {
		w.prepare(s)
		stays := network.ID(w.boundWith(1000)[1])
		w.paths.placement.breaks(at, true, true)
		w.during(s, w.cloudService)
		met = w.paths.placement.heals()
		for _, rate := range []int64{1500, 1700} {
			policy := w.policy(rate)
			_, err := w.network.UpdatePort(ctx, stays, func(s *ports.Spec) error {
				s.Policy = policy
				return nil
			})
			w.must(err)
		}
		w.later(5 * time.Minute)
		w.report()
		w.work(w.cloudService, nil)
		if allocated := w.used()[egress]; allocated != 1700 && allocated != 2700 {
			t.Errorf("request %d and all after it are not answered: %d are allocated, and the port has 1700", at, allocated)
		}
		w.must(w.DeleteServer(ctx, root, w.only()))
		w.afterwards(fmt.Sprintf("request %d and all after it were not answered, and the server was deleted", at))
	}
}

// A detachment, and a deletion, have ended when the ports are unbound and placement knows.
func TestEventsEndLast(t *testing.T) {
	w := newFixture(t, 2500, "cn1")
	port := w.port(1000)
	vm := w.boot("vm", port)
	w.work(w.cloudService, nil)
	by := ann
	by.Request = "req-detach"
	w.must(w.Detach(ctx, by, vm, port))
	must(w.Recover(ctx))
	event := func() compute.EventRow {
		t.Helper()
		return must(w.Action(ctx, vm, by.Request)).Events[0]
	}
	unended := func(what string) {
		t.Helper()
		if e := event(); e.Result != "" || !e.FinishedAt.IsZero() {
			t.Errorf("%s: the event is %+v", what, e)
		}
	}
	for _, path := range []*breakable{w.paths.network, w.paths.placement} {
		path.breaks(1, true, false)
		w.hostsWork(w.cloudService, nil)
		must(w.Recover(ctx))
		unended("a peer service is unavailable")
		path.heals()
		w.later(time.Minute)
		w.report()
	}
	w.work(w.cloudService, nil)
	if e := event(); e.Event != "compute_detach_interface" || e.Result != "Success" || e.FinishedAt.IsZero() {
		t.Errorf("the event is %+v", e)
	}
	w.agrees("detach")
	by.Request = "req-delete"
	w.must(w.DeleteServer(ctx, by, vm))
	must(w.Recover(ctx))
	w.paths.placement.breaks(1, true, false)
	w.hostsWork(w.cloudService, nil)
	must(w.Recover(ctx))
	unended("placement is unavailable")
	w.paths.placement.heals()
	w.later(time.Minute)
	w.report()
	w.work(w.cloudService, nil)
	if e := event(); e.Event != "compute_terminate_instance" || e.Result != "Success" ||
		len(computetest.Read[compute.ServerRow](t, w.store)) != 0 {
		t.Errorf("the event is %+v", e)
	}
}

// Ports that users have given the name of a server are theirs: an attachment that is taken back
// removes what it made. A sample has every fourth request.
func TestAttachLeavesOthersPorts(t *testing.T) {
	w := newFixture(t, 2500, "cn1")
	s := scenarios["AttachNetwork"]
	first, step := sweep.Every(t, 4)
	for at, met := 1+first, true; met && !t.Failed(); at += step {
		w.prepare(s)
		made, err := w.network.CreatePorts(ctx, []ports.Spec{{
			PortRow: network.PortRow{
				Common: network.Common{Project: computetest.Project}, Network: w.net, DeviceID: string(w.only()),
				AdminStateUp: true,
			},
			AnyIPs: true, AnyGroups: true, AnyPortSecurity: true, VNIC: "normal",
		}})
		w.must(err)
		w.paths.network.breaks(at, true, true)
		w.during(s, w.cloudService)
		met = w.paths.network.heals()
		w.later(5 * time.Minute)
		w.report()
		w.work(w.cloudService, nil)
		if _, err := w.network.UpdatePort(ctx, made[0].ID, func(*ports.Spec) error { return nil }); err != nil {
			t.Errorf("request %d broke, and the port of a user is: %v", at, err)
		}
		w.removePort(made[0].ID)
		w.agrees(fmt.Sprintf("request %d broke", at))
	}
}

// Leases are renewed while operations go on.
func TestLeasesAreRenewed(t *testing.T) {
	w := newFixture(t, 2500, "cn1")
	w.cloudService = w.serve(w.store, func(s *compute.Settings) { s.LeaseTime = 4 * time.Microsecond })
	vm := w.boot("vm", w.port(1000))
	w.workAtOnce()
	if got := w.state(vm); got != compute.Active {
		t.Errorf("the server is %s", got)
	}
	w.agrees("boot with a lease that is renewed all the time")
}

// A refusing store does not take every third transaction.
type refusing struct {
	compute.Store
	updates atomic.Int64
}

func (r *refusing) Update(ctx context.Context, now time.Time, fn func(compute.Writer) error) error {
	if r.updates.Add(1)%3 == 0 {
		return errors.New("the database does not take writes")
	}
	return r.Store.Update(ctx, now, fn)
}

// While a worker writes, its lease is renewed, and what fails is logged with the server.
func TestFailedRenewalsAreLogged(t *testing.T) {
	w := newFixture(t, 2500, "cn1")
	vm := w.boot("vm", w.port(1000))
	var logged bytes.Buffer // its handler locks
	w.log = slog.New(slog.NewTextHandler(&logged, nil))
	s := w.serve(&refusing{Store: w.store}, func(s *compute.Settings) { s.LeaseTime = 4 * time.Microsecond })
	for range 10 {
		_, _ = s.Recover(ctx)
		w.later(time.Minute)
		w.report()
	}
	w.work(w.cloudService, nil)
	if got := w.state(vm); got != compute.Active {
		t.Errorf("the server is %s", got)
	}
	for line := range strings.Lines(logged.String()) {
		if strings.Contains(line, "lease") && strings.Contains(line, " server="+string(vm)+" ") {
			return
		}
	}
	t.Errorf("no line says of which server a lease was not renewed:\n%s", logged.String())
}

// A counting store counts the transactions that change servers, and the operations that one
// transaction writes.
type counting struct {
	compute.Store
	mu      sync.Mutex
	changes int
	most    int // operations in one transaction
}

type countingWriter struct {
	compute.Writer
	operations, servers int
}

func (c *countingWriter) Replace(row any) error {
	switch row.(type) {
	case *compute.OperationRow:
		c.operations++
	case *compute.ServerRow:
		c.servers++
	}
	return c.Writer.Replace(row)
}

func (c *counting) Update(ctx context.Context, now time.Time, fn func(compute.Writer) error) error {
	counted := &countingWriter{}
	err := c.Store.Update(ctx, now, func(w compute.Writer) error {
		counted = &countingWriter{Writer: w}
		return fn(counted)
	})
	c.mu.Lock()
	defer c.mu.Unlock()
	c.most = max(c.most, counted.operations)
	if counted.servers > 0 {
		c.changes++
	}
	return err
}

// The servers of one request are chosen together, and then bound and built by all workers at once.
// A transaction renews the leases of all that are unfinished, and each server has as many of its
// own as a server that is created alone.
func TestServersOfOneRequestAreBuiltConcurrently(t *testing.T) {
	servers, workers := 40, int64(8) // some share the answers to what they read
	if racetest.Few() {
		servers = 16
	}
	w := newFixture(t, 2500, "cn1")
	alone := &counting{Store: w.store}
	w.must(w.bootOn(w.cloudService, 1))
	w.cloudService = w.serve(alone)
	w.workAtOnce()
	store := &counting{Store: w.store}
	w.cloudService = w.serve(store, func(s *compute.Settings) { s.LeaseTime = 2 * time.Second })
	w.must(w.bootOn(w.cloudService, servers))
	store.mu.Lock()
	store.changes, store.most = 0, 0
	store.mu.Unlock()
	var waiting atomic.Int64
	all, renewed := make(chan struct{}), make(chan struct{})
	w.paths.network.happens(1, func() {
		for _, row := range computetest.Read[compute.OperationRow](w, w.store) {
			if row.Step == "ports" || row.Step == "claim" {
				return // these are done for all servers together
			}
		}
		if waiting.Add(1) == workers {
			close(all)
		}
		<-renewed
	})
	w.paths.network.goesOn()
	running, stop := context.WithCancel(ctx)
	var work sync.WaitGroup
	work.Go(func() { w.RunOperations(running) })
	select {
	case <-all:
		for most := 0; most < servers; {
			store.mu.Lock()
			most = store.most
			store.mu.Unlock()
			runtime.Gosched()
		}
	case <-time.After(30 * time.Second):
		t.Errorf("%d servers are bound at once, want %d", waiting.Load(), workers)
	}
	close(renewed)
	w.paths.network.heals()
	w.workAtOnce()
	stop()
	work.Wait()
	if most := alone.changes * servers; store.changes > most {
		t.Errorf("%d transactions change %d servers, want %d at most", store.changes, servers, most)
	}
	w.agrees("boot of many servers")
}

// TestLeasesBeginWithTheWork boots more servers than a service works on at once, while placement
// does not answer: those that wait have no lease, which would expire while they do.
func TestLeasesBeginWithTheWork(t *testing.T) {
	const atOnce = 32
	w := newFixture(t, 2500, "cn1")
	for i := range atOnce + 8 {
		w.boot(fmt.Sprintf("vm%d", i))
	}
	answer := make(chan struct{})
	w.paths.placement.happens(1, func() { <-answer })
	w.paths.placement.goesOn()
	running, stop := context.WithCancel(ctx)
	var all sync.WaitGroup
	all.Go(func() { w.RunOperations(running) })
	leased := func() (n int) {
		for _, row := range computetest.Read[compute.OperationRow](w, w.store) {
			if row.Worker != "" {
				n++
			}
		}
		return n
	}
	w.becomes("busy", func() bool { return leased() >= atOnce })
	for range 20 {
		if n := leased(); n > atOnce {
			t.Errorf("%d operations have a lease, %d are worked on", n, atOnce)
			break
		}
	}
	close(answer)
	w.paths.placement.heals()
	w.becomes("idle", func() bool { w.hostsWork(w.cloudService, nil); return w.idle() })
	stop()
	all.Wait()
}

// What is requested of a server while a port is taken from it waits, and is done, in its order: a
// detachment sets no task_state.
func TestWhatComesDuringADetachmentWaits(t *testing.T) {
	w := newFixture(t, 5000, "cn1")
	a, b, c := w.port(1000), w.port(1000), w.port(1000)
	vm := w.boot("vm", a, b)
	w.work(w.cloudService, nil)
	again := ann
	again.Request = "req-again"
	w.must(w.Detach(ctx, ann, vm, a))
	w.must(w.Detach(ctx, ann, vm, b))
	w.must(w.Detach(ctx, again, vm, a))
	running, stop := context.WithCancel(ctx)
	var all sync.WaitGroup
	all.Go(func() { w.RunOperations(running) })
	one, err := w.attach(w.cloudService, vm, compute.NetworkSpec{Port: c}, nil)
	stop()
	all.Wait()
	if err != nil || one.Port != c {
		t.Fatalf("the port is %+v, %v", one, err)
	}
	w.agrees("two ports detached, and one attached, at once")
	if ports := must(w.Server(ctx, vm)).Ports; len(ports) != 1 || w.used()[egress] != 1000 {
		t.Errorf("the server has %+v, %v is used", ports, w.used())
	}
	if e := must(w.Action(ctx, vm, again.Request)).Events[0]; e.Result != "Error" ||
		!strings.Contains(e.Details, "is not attached") {
		t.Errorf("the event of a second detachment is %+v", e)
	}
	w.must(w.Detach(ctx, ann, vm, c))
	w.must(w.StopServer(ctx, ann, vm))
	w.refusedWith(w.Detach(ctx, ann, vm, c), fault.Conflict, compute.InvalidState) // powering-off
	w.work(w.cloudService, nil)
	w.agrees("a port detached, and the server stopped, at once")
	if one := must(w.Server(ctx, vm)); one.State != compute.Stopped || len(one.Ports) != 0 {
		t.Errorf("the server is %s with %d ports", one.State, len(one.Ports))
	}
}

// What waits is bounded, and goes with the server.
func TestWaitingOperationsAreBounded(t *testing.T) {
	w := newFixture(t, 5000, "cn1")
	port := w.port(1000)
	vm := w.boot("vm", port)
	w.work(w.cloudService, nil)
	for range 65 {
		w.must(w.Detach(ctx, ann, vm, port))
	}
	w.refusedWith(w.Detach(ctx, ann, vm, port), fault.Conflict, compute.InvalidState)
	w.must(w.DeleteServer(ctx, ann, vm))
	w.work(w.cloudService, nil)
	w.agrees("delete")
}

// A server whose host died while it was to be stopped can be used again when its state is reset.
func TestResetStateOnADeadHost(t *testing.T) {
	w := newFixture(t, 5000, "cn1")
	vm := w.running()
	w.must(w.StopServer(ctx, ann, vm))
	w.must(w.ResetState(ctx, root, vm, compute.Active))
	w.refusedWith(w.StopServer(ctx, ann, vm), fault.Conflict, compute.InvalidState) // its host is at it
	w.later(5 * time.Minute)
	must(w.Recover(ctx))
	if one := must(w.Server(ctx, vm)); one.Task != "" || one.State != compute.Active ||
		!strings.Contains(w.why(vm), "its host is down") {
		t.Errorf("the server is %s, %s: %s", one.State, one.Task, w.why(vm))
	}
	w.report()
	w.must(w.StopServer(ctx, ann, vm))
	w.work(w.cloudService, nil)
	w.agrees("a server stopped after its host came back")
}
