package servers_test

import (
	"encoding/json"
	"fmt"
	"slices"
	"strings"
	"testing"

	"github.com/berthcloud/berth/allocations"
	"github.com/berthcloud/berth/compute"
	"github.com/berthcloud/berth/compute/computetest"
	"github.com/berthcloud/berth/compute/fleet"
	"github.com/berthcloud/berth/compute/inventory"
	"github.com/berthcloud/berth/compute/numa"
	"github.com/berthcloud/berth/compute/request"
	"github.com/berthcloud/berth/compute/servers"
	"github.com/berthcloud/berth/fault"
	"github.com/berthcloud/berth/guarantee"
	"github.com/berthcloud/berth/placement"
	"github.com/berthcloud/berth/placement/providertree"
	"github.com/berthcloud/berth/placement/providertree/providertreetest"
)

// numaHost lets a host report that its NUMA nodes are providers: each has so many CPUs of both
// kinds, and so much memory in ordinary pages and in pages of 2 MB.
func (w *fixture) numaHost(name string, nodes int, cpus, memoryMB int64) {
	w.Helper()
	node := w.reportsNodes(name, numa.Topology{Reported: true})
	id, err := guarantee.ParseUUID(string(node.ID))
	w.must(err)
	amount := func(total int64) inventory.Amount { return inventory.Amount{Total: total, Initial: 1} }
	host := inventory.Host{ID: id, Name: name, DiskGB: amount(1000)}
	w.hosts[id.String()] = name
	for n := range nodes {
		host.Nodes = append(host.Nodes, inventory.Node{
			ID: n, VCPU: amount(cpus), PCPU: amount(cpus), Pages: []inventory.Pages{
				{SizeKB: 4, Small: true, Amount: amount(memoryMB)}, {SizeKB: 2048, Amount: amount(memoryMB)},
			},
		})
		for _, provider := range []string{host.NodeName(n), host.PagesName(n, 4), host.PagesName(n, 2048)} {
			w.hosts[id.Derive(provider).String()] = provider
		}
	}
	must(w.SyncTree(ctx, name, host, true))
}

// reportsNodes lets a host report its NUMA topology.
func (w *fixture) reportsNodes(name string, t numa.Topology) *compute.NodeRow {
	w.Helper()
	_, node := computetest.Host(name, 0)
	var err error
	node.Topology, err = json.Marshal(t)
	w.must(err)
	w.must(w.Report(ctx, compute.Report{Host: name, Version: 66, Node: *node}))
	return node
}

// reportsTraits says that a host's tree has traits.
func (w *fixture) reportsTraits(name string, traits ...string) {
	w.Helper()
	node := computetest.Read[compute.NodeRow](w, w.store, compute.Where(compute.ByName, name))[0]
	added, err := json.Marshal(map[string]map[string][]string{string(node.ID): {"traits": traits}})
	w.must(err)
	node.Additions = added
	w.must(w.store.Update(ctx, computetest.Now, func(tx compute.Writer) error { return tx.Replace(&node) }))
}

// bootWith boots a server of a flavor with extra specs, "name=value name=value".
func (w *fixture) bootWith(flavor string, vcpus, memoryMB int64, specs string, ports ...compute.ID) compute.ID {
	w.Helper()
	row := computetest.Flavor(flavor, vcpus, memoryMB, 1)
	row.Specs = map[string]string{}
	for word := range strings.FieldsSeq(specs) {
		name, v, _ := strings.Cut(word, "=")
		row.Specs[name] = v
	}
	w.add(row)
	spec := servers.ServerSpec{Name: flavor, Flavor: row.ID, Image: cirros, PortsMayRequest: true}
	for _, p := range ports {
		spec.Networks = append(spec.Networks, compute.NetworkSpec{Port: p})
	}
	made, err := w.CreateServers(ctx, ann, spec)
	w.must(err)
	w.work(w.cloudService, nil)
	return made[0].ID
}

// has returns what a server has of placement, a provider's name and its amounts each.
func (w *fixture) has(id compute.ID) string {
	w.Helper()
	c, err := w.places.Allocations(ctx, string(id))
	w.must(err)
	return w.named(c.Amounts)
}

func (w *fixture) named(amounts allocations.Amounts) string {
	var words []string
	for provider, classes := range amounts {
		for class, n := range classes {
			words = append(words, fmt.Sprintf("%s:%s:%d", w.hosts[provider], class, n))
		}
	}
	slices.Sort(words)
	return strings.Join(words, " ")
}

