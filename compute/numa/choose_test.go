package numa_test

import (
	"fmt"
	"maps"
	"math/rand/v2"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/berthcloud/berth/compute/hostlist"
	"github.com/berthcloud/berth/compute/numa"
)

// host has two nodes of four cores with two threads each: core c of node n has the CPUs 4n+c and
// 8+4n+c. The first core of each node is for servers that share CPUs, four for each. A node has
// 1024 MiB in ordinary pages, which are overcommitted by a half, and 768 in huge ones.
func host() numa.Topology {
	t := numa.Topology{CPURatio: 4, MemoryRatio: 1.5}
	for id := range 2 {
		n := numa.Node{ID: id, Pages: []numa.Pages{{SizeKB: 4, Total: 262144}, {SizeKB: 2048, Total: 512, Reserved: 128}}}
		for c := range 4 {
			core := []int{4*id + c, 8 + 4*id + c}
			n.Cores, n.CPUs = append(n.Cores, core), append(n.CPUs, core...)
			if c == 0 {
				n.Shared = append(n.Shared, core...)
			} else {
				n.Dedicated = append(n.Dedicated, core...)
			}
		}
		slices.Sort(n.CPUs)
		slices.Sort(n.Dedicated)
		t.Nodes = append(t.Nodes, n)
	}
	return t
}

func numbers(from, count int) (all []int) {
	for n := from; n < from+count; n++ {
		all = append(all, n)
	}
	return all
}

// shown is a choice in a line: "node 0: 0→1 1→9 emulator [2] blocked [10] shared [0 8]".
func shown(cells []hostlist.Cell, why string) string {
	if cells == nil {
		return why
	}
	var parts []string
	for _, c := range cells {
		part := fmt.Sprintf("node %d:", c.Node)
		for _, cpu := range slices.Sorted(maps.Keys(c.CPUs)) {
			part += fmt.Sprintf(" %d→%d", cpu, c.CPUs[cpu])
		}
		if len(c.Siblings) > 0 {
			part += fmt.Sprintf(" siblings %v", c.Siblings)
		}
		for _, list := range []struct {
			name string
			cpus []int
		}{{"emulator", c.Emulator}, {"blocked", c.Blocked}, {"shared", c.Shared}} {
			if len(list.cpus) > 0 {
				part += fmt.Sprintf(" %s %v", list.name, list.cpus)
			}
		}
		if c.PageKB > 0 {
			part += fmt.Sprintf(" pages %d", c.PageKB)
		}
		parts = append(parts, part)
	}
	return strings.Join(parts, "; ")
}

