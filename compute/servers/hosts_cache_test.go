package servers_test

import (
	"fmt"
	"net/http"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"github.com/berthcloud/berth/compute"
	"github.com/berthcloud/berth/compute/computetest"
	"github.com/berthcloud/berth/compute/fleet"
	"github.com/berthcloud/berth/compute/servers"
)

// hostOf is the host that a server has come to, "" for none.
func (w *fixture) hostOf(id compute.ID) string {
	w.Helper()
	w.work(w.cloudService, nil)
	rows := computetest.Read[compute.ServerRow](w, w.store, compute.Where(compute.ByID, id))
	if len(rows) != 1 {
		w.Fatalf("there are %d servers with id %s", len(rows), id)
	}
	return rows[0].Host
}

// TestChoiceSeesChanges: a choice of a host counts what was changed before, by the service or, at
// the latest when there would be no host, by another one on the same rows.
func TestChoiceSeesChanges(t *testing.T) {
	w := newFixture(t, 1000, "cn1", "cn2")
	other := w.serve(w.store)
	boot := func(name, want string) {
		t.Helper()
		if got := w.hostOf(w.boot(name)); got != want {
			t.Errorf("server %s is on %q, want %q", name, got, want)
		}
	}
	change := func(s *cloudService, host string, ch fleet.ServiceChange) {
		t.Helper()
		all, err := w.fleetOf(s).Services(ctx)
		w.must(err)
		for _, h := range all {
			if h.Host == host {
				_, err := w.fleetOf(s).ChangeService(ctx, h.ID, ch)
				w.must(err)
			}
		}
	}
	yes, no := true, false
	boot("first", "cn1")
	boot("spread", "cn2")
	change(w.cloudService, "cn1", fleet.ServiceChange{Disabled: &yes})
	boot("disabled", "cn2")
	change(w.cloudService, "cn1", fleet.ServiceChange{Disabled: &no})
	boot("enabled", "cn1")
	change(w.cloudService, "cn2", fleet.ServiceChange{ForcedDown: &yes})
	boot("down", "cn1")
	change(w.cloudService, "cn2", fleet.ServiceChange{ForcedDown: &no})
	boot("up", "cn2")
	change(other, "cn2", fleet.ServiceChange{ForcedDown: &yes})
	change(w.cloudService, "cn1", fleet.ServiceChange{ForcedDown: &yes})
	w.host("cn3", 1000)
	boot("new", "cn3")
	change(other, "cn1", fleet.ServiceChange{ForcedDown: &no})
	change(w.cloudService, "cn3", fleet.ServiceChange{ForcedDown: &yes})
	boot("by another", "cn1")
	w.later(2 * time.Minute)
	boot("silent", "")
	w.report()
	boot("reporting", "cn1")
	w.agrees("the changes")
}

// TestZonesCountAtOnce: a server of an availability zone goes to a host that has just been put
// there.
func TestZonesCountAtOnce(t *testing.T) {
	w := newFixture(t, 1000, "cn1", "cn2")
	if got := w.hostOf(w.boot("first")); got != "cn1" {
		t.Fatalf("the first server is on %q", got)
	}
	a, err := w.CreateAggregate(ctx, "special", "special")
	w.must(err)
	_, err = w.AddHost(ctx, a.Number, "cn2")
	w.must(err)
	for _, name := range []string{"second", "third"} {
		made, err := w.CreateServers(ctx, ann, servers.ServerSpec{Name: name, Flavor: "m1", Image: cirros, Zone: "special"})
		w.must(err)
		if got := w.hostOf(made[0].ID); got != "cn2" {
			t.Errorf("server %s of the zone is on %q", name, got)
		}
	}
}

// TestZonesThatOthersCreate: an availability zone that another instance has just created is found,
// although the hosts are cached; one without enabled hosts is refused.
func TestZonesThatOthersCreate(t *testing.T) {
	w := newFixture(t, 1000, "cn1", "cn2")
	w.hostOf(w.boot("first")) // the hosts are cached then
	create := func() error {
		_, err := w.CreateServers(ctx, ann, servers.ServerSpec{Name: "vm", Flavor: "m1", Image: cirros, Zone: "special"})
		return err
	}
	refused := func(when string) {
		t.Helper()
		if err := create(); err == nil || !strings.Contains(err.Error(), "The requested availability zone is not available") {
			t.Errorf("%s: CreateServers = %v, want that the zone is not available", when, err)
		}
	}
	refused("a zone that does not exist")
	zone := &compute.AggregateRow{
		ID: computetest.ID("special"), Number: 7, Name: "special", Metadata: map[string]string{compute.ZoneKey: "special"},
	}
	computetest.Add(t, w.store, zone)
	refused("a zone without hosts")
	computetest.Add(t, w.store, &compute.MemberRow{Aggregate: zone.ID, Host: "cn2"})
	w.must(create())
	for _, h := range must(w.fleetOf(w.cloudService).Services(ctx)) {
		if yes := true; h.Host == "cn2" {
			must(w.fleetOf(w.cloudService).ChangeService(ctx, h.ID, fleet.ServiceChange{Disabled: &yes}))
		}
	}
	refused("a zone whose host is disabled")
}

// TestBootsShareQueries: of boots with ports alike at the same time, several are decided by one
// answer of placement, and each gets the providers of its own host.
func TestBootsShareQueries(t *testing.T) {
	w := newFixture(t, 4000, "cn1", "cn2", "cn3")
	var requests, atOnce atomic.Int64
	all := make(chan struct{})
	inner := w.paths.placement.handler
	w.paths.placement.handler = http.HandlerFunc(func(rw http.ResponseWriter, r *http.Request) {
		if strings.HasPrefix(r.URL.Path, "/allocation_candidates") && requests.Add(1) == 1 {
			<-all
		}
		inner.ServeHTTP(rw, r)
	})
	ports := w.paths.network.handler
	w.paths.network.handler = http.HandlerFunc(func(rw http.ResponseWriter, r *http.Request) {
		ports.ServeHTTP(rw, r)
		// each when it is requested and when it is scheduled
		if r.Method == http.MethodGet && r.URL.Path == "/v2.0/networks" && atOnce.Add(1) == 2*12 {
			close(all)
		}
	})
	for i := range 12 {
		w.boot(fmt.Sprint("s", i), w.port(1000))
	}
	w.workAtOnce()
	w.agrees("boots at the same time")
	on := map[string]int{}
	for _, s := range computetest.Read[compute.ServerRow](t, w.store) {
		on[s.Host]++
	}
	if n := requests.Load(); n > 6 || on["cn1"] != 4 || on["cn2"] != 4 || on["cn3"] != 4 {
		t.Errorf("%d queries for 12 servers, which are on %v", n, on)
	}
}