// TestCellsGetNodes boots servers with NUMA cells, and others, on a host that reports its NUMA
// nodes and on one that does not.
func TestCellsGetNodes(t *testing.T) {
	w := newFixture(t, 10000, "flat")
	w.numaHost("cn1", 2, 8, 8192)
	f := func(id compute.ID, want string) {
		t.Helper()
		if got := w.has(id); got != want {
			t.Errorf("the server has %s, want %s: %s", got, want, w.why(id))
		}
	}
	f(w.bootWith("plain", 2, 512, ""), "flat:DISK_GB:1 flat:MEMORY_MB:512 flat:VCPU:2")
	f(w.bootWith("two", 8, 1024, "hw:numa_nodes=2"), "cn1:DISK_GB:1 cn1_NUMA0:VCPU:4 cn1_NUMA0_4:MEMORY_MB:512 "+
		"cn1_NUMA1:VCPU:4 cn1_NUMA1_4:MEMORY_MB:512")
	f(w.bootWith("pages", 1, 1024, "hw:mem_page_size=large"),
		"cn1:DISK_GB:1 cn1_NUMA0:VCPU:1 cn1_NUMA0_2048:MEMORY_MB:1024")
	f(w.bootWith("pinned", 8, 1024, "hw:cpu_policy=dedicated"),
		"cn1:DISK_GB:1 cn1_NUMA0:PCPU:8 cn1_NUMA0_4:MEMORY_MB:1024")
	f(w.bootWith("mixed", 4, 1024, "hw:cpu_policy=mixed hw:cpu_dedicated_mask=0-1 hw:emulator_threads_policy=isolate"),
		"cn1:DISK_GB:1 cn1_NUMA1:PCPU:3 cn1_NUMA1:VCPU:2 cn1_NUMA1_4:MEMORY_MB:1024")
	// No node has eight dedicated CPUs left: those of the flat host are counted as VCPU.
	f(w.bootWith("pinned2", 8, 1024, "hw:cpu_policy=dedicated"), "flat:DISK_GB:1 flat:MEMORY_MB:1024 flat:VCPU:8")
	for name, c := range map[string]struct {
		cpus, memory int64
		specs, want  string
	}{
		"three":    {3, 768, "hw:numa_nodes=3", "no host has another NUMA node for each of the 3 cells"},
		"large":    {9, 512, "hw:numa_nodes=1", "6 VCPU less were requested by the flavor, CPUs of NUMA cell 0"},
		"gigantic": {1, 1024, "hw:mem_page_size=1GB", "No such trait(s): CUSTOM_MEMORY_PAGE_SIZE_1048576"},
		"odd":      {1, 1023, "hw:mem_page_size=2MB", "1023 MB, is no multiple of its pages of 2048 kB"},
		"isolated": {1, 512, "hw:numa_nodes=1 resources_A:CUSTOM_GOLD=1 group_policy=isolate", "group_policy=isolate"},
		"socket":   {1, 512, "hw:pci_numa_affinity_policy=socket", "no host reports COMPUTE_SOCKET_PCI_NUMA_AFFINITY"},
	} {
		id := w.bootWith(name, c.cpus, c.memory, c.specs)
		if why := w.why(id); w.state(id) != compute.Error || !strings.Contains(why, c.want) || w.has(id) != "" {
			t.Errorf("%s: the server is %s with %q, want the reason %q: %s", name, w.state(id), w.has(id), c.want, why)
		}
	}
}

// Servers with cells are refused while no host reports nodes, and those of hosts that exclude them
// are not theirs.
func TestCellsWithoutNodes(t *testing.T) {
	w := newFixture(t, 10000, "cn1", "cn2")
	w.reportsTraits("cn1", request.TraitNonNUMA)
	w.must(providertreetest.Change(ctx, w.places, placement.UUID(computetest.ID("cn1")), func(p *providertree.Provider) {
		p.Traits = append(p.Traits, request.TraitNonNUMA)
	}))
	cells := computetest.Flavor("cells", 2, 512, 1)
	cells.Specs = map[string]string{"hw:numa_nodes": "2"}
	w.add(cells)
	_, err := w.CreateServers(ctx, ann, servers.ServerSpec{Name: "vm", Flavor: "cells", Image: cirros})
	w.refusedWith(err, fault.Invalid, "")
	for _, name := range []string{"a", "b", "c"} {
		id := w.bootWith(name, 1, 512, "hw:cpu_policy=dedicated")
		if host := must(w.Server(ctx, id)).Host; host != "cn2" {
			t.Errorf("server %s is on %q: %s", name, host, w.why(id))
		}
	}
}

