package servers_test

import (
	"context"
	"errors"
	"fmt"
	"maps"
	"slices"
	"testing"
	"time"

	"github.com/berthcloud/berth/allocations"
	"github.com/berthcloud/berth/compute"
	"github.com/berthcloud/berth/compute/computetest"
	"github.com/berthcloud/berth/compute/fleet"
	"github.com/berthcloud/berth/compute/inventory"
	"github.com/berthcloud/berth/compute/request"
	"github.com/berthcloud/berth/compute/servers"
	"github.com/berthcloud/berth/guarantee"
	"github.com/berthcloud/berth/internal/racetest"
	"github.com/berthcloud/berth/internal/sweep"
)

// A dying store is a store whose process ends with one of its transactions.
type dying struct {
	compute.Store
	updates int
	endAt   int // the Update that does not take place, nor any after it
}

var errEnded = errors.New("the process has ended")

func (d *dying) Update(ctx context.Context, now time.Time, fn func(compute.Writer) error) error {
	d.updates++
	if d.updates >= d.endAt {
		return errEnded
	}
	return d.Store.Update(ctx, now, fn)
}

// A scenario is something that is done with servers.
type scenario struct {
	// begin makes what there has to be before.
	begin func(w *fixture)
	// do does it; what it returns is the user's answer.
	do func(w *fixture, s *cloudService) error
	// fails says which of the host's work does.
	fails func(w *fixture) func(string, fleet.Wanted) *fleet.Result
}

