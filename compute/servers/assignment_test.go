package servers_test

import (
	"context"
	"fmt"
	"maps"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/berthcloud/berth/compute"
	"github.com/berthcloud/berth/compute/computetest"
	"github.com/berthcloud/berth/compute/fleet"
	"github.com/berthcloud/berth/compute/hostlist"
	"github.com/berthcloud/berth/compute/inventory"
	"github.com/berthcloud/berth/compute/request"
	"github.com/berthcloud/berth/compute/servers"
	"github.com/berthcloud/berth/internal/dbtest"
	"github.com/berthcloud/berth/internal/racetest"
	"github.com/berthcloud/berth/internal/sqltest"
	"github.com/berthcloud/berth/placement"
	"github.com/berthcloud/berth/placement/providertree"
	"github.com/berthcloud/berth/placement/providertree/providertreetest"
	"github.com/berthcloud/berth/sqlstore"
	"github.com/berthcloud/berth/sqlstore/rowtable"
)

// vgpus are two cards that have so many virtual GPUs each.
func vgpus(each int64) (all []inventory.Device) {
	for _, name := range []string{"pci_0000_84_00_0", "pci_0000_85_00_0"} {
		all = append(all, inventory.Device{Suffix: name, Class: "VGPU", Total: each, MdevType: "nvidia-35"})
	}
	return all
}

// flavorOf adds a flavor with extra specs.
func (w *fixture) flavorOf(name string, specs map[string]string) {
	w.Helper()
	f := computetest.Flavor(name, 1, 128, 1)
	f.Specs = specs
	w.add(f)
}

// given is what a host is to give to a server: the list of the host says so.
func (w *fixture) givenAt(host string, id compute.ID) hostlist.Assignment {
	w.Helper()
	for _, one := range must(w.Wanted(ctx, host)) {
		if one.ID == string(id) && one.Assignment != nil {
			return *one.Assignment
		}
	}
	return hostlist.Assignment{}
}

// units counts mediated devices by card, and checks that no two have the same UUID.
func (w *fixture) units(all ...hostlist.Assignment) map[string]int {
	w.Helper()
	cards, seen := map[string]int{}, map[string]bool{}
	for _, a := range all {
		for _, d := range a.Mdevs {
			cards[d.Provider]++
			if seen[d.UUID] || len(d.UUID) != 36 || d.Type != "nvidia-35" || d.Class != "VGPU" {
				w.Errorf("the device %+v is another one's, or wrong", d)
			}
			seen[d.UUID] = true
		}
	}
	return cards
}

// A server gets a mediated device for each virtual GPU, of the cards that placement allocated, and
// keeps it when it is rebuilt. A move gives it another one.
func TestVGPUs(t *testing.T) {
	w := newFixture(t, 0)
	w.equip("cn1", inventory.Host{Devices: vgpus(2)})
	w.flavorOf("gpu", map[string]string{"resources:VGPU": "1"})
	w.flavorOf("gpu2", map[string]string{
		"resources1:VGPU": "1", "resources2:VGPU": "1", "group_policy": "isolate",
	})
	first, state := w.bootOf("gpu2")
	if state != compute.Active {
		t.Fatalf("the server is %s: %s", state, w.why(first))
	}
	given := w.givenAt("cn1", first)
	both := map[string]int{"pci_0000_84_00_0": 1, "pci_0000_85_00_0": 1}
	if got := w.units(given); !maps.Equal(got, both) {
		t.Errorf("a server of two groups has %v, want %v", got, both)
	}
	none, _ := w.bootOf("m1")
	if got := w.givenAt("cn1", none); got.Mdevs != nil {
		t.Errorf("a server that requests nothing has %+v", got)
	}
	w.must(w.rebuildOf(first))
	w.work(w.cloudService, nil)
	if got := w.givenAt("cn1", first); fmt.Sprint(got) != fmt.Sprint(given) {
		t.Errorf("a server that was rebuilt has %+v, had %+v", got, given)
	}
	second, _ := w.bootOf("gpu")
	third, _ := w.bootOf("gpu")
	if fourth, state := w.bootOf("gpu"); state != compute.Error {
		t.Errorf("a server without a unit is %s: %+v", state, w.givenAt("cn1", fourth))
	}
	all := []hostlist.Assignment{given, w.givenAt("cn1", second), w.givenAt("cn1", third)}
	if got := w.units(all...); got["pci_0000_84_00_0"] != 2 || got["pci_0000_85_00_0"] != 2 {
		t.Errorf("all servers have %v, want two of each card", got)
	}
}