// A host that reports nodes, or that it has no servers with cells, may have no such providers so
// far: its start may be refused. Placement does not know their traits then, and other hosts serve.
func TestNodesThatAreNotThereYet(t *testing.T) {
	w := newFixture(t, 10000, "flat")
	w.reportsNodes("cn1", numa.Topology{Reported: true})
	w.reportsNodes("cn2", numa.Topology{Excluded: true})
	id := w.bootWith("pinned", 2, 512, "hw:cpu_policy=dedicated")
	if got, want := w.has(id), "flat:DISK_GB:1 flat:MEMORY_MB:512 flat:VCPU:2"; got != want {
		t.Errorf("the server has %s, want %s: %s", got, want, w.why(id))
	}
}

// A server with as many cells as its host has nodes is placed, although no candidate of the first
// page is possible.
func TestManyCells(t *testing.T) {
	w := newFixture(t, 10000)
	w.numaHost("cn1", 8, 16, 8192)
	id := w.bootWith("eight", 8, 1024, "hw:numa_nodes=8")
	if got := w.has(id); strings.Count(got, ":VCPU:1") != 8 {
		t.Errorf("the server has %s: %s", got, w.why(id))
	}
}

// A server with cells moves to the nodes of another host, and comes back to its own.
func TestCellsMove(t *testing.T) {
	w := newFixture(t, 10000)
	w.numaHost("cn1", 2, 4, 4096)
	id := w.bootWith("two", 4, 1024, "hw:numa_nodes=2 hw:cpu_policy=dedicated")
	w.numaHost("cn2", 2, 4, 4096)
	on := func(host string) string {
		return strings.ReplaceAll("HOST:DISK_GB:1 HOST_NUMA0:PCPU:2 HOST_NUMA0_4:MEMORY_MB:512 "+
			"HOST_NUMA1:PCPU:2 HOST_NUMA1_4:MEMORY_MB:512", "HOST", host)
	}
	check := func(what, host string) {
		t.Helper()
		if got := w.has(id); got != on(host) {
			t.Errorf("%s: the server has %s, want %s: %s", what, got, on(host), w.why(id))
		}
	}
	check("a boot", "cn1")
	w.must(w.MigrateServer(ctx, root, id, ""))
	w.work(w.cloudService, nil)
	check("a migration", "cn2")
	w.must(w.RevertResize(ctx, ann, id))
	w.work(w.cloudService, nil)
	check("a revert", "cn1")
	w.must(w.LiveMigrateServer(ctx, root, id, servers.LiveMigration{}))
	w.work(w.cloudService, nil)
	check("a live migration", "cn2")
	w.must(w.MigrateServer(ctx, root, id, ""))
	w.work(w.cloudService, nil)
	w.must(w.ConfirmResize(ctx, ann, id))
	w.work(w.cloudService, nil)
	check("a confirmed migration", "cn1")
	w.must(w.DeleteServer(ctx, ann, id))
	w.work(w.cloudService, nil)
	if used := w.used(); used["PCPU"] != 0 || used["MEMORY_MB"] != 0 {
		t.Errorf("%v is allocated after the deletion", used)
	}
}

// cellsOf shows the cells of a server: "node 0: 128 MB; node 1: 128 MB, 2048 kB".
func (w *fixture) cellsOf(id compute.ID) string {
	w.Helper()
	var parts []string
	for _, c := range must(w.Cells(ctx, must(w.Server(ctx, id)).ServerRow)) {
		part := fmt.Sprintf("node %d: %d MB", c.Node, c.MemoryMB)
		if c.PageKB > 0 {
			part += fmt.Sprintf(", %d kB", c.PageKB)
		}
		parts = append(parts, part)
	}
	return strings.Join(parts, "; ")
}

