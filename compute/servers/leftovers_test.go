package servers_test

import (
	"bytes"
	"log/slog"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/berthcloud/berth/client/neutronclient"
	"github.com/berthcloud/berth/client/placementclient"
	"github.com/berthcloud/berth/compute"
	"github.com/berthcloud/berth/compute/computetest"
	"github.com/berthcloud/berth/compute/fleet"
	"github.com/berthcloud/berth/fault"
)

// destroys are the servers that a host is to destroy.
func (w *fixture) destroys(host string) (ids []compute.ID) {
	w.Helper()
	for _, one := range must(w.Wanted(ctx, host)) {
		if one.Deleted {
			ids = append(ids, compute.ID(one.ID))
		}
	}
	return ids
}

// A host that was down while its server was deleted gets the command to destroy it until it reports
// that it has.
func TestDeletedWhileItsHostIsDown(t *testing.T) {
	w := newFixture(t, 2500, "cn1")
	vm := w.boot("vm", w.port(1000))
	w.work(w.cloudService, nil)
	w.later(5 * time.Minute)
	w.must(w.DeleteServer(ctx, ann, vm))
	w.work(w.cloudService, nil)
	w.agrees("its deletion")
	if got := w.state(vm); got != "gone" {
		t.Fatalf("the server is %s", got)
	}
	w.report()
	for _, r := range []fleet.Result{{Error: "it is in use"}, {Event: string(computetest.ID("other"))}, {}} {
		listed := must(w.Wanted(ctx, "cn1"))
		if len(listed) != 1 || !listed[0].Deleted || listed[0].ID != string(vm) || listed[0].Event == "" {
			t.Fatalf("before %+v, the host is to do %+v", r, listed)
		}
		if r.Server = string(vm); r.Event == "" {
			r.Event = listed[0].Event
		}
		w.must(w.Done(ctx, "cn1", []fleet.Result{r}))
	}
	if listed := must(w.Wanted(ctx, "cn1")); len(listed) != 0 {
		t.Errorf("after it is done, the host is to do %+v", listed)
	}
}

// A host on which a build failed gets the command to destroy what remains of it, unless it is to
// build it after all.
func TestLeftByBuilds(t *testing.T) {
	w := newFixture(t, 2500, "cn1", "cn2")
	first := ""
	fails := func(host string, want fleet.Wanted) *fleet.Result {
		if first == "" {
			first = host
		}
		if host == first && !want.Deleted {
			return &fleet.Result{Error: "it cannot"}
		}
		return nil
	}
	vm := w.boot("vm", w.port(1000))
	must(w.Recover(ctx))
	w.hostsWork(w.cloudService, fails)
	must(w.Recover(ctx))
	if ids := w.destroys(first); !slices.Equal(ids, []compute.ID{vm}) {
		t.Errorf("after a failed build, %s is to destroy %v", first, ids)
	}
	w.work(w.cloudService, fails)
	w.agrees("a build that failed on one host")
	if one := must(w.Server(ctx, vm)); one.State != compute.Active || one.Host == first || len(w.destroys(first)) != 0 {
		t.Errorf("the server is %s on %s; %s is to destroy %v", one.State, one.Host, first, w.destroys(first))
	}
	vm = w.boot("vm2", w.port(1000))
	all := func(_ string, want fleet.Wanted) *fleet.Result {
		if want.Deleted {
			return nil
		}
		return &fleet.Result{Error: "it cannot"}
	}
	for range 5 {
		must(w.Recover(ctx))
		w.hostsWork(w.cloudService, all)
	}
	w.agrees("a build that failed on all hosts")
	if got := w.state(vm); got != compute.Error || len(w.destroys("cn1"))+len(w.destroys("cn2")) != 0 {
		t.Errorf("the server is %s; hosts are to destroy %v, %v", got, w.destroys("cn1"), w.destroys("cn2"))
	}
}

// Of servers that a host has without a command, it is to destroy those that were deleted. The
// others are logged once: they may belong to another database, or to a later state of this one.
func TestUnknownServers(t *testing.T) {
	w := newFixture(t, 2500, "cn1", "cn2")
	var logged bytes.Buffer
	places, nets := placementclient.NewCompute(options(t, w.paths.placement.url)),
		neutronclient.New(options(t, w.paths.network.url))
	t.Cleanup(places.Close)
	t.Cleanup(nets.Close)
	rules := compute.Rules{
		Settings: compute.DefaultSettings(), Now: w.clock, Log: slog.New(slog.NewTextHandler(&logged, nil)),
	}
	s := newService(compute.NewDatabase(w.store, rules), computetest.Options{
		Placement: places, Network: nets, Images: allImages,
	})
	deleted := w.boot("vm", w.port(1000))
	w.work(w.cloudService, nil)
	w.must(w.DeleteServer(ctx, ann, deleted))
	w.work(w.cloudService, nil)
	lives := w.boot("vm2", w.port(1000))
	w.work(w.cloudService, nil)
	at := must(w.Server(ctx, lives)).Host
	other := map[string]string{"cn1": "cn2", "cn2": "cn1"}[at]
	stranger := computetest.ID("stranger")

	for host, step := range map[string]struct {
		unknown, destroys []compute.ID
		findings          int
	}{
		other: {[]compute.ID{deleted, lives, stranger}, []compute.ID{deleted}, 2},
		at:    {[]compute.ID{lives}, nil, 0}, // the host had not seen it in the list yet
	} {
		_, node := computetest.Host(host, 0)
		before := w.fleetOf(s).UnknownServers()
		for range 2 {
			w.must(w.fleetOf(s).Report(ctx, compute.Report{Host: host, Version: 66, Node: *node, Unknown: step.unknown}))
		}
		if d := cmp.Diff(step.destroys, w.destroys(host)); d != "" {
			t.Errorf("%s is to destroy (-want +got)\n%s", host, d)
		}
		if n := w.fleetOf(s).UnknownServers() - before; n != step.findings {
			t.Errorf("%s has %d unknown servers, want %d", host, n, step.findings)
		}
	}
	for id, want := range map[compute.ID]int{deleted: 0, lives: 1, stranger: 1} {
		if n := strings.Count(logged.String(), "server="+string(id)); n != want {
			t.Errorf("%s is logged %d times, want %d\n%s", id, n, want, &logged)
		}
	}
	_, node := computetest.Host(other, 0)
	w.must(w.fleetOf(s).Report(ctx, compute.Report{Host: other, Version: 66, Node: *node}))
	if n := w.fleetOf(s).UnknownServers(); n != 0 {
		t.Errorf("%d unknown servers are left", n)
	}
}

// A host that never reported gets no commands, which is not the same as to have no servers.
func TestUnknownHost(t *testing.T) {
	w := newFixture(t, 0, "cn1")
	_, err := w.Wanted(ctx, "cn2")
	w.refusedWith(err, fault.NotFound, "ComputeHostNotFound")
	w.refusedWith(w.Done(ctx, "cn2", []fleet.Result{
		{Server: string(computetest.ID("vm")), Event: string(computetest.ID("event"))},
	}), fault.NotFound, "ComputeHostNotFound")
}
