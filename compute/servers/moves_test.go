package servers_test

import (
	"encoding/json"
	"fmt"
	"net/http"
	"strings"
	"testing"
	"time"

	"github.com/berthcloud/berth/compute"
	"github.com/berthcloud/berth/compute/computetest"
	"github.com/berthcloud/berth/compute/fleet"
	"github.com/berthcloud/berth/compute/servers"
	"github.com/berthcloud/berth/fault"
	"github.com/berthcloud/berth/guarantee"
	"github.com/berthcloud/berth/internal/racetest"
	"github.com/berthcloud/berth/internal/sweep"
	"github.com/berthcloud/berth/network"
	"github.com/berthcloud/berth/network/ports"
)

// moves is a server with guaranteed ports, and what its moves are looked at by.
type moves struct {
	*fixture
	vm     compute.ID
	source string
}

// newMoves boots a server with two guaranteed ports on one of two hosts.
func newMoves(t *testing.T) *moves {
	t.Helper()
	w := newFixture(t, 10000, "cn1", "cn2")
	m := &moves{fixture: w, vm: w.boot("vm", w.port(1000), w.port(2000))}
	w.work(w.cloudService, nil)
	m.source = must(w.Server(ctx, m.vm)).Host
	return m
}

// is checks the state of the server, whether it is on another host than at first, the status of its
// last migration, and how much of the bandwidth of all hosts is allocated.
func (m *moves) is(what, state string, moved bool, status string, bandwidth int64) {
	m.Helper()
	m.agrees(what)
	one := must(m.Server(ctx, m.vm))
	if one.State != state || (one.Host != m.source) != moved || m.lastMigration().Status != status {
		m.Errorf("%s: the server is %s on %s, which it began on %s, and its migration is %s; want %s, moved %v, %s: %s",
			what, one.State, one.Host, m.source, m.lastMigration().Status, state, moved, status, m.why(m.vm))
	}
	if used := m.used()[egress]; used != bandwidth {
		m.Errorf("%s: %d kbit/s are allocated, want %d", what, used, bandwidth)
	}
}

// TestResize follows a server with guaranteed ports through its resize, with what is allocated on
// both hosts until it is confirmed or reverted.
func TestResize(t *testing.T) {
	m := newMoves(t)
	resize := func(to compute.ID) {
		t.Helper()
		m.must(m.ResizeServer(ctx, ann, m.vm, servers.Resizing{Flavor: to}))
		m.work(m.cloudService, nil)
	}
	resize("m2")
	m.is("a resize", compute.Resized, true, "finished", 6000)
	m.must(m.RevertResize(ctx, ann, m.vm))
	m.work(m.cloudService, nil)
	m.is("a revert", compute.Active, false, "reverted", 3000)
	if flavor := must(m.Server(ctx, m.vm)).FlavorID; flavor != "m1" {
		t.Errorf("the flavor is %s after a revert", flavor)
	}
	resize("m2")
	m.must(m.ConfirmResize(ctx, ann, m.vm))
	m.work(m.cloudService, nil)
	m.is("a confirmation", compute.Active, true, "confirmed", 3000)
	m.must(m.StopServer(ctx, ann, m.vm))
	m.work(m.cloudService, nil)
	resize("m1")
	m.is("a resize of a stopped server, to where it was at first", compute.Resized, false, "finished", 6000)
	m.must(m.RevertResize(ctx, ann, m.vm))
	m.work(m.cloudService, nil)
	m.is("its revert", compute.Stopped, true, "reverted", 3000)
	m.must(m.MigrateServer(ctx, root, m.vm, m.source))
	m.work(m.cloudService, nil)
	m.is("a cold migration to a host", compute.Resized, false, "finished", 6000)
	m.must(m.DeleteServer(ctx, ann, m.vm))
	m.work(m.cloudService, nil)
	m.agrees("a deletion before the confirmation")
	if used := m.used(); used[egress] != 0 || used["VCPU"] != 0 {
		t.Errorf("%v is allocated after the deletion", used)
	}
}

