package servers_test

import (
	"encoding/json"
	"errors"
	"fmt"
	"maps"
	"net/http"
	"strings"
	"sync/atomic"
	"testing"

	"github.com/berthcloud/berth/allocations"
	"github.com/berthcloud/berth/compute"
	"github.com/berthcloud/berth/compute/computetest"
	"github.com/berthcloud/berth/compute/inventory"
	"github.com/berthcloud/berth/compute/numa"
	"github.com/berthcloud/berth/compute/servers"
	"github.com/berthcloud/berth/guarantee"
	"github.com/berthcloud/berth/internal/racetest"
	"github.com/berthcloud/berth/placement"
	"github.com/berthcloud/berth/placement/providertree"
)

// start has a host start with so many shared and dedicated CPUs, and returns the error of its sync.
func (w *fixture) start(name string, shared, dedicated int64) error {
	w.Helper()
	return w.startWith(name, shared, dedicated, nil)
}

// startWithNodes has a host start with two NUMA nodes, of so many shared and dedicated CPUs each.
func (w *fixture) startWithNodes(name string, shared, dedicated int64) error {
	w.Helper()
	amount := func(n int64) inventory.Amount { return inventory.Amount{Total: n, Initial: 1} }
	var nodes []inventory.Node
	for id := range 2 {
		nodes = append(nodes, inventory.Node{
			ID: id, VCPU: amount(shared), PCPU: amount(dedicated),
			Pages: []inventory.Pages{{SizeKB: 4, Small: true, Amount: amount(1024)}, {SizeKB: 2048, Amount: amount(1024)}},
		})
	}
	return w.startWith(name, 2*shared, 2*dedicated, nodes)
}

func (w *fixture) startWith(name string, shared, dedicated int64, nodes []inventory.Node) error {
	w.Helper()
	_, node := computetest.Host(name, 0)
	id, err := guarantee.ParseUUID(string(node.ID))
	w.must(err)
	has := inventory.Host{
		ID: id, Name: name, VCPU: inventory.Amount{Total: shared, Initial: 1},
		PCPU:     inventory.Amount{Total: dedicated, Initial: 1},
		MemoryMB: inventory.Amount{Total: 4096, Initial: 1}, DiskGB: inventory.Amount{Total: 100, Initial: 1},
		Nodes: nodes,
	}
	topology := numa.Topology{Reported: nodes != nil}
	for id := range 2 {
		n := numa.Node{ID: id, MemoryMB: 2048, Pages: []numa.Pages{{SizeKB: 4, Total: 262144}, {SizeKB: 2048, Total: 512}}}
		for cpu := id; cpu < int(shared+dedicated); cpu += 2 {
			n.CPUs, n.Cores = append(n.CPUs, cpu), append(n.Cores, []int{cpu})
			if cpu < int(shared) {
				n.Shared = append(n.Shared, cpu)
			} else {
				n.Dedicated = append(n.Dedicated, cpu)
			}
		}
		topology.Nodes = append(topology.Nodes, n)
	}
	node.Topology = must(json.Marshal(topology))
	w.must(w.Report(ctx, compute.Report{Host: name, Version: 66, Node: *node}))
	_, err = w.SyncTree(ctx, name, has, true)
	return err
}

// bootOf boots a server of a flavor, and returns it with its state.
func (w *fixture) bootOf(flavor compute.ID) (id compute.ID, state string) {
	w.Helper()
	made := must(w.CreateServers(ctx, ann, servers.ServerSpec{Name: "vm", Flavor: flavor, Image: cirros}))
	w.work(w.cloudService, nil)
	return made[0].ID, w.state(made[0].ID)
}

// pinned adds flavors of two CPUs: "pinned" with dedicated ones, "mixed" with one of each kind, and
// "pinned3" with three.
func (w *fixture) pinned() {
	w.Helper()
	for name, specs := range map[string]map[string]string{
		"pinned": {"hw:cpu_policy": "dedicated"}, "mixed": {"hw:cpu_policy": "mixed", "hw:cpu_dedicated_mask": "0"},
		"pinned3": {"hw:cpu_policy": "dedicated"},
	} {
		f := computetest.Flavor(name, 2, 128, 1)
		if name == "pinned3" {
			f.VCPUs = 3
		}
		f.Specs = specs
		w.add(f)
	}
}

