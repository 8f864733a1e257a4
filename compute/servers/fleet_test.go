package servers_test

import (
	"context"
	"fmt"
	"net/http"
	"net/http/httptest"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/berthcloud/berth/agent/driver"
	"github.com/berthcloud/berth/agent/host"
	"github.com/berthcloud/berth/client/berthclient"
	"github.com/berthcloud/berth/compute"
	"github.com/berthcloud/berth/compute/computetest"
	"github.com/berthcloud/berth/compute/inventory"
	"github.com/berthcloud/berth/guarantee"
	"github.com/berthcloud/berth/httpapi"
	"github.com/berthcloud/berth/httpapi/computeapi"
	"github.com/berthcloud/berth/identity/policy"
	"github.com/berthcloud/berth/internal/logtest"
	"github.com/berthcloud/berth/microversion"
)

// fleet runs the fixture's service and a host of the fake driver for each name, as in
// production, until the test ends.
func (w *fixture) fleet(fail func(host, verb, server string) error, hosts ...string) map[string]*driver.Fake {
	w.Helper()
	server := httptest.NewServer(w.api())
	w.Cleanup(server.Close) // after the hosts have stopped, which wait for answers
	running, stop := context.WithCancel(ctx)
	var all sync.WaitGroup
	w.Cleanup(func() {
		stop()
		all.Wait()
	})
	all.Go(func() { w.RunOperations(running) })
	fakes := map[string]*driver.Fake{}
	for _, name := range hosts {
		fakes[name] = &driver.Fake{
			Delay: time.Millisecond, Fail: func(verb, server string) error { return fail(name, verb, server) },
		}
		service := berthclient.NewHost(options(w, server.URL),
			berthclient.HostReporter{Name: name, Report: func() (compute.Report, error) {
				_, node := computetest.Host(name, 0)
				id, err := guarantee.ParseUUID(string(node.ID))
				return compute.Report{Host: name, Version: 66, Node: *node, Inventory: &inventory.Host{
					ID: id, Name: name, VCPU: inventory.Amount{Total: 100}, MemoryMB: inventory.Amount{Total: 100_000},
					DiskGB: inventory.Amount{Total: 1000},
				}}, err
			}})
		one := &host.Host{
			Driver: fakes[name], Service: service, Log: logtest.Logger(), ReportInterval: time.Second, Concurrency: 4,
		}
		all.Go(func() { one.Run(running); service.Close() })
	}
	return fakes
}

// api returns the API of the fixture's service, which every caller may use as the administrator.
func (w *fixture) api() http.Handler {
	w.Helper()
	rules := must(policy.New(policy.Options{Defaults: computeapi.PolicyDefaults()}))
	api := &computeapi.API{Servers: w.Service, Catalog: w.catalogService, Fleet: w.fleetService, Policy: rules}
	return computeapi.Handler(httpapi.New(httpapi.Config{
		Service: "compute", History: microversion.Compute, PathFirst: computeapi.Steps, Routes: api.Routes(),
		Authenticate: httpapi.NoAuth, Public: computeapi.Public, Problem: computeapi.Problem,
	}))
}

// becomes waits until a server is as it should be.
func (w *fixture) becomes(what string, reached func() bool) {
	w.Helper()
	for end := time.Now().Add(30 * time.Second); !reached(); time.Sleep(time.Millisecond) {
		if time.Now().After(end) {
			w.Fatalf("%s: it does not come to that", what)
		}
	}
}

// runs describes what a host has: servers with their ports.
func runs(f *driver.Fake) string {
	all, _ := f.Servers(ctx) // never fails
	var words []string
	for _, s := range all {
		words = append(words, fmt.Sprintf("%v:%d", s.Running, len(s.Ports)))
	}
	return strings.Join(words, " ")
}

// Services, hosts and the ways between them work together without being pushed.
func TestFleet(t *testing.T) {
	w := newFixture(t, 2500, "cn1", "cn2")
	var broken sync.Map // hosts that build nothing
	hosts := w.fleet(func(host, verb, _ string) error {
		if _, yes := broken.Load(host); yes && verb == "build" {
			return fmt.Errorf("%s builds nothing", host)
		}
		return nil
	}, "cn1", "cn2")
	broken.Store("cn1", true)
	vm := w.boot("vm", w.port(1000))
	w.becomes("boot", func() bool { return w.state(vm) == compute.Active })
	w.becomes("nothing is left of what failed", func() bool {
		return runs(hosts["cn1"]) == "" && runs(hosts["cn2"]) == "true:1"
	})
	port := w.port(500)
	must(w.Attach(ctx, ann, vm, compute.NetworkSpec{Port: port}))
	if got := runs(hosts["cn2"]); got != "true:2" {
		t.Errorf("the host has %q", got)
	}
	w.must(w.Detach(ctx, ann, vm, port))
	w.becomes("detach", func() bool { return len(must(w.Server(ctx, vm)).Ports) == 1 && runs(hosts["cn2"]) == "true:1" })
	w.becomes("idle", w.idle)
	w.must(w.StopServer(ctx, ann, vm))
	w.becomes("stop", func() bool { return w.state(vm) == compute.Stopped && runs(hosts["cn2"]) == "false:1" })
	w.becomes("idle", w.idle)
	w.agrees("all that")
	w.must(w.DeleteServer(ctx, ann, vm))
	w.becomes("delete", func() bool { return w.state(vm) == "gone" && runs(hosts["cn2"]) == "" })
	w.agrees("its deletion")
}

// idle reports whether nothing is under way.
func (w *fixture) idle() bool {
	return len(computetest.Read[compute.OperationRow](w, w.store)) == 0
}

// A server that is on no host is gone when its deletion is answered: clients take one that
// is still in error for one that cannot be deleted.
func TestDeletionWithoutHostIsAwaited(t *testing.T) {
	w := newFixture(t, 2500, "cn1")
	w.fleet(func(string, string, string) error { return nil }, "cn1")
	vm := w.boot("vm", w.port(5000))
	w.becomes("error", func() bool { return w.state(vm) == compute.Error })
	w.becomes("idle", w.idle)
	w.must(w.DeleteServer(ctx, ann, vm))
	if now := w.state(vm); now != "gone" {
		t.Errorf("after its deletion the server is %s", now)
	}
	w.agrees("its deletion")
}