// A flavor with NUMA cells that cannot be is refused before anything changes.
func TestResizeToImpossibleCells(t *testing.T) {
	m := newMoves(t)
	odd := computetest.Flavor("odd", 3, 256, 2)
	odd.Specs = map[string]string{"hw:numa_nodes": "2"}
	m.add(odd)
	err := m.ResizeServer(ctx, ann, m.vm, servers.Resizing{Flavor: "odd"})
	m.refusedWith(err, fault.Invalid, "")
	if err == nil || !strings.Contains(err.Error(), "cannot be evenly distributed across instance NUMA nodes") {
		t.Errorf("a resize to three CPUs in two cells: %v", err)
	}
	m.agrees("a refused resize")
}

// A resized server may stay on its host where the settings allow it, and is built there with each
// of its flavors.
func TestResizeOnItsHost(t *testing.T) {
	w := newFixture(t, 10000, "cn1")
	s := w.serve(w.store, func(s *compute.Settings) { s.ResizeOnHost = true })
	vm := w.boot("vm", w.port(1000))
	w.work(s, nil)
	w.must(s.ResizeServer(ctx, ann, vm, servers.Resizing{Flavor: "m2"}))
	w.work(s, nil)
	if one := must(s.Server(ctx, vm)); one.State != compute.Resized || one.Host != "cn1" || w.used()["VCPU"] != 3 {
		t.Fatalf("the server is %s on %s, %v is used: %s", one.State, one.Host, w.used(), w.why(vm))
	}
	w.must(s.RevertResize(ctx, ann, vm))
	w.work(s, nil)
	w.agrees("a revert on the same host")
	w.must(s.ResizeServer(ctx, ann, vm, servers.Resizing{Flavor: "m2"}))
	w.work(s, nil)
	w.must(s.ConfirmResize(ctx, ann, vm))
	w.work(s, nil)
	w.agrees("a confirmation on the same host")
	if used := w.used(); used["VCPU"] != 2 || used[egress] != 1000 {
		t.Errorf("%v is used", used)
	}
}

// Resizes are confirmed by themselves when the window has passed, and not before.
func TestResizesConfirmThemselves(t *testing.T) {
	m := newMoves(t)
	s := m.serve(m.store, func(s *compute.Settings) { s.ConfirmWindow = time.Hour })
	m.must(s.ResizeServer(ctx, ann, m.vm, servers.Resizing{Flavor: "m2"}))
	m.work(s, nil)
	m.later(59 * time.Minute)
	m.report()
	m.must(s.ConfirmOld(ctx))
	m.work(s, nil)
	m.is("before the window has passed", compute.Resized, true, "finished", 6000)
	m.later(time.Minute)
	m.report()
	m.must(s.ConfirmOld(ctx))
	m.work(s, nil)
	m.is("when it has", compute.Active, true, "confirmed", 3000)
}

// A port that is deleted while its server can be reverted leaves nothing allocated, and the server
// comes back without it.
func TestPortsDeletedWhileResized(t *testing.T) {
	m := newMoves(t)
	m.must(m.ResizeServer(ctx, ann, m.vm, servers.Resizing{Flavor: "m2"}))
	m.work(m.cloudService, nil)
	m.must(m.network.DeletePort(ctx, m.last))
	if _, err := m.Receive(ctx, []servers.ExternalEvent{{
		Name: "network-vif-deleted", Server: m.vm, Tag: string(m.last),
	}}); err != nil {
		t.Fatal(err)
	}
	m.must(m.RevertResize(ctx, ann, m.vm))
	m.work(m.cloudService, nil)
	m.is("a revert without the deleted port", compute.Active, false, "reverted", 1000)
}