// scenarios are what is done while something breaks.
var scenarios = map[string]scenario{
	"Boot": {do: func(w *fixture, s *cloudService) error { return w.bootOn(s, 1, w.port(1000)) }},
	"Two":  {do: func(w *fixture, s *cloudService) error { return w.bootOn(s, 2) }},
	"Reschedule": {
		do: func(w *fixture, s *cloudService) error { return w.bootOn(s, 1, w.port(1000)) },
		fails: func(*fixture) func(string, fleet.Wanted) *fleet.Result {
			first := ""
			return func(host string, want fleet.Wanted) *fleet.Result {
				if first == "" {
					first = host
				}
				if host == first && !want.Deleted {
					return &fleet.Result{Error: "it cannot"}
				}
				return nil
			}
		},
	},
	"BootWithDevice": {
		begin: func(w *fixture) { w.withDevices() },
		do:    func(w *fixture, s *cloudService) error { return w.deviceOn(s) },
	},
	"DeleteWithDevice": {
		begin: func(w *fixture) { w.withDevice() },
		do:    func(w *fixture, s *cloudService) error { return s.DeleteServer(ctx, ann, w.only()) },
	},
	"ResizeWithDevice": {
		begin: func(w *fixture) { w.withDevice() },
		do: func(w *fixture, s *cloudService) error {
			return s.ResizeServer(ctx, ann, w.only(), servers.Resizing{Flavor: "other1"})
		},
	},
	"Delete": {
		begin: func(w *fixture) { w.must(w.bootOn(w.cloudService, 1, w.port(1000))) },
		do: func(w *fixture, s *cloudService) error {
			return s.DeleteServer(ctx, ann, w.only())
		},
	},
	"Attach": {
		begin: func(w *fixture) { w.must(w.bootOn(w.cloudService, 1)) },
		do: func(w *fixture, s *cloudService) error {
			_, err := w.attach(s, w.only(), compute.NetworkSpec{Port: w.port(1000)}, nil)
			return err
		},
	},
	"AttachNetwork": {
		begin: func(w *fixture) { w.must(w.bootOn(w.cloudService, 1)) },
		do: func(w *fixture, s *cloudService) error {
			_, err := w.attach(s, w.only(), compute.NetworkSpec{Network: compute.ID(w.net)}, nil)
			return err
		},
	},
	"Detach": {
		begin: func(w *fixture) { w.must(w.bootOn(w.cloudService, 1, w.port(1000))) },
		do: func(w *fixture, s *cloudService) error {
			ports := must(w.Server(ctx, w.only())).Ports
			return s.Detach(ctx, ann, w.only(), ports[1].Port)
		},
	},
	"DetachOwn": {
		begin: func(w *fixture) { w.must(w.bootOn(w.cloudService, 1, w.port(1000))) },
		do: func(w *fixture, s *cloudService) error {
			ports := must(w.Server(ctx, w.only())).Ports
			return s.Detach(ctx, ann, w.only(), ports[0].Port)
		},
	},
	"Rebuild": {
		begin: func(w *fixture) { w.must(w.bootOn(w.cloudService, 1, w.port(1000))) },
		do:    func(w *fixture, s *cloudService) error { return w.rebuildOn(s) },
	},
	"RebuildOfStopped": {
		begin: func(w *fixture) {
			w.must(w.bootOn(w.cloudService, 1, w.port(1000)))
			w.work(w.cloudService, nil)
			w.must(w.StopServer(ctx, ann, w.only()))
		},
		do: func(w *fixture, s *cloudService) error { return w.rebuildOn(s) },
	},
	"RebuildFails": {
		begin: func(w *fixture) { w.must(w.bootOn(w.cloudService, 1, w.port(1000))) },
		do:    func(w *fixture, s *cloudService) error { return w.rebuildOn(s) },
		fails: func(*fixture) func(string, fleet.Wanted) *fleet.Result {
			return func(string, fleet.Wanted) *fleet.Result { return &fleet.Result{Error: "it cannot be built"} }
		},
	},
	"DeleteWhileItIsRebuilt": {
		begin: func(w *fixture) { w.must(w.bootOn(w.cloudService, 1, w.port(1000))) },
		do: func(w *fixture, s *cloudService) error {
			if err := w.rebuildOn(s); err != nil {
				return err
			}
			return s.DeleteServer(ctx, ann, w.only())
		},
	},
	"Pause": {
		begin: func(w *fixture) { w.must(w.bootOn(w.cloudService, 1, w.port(1000))) },
		do:    func(w *fixture, s *cloudService) error { return s.PauseServer(ctx, ann, w.only()) },
	},
	"UnpauseFails": {
		begin: func(w *fixture) { w.paused() },
		do:    func(w *fixture, s *cloudService) error { return s.UnpauseServer(ctx, ann, w.only()) },
		fails: onceFails("it does not go on"),
	},
	"Suspend": {
		begin: func(w *fixture) { w.must(w.bootOn(w.cloudService, 1, w.port(1000))) },
		do:    func(w *fixture, s *cloudService) error { return s.SuspendServer(ctx, ann, w.only()) },
	},
	"SuspendFails": {
		begin: func(w *fixture) { w.must(w.bootOn(w.cloudService, 1, w.port(1000))) },
		do:    func(w *fixture, s *cloudService) error { return s.SuspendServer(ctx, ann, w.only()) },
		fails: onceFails("its disk is full"),
	},
	"ResumeFails": {
		begin: func(w *fixture) {
			w.must(w.bootOn(w.cloudService, 1, w.port(1000)))
			w.work(w.cloudService, nil)
			w.must(w.SuspendServer(ctx, ann, w.only()))
		},
		do:    func(w *fixture, s *cloudService) error { return s.ResumeServer(ctx, ann, w.only()) },
		fails: onceFails("its memory cannot be read"),
	},
	"DeleteWhileItIsSuspended": {
		begin: func(w *fixture) { w.must(w.bootOn(w.cloudService, 1, w.port(1000))) },
		do: func(w *fixture, s *cloudService) error {
			if err := s.SuspendServer(ctx, ann, w.only()); err != nil {
				return err
			}
			return s.DeleteServer(ctx, ann, w.only())
		},
	},
	"LiveOfPaused": {
		begin: func(w *fixture) { w.paused() },
		do:    func(w *fixture, s *cloudService) error { return w.liveOn(s) },
	},
	"LiveOfPausedDestinationFails": {
		begin: func(w *fixture) { w.paused() },
		do:    func(w *fixture, s *cloudService) error { return w.liveOn(s) },
		fails: func(w *fixture) func(string, fleet.Wanted) *fleet.Result {
			source := must(w.Server(ctx, w.only())).Host
			return func(host string, want fleet.Wanted) *fleet.Result {
				if host == source || want.Deleted {
					return nil
				}
				return &fleet.Result{Error: "it cannot be built"}
			}
		},
	},
	"Shelve": {
		begin: func(w *fixture) { w.must(w.bootOn(w.cloudService, 1, w.port(1000))) },
		do:    func(w *fixture, s *cloudService) error { return s.ShelveServer(ctx, ann, w.only()) },
	},
	"ShelveFails": {
		begin: func(w *fixture) { w.must(w.bootOn(w.cloudService, 1, w.port(1000))) },
		do:    func(w *fixture, s *cloudService) error { return s.ShelveServer(ctx, ann, w.only()) },
		fails: func(*fixture) func(string, fleet.Wanted) *fleet.Result {
			return func(_ string, want fleet.Wanted) *fleet.Result {
				if want.Deleted {
					return &fleet.Result{Error: "it is in use"}
				}
				return nil
			}
		},
	},
	"Unshelve": {
		begin: func(w *fixture) { w.shelved() },
		do: func(w *fixture, s *cloudService) error {
			return s.UnshelveServer(ctx, ann, w.only(), servers.Unshelving{})
		},
	},
	"UnshelveFails": {
		begin: func(w *fixture) { w.shelved() },
		do: func(w *fixture, s *cloudService) error {
			return s.UnshelveServer(ctx, ann, w.only(), servers.Unshelving{})
		},
		fails: func(*fixture) func(string, fleet.Wanted) *fleet.Result {
			return func(_ string, want fleet.Wanted) *fleet.Result {
				if want.Deleted {
					return nil
				}
				return &fleet.Result{Error: "it cannot be built"}
			}
		},
	},
	"DeleteShelved": {
		begin: func(w *fixture) { w.shelved() },
		do:    func(w *fixture, s *cloudService) error { return s.DeleteServer(ctx, ann, w.only()) },
	},
	"DeleteWhileItIsShelved": {
		begin: func(w *fixture) { w.must(w.bootOn(w.cloudService, 1, w.port(1000))) },
		do: func(w *fixture, s *cloudService) error {
			if err := s.ShelveServer(ctx, ann, w.only()); err != nil {
				return err
			}
			if _, err := s.Recover(ctx); err != nil {
				return err
			}
			return s.DeleteServer(ctx, ann, w.only())
		},
	},
	"Resize": {
		begin: func(w *fixture) { w.must(w.bootOn(w.cloudService, 1, w.port(1000))) },
		do:    func(w *fixture, s *cloudService) error { return w.resizeOn(s) },
	},
	"ResizeOfStopped": {
		begin: func(w *fixture) {
			w.must(w.bootOn(w.cloudService, 1, w.port(1000)))
			w.work(w.cloudService, nil)
			w.must(w.StopServer(ctx, ann, w.only()))
		},
		do: func(w *fixture, s *cloudService) error { return w.resizeOn(s) },
	},
	"ResizeSourceFails": {
		begin: func(w *fixture) { w.must(w.bootOn(w.cloudService, 1, w.port(1000))) },
		do:    func(w *fixture, s *cloudService) error { return w.resizeOn(s) },
		fails: func(w *fixture) func(string, fleet.Wanted) *fleet.Result {
			source, failed := must(w.Server(ctx, w.only())).Host, false
			return func(host string, want fleet.Wanted) *fleet.Result {
				if host != source || failed {
					return nil
				}
				failed = true
				return &fleet.Result{Error: "it cannot stop"}
			}
		},
	},
	"ResizeDestinationFails": {
		begin: func(w *fixture) { w.must(w.bootOn(w.cloudService, 1, w.port(1000))) },
		do:    func(w *fixture, s *cloudService) error { return w.resizeOn(s) },
		fails: func(w *fixture) func(string, fleet.Wanted) *fleet.Result {
			source := must(w.Server(ctx, w.only())).Host
			return func(host string, want fleet.Wanted) *fleet.Result {
				if host == source || want.Deleted {
					return nil
				}
				return &fleet.Result{Error: "it cannot be built"}
			}
		},
	},
	"ResizeConfirmed": {
		begin: func(w *fixture) { w.resized() },
		do:    func(w *fixture, s *cloudService) error { return s.ConfirmResize(ctx, ann, w.only()) },
	},
	"ResizeReverted": {
		begin: func(w *fixture) { w.resized() },
		do:    func(w *fixture, s *cloudService) error { return s.RevertResize(ctx, ann, w.only()) },
	},
	"DeleteResized": {
		begin: func(w *fixture) { w.resized() },
		do:    func(w *fixture, s *cloudService) error { return s.DeleteServer(ctx, ann, w.only()) },
	},
	"DeleteWhileItMoves": {
		begin: func(w *fixture) { w.must(w.bootOn(w.cloudService, 1, w.port(1000))) },
		do: func(w *fixture, s *cloudService) error {
			if err := s.MigrateServer(ctx, root, w.only(), ""); err != nil {
				return err
			}
			if _, err := s.Recover(ctx); err != nil {
				return err
			}
			w.hostsWork(w.cloudService, nil) // the source has stopped it
			if _, err := s.Recover(ctx); err != nil {
				return err
			}
			return s.DeleteServer(ctx, ann, w.only())
		},
	},
	"Live": {
		begin: func(w *fixture) { w.must(w.bootOn(w.cloudService, 1, w.port(1000))) },
		do:    func(w *fixture, s *cloudService) error { return w.liveOn(s) },
	},
	"LiveDestinationFails": {
		begin: func(w *fixture) { w.must(w.bootOn(w.cloudService, 1, w.port(1000))) },
		do:    func(w *fixture, s *cloudService) error { return w.liveOn(s) },
		fails: func(w *fixture) func(string, fleet.Wanted) *fleet.Result {
			source := must(w.Server(ctx, w.only())).Host
			return func(host string, want fleet.Wanted) *fleet.Result {
				if host == source || want.Deleted || !want.Running {
					return nil
				}
				return &fleet.Result{Error: "it cannot run"}
			}
		},
	},
	"LiveGoesOn": {
		begin: func(w *fixture) {
			w.host("cn3", 10000)
			w.must(w.bootOn(w.cloudService, 1, w.port(1000)))
		},
		do: func(w *fixture, s *cloudService) error { return w.liveOn(s) },
		fails: func(w *fixture) func(string, fleet.Wanted) *fleet.Result {
			source, first := must(w.Server(ctx, w.only())).Host, ""
			return func(host string, want fleet.Wanted) *fleet.Result {
				if host == source || want.Deleted || first != "" && host != first {
					return nil
				}
				first = host
				return &fleet.Result{Error: "it lacks a feature"}
			}
		},
	},
	"LiveAborted": {
		begin: func(w *fixture) { w.must(w.bootOn(w.cloudService, 1, w.port(1000))) },
		do: func(w *fixture, s *cloudService) error {
			if err := w.liveOn(s); err != nil {
				return err
			}
			for range 2 {
				if _, err := s.Recover(ctx); err != nil {
					return err
				}
				w.hostsWork(w.cloudService, nil)
			}
			_ = s.AbortLiveMigration(ctx, root, w.only(), w.lastMigration().Number, true) // it may be too late
			return nil
		},
	},
	"DeleteWhileItMovesLive": {
		begin: func(w *fixture) { w.must(w.bootOn(w.cloudService, 1, w.port(1000))) },
		do: func(w *fixture, s *cloudService) error {
			if err := w.liveOn(s); err != nil {
				return err
			}
			for range 2 {
				if _, err := s.Recover(ctx); err != nil {
					return err
				}
				w.hostsWork(w.cloudService, nil)
			}
			return s.DeleteServer(ctx, ann, w.only())
		},
	},
	"Evacuate": {
		begin: func(w *fixture) { w.must(w.bootOn(w.cloudService, 1, w.port(1000))) },
		do:    func(w *fixture, s *cloudService) error { return w.evacuateOn(s) },
	},
	"EvacuateStopped": {
		begin: func(w *fixture) { w.must(w.bootOn(w.cloudService, 1, w.port(1000))) },
		do:    func(w *fixture, s *cloudService) error { return w.evacuateAs(s, servers.Evacuation{Stop: true}) },
	},
	"EvacuateFails": {
		begin: func(w *fixture) { w.must(w.bootOn(w.cloudService, 1, w.port(1000))) },
		do:    func(w *fixture, s *cloudService) error { return w.evacuateOn(s) },
		fails: func(*fixture) func(string, fleet.Wanted) *fleet.Result {
			return func(_ string, want fleet.Wanted) *fleet.Result {
				if want.Deleted {
					return nil
				}
				return &fleet.Result{Error: "it cannot be built"}
			}
		},
	},
	"DeleteWhileItIsBuilt": {
		do: func(w *fixture, s *cloudService) error {
			if err := w.bootOn(s, 1, w.port(1000)); err != nil {
				return err
			}
			if _, err := s.Recover(ctx); err != nil {
				return err
			}
			return s.DeleteServer(ctx, ann, w.only())
		},
	},
}