// rebuildOf has a server rebuilt.
func (w *fixture) rebuildOf(id compute.ID) error {
	_, err := w.RebuildServer(ctx, ann, id, servers.Rebuilding{Image: cirros})
	return err
}

// moveWays are the ways in which a server moves, each with what ends it: whether the server is on
// the other host afterwards, and whether the source is to have something until the end.
var moveWays = map[string]struct {
	begin func(*fixture, compute.ID) error
	ends  map[string]func(*fixture, compute.ID) error
}{
	"cold": {
		func(w *fixture, id compute.ID) error { return w.MigrateServer(ctx, root, id, "") },
		map[string]func(*fixture, compute.ID) error{
			"confirm": func(w *fixture, id compute.ID) error { return w.ConfirmResize(ctx, ann, id) },
			"revert":  func(w *fixture, id compute.ID) error { return w.RevertResize(ctx, ann, id) },
		},
	},
	"live": {
		func(w *fixture, id compute.ID) error {
			return w.LiveMigrateServer(ctx, root, id, servers.LiveMigration{})
		},
		map[string]func(*fixture, compute.ID) error{"nothing": nil},
	},
}

// A server that moves has units of both hosts until the source has given its back, and those of the
// host that it is on afterwards.
func TestVGPUsOfMoves(t *testing.T) {
	for how, move := range moveWays {
		for _, end := range slices.Sorted(maps.Keys(move.ends)) {
			w := newFixture(t, 0)
			w.equip("cn1", inventory.Host{Devices: vgpus(1)})
			w.flavorOf("gpu", map[string]string{"resources:VGPU": "1"})
			id, state := w.bootOf("gpu")
			if state != compute.Active {
				t.Fatalf("the server is %s: %s", state, w.why(id))
			}
			before := w.givenAt("cn1", id)
			w.equip("cn2", inventory.Host{Devices: vgpus(1)})
			w.must(move.begin(w, id))
			w.work(w.cloudService, nil)
			after := w.givenAt("cn2", id)
			if len(w.units(before, after)) == 0 || len(after.Mdevs) != 1 {
				t.Errorf("%s: the server has %+v, had %+v", how, after, before)
			}
			host, want := "cn2", after
			if fn := move.ends[end]; fn != nil {
				if got := w.givenAt("cn1", id); fmt.Sprint(got) != fmt.Sprint(before) {
					t.Errorf("%s: the source has %+v, want %+v", how, got, before)
				}
				w.must(fn(w, id))
				w.work(w.cloudService, nil)
			}
			if end == "revert" {
				host, want = "cn1", before
			}
			other := map[string]string{"cn1": "cn2", "cn2": "cn1"}[host]
			if got := w.givenAt(host, id); fmt.Sprint(got) != fmt.Sprint(want) {
				t.Errorf("%s, %s: the server has %+v, want %+v", how, end, got, want)
			}
			rows := computetest.Read[compute.HostedRow](w, w.store, compute.Where(compute.ByHost, other))
			if len(rows) > 0 {
				t.Errorf("%s, %s: %s still has %+v", how, end, other, rows)
			}
		}
	}
}

// A server that is resized on its host has the units of both flavors until the resize is confirmed
// or reverted.
func TestVGPUsOfAResizeOnItsHost(t *testing.T) {
	for _, end := range []string{"confirm", "revert"} {
		w := newFixture(t, 0)
		s := w.serve(w.store, func(s *compute.Settings) { s.ResizeOnHost = true })
		w.cloudService = s
		w.equip("cn1", inventory.Host{Devices: vgpus(1)})
		w.flavorOf("gpu", map[string]string{"resources:VGPU": "1"})
		w.flavorOf("other", map[string]string{"resources:VGPU": "1"})
		id, state := w.bootOf("gpu")
		if state != compute.Active {
			t.Fatalf("the server is %s: %s", state, w.why(id))
		}
		before := w.givenAt("cn1", id)
		w.must(w.ResizeServer(ctx, ann, id, servers.Resizing{Flavor: "other"}))
		w.work(s, nil)
		after := w.givenAt("cn1", id)
		if got := w.units(before, after); len(got) != 2 {
			t.Errorf("the server has %+v, had %+v", after, before)
		}
		want := after
		if end == "revert" {
			want = before
			w.must(w.RevertResize(ctx, ann, id))
		} else {
			w.must(w.ConfirmResize(ctx, ann, id))
		}
		w.work(s, nil)
		if got := w.givenAt("cn1", id); fmt.Sprint(got) != fmt.Sprint(want) {
			t.Errorf("%s: the server has %+v, want %+v", end, got, want)
		}
	}
}