// A port gets a smaller policy while its server moves, before whichever request: the server and its
// migration have what the flavor and the ports request, on the hosts of each, whether the move
// succeeds or is undone. A sample has every fourth request.
func TestPortsThatShrinkWhileServersMove(t *testing.T) {
	first, step := sweep.Every(t, 4)
	for _, name := range []string{
		"Resize", "ResizeReverted", "ResizeDestinationFails", "Live", "LiveDestinationFails", "Evacuate", "Unshelve",
	} {
		for _, to := range []string{"placement", "network"} {
			if racetest.Few() && (name != "Resize" || to == "placement") {
				continue
			}
			t.Run(name+"/"+to, func(t *testing.T) {
				t.Parallel()
				w := newFixture(t, 10000, "cn1", "cn2")
				policy := w.policy(500)
				path := map[string]*breakable{"placement": w.paths.placement, "network": w.paths.network}[to]
				for at, met := 1+first, true; met && !t.Failed(); at += step {
					w.prepare(scenarios[name])
					path.happens(at, func() { w.shrink(policy) })
					w.during(scenarios[name], w.cloudService)
					met = path.heals()
					what := fmt.Sprintf("the port changed before request %d", at)
					w.afterwards(what)
					if one := must(w.Server(ctx, w.only())); one.State == compute.Resized {
						w.must(w.RevertResize(ctx, ann, one.ID))
						w.afterwards(what + ", and the server is back")
					}
					if got := w.state(w.only()); got != compute.Active && got != compute.ShelvedOffloaded {
						t.Errorf("%s: the server is %s: %s", what, got, w.why(w.only()))
					}
				}
			})
		}
	}
}

// A port that is given more while its server waits to be confirmed may request what the former host
// does not have any more. The server that goes back is in error then, and has what its other ports
// request. The port can be detached, and attached again once there is room or when it gets its
// former policy.
func TestPortsThatGrowWhileServersWait(t *testing.T) {
	for _, way := range []string{"room", "detach", "former policy"} {
		t.Run(way, func(t *testing.T) {
			t.Parallel()
			m := newMoves(t)
			grown := must(m.Server(ctx, m.vm)).Ports[0].Port
			set := func(rate int64) {
				t.Helper()
				policy := m.policy(rate)
				_, err := m.network.UpdatePort(ctx, network.ID(grown), func(s *ports.Spec) error {
					s.Policy = policy
					return nil
				})
				m.must(err)
			}
			m.must(m.ResizeServer(ctx, ann, m.vm, servers.Resizing{Flavor: "m2"}))
			m.work(m.cloudService, nil)
			other := m.boot("other", m.port(6500)) // on the former host, of which 500 kbit/s are left
			m.work(m.cloudService, nil)
			if one := must(m.Server(ctx, other)); one.Host != m.source {
				t.Fatalf("the other server is on %q: %s", one.Host, m.why(other))
			}
			set(3000)
			m.must(m.RevertResize(ctx, ann, m.vm))
			m.work(m.cloudService, nil)
			one := must(m.Server(ctx, m.vm))
			if one.State != compute.Error || one.Host != m.source || m.lastMigration().Status != "reverted" ||
				!strings.Contains(string(one.Fault), string(grown)) {
				t.Fatalf("the server is %s on %s: %s", one.State, one.Host, one.Fault)
			}
			if used := m.used()[egress]; used != 2000+6500 {
				t.Errorf("%d kbit/s are allocated", used)
			}
			m.must(m.ResetState(ctx, root, m.vm, compute.Active))
			switch way {
			case "room":
				m.must(m.DeleteServer(ctx, ann, other))
				m.work(m.cloudService, nil)
			case "detach":
				m.must(m.Detach(ctx, ann, m.vm, grown))
				m.work(m.cloudService, nil)
			case "former policy":
				set(1000)
			}
			if way != "detach" {
				m.must(m.Detach(ctx, ann, m.vm, grown))
				m.work(m.cloudService, nil)
				_, err := m.attach(m.cloudService, m.vm, compute.NetworkSpec{Port: grown}, nil)
				m.must(err)
				m.work(m.cloudService, nil)
			}
			m.agrees(way)
		})
	}
}