func (w *fixture) wantHolds(what string, id compute.ID, host string, want map[string]int64) {
	w.Helper()
	all := map[string]int64{host + " MEMORY_MB": 128, host + " DISK_GB": 1}
	for class, n := range want {
		all[host+" "+class] = n
	}
	if got := w.holds(id, "cn1", "cn2"); !maps.Equal(all, got) {
		w.Errorf("%s: the server has %v, want %v", what, got, all)
	}
}

// A dedicated server that has VCPU, by the second query for hosts without dedicated CPUs, has PCPU
// when the CPUs of its host become dedicated ones: they are promised once.
func TestCPUsBecomeDedicated(t *testing.T) {
	w := newFixture(t, 0)
	w.pinned()
	w.must(w.start("cn1", 8, 0))
	first, _ := w.bootOf("pinned")
	w.wantHolds("at first", first, "cn1", map[string]int64{"VCPU": 2})
	w.must(w.start("cn1", 0, 8))
	w.wantHolds("after the start", first, "cn1", map[string]int64{"PCPU": 2})
	for n := 1; n <= 4; n++ {
		want := compute.Active
		if n == 4 {
			want = compute.Error // 8 of 8 are allocated
		}
		if id, state := w.bootOf("pinned"); state != want {
			t.Errorf("server %d is %s, want %s: %s", n, state, want, w.why(id))
		}
	}
	w.calm("the start")
}

// Servers of a flat host are on its NUMA nodes when it reports them, cell by cell, and are on its
// root again when it does not: with their CPUs, their pages, and nothing twice. A start that has to
// be refused changes nothing.
func TestHostReportsNodes(t *testing.T) {
	w := newFixture(t, 0)
	for name, specs := range map[string]map[string]string{
		"cells": {"hw:numa_nodes": "2"}, "pages": {"hw:mem_page_size": "2MB"}, "pinned": {"hw:cpu_policy": "dedicated"},
	} {
		f := computetest.Flavor(name, 2, 256, 1)
		f.Specs = specs
		w.add(f)
	}
	large := computetest.Flavor("large", 4, 1600, 1)
	w.add(large)
	w.must(w.startWithNodes("cn1", 4, 2))
	ids := map[string]compute.ID{}
	for _, flavor := range []compute.ID{"cells", "pages", "pinned"} {
		id, state := w.bootOf(flavor)
		if ids[string(flavor)] = id; state != compute.Active {
			t.Fatalf("the server of %s is %s: %s", flavor, state, w.why(id))
		}
	}
	flat := map[string]map[string]int64{
		"cells":  {"cn1 VCPU": 2, "cn1 MEMORY_MB": 256, "cn1 DISK_GB": 1},
		"pages":  {"cn1 VCPU": 2, "cn1 MEMORY_MB": 256, "cn1 DISK_GB": 1},
		"pinned": {"cn1 PCPU": 2, "cn1 MEMORY_MB": 256, "cn1 DISK_GB": 1},
	}
	nodes := map[string]map[string]int64{
		"cells": {
			"cn1_NUMA0 VCPU": 1, "cn1_NUMA1 VCPU": 1, "cn1_NUMA0_4 MEMORY_MB": 128, "cn1_NUMA1_4 MEMORY_MB": 128,
			"cn1 DISK_GB": 1,
		},
		"pages":  {"cn1_NUMA0 VCPU": 2, "cn1_NUMA0_2048 MEMORY_MB": 256, "cn1 DISK_GB": 1},
		"pinned": {"cn1_NUMA0 PCPU": 2, "cn1_NUMA0_4 MEMORY_MB": 256, "cn1 DISK_GB": 1},
	}
	check := func(what string, want map[string]map[string]int64) {
		t.Helper()
		for name, id := range ids {
			if got := w.holds(id, "cn1"); !maps.Equal(got, want[name]) {
				t.Errorf("%s: the server of %s has %v, want %v", what, name, got, want[name])
			}
		}
	}
	for range 2 {
		w.must(w.start("cn1", 8, 4))
		check("flat", flat)
		w.must(w.startWithNodes("cn1", 4, 2))
		check("with nodes", nodes)
		w.must(w.startWithNodes("cn1", 4, 2))
		check("with nodes after a second start", nodes)
	}
	w.must(w.start("cn1", 8, 4))
	id, state := w.bootOf("large")
	if state != compute.Active {
		t.Fatalf("a large server is %s: %s", state, w.why(id))
	}
	err := w.startWithNodes("cn1", 4, 2)
	if err == nil || !strings.Contains(err.Error(), "server "+string(id)+" (vm)") {
		t.Errorf("a host without room for a large server starts: %v", err)
	}
	check("after the refused start", flat)
	w.calm("the starts")
}

