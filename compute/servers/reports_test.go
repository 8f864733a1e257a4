package servers_test

import (
	"fmt"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/berthcloud/berth/allocations"
	"github.com/berthcloud/berth/client/placementclient"
	"github.com/berthcloud/berth/compute"
	"github.com/berthcloud/berth/compute/computetest"
	"github.com/berthcloud/berth/compute/fleet"
	"github.com/berthcloud/berth/compute/inventory"
	"github.com/berthcloud/berth/compute/servers"
	"github.com/berthcloud/berth/fault"
	"github.com/berthcloud/berth/guarantee"
	"github.com/berthcloud/berth/placement"
	"github.com/berthcloud/berth/placement/providertree"
	"github.com/berthcloud/berth/placement/providertree/providertreetest"
)

// tree is what placement has of a host, a line for each provider.
func (w *fixture) tree(id compute.ID) (lines []string) {
	w.Helper()
	places := placementclient.NewCompute(options(w, w.paths.placement.inner))
	defer places.Close()
	tree, err := places.Tree(ctx, placement.UUID(id), nil)
	w.must(err)
	for _, p := range tree.Providers {
		line := p.Name + " " + strings.Join(p.Traits, " ")
		for _, class := range []string{"VCPU", "PCPU", "VGPU", "CUSTOM_LICENSE"} {
			if i, ok := p.Inventories[class]; ok {
				line += fmt.Sprintf(" %s=%d", class, i.Total)
			}
		}
		lines = append(lines, line)
	}
	return lines
}