// Servers that are evacuated or unshelved get units of their new host.
func TestVGPUsOfEvacuationsAndShelving(t *testing.T) {
	w := newFixture(t, 0)
	w.equip("cn1", inventory.Host{Devices: vgpus(1)})
	w.flavorOf("gpu", map[string]string{"resources:VGPU": "1"})
	id, state := w.bootOf("gpu")
	if state != compute.Active {
		t.Fatalf("the server is %s: %s", state, w.why(id))
	}
	before := w.givenAt("cn1", id)
	w.equip("cn2", inventory.Host{Devices: vgpus(1)})
	must(w.ChangeService(ctx, must(w.Services(ctx))[0].ID, fleet.ServiceChange{ForcedDown: ptr(true)}))
	w.must(w.EvacuateServer(ctx, root, id, servers.Evacuation{}))
	w.work(w.cloudService, nil)
	after := w.givenAt("cn2", id)
	if len(w.units(before, after)) == 0 || len(after.Mdevs) != 1 {
		t.Errorf("the evacuated server has %+v, had %+v: %s", after, before, w.why(id))
	}
	w.must(w.ShelveServer(ctx, ann, id))
	w.work(w.cloudService, nil)
	if got := w.givenAt("cn2", id); got.Mdevs != nil {
		t.Errorf("a shelved server has %+v", got)
	}
	w.must(w.UnshelveServer(ctx, ann, id, servers.Unshelving{}))
	w.work(w.cloudService, nil)
	if got := w.givenAt("cn2", id); len(w.units(after, got)) == 0 || len(got.Mdevs) != 1 {
		t.Errorf("an unshelved server has %+v, had %+v: %s", got, after, w.why(id))
	}
}

// qats are two cards with so many virtual functions each, on a host of a number.
func qats(host, each int, traits ...string) (all []inventory.Device) {
	for card := range 2 {
		d := inventory.Device{
			Suffix: fmt.Sprintf("0000:%d%d:00.0", host, card), Class: "CUSTOM_QAT", Total: int64(each), Traits: traits,
		}
		for i := range each {
			d.Addresses = append(d.Addresses, fmt.Sprintf("0000:%d%d:01.%d", host, card, i))
		}
		all = append(all, d)
	}
	return all
}

// withAliases has the service know the aliases "qat", of any devices, and "live", of those that
// move live, and has flavors that request them.
func (w *fixture) withAliases(settings ...func(*compute.Settings)) {
	w.Helper()
	aliases := must(request.ParseAliases([]string{
		`{"name": "qat", "resource_class": "qat"}`,
		`{"name": "live", "resource_class": "qat", "live_migratable": "yes"}`,
	}))
	w.cloudService = w.serve(w.store, append(settings, func(s *compute.Settings) { s.Requests.PCI = aliases })...)
	for flavor, text := range map[string]string{"qat1": "qat:1", "other1": "qat:1", "qat2": "qat:2", "live1": "live:1"} {
		w.flavorOf(flavor, map[string]string{"pci_passthrough:alias": text})
	}
}

// addresses are those of PCI devices that a host is to give to servers, by server. It is an error
// when two have the same, or one is not of the provider that is allocated.
func (w *fixture) addresses(host string) map[compute.ID][]string {
	w.Helper()
	all, seen := map[compute.ID][]string{}, map[string]bool{}
	for _, row := range computetest.Read[compute.HostedRow](w, w.store, compute.Where(compute.ByHost, host)) {
		a := must(compute.ReadAssignment(row.Assignment))
		if a == nil {
			continue
		}
		for _, d := range a.PCIDevices {
			if seen[d.Address] || d.Address[:7] != d.Provider[:7] || d.Class != "CUSTOM_QAT" {
				w.Errorf("%s gives %+v to server %s, which another one has or is wrong", host, d, row.Server)
			}
			seen[d.Address] = true
			all[row.Server] = append(all[row.Server], d.Address)
		}
	}
	return all
}

