package servers_test

import (
	"fmt"
	"maps"
	"strings"
	"testing"

	"github.com/berthcloud/berth/compute"
	"github.com/berthcloud/berth/compute/computetest"
	"github.com/berthcloud/berth/compute/inventory"
	"github.com/berthcloud/berth/compute/servers"
	"github.com/berthcloud/berth/guarantee"
	"github.com/berthcloud/berth/network"
	"github.com/berthcloud/berth/network/agents"
	"github.com/berthcloud/berth/network/ports"
	"github.com/berthcloud/berth/network/topology"
	"github.com/berthcloud/berth/placement"
	"github.com/berthcloud/berth/placement/providertree"
	"github.com/berthcloud/berth/placement/providertree/providertreetest"
)

// equip has a host report what it has, by which placement knows it.
func (w *fixture) equip(name string, has inventory.Host) {
	w.Helper()
	_, node := computetest.Host(name, 0)
	id, err := guarantee.ParseUUID(string(node.ID))
	w.must(err)
	has.ID, has.Name = id, name
	has.VCPU, has.MemoryMB = inventory.Amount{Total: 8, Initial: 1}, inventory.Amount{Total: 4096, Initial: 1}
	has.DiskGB = inventory.Amount{Total: 100, Initial: 1}
	w.must(w.Report(ctx, compute.Report{Host: name, Version: 66, Node: *node, Inventory: &has}))
	_, err = w.SyncTree(ctx, name, has, false)
	w.must(err)
}

// holds are the amounts that a server holds, by the names of the providers and classes.
func (w *fixture) holds(id compute.ID, hosts ...string) map[string]int64 {
	w.Helper()
	names := map[string]string{}
	for _, h := range hosts {
		_, node := computetest.Host(h, 0)
		uuid, err := guarantee.ParseUUID(string(node.ID))
		w.must(err)
		host := inventory.Host{ID: uuid, Name: h}
		names[string(node.ID)] = h
		names[string(host.DeviceID(inventory.Device{Suffix: "gpu0"}))] = h + "_gpu0"
		names[string(host.DeviceID(inventory.Device{Suffix: "gpu1"}))] = h + "_gpu1"
		for id := range 2 {
			for _, name := range []string{host.NodeName(id), host.PagesName(id, 4), host.PagesName(id, 2048)} {
				names[uuid.Derive(name).String()] = name
			}
		}
	}
	allocated, err := w.places.Allocations(ctx, string(id))
	w.must(err)
	all := map[string]int64{}
	for provider, classes := range allocated.Amounts {
		for class, n := range classes {
			all[names[provider]+" "+class] = n
		}
	}
	return all
}