// Placement has what a host has, also when it was away meanwhile, and has nothing of a host that is
// no more.
func TestSyncTree(t *testing.T) {
	w := newFixture(t, 0)
	_, node := computetest.Host("cn1", 0)
	w.must(w.Report(ctx, compute.Report{Host: "cn1", Version: 66, Node: *node}))
	id, err := guarantee.ParseUUID(string(node.ID))
	w.must(err)
	has := inventory.Host{
		ID: id, Name: "cn1", VCPU: inventory.Amount{Total: 8, Initial: 4},
		Devices: []inventory.Device{{Suffix: "pci_0000_84_00_0", Class: "VGPU", Total: 4}},
	}
	keep := func(what, trouble string, sent bool, want ...string) {
		t.Helper()
		w.paths.placement.breaks(1<<30, false, false) // none, but they are counted
		_, err := w.SyncTree(ctx, "cn1", has, false)
		if err != nil != (trouble != "") || err != nil && !strings.Contains(err.Error(), trouble) {
			t.Errorf("%s: SyncTree = %v, want %q", what, err, trouble)
		}
		if n := w.paths.placement.number; sent != (n > 0) {
			t.Errorf("%s: placement got %d requests", what, n)
		}
		if got := w.tree(node.ID); !slices.Equal(got, want) {
			t.Errorf("%s: placement has\n%q, want\n%q", what, got, want)
		}
	}
	const gpu = "cn1_pci_0000_84_00_0  VGPU=4"
	keep("a new host", "", true, "cn1 COMPUTE_NODE VCPU=8", gpu)
	keep("the same again", "", false, "cn1 COMPUTE_NODE VCPU=8", gpu)

	_, err = w.ChangeService(ctx, services(w)["cn1"], fleet.ServiceChange{Disabled: new(true)})
	w.must(err)
	keep("a disabled one", "", true, "cn1 COMPUTE_NODE COMPUTE_STATUS_DISABLED VCPU=8", gpu)

	w.must(providertreetest.Change(ctx, w.places, placement.UUID(node.ID), func(p *providertree.Provider) {
		p.Traits = []string{"COMPUTE_NODE"}
	}))
	keep("what others have changed is not seen at once", "", false, "cn1 COMPUTE_NODE VCPU=8", gpu)
	w.later(6 * time.Minute)
	keep("but later", "", true, "cn1 COMPUTE_NODE COMPUTE_STATUS_DISABLED VCPU=8", gpu)

	has.Additional = []inventory.Additional{{
		ID: inventory.ComputeNode, File: "a.yaml", Inventories: map[string]inventory.Extra{"VCPU": {Total: 1}},
	}}
	for range 2 {
		keep("a mistake of the operator's", "a.yaml: the host reports the inventory of VCPU", true,
			"cn1 COMPUTE_NODE COMPUTE_STATUS_DISABLED VCPU=8", gpu)
	}
	has.Additional, has.VCPU.Total = nil, 16
	w.paths.placement.breaks(1, true, false)
	_, err = w.SyncTree(ctx, "cn1", has, false)
	w.refusedWith(err, fault.Unavailable, "")
	w.paths.placement.heals()
	keep("it is back", "", true, "cn1 COMPUTE_NODE COMPUTE_STATUS_DISABLED VCPU=16", gpu)

	card := string(has.DeviceID(has.Devices[0]))
	user := string(computetest.ID("user"))
	w.must(w.places.SetAllocations(ctx, user,
		allocations.Consumer{Project: computetest.Project, User: "u", Amounts: allocations.Amounts{card: {"VGPU": 1}}}))
	has.Devices = nil
	const kept = "cn1_pci_0000_84_00_0 CUSTOM_BERTH_REMOVED VGPU=4"
	keep("a device that is gone while it is in use", "", true, "cn1 COMPUTE_NODE COMPUTE_STATUS_DISABLED VCPU=16", kept)
	free, err := w.places.Allocations(ctx, user)
	w.must(err)
	free.Amounts = nil
	w.must(w.places.SetAllocations(ctx, user, free))
	keep("that it is free is not seen at once", "", false, "cn1 COMPUTE_NODE COMPUTE_STATUS_DISABLED VCPU=16", kept)
	w.later(time.Minute)
	keep("but sooner than what nothing waits for", "", true, "cn1 COMPUTE_NODE COMPUTE_STATUS_DISABLED VCPU=16")

	has.Traits = []string{"HW_CPU_OF_A_LATER_RELEASE"}
	const without = "cn1 COMPUTE_NODE COMPUTE_STATUS_DISABLED VCPU=16"
	keep("a trait that placement does not know", "", true, without)
	w.later(time.Minute)
	keep("it is not tried again soon", "", false, without)
	w.later(6 * time.Minute)
	keep("but like all others", "", true, without)
	if warnings, err := w.SyncTree(ctx, "cn1", has, false); err != nil || len(warnings) != 1 ||
		!strings.Contains(warnings[0], has.Traits[0]) {
		t.Errorf("SyncTree = %q, %v, want one warning that names %s", warnings, err, has.Traits[0])
	}
	plan, err := w.PreviewTree(ctx, "cn1", has)
	w.must(err)
	if len(plan) != 1 || !strings.Contains(plan[0], "without the standard traits "+has.Traits[0]) {
		t.Errorf("PreviewTree = %q, want that the trait is left out, and no addition", plan)
	}
	has.Traits = nil

	consumer := string(computetest.ID("held"))
	allocated := allocations.Consumer{
		Project: computetest.Project, User: "u", Amounts: allocations.Amounts{string(node.ID): {"VCPU": 1}},
	}
	w.must(w.places.SetAllocations(ctx, consumer, allocated))
	service := services(w)["cn1"]
	w.refusedWith(w.DeleteService(ctx, service), fault.Conflict, "HTTPConflict")
	current, err := w.places.Allocations(ctx, consumer)
	w.must(err)
	current.Amounts = nil
	w.must(w.places.SetAllocations(ctx, consumer, current))
	for n := 1; ; n++ { // placement dies at each request
		w.paths.placement.breaks(n, true, n%2 == 0)
		err := w.DeleteService(ctx, service)
		if broke := w.paths.placement.heals(); !broke {
			w.must(err)
			break
		}
		w.refusedWith(err, fault.Unavailable, "")
	}
	if got := w.tree(node.ID); got != nil || len(services(w)) != 0 {
		t.Errorf("after its removal there are %q, %v", got, services(w))
	}
}