// Servers with dedicated CPUs get some of their own, of one node, also while they are resized on
// their host, and they are those of the node that placement has them on when the host begins to
// report its nodes. A host without free CPUs of a node is refused, whatever placement counts.
func TestCPUsAreChosen(t *testing.T) {
	w := newFixture(t, 0)
	w.pinned()
	w.must(w.start("cn1", 0, 8)) // four of each node: the even ones of node 0
	given := map[int]compute.ID{}
	for range 2 {
		id, state := w.bootOf("pinned3")
		if state != compute.Active {
			t.Fatalf("a server is %s: %s", state, w.why(id))
		}
		cells := must(w.Cells(ctx, must(w.Server(ctx, id)).ServerRow))
		if len(cells) != 1 || len(cells[0].CPUs) != 3 || cells[0].MemoryMB != 128 {
			t.Fatalf("the server has the cells %+v", cells)
		}
		for _, cpu := range cells[0].CPUs {
			if given[cpu] != "" || cpu%2 != cells[0].Node {
				t.Errorf("CPU %d of node %d is given to %s and to %s", cpu, cells[0].Node, given[cpu], id)
			}
			given[cpu] = id
		}
	}
	if id, state := w.bootOf("pinned"); state != compute.Error ||
		!strings.Contains(w.why(id), "NUMA nodes have the CPUs") {
		t.Errorf("a server of two CPUs is %s, and one of each node is free: %s", state, w.why(id))
	}
	w.must(w.startWithNodes("cn1", 0, 4))
	for _, id := range given {
		node := must(w.Cells(ctx, must(w.Server(ctx, id)).ServerRow))[0].Node
		want := map[string]int64{
			fmt.Sprintf("cn1_NUMA%d PCPU", node): 3, fmt.Sprintf("cn1_NUMA%d_4 MEMORY_MB", node): 128, "cn1 DISK_GB": 1,
		}
		if got := w.holds(id, "cn1"); !maps.Equal(got, want) {
			t.Errorf("the server on node %d has %v, want %v", node, got, want)
		}
	}
	w.calm("the servers")
}

// The allocations that a migration has on the host move as well, and come back with a revert.
func TestReshapeDuringAResize(t *testing.T) {
	for _, end := range []string{"confirm", "revert"} {
		w := newFixture(t, 0)
		w.pinned()
		w.must(w.start("cn1", 8, 0))
		id, _ := w.bootOf("pinned")
		w.must(w.start("cn2", 8, 0))
		w.must(w.ResizeServer(ctx, ann, id, servers.Resizing{Flavor: "pinned3"}))
		w.work(w.cloudService, nil)
		for _, host := range []string{"cn1", "cn2"} {
			w.must(w.start(host, 0, 8))
		}
		migration := w.lastMigration().ID
		w.wantHolds("the migration", migration, "cn1", map[string]int64{"PCPU": 2})
		w.wantHolds("the server", id, "cn2", map[string]int64{"PCPU": 3})
		if end == "confirm" {
			w.must(w.ConfirmResize(ctx, ann, id))
		} else {
			w.must(w.RevertResize(ctx, ann, id))
		}
		w.work(w.cloudService, nil)
		want, host := map[string]int64{"PCPU": 3}, "cn2"
		if end == "revert" {
			want, host = map[string]int64{"PCPU": 2}, "cn1"
		}
		w.wantHolds(end, id, host, want)
		if got := w.holds(migration, "cn1", "cn2"); len(got) > 0 {
			t.Errorf("%s: the migration has %v", end, got)
		}
		if state := w.state(id); state != compute.Active {
			t.Errorf("%s: the server is %s", end, state)
		}
	}
}