func TestChoose(t *testing.T) {
	taken := func(cpus ...int) numa.Taken {
		all := numa.Taken{CPUs: map[int]bool{}}
		for _, cpu := range cpus {
			all.CPUs[cpu] = true
		}
		return all
	}
	dedicated := func(n int) []numa.RequestedCell { return []numa.RequestedCell{{Dedicated: numbers(0, n)}} }
	for name, c := range map[string]struct {
		request numa.Request
		taken   numa.Taken
		want    string
	}{
		"threads of a core": {numa.Request{Cells: dedicated(2)}, numa.Taken{}, "node 0: 0→1 1→9 siblings [[0 1]]"},
		"the fullest core first": {
			numa.Request{Cells: dedicated(3), Threads: numa.PreferThreads}, taken(1), "node 0: 0→2 1→10 2→3 siblings [[0 1]]",
		},
		"the second node": {numa.Request{Cells: dedicated(2)}, taken(1, 9, 2, 10, 3), "node 1: 0→5 1→13 siblings [[0 1]]"},
		"an allowed node": {numa.Request{Cells: dedicated(1), Allowed: [][]int{{1}}}, numa.Taken{}, "node 1: 0→5"},
		"threads that are required": {
			numa.Request{Cells: dedicated(2), Threads: numa.RequireThreads}, taken(1, 2, 3), "node 1: 0→5 1→13 siblings [[0 1]]",
		},
		"no such threads": {
			numa.Request{Cells: dedicated(2), Threads: numa.RequireThreads},
			taken(1, 2, 3, 5, 6, 7),
			"no 1 NUMA nodes have the CPUs and the memory of the server's cells, with 2 dedicated CPUs in all " +
				"and the policy require for threads",
		},
		"isolated threads": {
			numa.Request{Cells: dedicated(2), Threads: numa.IsolateThreads}, taken(1), "node 0: 0→2 1→3 blocked [10 11]",
		},
		"an emulator": {
			numa.Request{Cells: []numa.RequestedCell{{Dedicated: numbers(0, 2), Emulator: 1}}},
			numa.Taken{},
			"node 0: 0→1 1→9 siblings [[0 1]] emulator [2]",
		},
		"mixed cells": {
			numa.Request{Cells: []numa.RequestedCell{
				{Dedicated: []int{0}, Shared: []int{1}}, {Dedicated: []int{2}, Shared: []int{3}},
			}}, numa.Taken{}, "node 0: 0→1 shared [0 8]; node 1: 2→5 shared [4 12]",
		},
		"cells in another order": {
			numa.Request{Cells: []numa.RequestedCell{{Dedicated: numbers(0, 1)}, {Dedicated: numbers(1, 6)}}},
			taken(5),
			"node 1: 0→6; node 0: 1→1 2→9 3→2 4→10 5→3 6→11 siblings [[1 2] [3 4] [5 6]]",
		},
		"more cells than nodes": {
			numa.Request{Cells: make([]numa.RequestedCell, 3)},
			numa.Taken{},
			"no 3 NUMA nodes have the CPUs and the memory of the server's cells",
		},
		"huge pages": {
			numa.Request{Cells: []numa.RequestedCell{{Shared: []int{0}, MemoryMB: 512, PageKB: 2048}}},
			numa.Taken{Pages: map[[2]int64]int64{{0, 2048}: 512}},
			"node 1: shared [4 12] pages 2048",
		},
		"pages that no node has": {
			numa.Request{Cells: []numa.RequestedCell{{Shared: []int{0}, MemoryMB: 1024, PageKB: 1048576}}},
			numa.Taken{},
			"no 1 NUMA nodes have the CPUs and the memory of the server's cells, in pages of 1048576 kB",
		},
		"the largest pages": {
			numa.Request{Cells: []numa.RequestedCell{{Shared: []int{0}, MemoryMB: 512, PageKB: numa.AnyPages}}},
			numa.Taken{},
			"node 0: shared [0 8] pages 2048",
		},
		"no multiple of the large pages": {
			numa.Request{Cells: []numa.RequestedCell{{Shared: []int{0}, MemoryMB: 511, PageKB: numa.AnyPages}}},
			numa.Taken{},
			"node 0: shared [0 8]",
		},
		"large pages of another node": {
			numa.Request{Cells: []numa.RequestedCell{{Shared: []int{0}, MemoryMB: 512, PageKB: numa.LargePages}}},
			numa.Taken{Pages: map[[2]int64]int64{{0, 2048}: 258}},
			"node 1: shared [4 12] pages 2048",
		},
		"ordinary pages by their size": {
			numa.Request{Cells: []numa.RequestedCell{{Shared: []int{0}, MemoryMB: 512, PageKB: 4}}},
			numa.Taken{Pages: map[[2]int64]int64{{0, 0}: 513}},
			"node 1: shared [4 12]",
		},
		"memory that is overcommitted": {
			numa.Request{Cells: []numa.RequestedCell{{Shared: []int{0}, MemoryMB: 512}}},
			numa.Taken{Pages: map[[2]int64]int64{{0, 0}: 1024}},
			"node 0: shared [0 8]",
		},
		"memory that is overcommitted enough": {
			numa.Request{Cells: []numa.RequestedCell{{Shared: []int{0}, MemoryMB: 512}}},
			numa.Taken{Pages: map[[2]int64]int64{{0, 0}: 1025}},
			"node 1: shared [4 12]",
		},
		"pages that are not overcommitted": {
			numa.Request{Cells: []numa.RequestedCell{{Shared: []int{0}, MemoryMB: 1, PageKB: numa.SmallPages}}},
			numa.Taken{Pages: map[[2]int64]int64{{0, 0}: 1024, {1, 0}: 1024}},
			"no 1 NUMA nodes have the CPUs and the memory of the server's cells, in ordinary pages that are not overcommitted",
		},
		"no cell overcommits a node by itself": {
			numa.Request{Cells: []numa.RequestedCell{{Shared: []int{0}, MemoryMB: 1025}}},
			numa.Taken{},
			"no 1 NUMA nodes have the CPUs and the memory of the server's cells",
		},
		"nor its CPUs": {
			numa.Request{Cells: []numa.RequestedCell{{Shared: numbers(0, 3)}}},
			numa.Taken{},
			"no 1 NUMA nodes have the CPUs and the memory of the server's cells",
		},
		"shared CPUs that are overcommitted enough": {
			numa.Request{Cells: []numa.RequestedCell{{Shared: numbers(0, 2)}}},
			numa.Taken{Shared: map[int]int{0: 7, 1: 6}},
			"node 1: shared [4 12]",
		},
		"what placement counts": {
			numa.Request{Cells: []numa.RequestedCell{{Shared: numbers(0, 3), MemoryMB: 1025}}, Counted: true},
			numa.Taken{},
			"node 0: shared [0 8]",
		},
	} {
		if diff := cmp.Diff(c.want, shown(host().Choose(c.request, c.taken))); diff != "" {
			t.Errorf("%s (-want +got):\n%s", name, diff)
		}
	}
}