// Whatever request is not answered while such a server goes back: it has what its other ports
// request, and keeps that when the port is detached. A sample has an eighth of the requests.
func TestGrownPortsSurviveTheWire(t *testing.T) {
	first, step := sweep.Every(t, 8)
	for _, to := range []string{"placement", "network"} {
		if racetest.Few() && to == "network" {
			continue
		}
		t.Run(to, func(t *testing.T) {
			t.Parallel()
			for at, met := 1+first, true; met && !t.Failed(); at += step {
				m := newMoves(t)
				grown, policy := must(m.Server(ctx, m.vm)).Ports[0].Port, m.policy(3000)
				m.must(m.ResizeServer(ctx, ann, m.vm, servers.Resizing{Flavor: "m2"}))
				m.work(m.cloudService, nil)
				m.boot("other", m.port(6500))
				m.work(m.cloudService, nil)
				_, err := m.network.UpdatePort(ctx, network.ID(grown), func(s *ports.Spec) error {
					s.Policy = policy
					return nil
				})
				m.must(err)
				path := map[string]*breakable{"placement": m.paths.placement, "network": m.paths.network}[to]
				path.breaks(at, false, true)
				m.during(scenario{do: func(w *fixture, s *cloudService) error { return s.RevertResize(ctx, ann, m.vm) }},
					m.cloudService)
				met = path.heals()
				m.later(5 * time.Minute)
				m.report()
				m.work(m.cloudService, nil)
				if one := must(m.Server(ctx, m.vm)); one.State != compute.Error || one.Host != m.source ||
					m.used()[egress] != 2000+6500 {
					t.Errorf("request %d: the server is %s on %s, and %d kbit/s are allocated", at, one.State, one.Host,
						m.used()[egress])
				}
				m.must(m.ResetState(ctx, root, m.vm, compute.Active))
				m.must(m.Detach(ctx, ann, m.vm, grown))
				m.work(m.cloudService, nil)
				m.agrees(fmt.Sprintf("request %d to %s broke", at, to))
			}
		})
	}
}

// shrink gives all ports with a policy another one, unless that is refused while they move.
func (w *fixture) shrink(policy network.ID) {
	w.Helper()
	for _, p := range must(w.network.Ports(ctx)) {
		if p.Policy == "" {
			continue
		}
		_, err := w.network.UpdatePort(ctx, p.ID, func(s *ports.Spec) error {
			s.Policy = policy
			return nil
		})
		if kind, _ := fault.Of(err); err != nil && kind != fault.Conflict {
			w.Error(err)
		}
	}
}

// A live migration leaves the server's ports on the new host, and nothing on the old one. One that
// fails, wherever, or that is aborted leaves all as it was.
func TestLiveMigration(t *testing.T) {
	m := newMoves(t)
	m.must(m.LiveMigrateServer(ctx, root, m.vm, servers.LiveMigration{}))
	m.work(m.cloudService, nil)
	m.is("a live migration", compute.Active, true, "completed", 3000)
	for refused := 1; ; refused++ {
		n, from := 0, must(m.Server(ctx, m.vm)).Host
		m.must(m.LiveMigrateServer(ctx, root, m.vm, servers.LiveMigration{Host: m.source}))
		m.work(m.cloudService, func(host string, want fleet.Wanted) *fleet.Result {
			if n++; n == refused && !want.Deleted {
				return &fleet.Result{Error: "it cannot"}
			}
			return nil
		})
		if m.lastMigration().Status == "completed" {
			break // all that can be refused was
		}
		m.is("a host that cannot", compute.Active, from != m.source, "error", 3000)
	}
	m.is("a live migration to a host", compute.Active, false, "completed", 3000)
	m.must(m.LiveMigrateServer(ctx, root, m.vm, servers.LiveMigration{}))
	must(m.Recover(ctx)) // the destination gets its command
	for _, p := range must(m.network.Ports(ctx)) {
		var profile struct {
			Destination string `json:"migrating_to"`
		}
		m.must(json.Unmarshal(p.Binding.Profile, &profile))
		if profile.Destination != m.lastMigration().Dest || p.Status != network.PortDown || p.Binding.VIF != "ovs" ||
			len(p.Inactive) != 1 {
			t.Errorf("a port that moves to %s is %s, %s with %s", m.lastMigration().Dest, p.Status, p.Binding.VIF,
				p.Binding.Profile)
		}
	}
	m.must(m.AbortLiveMigration(ctx, root, m.vm, m.lastMigration().Number, true))
	m.work(m.cloudService, nil)
	m.is("an abortion", compute.Active, false, "cancelled", 3000)
}