// Servers with cells and pages of their flavor are on a host that reports its topology, and no
// nodes to placement: what other servers with cells have of its nodes is compared, with each claim.
func TestCellsOnAFlatHost(t *testing.T) {
	w := newFixture(t, 0, "older")
	w.must(w.start("cn1", 16, 0)) // eight CPUs, 1024 MB and 1024 MB in huge pages of each of two nodes
	for _, c := range []struct {
		cpus, memory int64
		specs, want  string // "" for no host
	}{
		{4, 1024, "hw:numa_nodes=2", "node 0: 512 MB; node 1: 512 MB"},
		{2, 1024, "hw:numa_nodes=2 hw:numa_cpus.0=0 hw:numa_cpus.1=1 hw:numa_mem.0=768 hw:numa_mem.1=256", ""},
		{
			2, 768, "hw:numa_nodes=2 hw:numa_cpus.0=0 hw:numa_cpus.1=1 hw:numa_mem.0=512 hw:numa_mem.1=256",
			"node 0: 512 MB; node 1: 256 MB",
		},
		{1, 512, "hw:numa_nodes=1", ""},
		{1, 256, "hw:mem_page_size=small", "node 1: 256 MB"},
		{1, 64, "hw:mem_page_size=4", ""},
		{1, 1024, "hw:mem_page_size=large", "node 0: 1024 MB, 2048 kB"},
		{1, 512, "hw:mem_page_size=1GB", ""},
		{1, 512, "hw:mem_page_size=2MB", "node 1: 512 MB, 2048 kB"},
		{1, 512, "hw:mem_page_size=any", "node 1: 512 MB, 2048 kB"},
	} {
		id := w.bootWith(fmt.Sprint(c.specs, c.memory), c.cpus, c.memory, c.specs)
		if got := w.cellsOf(id); got != c.want || (w.state(id) == compute.Active) != (c.want != "") {
			t.Errorf("%d MB with %s: the server is %s with %q, want %q: %s", c.memory, c.specs, w.state(id), got, c.want,
				w.why(id))
		}
		if why := w.why(id); c.want == "" && (!strings.Contains(why, "NUMA nodes have the CPUs and the memory") ||
			!strings.Contains(why, "older: the host has reported no NUMA topology")) {
			t.Errorf("%d MB with %s: no host, because %s", c.memory, c.specs, why)
		}
	}
	// A server with more CPUs than a node has of them does not share these with itself.
	if id := w.bootWith("wide", 9, 64, "hw:numa_nodes=1"); w.state(id) != compute.Error {
		t.Errorf("a cell of nine CPUs is %s on nodes of eight", w.state(id))
	}
}

// Servers with cells of their flavor are on hosts with nodes first, and then on flat ones, also
// when those with nodes have candidates and will not do.
func TestFlatHostsBesideHostsWithNodes(t *testing.T) {
	const specs = "hw:numa_nodes=2"
	w := newFixture(t, 0)
	w.must(w.startWithNodes("cn1", 4, 0))
	w.must(w.start("cn2", 8, 0)) // each has 1024 MB of both nodes
	on := func(what, want string, ids ...compute.ID) {
		t.Helper()
		var hosts []string
		for _, id := range ids {
			hosts = append(hosts, must(w.Server(ctx, id)).Host)
		}
		slices.Sort(hosts) // two servers that boot at once get them in either order
		if got := strings.Join(hosts, " "); got != want {
			t.Errorf("%s: the servers are on %q, want %q: %s", what, got, want, w.why(ids[len(ids)-1]))
		}
		for _, id := range ids {
			if cells := w.cellsOf(id); w.state(id) == compute.Active && strings.Count(cells, ": 512 MB") != 2 {
				t.Errorf("%s: the server has the cells %q", what, cells)
			}
		}
	}
	first := w.bootWith("first", 2, 1024, specs)
	on("an empty cloud", "cn1", first)
	down := func(yes bool) {
		for _, h := range must(w.Services(ctx)) {
			if h.Host == "cn1" {
				must(w.ChangeService(ctx, h.ID, fleet.ServiceChange{ForcedDown: &yes}))
			}
		}
	}
	down(true)
	on("a host with nodes that is down", "cn2", w.bootWith("down", 2, 1024, specs))
	down(false)
	made, err := w.CreateServers(ctx, ann, servers.ServerSpec{Name: "vm", Flavor: "first", Image: cirros, Min: 2, Max: 2})
	w.must(err)
	w.work(w.cloudService, nil)
	on("two at once", "cn1 cn2", made[0].ID, made[1].ID)
	full := w.bootWith("full", 2, 1024, specs)
	on("a full cloud", "", full)
	if why := w.why(full); !strings.Contains(why, "_MEM") || !strings.Contains(why, "host cn2: no 2 NUMA nodes") {
		t.Errorf("there is no host, because %s", why)
	}
}
