package servers_test

import (
	"fmt"
	"strings"
	"testing"

	"github.com/berthcloud/berth/compute"
	"github.com/berthcloud/berth/compute/computetest"
	"github.com/berthcloud/berth/compute/fleet"
	"github.com/berthcloud/berth/compute/servers"
	"github.com/berthcloud/berth/internal/racetest"
	"github.com/berthcloud/berth/internal/sweep"
	"github.com/berthcloud/berth/placement"
	"github.com/berthcloud/berth/placement/providertree"
	"github.com/berthcloud/berth/placement/providertree/providertreetest"
)

// storage has hosts share the disk of a provider of its own, instead of having their own.
func (w *fixture) storage(name string, total int64, hosts ...string) {
	w.Helper()
	id, aggregate := computetest.ID(name), computetest.ID("hosts of "+name)
	w.must(providertreetest.Set(ctx, w.places, providertree.Provider{
		ID: placement.UUID(id), Name: name, Traits: []string{placement.SharesViaAggregate, "CUSTOM_FAST"},
		Inventories: map[string]placement.Inventory{"DISK_GB": providertreetest.Offer(total)},
	}))
	w.must(w.mirrors.Group(ctx, id, aggregate, true))
	for _, h := range hosts {
		_, node := computetest.Host(h, 0)
		w.must(providertreetest.Set(ctx, w.places, providertree.Provider{
			ID: placement.UUID(node.ID), Name: h, Inventories: map[string]placement.Inventory{
				"VCPU": providertreetest.Offer(100), "MEMORY_MB": providertreetest.Offer(100000),
			},
		}))
		w.must(w.mirrors.Group(ctx, node.ID, aggregate, true))
		w.storages[h] = string(id)
	}
}

// newStored boots a server with a guaranteed port on one of two hosts that share a storage of so
// many GB.
func newStored(t *testing.T, total int64, flavor compute.ID) *moves {
	t.Helper()
	w := newFixture(t, 10000, "cn1", "cn2")
	w.storage("nfs", total, "cn1", "cn2")
	made := must(w.CreateServers(ctx, ann, servers.ServerSpec{
		Name: "vm", Flavor: flavor, Image: cirros, PortsMayRequest: true,
		Networks: []compute.NetworkSpec{{Port: w.port(1000)}},
	}))
	w.work(w.cloudService, nil)
	m := &moves{fixture: w, vm: made[0].ID}
	m.source = must(w.Server(ctx, m.vm)).Host
	if state := w.state(m.vm); state != compute.Active {
		t.Fatalf("the server is %s: %s", state, w.why(m.vm))
	}
	return m
}

// stored checks how many GB of the storage the server and its migration have.
func (m *moves) stored(what string, server, migration int64) {
	m.Helper()
	for id, want := range map[compute.ID]int64{m.vm: server, m.lastMigration().ID: migration} {
		allocated, err := m.places.Allocations(ctx, string(id))
		m.must(err)
		if got := allocated.Amounts[string(computetest.ID("nfs"))]["DISK_GB"]; got != want {
			m.Errorf("%s: %s has %d GB of the storage, want %d", what, id, got, want)
		}
	}
}