// What files have added leaves placement with them, from the host and from its agent's providers,
// wherever a sync ends: placement dies at any request, and the compute service starts again.
func TestAdditionsLeave(t *testing.T) {
	w := newFixture(t, 1000, "cn1")
	_, node := computetest.Host("cn1", 0)
	id, err := guarantee.ParseUUID(string(node.ID))
	w.must(err)
	plain := inventory.Host{ID: id, Name: "cn1", VCPU: inventory.Amount{Total: 8, Initial: 4}}
	files := plain
	more := map[string]inventory.Extra{"CUSTOM_LICENSE": {Total: 7}}
	files.Additional = []inventory.Additional{
		{ID: inventory.ComputeNode, File: "a.yaml", Inventories: more, Traits: []string{"CUSTOM_GOLD"}},
		{Name: "cn1:Open vSwitch agent:br0", File: "b.yaml", Inventories: more, Traits: []string{"CUSTOM_FAST"}},
	}
	start := func(has inventory.Host) error {
		w.must(w.Report(ctx, compute.Report{Host: "cn1", Version: 66, Node: *node}))
		_, err := w.serve(w.store).SyncTree(ctx, "cn1", has, true)
		return err
	}
	w.must(providertreetest.Change(ctx, w.places, placement.UUID(node.ID), func(p *providertree.Provider) {
		p.Traits = []string{"CUSTOM_THEIRS"}
	}))
	w.must(start(plain))
	want := w.tree(node.ID)

	w.must(start(files))
	added := w.tree(node.ID)
	if text := strings.Join(added, "\n"); strings.Count(text, "CUSTOM_LICENSE=7") != 2 ||
		!strings.Contains(text, "CUSTOM_GOLD") || !strings.Contains(text, "CUSTOM_FAST") {
		t.Errorf("with the files placement has\n%s", text)
	}
	for at := 1; ; at++ {
		w.must(start(plain))
		if got := w.tree(node.ID); !slices.Equal(got, want) {
			t.Errorf("after request %d broke placement has\n%q, want\n%q", at-1, got, want)
		}
		w.paths.placement.breaks(at, true, at%2 == 0)
		_ = start(files)
		_ = start(plain)
		if broke := w.paths.placement.heals(); !broke {
			break
		}
	}
	if row := computetest.Read[compute.NodeRow](t, w.store)[0]; row.Additions != nil {
		t.Errorf("%s is stored without files", row.Additions)
	}
}

// services are the ids of all compute services, by host.
func services(w *fixture) map[string]compute.ID {
	w.Helper()
	all, err := w.Services(ctx)
	w.must(err)
	ids := map[string]compute.ID{}
	for _, s := range all {
		ids[s.Host] = s.ID
	}
	return ids
}

// A host that reported while the clock was ahead, and not since, is down: it is not chosen, and
// what it has can be evacuated.
func TestReportsFromTheFuture(t *testing.T) {
	w := newFixture(t, 2500, "cn1", "cn2")
	vm := w.boot("vm", w.port(1000))
	w.work(w.cloudService, nil)
	source := must(w.Server(ctx, vm)).Host
	w.setClock(-time.Hour)
	for _, h := range must(w.Services(ctx)) {
		if h.Up {
			t.Errorf("%s is up before it has reported", h.Host)
		}
		if _, node := computetest.Host(h.Host, 0); h.Host != source {
			w.must(w.Report(ctx, compute.Report{Host: h.Host, Version: 66, Node: *node}))
		}
	}
	another := w.boot("another", w.port(1000))
	w.must(w.EvacuateServer(ctx, root, vm, servers.Evacuation{}))
	w.work(w.cloudService, nil)
	for _, id := range []compute.ID{vm, another} {
		if s := must(w.Server(ctx, id)); s.Host == source || s.State != compute.Active {
			t.Errorf("%s is %s on %q, and %s is down: %s", s.Name, s.State, s.Host, source, w.why(id))
		}
	}
	w.report()
	w.work(w.cloudService, nil)
	w.agrees("clock set back")
}