// A server gets PCI devices of the providers that placement allocated for its aliases, and nobody
// else gets them before its host has let go of them.
func TestPCIAliases(t *testing.T) {
	w := newFixture(t, 0)
	w.flavorOf("none", map[string]string{"pci_passthrough:alias": "qat:1"})
	_, err := w.CreateServers(ctx, ann, servers.ServerSpec{Name: "vm", Flavor: "none", Image: cirros})
	if err == nil || !strings.Contains(err.Error(), "without [filter_scheduler] pci_in_placement") {
		t.Errorf("a boot without pci_in_placement: %v", err)
	}
	w.withAliases()
	w.flavorOf("unknown", map[string]string{"pci_passthrough:alias": "gpu:1"})
	_, err = w.CreateServers(ctx, ann, servers.ServerSpec{Name: "vm", Flavor: "unknown", Image: cirros})
	if err == nil || !strings.Contains(err.Error(), "PCI alias gpu is not defined") {
		t.Errorf("a boot with an unknown alias: %v", err)
	}
	w.equip("cn1", inventory.Host{Devices: qats(1, 2)})
	two, state := w.bootOf("qat2")
	if state != compute.Active {
		t.Fatalf("the server is %s: %s", state, w.why(two))
	}
	first, _ := w.bootOf("qat1")
	second, _ := w.bootOf("qat1")
	got := w.addresses("cn1")
	if len(got[two]) != 2 || len(got[first]) != 1 || len(got[second]) != 1 {
		t.Errorf("servers have %v", got)
	}
	if failed, state := w.bootOf("qat1"); state != compute.Error {
		t.Errorf("a server without a device is %s: %v", state, w.addresses("cn1")[failed])
	}
	w.must(w.rebuildOf(first))
	w.work(w.cloudService, nil)
	if again := w.addresses("cn1"); fmt.Sprint(again) != fmt.Sprint(got) {
		t.Errorf("after a rebuild servers have %v, had %v", again, got)
	}
	w.must(w.DeleteServer(ctx, ann, two))
	w.work(w.cloudService, nil)
	third, state := w.bootOf("qat1")
	if now := w.addresses("cn1"); state != compute.Active || len(now[third]) != 1 || len(now[two]) > 0 {
		t.Errorf("after a deletion the server is %s, and servers have %v", state, now)
	}
}

// A host that reports no addresses of a provider can give no device of it, whatever placement has:
// the server goes to the next one.
func TestPCIDevicesWithoutAddresses(t *testing.T) {
	w := newFixture(t, 0)
	w.withAliases()
	w.equip("cn1", inventory.Host{Devices: []inventory.Device{{Suffix: "0000:10:00.0", Class: "CUSTOM_QAT", Total: 8}}})
	id, state := w.bootOf("qat1")
	if why := w.why(id); state != compute.Error || !strings.Contains(why, "has not reported the PCI addresses") {
		t.Errorf("the server is %s: %s", state, why)
	}
	w.equip("cn2", inventory.Host{Devices: qats(2, 1)})
	if id, state := w.bootOf("qat1"); state != compute.Active || len(w.addresses("cn2")[id]) != 1 {
		t.Errorf("the server is %s: %s", state, w.why(id))
	}
}

// Devices are found in a tree that Nova made, whose providers have UUIDs of their own.
func TestPCIDevicesOfNovasProviders(t *testing.T) {
	w := newFixture(t, 0)
	w.withAliases()
	w.equip("cn1", inventory.Host{})
	_, node := computetest.Host("cn1", 0)
	w.must(providertreetest.Set(ctx, w.places, providertree.Provider{
		ID: placement.UUID(computetest.ID("card")), Name: "cn1_0000:10:00.0", Parent: placement.UUID(node.ID),
		Inventories: map[string]placement.Inventory{"CUSTOM_QAT": providertreetest.Offer(1)},
	}))
	w.later(10 * time.Minute) // after which the tree is read again
	for range 2 {             // what is stored remains with the next report
		w.equip("cn1", inventory.Host{Devices: qats(1, 1)[:1]})
	}
	id, state := w.bootOf("qat1")
	if got := w.addresses("cn1")[id]; state != compute.Active || len(got) != 1 {
		t.Errorf("the server is %s with %v: %s", state, got, w.why(id))
	}
}

