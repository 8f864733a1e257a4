package servers_test

import (
	"encoding/json"
	"strings"
	"testing"

	"github.com/berthcloud/berth/compute"
	"github.com/berthcloud/berth/compute/computetest"
	"github.com/berthcloud/berth/compute/inventory"
	"github.com/berthcloud/berth/compute/numa"
	"github.com/berthcloud/berth/guarantee"
)

// nodesWithDevices has a host report two NUMA nodes, each a socket, to placement or not, with a
// card near to each of them that has a function of the alias "qat", and one with two functions for
// ports that is near to node 1.
func (w *fixture) nodesWithDevices(name string, reported bool) {
	w.Helper()
	_, node := computetest.Host(name, 0)
	id, err := guarantee.ParseUUID(string(node.ID))
	w.must(err)
	amount := func(n int64) inventory.Amount { return inventory.Amount{Total: n, Initial: 1} }
	has := inventory.Host{
		ID: id, Name: name, VCPU: amount(8), MemoryMB: amount(4096), DiskGB: amount(100), Devices: managed(1, 1),
		Traits: []string{inventory.TraitSocketAffinity},
	}
	top := numa.Topology{Reported: reported, PCI: map[string]int{
		has.Devices[0].Addresses[0]: 0, has.Devices[1].Addresses[0]: 1, "0000:01:00.1": 1, "0000:01:00.2": 1,
	}}
	for n := range 2 {
		if reported {
			has.Nodes = append(has.Nodes, inventory.Node{
				ID: n, VCPU: amount(4), Pages: []inventory.Pages{{SizeKB: 4, Small: true, Amount: amount(2048)}},
			})
		}
		cpus := []int{4 * n, 4*n + 1, 4*n + 2, 4*n + 3}
		top.Nodes = append(top.Nodes, numa.Node{
			ID: n, Socket: n, CPUs: cpus, Shared: cpus, Cores: [][]int{cpus[:1], cpus[1:2], cpus[2:3], cpus[3:]},
			MemoryMB: 2048, Pages: []numa.Pages{{SizeKB: 4, Total: 524288}},
		})
	}
	node.Topology = must(json.Marshal(top))
	node.Devices = must(json.Marshal([]compute.Device{
		{Slot: "0000:01:00.1", Vendor: "8086:154c", PhysicalNetwork: "physnet0", Parent: "ens1"},
		{Slot: "0000:01:00.2", Vendor: "8086:154c", PhysicalNetwork: "physnet0", Parent: "ens1"},
	}))
	w.must(w.Report(ctx, compute.Report{Host: name, Version: 66, Node: *node, Inventory: &has}))
	_, err = w.SyncTree(ctx, name, has, true)
	w.must(err)
}