// A live migration can be aborted until its source has stopped the server: then it is cancelled.
// After that, and while it is undone because it has failed, that is refused, and the migration ends
// as it does without.
func TestAbortAtEachStep(t *testing.T) {
	for _, fails := range []bool{false, true} {
		accepted, refused := 0, 0
		for rounds := 0; ; rounds++ {
			m := newMoves(t)
			to := "" // another host could follow, so that an abortion is accepted when one has refused
			if fails {
				to = map[string]string{"cn1": "cn2", "cn2": "cn1"}[m.source]
			}
			cannot := func(_ string, want fleet.Wanted) *fleet.Result {
				if fails && !want.Deleted {
					return &fleet.Result{Error: "it cannot"}
				}
				return nil
			}
			m.must(m.LiveMigrateServer(ctx, root, m.vm, servers.LiveMigration{Host: to}))
			for range rounds / 2 {
				must(m.Recover(ctx))
				m.hostsWork(m.cloudService, cannot)
			}
			if rounds%2 == 1 {
				must(m.Recover(ctx))
			}
			if len(computetest.Read[compute.OperationRow](m, m.store)) == 0 {
				break // it is over
			}
			want := "cancelled"
			if err := m.AbortLiveMigration(ctx, root, m.vm, m.lastMigration().Number, true); err != nil {
				m.refusedWith(err, fault.Invalid, "InvalidMigrationState")
				if want = "completed"; fails {
					want = "error"
				}
				refused++
			} else {
				accepted++
			}
			m.work(m.cloudService, cannot)
			m.is(fmt.Sprintf("an abortion after %d rounds", rounds), compute.Active, want == "completed", want, 3000)
		}
		if accepted == 0 || refused == 0 {
			t.Errorf("a migration that fails %v: %d abortions were accepted, %d refused", fails, accepted, refused)
		}
	}
}

// A server of an affinity group moves to a host with another one of its servers only, and there
// also when more of them stay where it was.
func TestMovesOfServersThatAreTogether(t *testing.T) {
	w := newFixture(t, 2500, "cn1", "cn2", "cn3")
	g := must(w.CreateGroup(ctx,
		compute.GroupRow{Project: computetest.Project, User: computetest.User, Policy: "affinity"}))
	var ids []compute.ID
	for _, host := range []string{"cn1", "cn1", "cn2"} {
		made := must(w.CreateServers(ctx, ann, servers.ServerSpec{
			Name: "vm", Flavor: "m1", Image: cirros, ForcedHost: host, Hints: fmt.Appendf(nil, `{"group": %q}`, g.ID),
		}))
		w.workAtOnce()
		ids = append(ids, made[0].ID)
	}
	w.must(w.MigrateServer(ctx, root, ids[0], "cn3"))
	w.workAtOnce()
	if one := must(w.Server(ctx, ids[0])); one.Host != "cn1" || one.State != compute.Active {
		t.Errorf("after a move away from the group the server is %s on %s", one.State, one.Host)
	}
	w.must(w.MigrateServer(ctx, root, ids[0], ""))
	w.workAtOnce()
	if one := must(w.Server(ctx, ids[0])); one.Host != "cn2" || one.State != compute.Resized {
		t.Errorf("after a move within the group the server is %s on %s", one.State, one.Host)
	}
	w.agrees("moves of servers that are together")
}