// A server that moves has devices of both hosts, and what it may come back to is nobody else's.
func TestPCIDevicesOfMoves(t *testing.T) {
	for _, end := range []string{"confirm", "revert"} {
		w := newFixture(t, 0)
		w.withAliases()
		w.equip("cn1", inventory.Host{Devices: qats(1, 1)})
		id, _ := w.bootOf("qat2")
		before := w.addresses("cn1")[id]
		w.equip("cn2", inventory.Host{Devices: qats(2, 1)})
		w.must(w.MigrateServer(ctx, root, id, ""))
		w.work(w.cloudService, nil)
		after := w.addresses("cn2")[id]
		if len(before) != 2 || len(after) != 2 || !slices.Equal(w.addresses("cn1")[id], before) {
			t.Errorf("the server has %v, had %v, and may come back to %v: %s", after, before, w.addresses("cn1")[id], w.why(id))
		}
		if _, state := w.bootOf("qat1"); state != compute.Error {
			t.Errorf("another server is %s: %v %v", state, w.addresses("cn1"), w.addresses("cn2"))
		}
		want, host, other := after, "cn2", "cn1"
		if end == "revert" {
			want, host, other = before, "cn1", "cn2"
			w.must(w.RevertResize(ctx, ann, id))
		} else {
			w.must(w.ConfirmResize(ctx, ann, id))
		}
		w.work(w.cloudService, nil)
		if got := w.addresses(host)[id]; !slices.Equal(got, want) || len(w.addresses(other)) > 0 {
			t.Errorf("%s: the server has %v and %v, want %v", end, got, w.addresses(other), want)
		}
		if next, state := w.bootOf("qat2"); state != compute.Active || len(w.addresses(other)[next]) != 2 {
			t.Errorf("%s: another server is %s: %v", end, state, w.addresses(other))
		}
	}
}

// A server that is resized on its host has the devices of both flavors until that is confirmed or
// reverted.
func TestPCIDevicesOfAResizeOnItsHost(t *testing.T) {
	for _, end := range []string{"confirm", "revert", "fail"} {
		w := newFixture(t, 0)
		w.withAliases(func(s *compute.Settings) { s.ResizeOnHost = true })
		w.equip("cn1", inventory.Host{Devices: qats(1, 3)[:1]})
		id, _ := w.bootOf("qat1")
		before := w.addresses("cn1")[id]
		w.must(w.ResizeServer(ctx, ann, id, servers.Resizing{Flavor: "other1"}))
		built := 0
		w.work(w.cloudService, func(_ string, want fleet.Wanted) *fleet.Result {
			if want.Running && end == "fail" {
				if built++; built == 1 {
					return &fleet.Result{Error: "it cannot be built"}
				}
			}
			return nil
		})
		after := w.addresses("cn1")[id]
		if (end == "fail") != slices.Equal(before, after) {
			t.Errorf("%s: the server has %v, had %v: %s", end, after, before, w.why(id))
		}
		next, _ := w.bootOf("qat1")
		third := w.addresses("cn1")[next]
		if len(third) != 1 || slices.Equal(third, before) || slices.Equal(third, after) {
			t.Errorf("%s: another server has %v, the resized one had %v and has %v", end, third, before, after)
		}
		want := after
		switch end {
		case "revert":
			want = before
			w.must(w.RevertResize(ctx, ann, id))
		case "confirm":
			w.must(w.ConfirmResize(ctx, ann, id))
		}
		w.work(w.cloudService, nil)
		if got := w.addresses("cn1"); !slices.Equal(got[id], want) {
			t.Errorf("%s: the server has %v, want %v", end, got[id], want)
		}
		last, state := w.bootOf("qat1")
		if all := w.addresses("cn1"); state != compute.Active || len(all[last]) != 1 {
			t.Errorf("%s: the last server is %s: %v", end, state, all)
		}
	}
}