// Servers of all kinds come and go: no CPU is given twice, all are dedicated ones of their node,
// and isolated cores are nobody else's.
func TestChoicesDoNotMeet(t *testing.T) {
	r := rand.New(rand.NewPCG(54, 1))
	top := host()
	var servers [][]hostlist.Cell
	chosen := 0
	for range 3000 {
		if len(servers) > 0 && r.IntN(3) == 0 {
			servers = slices.Delete(servers, 0, 1)
			continue
		}
		request := numa.Request{
			Threads: []string{"", numa.PreferThreads, numa.RequireThreads, numa.IsolateThreads}[r.IntN(4)],
		}
		for range 1 + r.IntN(2) {
			request.Cells = append(request.Cells, numa.RequestedCell{Dedicated: numbers(10*len(request.Cells), 1+r.IntN(3))})
		}
		request.Cells[0].Emulator = r.IntN(2)
		var taken numa.Taken
		for _, cells := range servers {
			for _, c := range cells {
				taken.Add(c)
			}
		}
		cells, why := top.Choose(request, taken)
		if cells == nil {
			if why == "" {
				t.Fatal("a refusal has no reason")
			}
			continue
		}
		chosen++
		servers = append(servers, cells)
		given := map[int]bool{}
		for _, cells := range servers {
			for _, c := range cells {
				for _, cpu := range slices.Concat(slices.Collect(maps.Values(c.CPUs)), c.Emulator, c.Blocked) {
					if given[cpu] || !slices.Contains(top.Nodes[c.Node].Dedicated, cpu) {
						t.Fatalf("CPU %d of node %d is given twice, or is none for servers: %v", cpu, c.Node, servers)
					}
					given[cpu] = true
				}
			}
		}
	}
	if chosen < 500 {
		t.Errorf("%d servers only", chosen)
	}
}

// Cells that do not fit are found out at once, however many there are.
func TestMatch(t *testing.T) {
	const many = 64
	got := numa.Match(many, many, func(cell, node int) bool { return node <= many-1-cell })
	for cell, node := range got {
		if node != many-1-cell {
			t.Fatalf("cell %d has node %d", cell, node)
		}
	}
	if len(got) != many {
		t.Errorf("%d cells have nodes, want %d", len(got), many)
	}
	if got := numa.Match(many, many, func(_, node int) bool { return node > 0 }); got != nil {
		t.Errorf("%d cells have %d nodes that fit: %v", many, many-1, got)
	}
}