// A server with a NUMA cell gets PCI devices that are near to its node, by the policy of its flavor
// or of the alias: on hosts whose nodes placement knows, and on others.
func TestPCIDevicesAreNear(t *testing.T) {
	for _, reported := range []bool{true, false} {
		w := newFixture(t, 0)
		w.withAliases()
		w.nodesWithDevices("cn1", reported)
		flavor := func(name, policy string, more ...string) compute.ID {
			specs := map[string]string{"hw:numa_nodes": "1", "pci_passthrough:alias": "qat:1"}
			if policy != "" {
				specs["hw:pci_numa_affinity_policy"] = policy
			}
			for i := 0; i < len(more); i += 2 {
				specs[more[i]] = more[i+1]
			}
			w.flavorOf(name, specs)
			return compute.ID(name)
		}
		nearOf := func(id compute.ID) (cell, device int) {
			given := w.givenAt("cn1", id)
			if len(given.Cells) != 1 || len(given.PCIDevices) != 1 {
				t.Fatalf("reported %v: the server has %+v: %s", reported, given, w.why(id))
			}
			device = 0
			if given.PCIDevices[0].Provider == managed(1, 1)[1].Suffix {
				device = 1
			}
			return given.Cells[0].Node, device
		}
		var both []compute.ID
		for _, policy := range []string{"required", "socket"} {
			id, state := w.bootOf(flavor(policy, policy))
			if state != compute.Active {
				t.Fatalf("reported %v: a server with the policy %s is %s: %s", reported, policy, state, w.why(id))
			}
			if cell, device := nearOf(id); cell != device {
				t.Errorf("reported %v, %s: a server on node %d has the device of node %d", reported, policy, cell, device)
			}
			both = append(both, id)
		}
		w.must(w.DeleteServer(ctx, ann, both[0]))
		w.work(w.cloudService, nil)
		// The only free device is near to one node, which gets full, and the other one gets empty.
		_, free := nearOf(both[1])
		free = 1 - free
		w.flavorOf("cell", map[string]string{"hw:numa_nodes": "1"})
		for range 16 { // the CPUs of the node
			if id, state := w.bootOf("cell"); state != compute.Active {
				w.must(w.DeleteServer(ctx, ann, id))
				w.work(w.cloudService, nil)
				break
			}
		}
		for _, all := range must(w.Wanted(ctx, "cn1")) {
			if all.Assignment != nil && all.ID != string(both[1]) && all.Assignment.Cells[0].Node != free {
				w.must(w.DeleteServer(ctx, ann, compute.ID(all.ID)))
			}
		}
		w.work(w.cloudService, nil)
		for _, policy := range []string{"required", "legacy", "", "socket"} {
			if id, state := w.bootOf(flavor("no"+policy, policy)); state != compute.Error {
				t.Errorf("reported %v: a server with the policy %q is %s: %+v", reported, policy, state, w.givenAt("cn1", id))
			}
		}
		id, state := w.bootOf(flavor("preferred", "preferred"))
		if state != compute.Active {
			t.Fatalf("reported %v: a server with the policy preferred is %s: %s", reported, state, w.why(id))
		}
		if cell, device := nearOf(id); cell == device {
			t.Errorf("reported %v: a server is on node %d, which is full", reported, cell)
		}
		w.calm("the servers")
	}
}

// Ports that are devices keep their policies, or those of the flavor, when a server is created with
// one and when it is attached. A server without cells may have any.
func TestPortsAreNear(t *testing.T) {
	w := newFixture(t, 0)
	w.nodesWithDevices("cn1", false)
	w.nics("cn1", "2000") // the agent
	w.nodesWithDevices("cn1", false)
	for n, specs := range map[string]map[string]string{
		"cell": {"hw:numa_nodes": "1"}, "preferred": {"hw:numa_nodes": "1", "hw:pci_numa_affinity_policy": "preferred"},
		"none": {"hw:pci_numa_affinity_policy": "required"},
	} {
		w.flavorOf(n, specs)
	}
	first, state := w.bootOf("cell") // node 0 is first
	if cells := w.givenAt("cn1", first).Cells; state != compute.Active || cells[0].Node != 0 {
		t.Fatalf("the server is %s on %+v: %s", state, cells, w.why(first))
	}
	_, err := w.attach(w.cloudService, first, compute.NetworkSpec{Port: w.port(0, "direct")}, nil)
	if err == nil || !strings.Contains(err.Error(), "Failed to claim PCI device for "+string(first)) {
		t.Errorf("a port of another node is attached: %v", err)
	}
	for _, flavor := range []compute.ID{"preferred", "none"} {
		id, state := w.bootOf(flavor)
		if state != compute.Active {
			t.Fatalf("the server of %s is %s: %s", flavor, state, w.why(id))
		}
		p, err := w.attach(w.cloudService, id, compute.NetworkSpec{Port: w.port(0, "direct")}, nil)
		if err != nil || p.Shown.Slot == "" {
			t.Errorf("%s: the port is %+v, %v", flavor, p, err)
		}
	}
}