// A move is undone when the network service is there again that has refused connections: its
// absence is no reason to leave the server in error, and its ports on a host that it is not on. A
// sample has every fourth request.
func TestUndoneMovesWaitForTheNetwork(t *testing.T) {
	first, step := sweep.Every(t, 4)
	for status, undone := range map[string]func(m *moves, refuse func()) scenario{
		"reverted": func(m *moves, refuse func()) scenario {
			m.must(m.ResizeServer(ctx, ann, m.vm, servers.Resizing{Flavor: "m2"}))
			m.work(m.cloudService, nil)
			return scenario{do: func(_ *fixture, s *cloudService) error {
				refuse()
				return s.RevertResize(ctx, ann, m.vm)
			}}
		},
		"error": func(m *moves, refuse func()) scenario {
			return scenario{
				do: func(_ *fixture, s *cloudService) error {
					return s.LiveMigrateServer(ctx, root, m.vm, servers.LiveMigration{})
				},
				fails: func(*fixture) func(string, fleet.Wanted) *fleet.Result {
					return func(host string, want fleet.Wanted) *fleet.Result {
						if host == m.source || !want.Running {
							return nil
						}
						refuse()
						return &fleet.Result{Error: "it cannot run"}
					}
				},
			}
		},
	} {
		for at, met := 1+first, true; met && !t.Failed(); at += step {
			m := newMoves(t)
			end := func() bool { return false }
			m.during(undone(m, func() { end = m.paths.network.refuses(at) }), m.cloudService)
			met = end()
			m.afterwards(status)
			m.is(fmt.Sprintf("%s, with refused connections after request %d", status, at), compute.Active, false, status, 3000)
		}
	}
}

// An evacuated server has its ports on the new host. The source destroys what it has of it when it
// is back, and what was allocated there is released then.
func TestEvacuation(t *testing.T) {
	m := newMoves(t)
	if err := m.EvacuateServer(ctx, root, m.vm, servers.Evacuation{}); err == nil {
		t.Error("a server is evacuated from a host that is up")
	}
	m.must(m.evacuateOn(m.cloudService))
	m.work(m.cloudService, nil)
	one := must(m.Server(ctx, m.vm))
	if one.State != compute.Active || one.Host == m.source || m.lastMigration().Status != "done" ||
		m.used()[egress] != 6000 {
		t.Fatalf("the server is %s on %s, its migration %s, %v is used: %s", one.State, one.Host, m.lastMigration().Status,
			m.used(), m.why(m.vm))
	}
	m.report()
	m.work(m.cloudService, nil)
	m.is("the source is back", compute.Active, true, "completed", 3000)
	if rows := computetest.Read[compute.HostedRow](t, m.store); len(rows) != 1 || rows[0].Host != one.Host {
		t.Errorf("hosts are to have %+v", rows)
	}
}

// A server that is to be stopped when it is evacuated never runs on its new host, and can be
// started there. One that was in error runs.
func TestEvacuationStops(t *testing.T) {
	m := newMoves(t)
	m.must(m.evacuateAs(m.cloudService, servers.Evacuation{Stop: true}))
	m.work(m.cloudService, func(host string, want fleet.Wanted) *fleet.Result {
		if host != m.source && !want.Deleted && want.Running {
			t.Error("a host was to run the server")
		}
		return nil
	})
	if one := must(m.Server(ctx, m.vm)); one.State != compute.Stopped || one.Power != compute.ShutDown ||
		one.Host == m.source {
		t.Fatalf("the server is %s, %d, on %s: %s", one.State, one.Power, one.Host, m.why(m.vm))
	}
	m.report()
	m.work(m.cloudService, nil)
	m.is("the source is back", compute.Stopped, true, "completed", 3000)
	m.must(m.StartServer(ctx, root, m.vm))
	m.work(m.cloudService, nil)
	m.is("it was started", compute.Active, true, "completed", 3000)

	broken := newMoves(t)
	broken.must(broken.ResetState(ctx, root, broken.vm, compute.Error))
	broken.must(broken.evacuateAs(broken.cloudService, servers.Evacuation{Stop: true}))
	broken.work(broken.cloudService, nil)
	if one := must(broken.Server(ctx, broken.vm)); one.State != compute.Active || one.Power != compute.Running {
		t.Errorf("the server that was in error is %s, %d", one.State, one.Power)
	}
}