// A host whose start is refused does not serve: it gets no servers and is down, with the reason,
// and its servers can leave it. It serves when the reason is gone.
func TestHostDoesNotServeAfterItsStart(t *testing.T) {
	w := newFixture(t, 0)
	w.pinned()
	w.must(w.start("cn1", 8, 0))
	id, _ := w.bootOf("m2")
	for range 2 {
		err := w.start("cn1", 0, 8)
		if err == nil ||
			!strings.Contains(err.Error(), "server "+string(id)+" (vm) (2 VCPU): the host has no shared CPUs any more") {
			t.Fatalf("SyncTree = %v", err)
		}
	}
	service := must(w.Services(ctx))[0]
	if service.Up || !strings.Contains(service.StartError, "no shared CPUs") {
		t.Errorf("the service is up: %v, %q", service.Up, service.StartError)
	}
	if other, state := w.bootOf("m1"); state != compute.Error || !strings.Contains(w.why(other), "valid host") {
		t.Errorf("a server is %s on it: %s", state, w.why(other))
	}
	w.must(w.start("cn2", 8, 0))
	w.must(w.LiveMigrateServer(ctx, root, id, servers.LiveMigration{}))
	w.work(w.cloudService, nil)
	if s := must(w.Server(ctx, id)); s.Host != "cn2" || s.State != compute.Active {
		t.Errorf("after its migration the server is %s on %s: %s", s.State, s.Host, w.why(id))
	}
	w.must(w.start("cn1", 0, 8))
	if service := must(w.Services(ctx))[0]; !service.Up || service.StartError != "" {
		t.Errorf("the service is up: %v, %q", service.Up, service.StartError)
	}
	if _, state := w.bootOf("pinned"); state != compute.Active {
		t.Errorf("a server is %s on it", state)
	}
}

// A host starts in another shape while others change its providers before each of the requests that
// move allocations. Each attempt of the report conflicts: nothing has moved, the host serves with
// the tree that it had, and the error says that the next report tries again, which does when they
// have stopped.
func TestReshapeIsStarved(t *testing.T) {
	w := newFixture(t, 0)
	w.pinned()
	w.must(w.start("cn1", 8, 0))
	id, _ := w.bootOf("pinned")
	_, node := computetest.Host("cn1", 0)
	var busy atomic.Bool
	var changes atomic.Int64
	busy.Store(true)
	for i := range 2 {
		w.must(w.places.EnsureTrait(ctx, fmt.Sprint("CUSTOM_CHANGE_", i)))
	}
	b := w.paths.placement
	b.mu.Lock()
	next := b.handler
	b.handler = http.HandlerFunc(func(rw http.ResponseWriter, r *http.Request) {
		if busy.Load() && r.URL.Path == "/reshaper" {
			trait := fmt.Sprint("CUSTOM_CHANGE_", changes.Add(1)%2)
			w.must(providertree.Retry(ctx, func() error {
				tree, err := w.places.Tree(ctx, placement.UUID(node.ID), nil)
				if err == nil {
					p := tree.Providers[0]
					p.Traits = []string{trait}
					_, err = w.places.SetTraits(ctx, p)
				}
				return err
			}))
		}
		next.ServeHTTP(rw, r)
	})
	b.mu.Unlock()
	for range 2 {
		changes.Store(0)
		err := w.start("cn1", 0, 8)
		if err == nil || !errors.Is(err, allocations.ErrGeneration) ||
			!strings.Contains(err.Error(), "the next report of the host tries again") {
			t.Fatalf("the error of the report is %v", err)
		}
		if n := changes.Load(); n != 10 {
			t.Errorf("%d attempts were made, want 10", n)
		}
		w.wantHolds("during the changes", id, "cn1", map[string]int64{"VCPU": 2})
		if s := must(w.Services(ctx))[0]; !s.Up || s.StartError != "" {
			t.Errorf("the service is up: %v, %q", s.Up, s.StartError)
		}
	}
	busy.Store(false)
	w.must(w.start("cn1", 0, 8))
	w.wantHolds("after the changes", id, "cn1", map[string]int64{"PCPU": 2})
	if s := must(w.Services(ctx))[0]; !s.Up || s.StartError != "" {
		t.Errorf("the service is up: %v, %q", s.Up, s.StartError)
	}
	w.calm("the starts")
}

// A host starts in another shape before each of placement's requests of an operation: its server
// has what the shape has at last, on one host, or none at all when it failed. Placement keeps the
// consumers of refused claims, as upstream's does.
func TestReshapeDuringOperations(t *testing.T) {
	dedicated := func(w *fixture, host string) { w.must(w.start(host, 0, 8)) }
	nodes := func(w *fixture, host string) { w.must(w.startWithNodes(host, 4, 4)) }
	flat := func(w *fixture, host string) { w.must(w.start(host, 8, 8)) }
	for name, shapes := range map[string][2]func(w *fixture, host string){
		"dedicated": {func(w *fixture, host string) { w.must(w.start(host, 8, 0)) }, dedicated},
		"to nodes":  {flat, nodes}, "from nodes": {nodes, flat},
	} {
		if racetest.Few() && name != "to nodes" {
			continue
		}
		t.Run(name, func(t *testing.T) { reshapeDuringOperations(t, shapes[0], shapes[1]) })
	}
}

