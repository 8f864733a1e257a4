package servers_test

import (
	"context"
	"maps"
	"net/http"
	"slices"
	"strings"
	"sync"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/berthcloud/berth/client"
	"github.com/berthcloud/berth/client/neutronclient"
	"github.com/berthcloud/berth/client/placementclient"
	"github.com/berthcloud/berth/compute"
	"github.com/berthcloud/berth/compute/computetest"
	"github.com/berthcloud/berth/compute/servers"
	"github.com/berthcloud/berth/internal/logtest"
	"github.com/berthcloud/berth/logging"
)

// A recorder is a transport that records which request each request that changes something names.
type recorder struct {
	mu   sync.Mutex
	seen map[string]bool // "METHOD kind of path: id"
}

func (r *recorder) RoundTrip(q *http.Request) (*http.Response, error) {
	if q.Method != http.MethodGet {
		r.mu.Lock()
		r.seen[q.Method+" "+strings.Join(strings.Split(q.URL.Path, "/")[:2], "/")+": "+
			q.Header.Get("X-Openstack-Request-Id")] = true
		r.mu.Unlock()
	}
	return http.DefaultTransport.RoundTrip(q)
}

// take returns what was recorded since the last call.
func (r *recorder) take() []string {
	r.mu.Lock()
	defer r.mu.Unlock()
	all := slices.Sorted(maps.Keys(r.seen))
	clear(r.seen)
	return all
}

// serveRecorded returns a service, as a process that has just begun, whose requests to its peer
// services are recorded.
func (w *fixture) serveRecorded(r *recorder) *cloudService {
	to := func(url string) client.Options {
		o := options(w, url)
		o.HTTP, o.RequestID = &http.Client{Transport: r}, logging.GlobalID
		return o
	}
	places, nets := placementclient.NewCompute(to(w.paths.placement.url)), neutronclient.New(to(w.paths.network.url))
	w.Cleanup(func() {
		places.Close()
		nets.Close()
	})
	db := compute.NewDatabase(w.store, compute.Rules{
		Settings: compute.DefaultSettings(), Now: w.clock, Log: logtest.Logger(),
	})
	return newService(db, computetest.Options{
		Placement: places, Network: nets, Images: allImages,
		Behalf: func(ctx context.Context, by compute.Caller) context.Context {
			return context.WithValue(ctx, logging.Key{}, &logging.Origin{
				RequestID: by.Request, GlobalID: by.Global, User: by.User, Project: by.Project,
			})
		},
	})
}

// What is done for a request after its answer names it to the other services, also in another
// process: by the id of the calling service's request, if there was one.
func TestOperationsNameTheirRequest(t *testing.T) {
	w := newFixture(t, 5000, "cn1", "cn2")
	by := func(request, global string) compute.Caller {
		c := ann
		c.Request, c.Global = request, global
		return c
	}
	r := &recorder{seen: map[string]bool{}}
	boot := func(name string, by compute.Caller, ports ...compute.ID) compute.ID {
		t.Helper()
		spec := servers.ServerSpec{Name: name, Flavor: "m1", Image: cirros, PortsMayRequest: true}
		for _, p := range ports {
			spec.Networks = append(spec.Networks, compute.NetworkSpec{Port: p})
		}
		made := must(w.CreateServers(ctx, by, spec))
		return made[0].ID
	}
	expect := func(what, id string, requests ...string) {
		t.Helper()
		for i := range requests {
			requests[i] += ": " + id
		}
		if diff := cmp.Diff(requests, r.take()); diff != "" {
			t.Errorf("%s (-want +got)\n%s", what, diff)
		}
	}
	first, second := w.port(1000), w.port(1000)
	vm := boot("vm", by("req-boot", ""), first, second)
	w.work(w.serveRecorded(r), nil)
	expect("boot", "req-boot", "PUT /allocations", "PUT /v2.0")

	w.must(w.ResizeServer(ctx, by("req-resize", "req-terraform"), vm, servers.Resizing{Flavor: "m2"}))
	w.work(w.serveRecorded(r), nil)
	expect("resize", "req-terraform", "POST /allocations", "POST /berth", "PUT /v2.0")

	w.must(w.ConfirmResize(ctx, by("req-confirm", ""), vm))
	w.work(w.serveRecorded(r), nil)
	expect("confirmation", "req-confirm", "PUT /allocations")

	// The second of these waits for the first.
	w.must(w.Detach(ctx, by("req-detach", ""), vm, first))
	w.must(w.Detach(ctx, by("req-detach-2", ""), vm, second))
	w.work(w.serveRecorded(r), nil)
	want := []string{
		"PUT /allocations: req-detach", "PUT /allocations: req-detach-2", "PUT /v2.0: req-detach", "PUT /v2.0: req-detach-2",
	}
	if diff := cmp.Diff(want, r.take()); diff != "" {
		t.Errorf("detaching (-want +got)\n%s", diff)
	}

	// A deletion takes the place of what is under way.
	vm = boot("vm", by("req-boot-2", "req-terraform"), w.port(1000))
	s := w.serveRecorded(r)
	if left := must(s.Recover(ctx)); left != 1 {
		t.Fatalf("%d operations are under way", left)
	}
	expect("boot", "req-terraform", "PUT /allocations", "PUT /v2.0")
	w.must(w.DeleteServer(ctx, by("req-delete-2", ""), vm))
	w.work(w.serveRecorded(r), nil)
	expect("deletion", "req-delete-2", "PUT /allocations", "PUT /v2.0")
}