// The service of a host that does not come back can be deleted once its servers are evacuated: what
// they had there is released.
func TestDeadHostsAreDeleted(t *testing.T) {
	m := newMoves(t)
	m.must(m.evacuateOn(m.cloudService))
	m.work(m.cloudService, nil)
	for _, h := range must(m.Services(ctx)) {
		if h.Host == m.source {
			m.must(m.DeleteService(ctx, h.ID))
		}
	}
	if used := m.used(); used[egress] != 3000 || used["VCPU"] != 1 || m.lastMigration().Status != "completed" {
		t.Errorf("%v is used, and the migration is %s", used, m.lastMigration().Status)
	}
}

// A move without a valid host says what the other hosts lack, not only that the server is to leave
// its own.
func TestMovesSayWhatIsMissing(t *testing.T) {
	w := newFixture(t, 4500, "cn1", "cn2")
	vm := w.boot("vm", w.port(2000))
	w.work(w.cloudService, nil)
	port := w.last
	w.boot("other", w.port(3000))
	w.work(w.cloudService, nil)
	w.must(w.MigrateServer(ctx, root, vm, ""))
	w.work(w.cloudService, nil)
	w.agrees("a move without a valid host")
	source := must(w.Server(ctx, vm)).Host
	for _, want := range []string{
		"No valid host was found. There are not enough hosts available.", "host " + source + ": the server is to leave it",
		"other hosts: port " + string(port) + ", group ", ": no host remains; ",
		"1 host (1 provider) dropped: no free capacity for NET_BW_EGR_KILOBIT_PER_SEC:2000",
	} {
		if why := w.why(vm); !strings.Contains(why, want) {
			t.Errorf("the move says %q, want %q", why, want)
		}
	}
}

// A move whose ports cannot be bound to the destination, or not changed to it, says so in an event
// there, also when no host got a command.
func TestMovesSayWhyPortsAreNotBound(t *testing.T) {
	liveMove := func(m *moves) error { return m.LiveMigrateServer(ctx, root, m.vm, servers.LiveMigration{}) }
	evacuation := func(m *moves) error { return m.evacuateOn(m.cloudService) }
	for name, tc := range map[string]struct {
		do     func(*moves) error
		method string
		path   string // the end of the refused request's
		event  string
	}{
		"Resize": {
			func(m *moves) error { return m.ResizeServer(ctx, ann, m.vm, servers.Resizing{Flavor: "m2"}) },
			http.MethodPut, "", "compute_finish_resize",
		},
		"LiveBound":         {liveMove, http.MethodPost, "/bindings", "compute_pre_live_migration"},
		"LiveActivated":     {liveMove, http.MethodPut, "/activate", "compute_post_live_migration_at_destination"},
		"EvacuateBound":     {evacuation, http.MethodPost, "/bindings", "compute_rebuild_instance"},
		"EvacuateActivated": {evacuation, http.MethodPut, "/activate", "compute_rebuild_instance"},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			m := newMoves(t)
			handler, refused := m.paths.network.handler, false
			m.paths.network.handler = http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
				if r.Method != tc.method || !strings.HasSuffix(r.URL.Path, tc.path) || refused {
					handler.ServeHTTP(w, r)
					return
				}
				refused = true
				w.Header().Set("Content-Type", "application/json")
				w.WriteHeader(http.StatusBadRequest)
				_, _ = w.Write([]byte(`{"NeutronError": {"type": "InvalidInput", "message": "it cannot be bound", "detail": ""}}`))
			})
			m.must(tc.do(m))
			m.work(m.cloudService, nil)
			m.afterwards("a refusal")
			if one := must(m.Server(ctx, m.vm)); !refused || one.State != compute.Active || one.Host != m.source {
				t.Fatalf("%v, the server is %s on %s", refused, one.State, one.Host)
			}
			last := must(m.Actions(ctx, m.vm))[0]
			why := ""
			for _, e := range computetest.Read[compute.EventRow](t, m.store, compute.Where(compute.ByAction, last.ID)) {
				if e.Result == "Error" {
					why += e.Event + " on " + e.Host + ": " + e.Details
				}
			}
			if want := tc.event + " on " + m.lastMigration().Dest + ": "; !strings.Contains(why, want) ||
				!strings.Contains(why, "it cannot be bound") || last.Message != "Error" {
				t.Errorf("the action says %q, and %q; want %q", last.Message, why, want)
			}
		})
	}
}