func reshapeDuringOperations(t *testing.T, before, after func(w *fixture, host string)) {
	t.Helper()
	for name, o := range map[string]struct{ prepare, do func(w *fixture) }{
		"boot": {func(*fixture) {}, func(w *fixture) { w.bootOf("pinned") }},
		"resize": {func(w *fixture) { w.bootOf("pinned") }, func(w *fixture) {
			w.must(w.ResizeServer(ctx, ann, w.only(), servers.Resizing{Flavor: "pinned3"}))
			w.work(w.cloudService, nil)
		}},
		"revert": {func(w *fixture) {
			w.bootOf("pinned")
			w.must(w.ResizeServer(ctx, ann, w.only(), servers.Resizing{Flavor: "pinned3"}))
			w.work(w.cloudService, nil)
		}, func(w *fixture) {
			w.must(w.RevertResize(ctx, ann, w.only()))
			w.work(w.cloudService, nil)
		}},
		"live": {func(w *fixture) { w.bootOf("pinned") }, func(w *fixture) {
			w.must(w.LiveMigrateServer(ctx, root, w.only(), servers.LiveMigration{}))
			w.work(w.cloudService, nil)
		}},
		"delete": {func(w *fixture) { w.bootOf("pinned") }, func(w *fixture) {
			w.must(w.DeleteServer(ctx, ann, w.only()))
			w.work(w.cloudService, nil)
		}},
	} {
		t.Run(name, func(t *testing.T) {
			failed := 0
			for at, met := 1, true; met; at++ {
				w := newFixture(t, 0)
				w.keepConsumers()
				w.pinned()
				for _, host := range []string{"cn1", "cn2"} {
					before(w, host)
				}
				o.prepare(w)
				reshape := func() {
					for _, host := range []string{"cn1", "cn2"} {
						after(w, host)
					}
				}
				w.paths.placement.happens(at, reshape)
				o.do(w)
				if met = w.paths.placement.heals(); !met {
					reshape()
				}
				w.checkReshaped(fmt.Sprintf("%s, request %d", name, at), &failed)
			}
			if failed > 0 {
				t.Errorf("%d servers are in error: there was room for them in each shape", failed)
			}
		})
	}
}

// checkReshaped checks what servers and migrations with dedicated CPUs have at last, of one node
// where hosts report nodes.
func (w *fixture) checkReshaped(what string, failed *int) {
	w.Helper()
	consumers := map[compute.ID]map[string]int64{}
	for _, s := range computetest.Read[compute.ServerRow](w, w.store) {
		consumers[s.ID] = map[string]int64{}
		switch s.State {
		case compute.Error:
			*failed++
			w.Logf("%s: %s", what, w.why(s.ID))
			if s.Task != "" {
				w.Errorf("%s: the server is in error and %s", what, s.Task)
			}
		default:
			cpus := map[compute.ID]int64{"pinned": 2, "pinned3": 3}[s.FlavorID]
			consumers[s.ID] = map[string]int64{s.Host + " PCPU": cpus, s.Host + " MEMORY_MB": 128, s.Host + " DISK_GB": 1}
		}
	}
	for _, m := range computetest.Read[compute.MigrationRow](w, w.store) {
		consumers[m.ID] = map[string]int64{}
		if m.Status == compute.StatusFinished {
			consumers[m.ID] = map[string]int64{m.Source + " PCPU": 2, m.Source + " MEMORY_MB": 128, m.Source + " DISK_GB": 1}
		}
	}
	for id, want := range consumers {
		got := w.holds(id, "cn1", "cn2")
		nodes := map[string]string{} // the node of a host
		for part, n := range got {
			provider, class, _ := strings.Cut(part, " ")
			host, node, below := strings.Cut(provider, "_")
			if !below {
				continue
			}
			node, _, _ = strings.Cut(node, "_")
			if other := nodes[host]; other != "" && other != node {
				w.Errorf("%s: %s has something of %s and of %s of %s", what, id, node, other, host)
			}
			nodes[host] = node
			delete(got, part)
			got[host+" "+class] += n
		}
		if !maps.Equal(got, want) {
			w.Errorf("%s: %s has %v, want %v: %s", what, id, got, want, w.why(id))
		}
	}
}