// withDevices has hosts report PCI devices that flavors request, more of them than a server needs.
func (w *fixture) withDevices() {
	w.Helper()
	if w.aliases == nil {
		w.aliases = must(request.ParseAliases([]string{`{"name": "qat", "resource_class": "qat"}`}))
		w.cloudService = w.serve(w.store)
		for _, flavor := range []string{"qat1", "other1"} {
			w.flavorOf(flavor, map[string]string{"pci_passthrough:alias": "qat:1"})
		}
		for i, host := range []string{"cn1", "cn2"} {
			w.equip(host, inventory.Host{Devices: qats(i+1, 2)})
		}
	}
}

// deviceOn begins to create a server with a PCI device, a port in the network and another one.
func (w *fixture) deviceOn(s *cloudService) error {
	_, err := s.CreateServers(ctx, ann, servers.ServerSpec{
		Name: "vm", Flavor: "qat1", Image: cirros, Min: 1, PortsMayRequest: true,
		Networks: []compute.NetworkSpec{{Network: compute.ID(w.net)}, {Port: w.port(1000)}},
	})
	return err
}

// withDevice makes a server with a PCI device.
func (w *fixture) withDevice() {
	w.Helper()
	w.withDevices()
	w.must(w.deviceOn(w.cloudService))
}