// What flavors and images request in addition to numbers is where servers go, and what they hold.
func TestRequirementsOfFlavors(t *testing.T) {
	w := newFixture(t, 0)
	w.equip("plain", inventory.Host{Traits: []string{"HW_CPU_X86_VMX"}, KnowsCPU: true})
	w.equip("rich", inventory.Host{
		Traits: []string{"HW_CPU_X86_VMX", "HW_CPU_X86_AVX2"}, KnowsCPU: true, PCPU: inventory.Amount{Total: 4, Initial: 1},
		Devices: []inventory.Device{
			{Suffix: "gpu0", Class: "VGPU", Total: 1, Traits: []string{"CUSTOM_NVIDIA_11"}},
			{Suffix: "gpu1", Class: "VGPU", Total: 2, Traits: []string{"CUSTOM_NVIDIA_12"}},
		},
		Additional: []inventory.Additional{{
			ID: inventory.ComputeNode, File: "a.yaml", Inventories: map[string]inventory.Extra{"CUSTOM_LICENSE": {Total: 2}},
			Traits: []string{"CUSTOM_GOLD"},
		}},
	})
	numbers := map[string]int64{"rich VCPU": 2, "rich MEMORY_MB": 128, "rich DISK_GB": 1}
	with := func(more map[string]int64, without ...string) map[string]int64 {
		all := maps.Clone(numbers)
		maps.Copy(all, more)
		for _, key := range without {
			delete(all, key)
		}
		return all
	}
	for i, tc := range []struct {
		specs map[string]string
		image compute.ID
		want  map[string]int64 // nil: no host
		why   string
	}{
		{map[string]string{"trait:CUSTOM_GOLD": "required"}, cirros, numbers, ""},
		{map[string]string{"trait:HW_CPU_X86_AVX2": "required"}, cirros, numbers, ""},
		{
			map[string]string{"trait:HW_CPU_X86_AVX2": "forbidden"},
			cirros,
			map[string]int64{"plain VCPU": 2, "plain MEMORY_MB": 128, "plain DISK_GB": 1},
			"",
		},
		{nil, golden, numbers, ""},
		{map[string]string{"trait:CUSTOM_GOLD": "forbidden"}, golden, nil, ""},
		{map[string]string{"trait:CUSTOM_SILVER": "required"}, cirros, nil, "CUSTOM_SILVER"},
		{map[string]string{"resources:CUSTOM_LICENSE": "2"}, cirros, with(map[string]int64{"rich CUSTOM_LICENSE": 2}), ""},
		{map[string]string{"resources:CUSTOM_LICENSE": "3"}, cirros, nil, "CUSTOM_LICENSE:3"},
		{
			map[string]string{"resources:VGPU": "2", "trait:CUSTOM_GOLD": "required"},
			cirros,
			with(map[string]int64{"rich_gpu1 VGPU": 2}), "",
		},
		// The trait is the host's, not the GPU's.
		{map[string]string{"resources1:VGPU": "1", "trait1:CUSTOM_GOLD": "required"}, cirros, nil, ""},
		{
			map[string]string{"resources1:VGPU": "1", "trait1:CUSTOM_NVIDIA_12": "required"},
			cirros,
			with(map[string]int64{"rich_gpu1 VGPU": 1}), "",
		},
		{
			map[string]string{"resources1:VGPU": "1", "resources2:VGPU": "2", "group_policy": "isolate"},
			cirros,
			with(map[string]int64{"rich_gpu0 VGPU": 1, "rich_gpu1 VGPU": 2}), "",
		},
		{map[string]string{"resources1:VGPU": "1", "resources2:VGPU": "1"}, cirros, nil, "group_policy"},
		{map[string]string{"hw:cpu_policy": "dedicated"}, cirros, with(map[string]int64{"rich PCPU": 2}, "rich VCPU"), ""},
		{
			map[string]string{"hw:cpu_policy": "mixed", "hw:cpu_dedicated_mask": "0"},
			cirros,
			with(map[string]int64{"rich PCPU": 1, "rich VCPU": 1}), "",
		},
	} {
		f := computetest.Flavor(fmt.Sprint("f", i), 2, 128, 1)
		f.Specs = tc.specs
		w.add(f)
		made := must(w.CreateServers(ctx, ann, servers.ServerSpec{Name: "vm", Flavor: f.ID, Image: tc.image}))
		w.work(w.cloudService, nil)
		id := made[0].ID
		want, state := tc.want, compute.Active
		if want == nil {
			want, state = map[string]int64{}, compute.Error
		}
		if got := w.holds(id, "plain", "rich"); w.state(id) != state || !maps.Equal(want, got) ||
			!strings.Contains(w.why(id), tc.why) {
			t.Errorf("%v: the server is %s and holds %v, want %s with %v: %s", tc.specs, w.state(id), got, state, want,
				w.why(id))
		}
		w.must(w.DeleteServer(ctx, ann, id))
		w.work(w.cloudService, nil)
		if left := w.holds(id, "plain", "rich"); len(left) > 0 {
			t.Errorf("%v: after its deletion the server holds %v", tc.specs, left)
		}
	}
}

// Host aggregates keep servers without guarantees from hosts that are for those with, as soon as
// placement knows of them.
func TestAggregatesKeepServersApart(t *testing.T) {
	w := newFixture(t, 2500, "cn1", "cn2")
	s := w.serve(w.store, func(s *compute.Settings) { s.Requests.IsolateAggregates = true })
	a := must(w.CreateAggregate(ctx, "guaranteed", ""))
	must(w.AddHost(ctx, a.Number, "cn1"))
	must(w.SetAggregateMetadata(ctx, a.Number, map[string]*string{"trait:CUSTOM_GUARANTEED": ptr("required")}))
	if left := must(w.Mirror(ctx)); left != 0 {
		t.Fatalf("%d changes are not mirrored", left)
	}
	_, node := computetest.Host("cn1", 0)
	w.must(providertreetest.Change(ctx, w.places, placement.UUID(node.ID), func(p *providertree.Provider) {
		p.Traits = []string{"CUSTOM_GUARANTEED"}
	}))
	fast := computetest.Flavor("fast", 1, 128, 1)
	fast.Specs = map[string]string{"trait:CUSTOM_GUARANTEED": "required"}
	w.add(fast)
	for i := range 12 {
		flavor, want, ports := compute.ID("m1"), "cn2", []compute.NetworkSpec(nil)
		if i%4 == 0 {
			flavor, want, ports = "fast", "cn1", []compute.NetworkSpec{{Port: w.port(500)}}
		}
		made := must(s.CreateServers(ctx, ann,
			servers.ServerSpec{Name: "vm", Flavor: flavor, Image: cirros, Networks: ports, PortsMayRequest: true}))
		w.work(s, nil)
		if one := must(w.Server(ctx, made[0].ID)); one.Host != want {
			t.Errorf("server %d of flavor %s is %s on %q, want %s: %s", i, flavor, one.State, one.Host, want, w.why(one.ID))
		}
	}
	w.agrees("servers in and out of the aggregate")
}