// What a server has of a storage that both hosts share is not claimed again when it moves: all of
// it may be the server's. It is the server's all the time, and so it is when the server comes back.
func TestMovesOnSharedStorage(t *testing.T) {
	t.Run("cold", func(t *testing.T) {
		t.Parallel()
		for _, end := range []string{"reverted", "confirmed"} {
			m := newStored(t, 1, "m1")
			m.must(m.MigrateServer(ctx, root, m.vm, ""))
			m.work(m.cloudService, nil)
			m.is("a cold migration", compute.Resized, true, "finished", 2000)
			m.stored("a cold migration", 1, 0)
			if end == "reverted" {
				m.must(m.RevertResize(ctx, ann, m.vm))
			} else {
				m.must(m.ConfirmResize(ctx, ann, m.vm))
			}
			m.work(m.cloudService, nil)
			m.is(end, compute.Active, end == "confirmed", end, 1000)
			m.stored(end, 1, 0)
		}
	})
	t.Run("to a host", func(t *testing.T) {
		t.Parallel()
		m := newStored(t, 1, "m1")
		other := map[string]string{"cn1": "cn2", "cn2": "cn1"}[m.source]
		m.must(m.MigrateServer(ctx, root, m.vm, other))
		m.work(m.cloudService, nil)
		m.is("a cold migration to a host", compute.Resized, true, "finished", 2000)
		m.must(m.DeleteServer(ctx, ann, m.vm))
		m.work(m.cloudService, nil)
		m.agrees("a deletion before the confirmation")
		if used := m.used(); used["DISK_GB"] != 0 {
			t.Errorf("%v is allocated after the deletion", used)
		}
	})
	t.Run("live", func(t *testing.T) {
		t.Parallel()
		m := newStored(t, 1, "m1")
		m.must(m.liveOn(m.cloudService))
		m.work(m.cloudService, func(host string, want fleet.Wanted) *fleet.Result {
			if host == m.source || want.Deleted || !want.Running {
				return nil
			}
			return &fleet.Result{Error: "it cannot run"}
		})
		m.stored("a live migration that failed", 1, 0)
		m = newStored(t, 1, "m1")
		m.must(m.liveOn(m.cloudService))
		must(m.Recover(ctx))
		m.stored("during a live migration", 1, 0)
		m.must(m.AbortLiveMigration(ctx, root, m.vm, m.lastMigration().Number, true))
		m.work(m.cloudService, nil)
		m.is("an abort", compute.Active, false, "cancelled", 1000)
		m.must(m.liveOn(m.cloudService))
		m.work(m.cloudService, nil)
		m.is("a live migration", compute.Active, true, "completed", 1000)
		m.stored("a live migration", 1, 0)
	})
	t.Run("evacuation", func(t *testing.T) {
		t.Parallel()
		m := newStored(t, 1, "m1")
		m.must(m.evacuateOn(m.cloudService))
		m.work(m.cloudService, nil)
		m.stored("an evacuation", 1, 0)
		if used := m.used(); used["VCPU"] != 2 || must(m.Server(ctx, m.vm)).Host == m.source {
			t.Errorf("%v is used: %s", used, m.why(m.vm))
		}
		m.report()
		m.work(m.cloudService, nil)
		m.is("the source is back", compute.Active, true, "completed", 1000)
		m.stored("the source is back", 1, 0)
	})
	t.Run("resize", func(t *testing.T) {
		t.Parallel()
		for _, tc := range []struct {
			from, to         compute.ID
			server, rest, at int64 // GB of the server and its migration, and after the confirmation
		}{{"m1", "m2", 2, 0, 2}, {"m2", "m1", 1, 1, 1}} {
			for _, end := range []string{"reverted", "confirmed"} {
				what := fmt.Sprintf("a resize to %s that is %s", tc.to, end)
				m := newStored(t, 2, tc.from)
				before := sizeOf(tc.from)["DISK_GB"]
				m.must(m.ResizeServer(ctx, ann, m.vm, servers.Resizing{Flavor: tc.to}))
				m.work(m.cloudService, nil)
				m.is(what, compute.Resized, true, "finished", 2000)
				m.stored(what, tc.server, tc.rest)
				if end == "reverted" {
					m.must(m.RevertResize(ctx, ann, m.vm))
				} else {
					m.must(m.ConfirmResize(ctx, ann, m.vm))
					before = tc.at
				}
				m.work(m.cloudService, nil)
				m.is(what, compute.Active, end == "confirmed", end, 1000)
				m.stored(what, before, 0)
			}
		}
	})
	t.Run("on its host", func(t *testing.T) {
		t.Parallel()
		m := newStored(t, 2, "m1")
		s := m.serve(m.store, func(s *compute.Settings) { s.ResizeOnHost = true })
		other := map[string]string{"cn1": "cn2", "cn2": "cn1"}[m.source]
		for _, row := range must(m.Services(ctx)) {
			if row.Host == other {
				m.must(m.DeleteService(ctx, row.ID))
			}
		}
		m.must(s.ResizeServer(ctx, ann, m.vm, servers.Resizing{Flavor: "m2"}))
		m.work(s, nil)
		m.is("a resize", compute.Resized, false, "finished", 2000)
		m.stored("a resize", 2, 0)
		m.must(s.RevertResize(ctx, ann, m.vm))
		m.work(s, nil)
		m.is("its revert", compute.Active, false, "reverted", 1000)
		m.stored("its revert", 1, 0)
	})
}

// A larger flavor for which a storage has not enough is refused, and changes nothing.
func TestSharedStorageIsTooSmall(t *testing.T) {
	m := newStored(t, 1, "m1")
	m.must(m.ResizeServer(ctx, ann, m.vm, servers.Resizing{Flavor: "m2"}))
	m.work(m.cloudService, nil)
	m.is("a resize", compute.Active, false, "error", 1000)
	m.stored("a resize", 1, 0)
	if why := m.why(m.vm); !strings.Contains(why, "No valid host was found.") || !strings.Contains(why, "DISK_GB:2") {
		t.Errorf("the resize says %q", why)
	}
}

// A server moves to a host with another storage, or with a disk of its own, when no other will do:
// the former amount stays its migration's until the move is confirmed.
func TestMovesToAnotherStorage(t *testing.T) {
	for _, end := range []string{"reverted", "confirmed"} {
		w := newFixture(t, 10000, "cn1")
		w.storage("nfs", 1, "cn1")
		m := &moves{fixture: w, vm: w.boot("vm", w.port(1000)), source: "cn1"}
		w.work(w.cloudService, nil)
		w.host("cn2", 10000)
		if end == "reverted" {
			w.storage("ceph", 1, "cn2")
		}
		m.must(m.MigrateServer(ctx, root, m.vm, ""))
		m.work(m.cloudService, nil)
		m.is("a move to another storage", compute.Resized, true, "finished", 2000)
		m.stored("a move to another storage", 0, 1)
		if end == "reverted" {
			m.must(m.RevertResize(ctx, ann, m.vm))
		} else {
			m.must(m.ConfirmResize(ctx, ann, m.vm))
		}
		m.work(m.cloudService, nil)
		m.is(end, compute.Active, end == "confirmed", end, 1000)
		m.stored(end, map[string]int64{"reverted": 1, "confirmed": 0}[end], 0)
	}
}