// devicesOn are the PCI devices of a host that a server has, or that are retained for it, as
// placement has them.
func (w *fixture) devicesOn(host string, server compute.ID) allocations.Amounts {
	w.Helper()
	_, node := computetest.Host(host, 0)
	id, err := guarantee.ParseUUID(string(node.ID))
	w.must(err)
	inv := inventory.Host{ID: id, Name: host}
	all := allocations.Amounts{}
	for _, row := range computetest.Read[compute.HostedRow](w, w.store, compute.Where(compute.ByHost, host)) {
		a := must(compute.ReadAssignment(row.Assignment))
		if row.Server != server || a == nil {
			continue
		}
		for _, d := range a.PCIDevices {
			provider := string(inv.DeviceID(inventory.Device{Suffix: d.Provider}))
			w.hosts[provider] = host
			all = all.Plus(allocations.Amounts{provider: {d.Class: 1}})
		}
	}
	return all
}

// paused makes a server that is paused.
func (w *fixture) paused() {
	w.Helper()
	w.must(w.bootOn(w.cloudService, 1, w.port(1000)))
	w.work(w.cloudService, nil)
	w.must(w.PauseServer(ctx, ann, w.only()))
}

// onceFails has the first thing fail that a host does.
func onceFails(why string) func(*fixture) func(string, fleet.Wanted) *fleet.Result {
	return func(*fixture) func(string, fleet.Wanted) *fleet.Result {
		failed := false
		return func(string, fleet.Wanted) *fleet.Result {
			if failed {
				return nil
			}
			failed = true
			return &fleet.Result{Error: why}
		}
	}
}

