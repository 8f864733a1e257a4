package servers_test

import (
	"fmt"
	"maps"
	"slices"
	"testing"

	"github.com/berthcloud/berth/compute"
	"github.com/berthcloud/berth/compute/computetest"
	"github.com/berthcloud/berth/compute/fleet"
	"github.com/berthcloud/berth/compute/hostlist"
	"github.com/berthcloud/berth/compute/inventory"
	"github.com/berthcloud/berth/compute/servers"
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