// A device of a port that moves is one of the interface whose bandwidth the port has on its new
// host. That on the former host is nobody else's while the server may come back, and its port's
// again when it does.
func TestMovesOfDevices(t *testing.T) {
	w := newFixture(t, 2500, "cn1", "cn2")
	w.nics("cn1", "2000")
	w.nics("cn2", "2000")
	vm := w.boot("vm", w.port(1500, "direct"), w.port(1000))
	w.work(w.cloudService, nil)
	at := func(what string) (host, slot string) {
		t.Helper()
		one := must(w.Server(ctx, vm))
		p := one.Ports[0].Shown
		parents := map[string]string{"0000:01:00.1": "ens1", "0000:02:00.1": "ens2", "0000:02:00.2": "ens2"}
		nic := guarantee.Name{Driver: guarantee.SRIOV, Hypervisor: one.Host, Device: parents[p.Slot]}
		if got := p.Allocation.Providers(); p.Host != one.Host || len(got) != 1 || got[0] != nic.UUID() {
			t.Errorf("%s: the port is %q on %q, of %v; its server is on %q: %s", what, p.Slot, p.Host, got, one.Host, w.why(vm))
		}
		w.agrees(what)
		return one.Host, p.Slot
	}
	source, slot := at("a boot")
	w.must(w.ResizeServer(ctx, ann, vm, servers.Resizing{Flavor: "m2"}))
	w.work(w.cloudService, nil)
	if host, _ := at("a resize"); host == source {
		t.Fatalf("the server is still on %s: %s", host, w.why(vm))
	}
	var others []compute.ID // the bandwidth of one NIC of each host is left
	for _, state := range []string{compute.Active, compute.Active, compute.Error} {
		other := w.boot("other", w.port(1500, "direct"))
		w.work(w.cloudService, nil)
		if got := w.state(other); got != state {
			t.Errorf("another server is %s, want %s: %s", got, state, w.why(other))
		}
		others = append(others, other)
	}
	w.must(w.RevertResize(ctx, ann, vm))
	w.work(w.cloudService, nil)
	if host, back := at("a revert"); host != source || back != slot {
		t.Errorf("the port is %s on %s, and was %s on %s", back, host, slot, source)
	}
	for _, other := range others {
		w.must(w.DeleteServer(ctx, ann, other))
	}
	w.work(w.cloudService, nil)
	w.must(w.LiveMigrateServer(ctx, root, vm, servers.LiveMigration{}))
	w.work(w.cloudService, nil)
	if host, _ := at("a live migration"); host == source {
		t.Errorf("the server is still on %s: %s", host, w.why(vm))
	}
}