// A host that shares the storage of the server is preferred to one with a disk of its own, which
// has more memory.
func TestSharedStorageIsPreferred(t *testing.T) {
	m := newStored(t, 100, "m1")
	m.host("cn3", 10000)
	for range 3 {
		m.must(m.MigrateServer(ctx, root, m.vm, ""))
		m.work(m.cloudService, nil)
		m.stored("a migration", 1, 0)
		if host := must(m.Server(ctx, m.vm)).Host; host == "cn3" {
			t.Errorf("the server is on %s", host)
		}
		m.must(m.ConfirmResize(ctx, ann, m.vm))
		m.work(m.cloudService, nil)
	}
}

// The trait that a flavor requires of the storage is that of the storage which the server keeps.
func TestTraitsOfSharedStorage(t *testing.T) {
	w := newFixture(t, 10000, "cn1", "cn2")
	w.storage("nfs", 1, "cn1", "cn2")
	fast := computetest.Flavor("fast", 1, 128, 1)
	fast.Specs = map[string]string{"trait:CUSTOM_FAST": "required"}
	w.add(fast)
	id, state := w.bootOf("fast")
	if state != compute.Active {
		t.Fatalf("the server is %s: %s", state, w.why(id))
	}
	m := &moves{fixture: w, vm: id, source: must(w.Server(ctx, id)).Host}
	m.must(m.MigrateServer(ctx, root, id, ""))
	m.work(m.cloudService, nil)
	m.is("a migration", compute.Resized, true, "finished", 0)
	m.stored("a migration", 1, 0)
}

// sharedMoves are the scenarios that are about moves.
var sharedMoves = []string{
	"Resize", "ResizeSourceFails", "ResizeDestinationFails", "ResizeConfirmed", "ResizeReverted", "DeleteResized",
	"DeleteWhileItMoves", "Live", "LiveDestinationFails", "LiveAborted", "DeleteWhileItMovesLive", "Evacuate",
	"EvacuateFails",
}

// storedFixture is a fixture whose hosts share a storage that has as much as the largest flavor
// requests: nothing of it can be claimed twice.
func storedFixture(t *testing.T) *fixture {
	t.Helper()
	w := newFixture(t, 10000, "cn1", "cn2")
	w.storage("nfs", 2, "cn1", "cn2")
	return w
}

// Whatever happens on the way to placement while a server moves, at whatever request, and wherever
// the process ends, the server has of the shared storage what its flavor requests, once. A sample
// has a sixth of the moves.
func TestSharedStorageSurvives(t *testing.T) {
	names := sweep.Sample(t, sharedMoves, 6)
	if racetest.Few() {
		names = []string{"ResizeReverted"}
	}
	for _, name := range names {
		s := scenarios[name]
		for _, how := range []string{"before", "after", "on"} {
			if racetest.Few() && how != "after" {
				continue
			}
			t.Run(name+"/"+how, func(t *testing.T) {
				t.Parallel()
				w := storedFixture(t)
				for at, met := 1, true; met && !t.Failed(); at++ {
					w.prepare(s)
					w.paths.placement.breaks(at, how == "on", how == "after")
					w.during(s, w.cloudService)
					met = w.paths.placement.heals()
					w.afterwards(fmt.Sprintf("request %d to placement broke", at))
				}
			})
		}
		t.Run(name+"/process", func(t *testing.T) {
			t.Parallel()
			w := storedFixture(t)
			first, step := sweep.Every(t, 4)
			if racetest.Few() {
				step = 4
			}
			for at, met := 1+first, true; met && !t.Failed(); at += step {
				w.prepare(s)
				store := &dying{Store: w.store, endAt: at}
				w.during(s, w.serve(store))
				met = store.updates >= at
				w.afterwards(fmt.Sprintf("the process ended at update %d", at))
			}
		})
	}
}

// A late request of an exchange does not give away what the server keeps.
func TestLateExchangesOfSharedStorage(t *testing.T) {
	for _, name := range []string{"Resize", "ResizeReverted"} {
		if racetest.Few() && name == "Resize" {
			continue
		}
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			w := storedFixture(t)
			for at, met := 1, true; met && !t.Failed(); at++ {
				w.prepare(scenarios[name])
				w.paths.placement.isLate(at)
				w.during(scenarios[name], w.cloudService)
				met = w.paths.placement.heals()
				w.afterwards(fmt.Sprintf("request %d was not answered", at))
				w.paths.placement.lands()
				w.afterwards(fmt.Sprintf("request %d came late", at))
			}
		})
	}
}