// shelved makes a server that is shelved.
func (w *fixture) shelved() {
	w.Helper()
	w.must(w.bootOn(w.cloudService, 1, w.port(1000)))
	w.work(w.cloudService, nil)
	w.must(w.ShelveServer(ctx, ann, w.only()))
}

// rebuildOn begins to rebuild the only server.
func (w *fixture) rebuildOn(s *cloudService) error {
	_, err := s.RebuildServer(ctx, ann, w.only(), servers.Rebuilding{Image: cirros})
	return err
}

// resizeOn begins to resize the only server.
func (w *fixture) resizeOn(s *cloudService) error {
	return s.ResizeServer(ctx, ann, w.only(), servers.Resizing{Flavor: "m2"})
}

// resized makes a server that was resized and waits to be confirmed.
func (w *fixture) resized() {
	w.Helper()
	w.must(w.bootOn(w.cloudService, 1, w.port(1000)))
	w.work(w.cloudService, nil)
	w.must(w.resizeOn(w.cloudService))
}

// liveOn begins to migrate the only server, which goes on running.
func (w *fixture) liveOn(s *cloudService) error {
	return s.LiveMigrateServer(ctx, root, w.only(), servers.LiveMigration{})
}

// evacuateOn begins to evacuate the only server, whose host dies. It comes back when hosts report.
func (w *fixture) evacuateOn(s *cloudService) error {
	w.Helper()
	return w.evacuateAs(s, servers.Evacuation{})
}

// evacuateAs is evacuateOn for a request.
func (w *fixture) evacuateAs(s *cloudService, to servers.Evacuation) error {
	w.Helper()
	source := must(w.Server(ctx, w.only())).Host
	w.later(2 * time.Minute)
	for _, h := range must(w.Services(ctx)) {
		if _, node := computetest.Host(h.Host, 0); h.Host != source {
			w.must(w.Report(ctx, compute.Report{Host: h.Host, Version: 66, Node: *node}))
		}
	}
	return s.EvacuateServer(ctx, root, w.only(), to)
}