// Of a trunk's ports only the parent is the server's to hold something for, whatever the others
// promise.
func TestTrunkParents(t *testing.T) {
	w := newFixture(t, 2500, "cn1")
	parent, sub := w.port(1000), w.port(500)
	_, err := w.network.CreateTrunks(ctx, []ports.TrunkSpec{{
		TrunkRow: network.TrunkRow{
			Common: network.Common{Project: computetest.Project}, Port: network.ID(parent), AdminStateUp: true,
		},
		Subports: []ports.SubportSpec{{Port: network.ID(sub), SegmentationType: "vlan", SegmentationID: 7}},
	}})
	w.must(err)
	vm := w.boot("vm", parent)
	w.work(w.cloudService, nil)
	if got := w.state(vm); got != compute.Active {
		t.Fatalf("the server is %s: %s", got, w.why(vm))
	}
	if used := w.used(); used[egress] != 1000 || used[ingress] != 1000 {
		t.Errorf("%v is used", used)
	}
	w.must(w.DeleteServer(ctx, ann, vm))
	w.work(w.cloudService, nil)
	if used := w.used(); used[egress] != 0 {
		t.Errorf("after its deletion %v is used", used)
	}
}

// A port in a network of two physical networks goes where either of them has room, and is bound to
// the segment that is there.
func TestEitherPhysicalNetwork(t *testing.T) {
	w := newFixture(t, 1000, "cn1")
	w.hostAt("cn2", "physnet1", 1000)
	nets, err := w.network.CreateNetworks(ctx, []topology.NetworkSpec{{
		NetworkRow: network.NetworkRow{
			Common: network.Common{Project: computetest.Project, Name: "both"}, AdminStateUp: true, PortSecurity: true,
		},
		Segments: []topology.SegmentSpec{
			{Type: network.VLAN, PhysicalNetwork: "physnet0", SegmentationID: 300},
			{Type: network.VLAN, PhysicalNetwork: "physnet1", SegmentationID: 301},
		},
	}})
	w.must(err)
	_, err = w.network.CreateSubnets(ctx, []topology.SubnetSpec{{SubnetRow: network.SubnetRow{
		Common: network.Common{Project: computetest.Project}, Network: nets[0].ID, IPVersion: 4, CIDR: "10.8.0.0/24",
	}}})
	w.must(err)
	segments, err := w.network.Segments(ctx)
	w.must(err)
	at := map[network.ID]string{}
	for _, s := range segments {
		at[s.ID] = s.PhysicalNetwork
	}
	w.net = nets[0].ID
	where := map[string]string{}
	for range 2 { // each fills one host's bridge
		port := w.port(1000)
		vm := w.boot("vm", port)
		w.work(w.cloudService, nil)
		if got := w.state(vm); got != compute.Active {
			t.Fatalf("the server is %s: %s", got, w.why(vm))
		}
		for _, p := range must(w.network.Ports(ctx)) {
			if p.ID == network.ID(port) {
				where[p.Binding.Host] = at[p.Binding.Segment]
			}
		}
	}
	w.agrees("servers on either network")
	if want := map[string]string{"cn1": "physnet0", "cn2": "physnet1"}; !maps.Equal(want, where) {
		t.Errorf("ports are bound to %v, want %v", where, want)
	}
	vm := w.boot("vm", w.port(1000))
	w.work(w.cloudService, nil)
	if got := w.state(vm); got != compute.Error {
		t.Errorf("a server for which neither has room is %s", got)
	}
}

// A port that its host's agent cannot bind is bound on another host.
func TestPortThatCannotBeBound(t *testing.T) {
	w := newFixture(t, 0, "cn1", "cn2")
	_, _, err := w.network.Beat(ctx, agents.Heartbeat{ // which has no bridge on the network any more
		Type: guarantee.OpenVSwitch.AgentType, Binary: guarantee.OpenVSwitch.Binary, Host: "cn1",
		Configurations: []byte(`{"bridge_mappings": {"physnet9": "br9"}, "integration_bridge": "br-int"}`),
	})
	w.must(err)
	tried := 0
	for range 6 {
		vm := w.boot("vm", w.port(0))
		w.work(w.cloudService, nil)
		if one := must(w.Server(ctx, vm)); one.State != compute.Active || one.Host != "cn2" {
			t.Errorf("the server is %s on %q: %s", one.State, one.Host, w.why(vm))
		}
		if strings.Contains(w.why(vm), "cannot be bound") {
			tried++
		}
	}
	if tried == 0 {
		t.Error("the host on which nothing can be bound was never tried")
	}
	w.agrees("servers whose ports could not be bound")
}
