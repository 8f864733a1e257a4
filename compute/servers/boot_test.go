package servers_test

import (
	"fmt"
	"strings"
	"testing"
	"time"

	"github.com/berthcloud/berth/compute"
	"github.com/berthcloud/berth/compute/computetest"
	"github.com/berthcloud/berth/compute/fleet"
	"github.com/berthcloud/berth/compute/servers"
	"github.com/berthcloud/berth/network/topology"
)

// A server with guaranteed ports is built where the bandwidth is, and gives it back.
func TestBoot(t *testing.T) {
	w := newFixture(t, 2500, "cn1")
	port, plain := w.port(1000), w.port(0)
	vm := w.boot("vm", port, plain)
	w.work(w.cloudService, nil)
	w.agrees("boot")
	one := must(w.Server(ctx, vm))
	if one.State != compute.Active || one.Host != "cn1" || one.LaunchedAt.IsZero() || one.Power != compute.Running {
		t.Errorf("the server is %+v", one.ServerRow)
	}
	if len(one.Ports) != 2 || one.Ports[0].Shown.Allocation.Empty() || one.Ports[0].Shown.NetworkName != "net0" ||
		len(one.Ports[1].Shown.Addresses) != 1 {
		t.Errorf("its ports are %+v", one.Ports)
	}
	if used := w.used(); used[egress] != 1000 || used[ingress] != 1000 {
		t.Errorf("%v is used", used)
	}
	listed := must(w.Wanted(ctx, "cn1"))
	if len(listed) != 1 || !listed[0].Running || listed[0].Event != "" || len(listed[0].Ports) != 2 {
		t.Errorf("the host is to do %+v", listed)
	}
	w.must(w.DeleteServer(ctx, ann, vm))
	w.must(w.DeleteServer(ctx, ann, vm)) // it is said twice
	w.work(w.cloudService, nil)
	w.agrees("delete")
	if got := w.state(vm); got != "gone" {
		t.Errorf("the server is %s", got)
	}
	if a := must(w.Actions(ctx, vm)); len(a) != 2 || a[0].Message != "" || a[1].Message != "" {
		t.Errorf("actions are %+v", a)
	}
	if n := len(must(w.network.Ports(ctx))); n != 2 {
		t.Errorf("%d ports are left, want both", n)
	}
}

// Ports that are made for a server go with it.
func TestBootInNetwork(t *testing.T) {
	w := newFixture(t, 2500, "cn1")
	made := must(w.CreateServers(ctx, ann, servers.ServerSpec{
		Name: "vm", Flavor: "m1", Image: cirros, AnyNetwork: true, Max: 2,
	}))
	w.work(w.cloudService, nil)
	w.agrees("boot")
	for _, s := range made {
		if one := must(w.Server(ctx, s.ID)); one.State != compute.Active || len(one.Ports) != 1 || !one.Ports[0].Own {
			t.Errorf("the server is %+v", one)
		}
	}
	w.must(w.DeleteServer(ctx, ann, made[0].ID))
	w.work(w.cloudService, nil)
	w.agrees("delete")
	if n := len(must(w.network.Ports(ctx))); n != 1 {
		t.Errorf("%d ports are left, want one", n)
	}
}

// why returns what was recorded of steps that failed with a server.
func (w *fixture) why(id compute.ID) string {
	w.Helper()
	var all []string
	for _, a := range must(w.Actions(ctx, id)) {
		for _, e := range computetest.Read[compute.EventRow](w, w.store, compute.Where(compute.ByAction, a.ID)) {
			if e.Result == "Error" {
				all = append(all, e.Details, e.Traceback)
			}
		}
	}
	return strings.Join(all, "\n")
}

func TestNobodyHasRoom(t *testing.T) {
	w := newFixture(t, 2500, "cn1")
	port := w.port(3000)
	vm := w.boot("vm", port)
	w.work(w.cloudService, nil)
	w.agrees("a boot without room")
	one := must(w.Server(ctx, vm))
	f, ok := one.Failure()
	if one.State != compute.Error || !ok || f.Code != 500 || f.Message != "No valid host was found. " || one.Host != "" {
		t.Errorf("the server is %+v, %+v", one.ServerRow, f)
	}
	for _, text := range []string{
		"No valid host was found. ", "port " + string(port) + ", group ", ": no host remains; ",
		"dropped: no free capacity for " + egress + ":3000",
		"\n1 host would fit if 500 less of each of " + egress + ", " + ingress + " were requested by port " + string(port),
	} {
		if why := w.why(vm); !strings.Contains(why, text) {
			t.Errorf("the event says %q, want %q in it", why, text)
		}
	}
	w.must(w.DeleteServer(ctx, ann, vm))
	w.work(w.cloudService, nil)
	w.agrees("its deletion")
}