// lastMigration returns the newest migration.
func (w *fixture) lastMigration() (last compute.MigrationRow) {
	w.Helper()
	for _, m := range computetest.Read[compute.MigrationRow](w, w.store) {
		if m.Number > last.Number {
			last = m
		}
	}
	return last
}

// only returns the only server.
func (w *fixture) only() compute.ID {
	w.Helper()
	return computetest.Read[compute.ServerRow](w, w.store)[0].ID
}

// bootOn begins to create servers with a port in the network, and others.
func (w *fixture) bootOn(s *cloudService, n int, ports ...compute.ID) error {
	spec := servers.ServerSpec{
		Name: "vm", Flavor: "m1", Image: cirros, Min: n, PortsMayRequest: true,
		Networks: []compute.NetworkSpec{{Network: compute.ID(w.net)}},
	}
	for _, p := range ports {
		spec.Networks = append(spec.Networks, compute.NetworkSpec{Port: p})
	}
	_, err := s.CreateServers(ctx, ann, spec)
	return err
}

// prepare empties the fixture, and makes it ready for a scenario.
func (w *fixture) prepare(s scenario) {
	w.Helper()
	for _, row := range computetest.Read[compute.ServerRow](w, w.store) {
		w.must(w.DeleteServer(ctx, root, row.ID))
	}
	w.work(w.cloudService, nil)
	ports, err := w.network.Ports(ctx)
	w.must(err)
	for _, p := range ports {
		w.must(w.network.DeletePort(ctx, p.ID))
	}
	if s.begin != nil {
		s.begin(w)
		w.work(w.cloudService, nil)
	}
}

// during does what a scenario does, and lets services and hosts work meanwhile as far as
// they can.
func (w *fixture) during(s scenario, service *cloudService) {
	w.Helper()
	if s.do(w, service) != nil {
		return
	}
	fails := func(string, fleet.Wanted) *fleet.Result { return nil }
	if s.fails != nil {
		fails = s.fails(w)
	}
	for range 10 {
		if _, err := service.Recover(ctx); err != nil {
			return // it has ended
		}
		if !w.hostsWork(w.cloudService, fails) {
			return
		}
	}
}

// afterwards lets time pass until nothing is under way.
func (w *fixture) afterwards(after string) {
	w.Helper()
	for range 2 { // the time of a lease, and that of the network service
		w.later(5 * time.Minute)
		w.report()
		w.work(w.cloudService, nil)
	}
	w.agrees(after)
}

// Whatever happens on the way to a peer service, at whatever request: as soon as the way is
// free, all that is allocated, bound and made belongs to a server, and no server is stuck. A
// sample has an eighth of the scenarios.
func TestServersSurviveTheirPeers(t *testing.T) {
	names := sweep.Sample(t, slices.Sorted(maps.Keys(scenarios)), 8)
	if racetest.Few() {
		names = []string{"Boot"}
	}
	for _, name := range names {
		s := scenarios[name]
		for _, to := range []string{"placement", "network"} {
			for _, how := range []string{"before", "after", "on"} {
				if racetest.Few() && how == "before" {
					continue
				}
				t.Run(name+"/"+to+"/"+how, func(t *testing.T) {
					t.Parallel()
					w := newFixture(t, 10000, "cn1", "cn2")
					path := map[string]*breakable{"placement": w.paths.placement, "network": w.paths.network}[to]
					for at, met := 1, true; met && !t.Failed(); at++ {
						w.prepare(s)
						path.breaks(at, how == "on", how == "after")
						w.during(s, w.cloudService)
						met = path.heals()
						w.afterwards(fmt.Sprintf("request %d to %s broke", at, to))
					}
				})
			}
		}
	}
}

// A jumping store is a store during one of whose transactions the clock is set. The process may end
// with it.
type jumping struct {
	compute.Store
	updates int
	at      int
	jump    func()
	ends    bool
}

func (j *jumping) Update(ctx context.Context, now time.Time, fn func(compute.Writer) error) error {
	j.updates++
	if j.updates == j.at {
		j.jump()
	}
	if j.ends && j.updates >= j.at {
		return errEnded
	}
	return j.Store.Update(ctx, now, fn)
}