// A server with a device moves live if its alias and the device say that it can.
func TestPCIDevicesOfLiveMigrations(t *testing.T) {
	w := newFixture(t, 0)
	w.withAliases()
	w.equip("cn1", inventory.Host{Devices: qats(1, 1)})
	if id, state := w.bootOf("live1"); state != compute.Error ||
		!strings.Contains(w.why(id), "alias live has live_migratable true, unlike the PCI devices of 0000:1") {
		t.Errorf("a server on a host whose devices do not move live is %s: %s", state, w.why(id))
	}
	fixed, _ := w.bootOf("qat1")
	w.must(w.LiveMigrateServer(ctx, root, fixed, servers.LiveMigration{}))
	w.work(w.cloudService, nil)
	if m := w.lastMigration(); m.Status != compute.StatusError ||
		!strings.Contains(w.why(fixed), "by the alias qat, which is not live_migratable") {
		t.Errorf("a live migration with a device that cannot is %s: %s", m.Status, w.why(fixed))
	}
	w.equip("cn2", inventory.Host{Devices: qats(2, 1, "HW_PCI_LIVE_MIGRATABLE")})
	id, state := w.bootOf("live1")
	if one := must(w.Server(ctx, id)); state != compute.Active || one.Host != "cn2" {
		t.Fatalf("the server is %s on %s: %s", state, one.Host, w.why(id))
	}
	w.equip("cn3", inventory.Host{Devices: qats(3, 1, "HW_PCI_LIVE_MIGRATABLE")})
	w.must(w.LiveMigrateServer(ctx, root, id, servers.LiveMigration{}))
	w.work(w.cloudService, nil)
	if one := must(w.Server(ctx, id)); one.Host != "cn3" || len(w.addresses("cn3")[id]) != 1 ||
		len(w.addresses("cn2")) > 0 {
		t.Errorf("the server is on %s with %v and %v: %s", one.Host, w.addresses("cn3"), w.addresses("cn2"), w.why(id))
	}
}

// Servers that two instances of the service boot, move and delete at once never have the same
// device, on a host or on its way: there are fewer devices than servers.
func TestTwoInstancesGiveADeviceOnce(t *testing.T) {
	stores := map[string]func(t *testing.T) (sqlstore.Options, bool){
		"SQLite": func(*testing.T) (sqlstore.Options, bool) { return sqlstore.Options{Path: sqlstore.Memory}, false },
		"MariaDB": func(t *testing.T) (sqlstore.Options, bool) {
			sqltest.Need(t)
			return sqlstore.Options{Server: sqltest.Server(t, dbtest.MariaDB(t).NewDatabase(t))}, true
		},
	}
	for name, options := range stores {
		t.Run(name, func(t *testing.T) {
			o, shared := options(t)
			open := func() compute.Store {
				store := must(rowtable.OpenCompute(ctx, o))
				t.Cleanup(func() { _ = store.Close() })
				return store
			}
			store := open()
			w := newFixtureIn(t, store, 0)
			w.withAliases()
			if shared { // a file has one instance
				store = open()
			}
			other := w.serve(store, func(s *compute.Settings) { s.Requests.PCI = w.db.Rules.Settings.Requests.PCI })
			w.equip("cn1", inventory.Host{Devices: qats(1, 2)})
			w.equip("cn2", inventory.Host{Devices: qats(2, 2)})
			const many = 12 // for 8 devices
			running, stop := context.WithCancel(ctx)
			var workers sync.WaitGroup
			for _, s := range []*cloudService{w.cloudService, other} {
				workers.Go(func() { s.RunOperations(running) })
			}
			defer workers.Wait()
			defer stop()
			rounds := 3
			if racetest.Few() {
				rounds = 1
			}
			for round := range rounds {
				for i := range many {
					s := []*cloudService{w.cloudService, other}[i%2]
					must(s.CreateServers(ctx, ann, servers.ServerSpec{Name: "vm", Flavor: "qat1", Image: cirros}))
				}
				w.settle()
				active := 0
				for _, row := range computetest.Read[compute.ServerRow](t, w.store) {
					if row.State == compute.Active {
						active++
					}
				}
				given := len(w.addresses("cn1")) + len(w.addresses("cn2"))
				if active != 8 || given != 8 {
					t.Errorf("round %d: %d servers are active and %d have a device, want 8", round, active, given)
				}
				for i, row := range computetest.Read[compute.ServerRow](t, w.store) {
					if i%2 == 0 || row.State == compute.Error {
						w.must([]*cloudService{w.cloudService, other}[i%2].DeleteServer(ctx, ann, row.ID))
					}
				}
				w.settle()
			}
		})
	}
}

// settle has hosts work until no operation is under way, while others carry operations out, and
// checks all the time that no device is given twice.
func (w *fixture) settle() {
	w.Helper()
	pause := time.NewTicker(5 * time.Millisecond)
	defer pause.Stop()
	for end := time.Now().Add(2 * time.Minute); len(computetest.Read[compute.OperationRow](w, w.store)) > 0; {
		if time.Now().After(end) {
			w.Fatal("the operations do not end")
		}
		did := w.hostsWork(w.cloudService, nil)
		for _, host := range []string{"cn1", "cn2"} {
			w.addresses(host)
		}
		if !did {
			<-pause.C
		}
	}
}