// A network that guarantees bandwidth is refused, unless the operator lets servers be made
// in it.
func TestNetworkWithGuarantee(t *testing.T) {
	for _, may := range []bool{false, true} {
		w := newFixture(t, 2500, "cn1")
		id := w.policy(1000)
		_, err := w.network.UpdateNetwork(ctx, w.net, func(n *topology.NetworkSpec) error {
			n.Policy = id
			return nil
		})
		w.must(err)
		s := w.serve(w.store, func(s *compute.Settings) { s.AllowNetworkQoS = may })
		made := must(s.CreateServers(ctx, ann, servers.ServerSpec{
			Name: "vm", Flavor: "m1", Image: cirros, AnyNetwork: true, Min: 2,
		}))
		w.work(s, nil)
		w.agrees(fmt.Sprint("networks may have guarantees: ", may))
		for _, one := range made {
			one = must(w.Server(ctx, one.ID))
			f, _ := one.Failure()
			want := fmt.Sprintf("Build of instance %s aborted: Failed to allocate the network(s), not rescheduling.", one.ID)
			if may && one.State != compute.Active || !may && (one.State != compute.Error || f.Message != want) {
				t.Errorf("networks may have guarantees: %v: the server is %s, %+v", may, one.State, f)
			}
		}
		if n := len(must(w.network.Ports(ctx))); n != map[bool]int{true: 2}[may] {
			t.Errorf("networks may have guarantees: %v: %d ports", may, n)
		}
	}
}

func TestReschedule(t *testing.T) {
	w := newFixture(t, 2500, "cn1", "cn2", "cn3", "cn4")
	var tried []string
	broken := func(host string, want fleet.Wanted) *fleet.Result {
		if want.Deleted {
			return nil
		}
		tried = append(tried, host)
		if len(tried) < 3 {
			return &fleet.Result{Error: "it cannot"}
		}
		return nil
	}
	vm := w.boot("vm", w.port(1000))
	w.work(w.cloudService, broken)
	w.agrees("the third host")
	one := must(w.Server(ctx, vm))
	if one.State != compute.Active || one.Host != tried[2] || tried[0] == tried[1] || tried[1] == tried[2] {
		t.Errorf("the server is %s on %s after %v", one.State, one.Host, tried)
	}
	for _, h := range must(w.Hypervisors(ctx)) {
		if want := map[bool]int{true: 1}[h.Name == tried[0] || h.Name == tried[1]]; h.Failed != want {
			t.Errorf("%d builds failed on %s, want %d", h.Failed, h.Name, want)
		}
	}
	all := func(_ string, want fleet.Wanted) *fleet.Result {
		if want.Deleted {
			return nil
		}
		return &fleet.Result{Error: "it cannot"}
	}
	vm = w.boot("vm2", w.port(1000))
	w.work(w.cloudService, all)
	w.agrees("no host can")
	one = must(w.Server(ctx, vm))
	if f, _ := one.Failure(); one.State != compute.Error || f.Message != fmt.Sprintf(
		"Exceeded maximum number of retries. Exhausted all hosts available for retrying build failures for "+
			"instance %s.", vm) {
		t.Errorf("the server is %s, %+v", one.State, f)
	}
	vm = w.boot("vm3", w.port(1000))
	w.work(w.cloudService, func(_ string, want fleet.Wanted) *fleet.Result {
		if want.Deleted {
			return nil
		}
		return &fleet.Result{Error: "bad image", Everywhere: true}
	})
	w.agrees("nobody can")
	if f, _ := must(w.Server(ctx, vm)).Failure(); f.Message != fmt.Sprintf("Build of instance %s aborted: bad image", vm) {
		t.Errorf("the failure is %+v", f)
	}
}

// A host that stops reporting is given up, and a server is deleted without it.
func TestHostThatIsDown(t *testing.T) {
	w := newFixture(t, 2500, "cn1", "cn2")
	vm := w.boot("vm", w.port(1000))
	_, err := w.Recover(ctx)
	w.must(err)
	first := must(w.Server(ctx, vm)).Host
	w.later(2 * time.Minute)
	for _, name := range []string{"cn1", "cn2"} {
		if _, node := computetest.Host(name, 0); name != first {
			w.must(w.Report(ctx, compute.Report{Host: name, Version: 66, Node: *node}))
		}
	}
	w.work(w.cloudService, nil)
	w.agrees("the first host went down")
	if one := must(w.Server(ctx, vm)); one.State != compute.Active || one.Host == first {
		t.Errorf("the server is %s on %s, first on %s", one.State, one.Host, first)
	}
	w.later(2 * time.Minute)
	w.must(w.DeleteServer(ctx, ann, vm))
	w.work(w.cloudService, nil)
	w.agrees("its deletion without a host")
	if got := w.state(vm); got != "gone" {
		t.Errorf("the server is %s", got)
	}
}