// Whenever the clock is set back or forward, no other service takes what is carried out, and
// nothing waits for the clock; also when the process ends then. A sample has an eighth of the
// scenarios.
func TestServersSurviveTheClock(t *testing.T) {
	names := sweep.Sample(t, slices.Sorted(maps.Keys(scenarios)), 8)
	if racetest.Few() {
		names = []string{"Boot"}
	}
	for _, name := range names {
		for _, by := range []time.Duration{-time.Hour, time.Hour} {
			for _, ends := range []bool{false, true} {
				t.Run(fmt.Sprintf("%s/%v/ends=%v", name, by, ends), func(t *testing.T) {
					t.Parallel()
					w := newFixture(t, 10000, "cn1", "cn2")
					other := w.serve(w.store)
					for at, met := 1, true; met && !t.Failed(); at++ {
						w.prepare(scenarios[name])
						store := &jumping{Store: w.store, at: at, ends: ends, jump: func() {
							w.must(other.Look(ctx))
							w.setClock(by)
							w.report()
							before := w.workers()
							must(other.Recover(ctx))
							for id, worker := range w.workers() {
								if had := before[id]; had != "" && worker != had {
									t.Errorf("update %d: the other service takes what is carried out", at)
								}
							}
						}}
						w.during(scenarios[name], w.serve(store))
						met = store.updates >= at
						w.afterwards(fmt.Sprintf("the clock was set at update %d", at))
					}
				})
			}
		}
	}
}

// workers are those of the operations.
func (w *fixture) workers() map[compute.ID]string {
	w.Helper()
	all := map[compute.ID]string{}
	for _, row := range computetest.Read[compute.OperationRow](w, w.store) {
		all[row.ID] = row.Worker
	}
	return all
}

// What a process was at when it ended waits for the end of its lease, unless the next one takes it
// over: it may when nothing of the former is on its way.
func TestTakeOver(t *testing.T) {
	for _, name := range []string{"Boot", "Attach", "Detach"} {
		w := newFixture(t, 10000, "cn1")
		w.prepare(scenarios[name])
		w.during(scenarios[name], w.serve(&dying{Store: w.store, endAt: 4}))
		if left := must(w.Recover(ctx)); left != 1 {
			t.Errorf("%s: %d operations are left to their leases, want one", name, left)
		}
		w.must(w.TakeOver(ctx, func(string) bool { return true }, 0))
		w.work(w.cloudService, nil)
		w.agrees(name + ", taken over")

		brief := w.serve(w.store, func(s *compute.Settings) { s.LeaseTime = 20 * time.Second })
		w.prepare(scenarios[name])
		w.during(scenarios[name],
			w.serve(&dying{Store: w.store, endAt: 4}, func(s *compute.Settings) { s.LeaseTime = 20 * time.Second }))
		w.later(21 * time.Second)
		w.report()
		w.work(brief, nil)
		w.agrees(name + ", after a brief lease")
	}
}

// What a run of the program was at that has certainly ended goes on after a rest; what another one
// is at, of which that is not known, waits for its lease.
func TestTakeOverOfEndedRuns(t *testing.T) {
	for _, name := range []string{"Boot", "Attach", "Detach"} {
		for _, run := range []string{"one", "another"} {
			w := newFixture(t, 10000, "cn1")
			w.prepare(scenarios[name])
			w.during(scenarios[name], w.serveAs(run, &dying{Store: w.store, endAt: 4}))
			next := w.serveAs("two", w.store)
			w.must(next.TakeOver(ctx, func(run string) bool { return run == "one" }, 5*time.Second))
			if left := must(next.Recover(ctx)); left != 1 {
				t.Errorf("%s of %s: %d operations are left at once, want one", name, run, left)
			}
			w.later(5 * time.Second)
			if run == "another" {
				if left := must(next.Recover(ctx)); left != 1 {
					t.Errorf("%s of another run: %d operations are left after the rest, want one", name, left)
				}
				w.later(time.Minute)
				w.report()
			}
			w.work(next, nil)
			w.agrees(name + " of " + run)
		}
	}
}

// Wherever the process ends, the next one finishes what it had begun. A sample has every fourth
// transaction.
func TestServersSurviveTheProcess(t *testing.T) {
	first, step := sweep.Every(t, 4)
	for name, s := range scenarios {
		if racetest.Few() && name != "Boot" {
			continue
		}
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			w := newFixture(t, 10000, "cn1", "cn2")
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