// A host that reports, and does not build, is given up with the server that it is to build.
func TestHostThatDoesNotBuild(t *testing.T) {
	w := newFixture(t, 2500, "cn1", "cn2")
	s := w.serve(w.store, func(s *compute.Settings) { s.BuildTime = 10 * time.Minute })
	vm := w.boot("vm", w.port(1000))
	for _, step := range []struct {
		s    *cloudService
		time time.Duration
		want string
	}{
		{w.cloudService, 24 * time.Hour, compute.Building}, // without a limit
		{s, 0, compute.Error},
	} {
		w.later(step.time)
		w.report()
		must(step.s.Recover(ctx))
		if got := w.state(vm); got != step.want {
			t.Errorf("after %v the server is %s, want %s", step.time, got, step.want)
		}
	}
	if f, _ := must(w.Server(ctx, vm)).Failure(); f.Message != fmt.Sprintf(
		"Build of instance %s aborted: it is not built after 600 seconds", vm) {
		t.Errorf("the failure is %+v", f)
	}
	for _, host := range []string{"cn1", "cn2"} {
		for _, listed := range must(w.Wanted(ctx, host)) {
			if !listed.Deleted || listed.ID != string(vm) {
				t.Errorf("%s is to do %+v", host, listed)
			}
		}
	}
	w.work(s, nil)
	w.agrees("a build that took too long")
	vm = w.boot("vm2", w.port(1000))
	must(s.Recover(ctx))
	w.later(10 * time.Minute)
	w.report()
	w.work(s, nil)
	if got := w.state(vm); got != compute.Active {
		t.Errorf("a server that is built in time is %s", got)
	}
}

// Twenty servers want bandwidth at once that is there for seven.
func TestRaceForTheLastKilobit(t *testing.T) {
	w := newFixture(t, 7000, "cn1")
	var ids []compute.ID
	for i := range 20 {
		ids = append(ids, w.boot(fmt.Sprint("vm", i), w.port(1000)))
	}
	w.workAtOnce()
	w.agrees("the race")
	states := map[string]int{}
	for _, id := range ids {
		states[w.state(id)]++
	}
	if states[compute.Active] != 7 || states[compute.Error] != 13 {
		t.Errorf("servers are %v, want 7 active and 13 in error", states)
	}
}

// A server group keeps its servers apart however many are created at once.
func TestAntiAffinity(t *testing.T) {
	w := newFixture(t, 2500, "cn1", "cn2", "cn3")
	g := must(w.CreateGroup(ctx, compute.GroupRow{
		Project: computetest.Project, User: computetest.User, Policy: "anti-affinity",
	}))
	var ids []compute.ID
	for i := range 4 {
		made := must(w.CreateServers(ctx, ann, servers.ServerSpec{
			Name: fmt.Sprint("vm", i), Flavor: "m1", Image: cirros, Hints: fmt.Appendf(nil, `{"group": %q}`, g.ID),
		}))
		ids = append(ids, made[0].ID)
	}
	w.workAtOnce()
	w.agrees("four servers for three hosts")
	hosts, states := map[string]int{}, map[string]int{}
	for _, id := range ids {
		one := must(w.Server(ctx, id))
		states[one.State]++
		if one.Host != "" {
			hosts[one.Host]++
		}
	}
	if states[compute.Active] != 3 || states[compute.Error] != 1 || len(hosts) != 3 {
		t.Errorf("servers are %v on %v", states, hosts)
	}
	all := must(w.CreateServers(ctx, ann, servers.ServerSpec{
		Name: "more", Flavor: "m1", Image: cirros, Min: 2, Hints: fmt.Appendf(nil, `{"group": %q}`, g.ID),
	}))
	w.workAtOnce()
	w.agrees("two more")
	if w.state(all[0].ID) != compute.Error || w.state(all[1].ID) != compute.Error {
		t.Error("servers of a group that is everywhere were built")
	}
}

// Of servers that are created together all are built or none.
func TestAllOrNothing(t *testing.T) {
	w := newFixture(t, 2500, "cn1")
	w.add(computetest.Flavor("big", 40, 128, 1))
	spec := servers.ServerSpec{Name: "vm", Flavor: "big", Image: cirros, Min: 3}
	made := must(w.CreateServers(ctx, ann, spec))
	w.work(w.cloudService, nil)
	w.agrees("three servers where there is room for two")
	for _, s := range made {
		if got := w.state(s.ID); got != compute.Error {
			t.Errorf("server %s is %s", s.Name, got)
		}
	}
	if used := w.used(); used["VCPU"] != 0 {
		t.Errorf("%v is used", used)
	}
}

// A forced host needs nothing but room.
func TestForcedHost(t *testing.T) {
	w := newFixture(t, 2500, "cn1", "cn2")
	w.paths.placement.breaks(1, true, false) // placement, which would leave it out, gets no notice
	for _, h := range must(w.Services(ctx)) {
		must(w.ChangeService(ctx, h.ID, fleet.ServiceChange{Disabled: ptr(h.Host == "cn2")}))
	}
	w.paths.placement.heals()
	for _, tc := range []struct{ forced, host, want string }{{"cn2", "", "cn2"}, {"", "cn1", "cn1"}, {"", "cn2", ""}} {
		made := must(w.CreateServers(ctx, ann, servers.ServerSpec{
			Name: "vm", Flavor: "m1", Image: cirros, ForcedHost: tc.forced, Host: tc.host,
		}))
		w.work(w.cloudService, nil)
		if one := must(w.Server(ctx, made[0].ID)); one.Host != tc.want {
			t.Errorf("forced %q, wanted %q: the server is %s on %q", tc.forced, tc.host, one.State, one.Host)
		}
	}
}
