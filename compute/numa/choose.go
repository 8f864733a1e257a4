package numa

import (
	"cmp"
	"fmt"
	"maps"
	"slices"

	"github.com/berthcloud/berth/compute/hostlist"
)

// What Request.Threads says of the threads of cores (hw:cpu_thread_policy).
const (
	PreferThreads  = "prefer"  // as "": threads of one core, if there are some
	RequireThreads = "require" // threads of one core only
	IsolateThreads = "isolate" // cores of which no other server has a thread
)

// A Request is the cells that a server needs of a host.
type Request struct {
	Cells   []RequestedCell
	Threads string
	// Allowed are the nodes that each cell may be on, nil for any. Cells get nodes of their own.
	Allowed [][]int
}

// A RequestedCell is a cell of a server. CPUs are the numbers that it has in the server.
type RequestedCell struct {
	Shared, Dedicated []int
	// Emulator is how many dedicated CPUs more the hypervisor needs (hw:emulator_threads_policy).
	Emulator int
	MemoryMB int64
	// PageKB is the size of its pages in kB, 0 for ordinary ones.
	PageKB int64
}

// Taken is what servers have of a host.
type Taken struct {
	CPUs  map[int]bool       // dedicated ones, and those that are threads of isolated cores
	Pages map[[2]int64]int64 // MiB of memory, by node and the size of its pages in kB
}

// Choose chooses nodes and CPUs of a host for the cells of a server, one for each cell. Why is the
// reason when the host has too little. It does not compare memory in ordinary pages, and CPUs that
// are shared: placement counts them.
func (t Topology) Choose(r Request, taken Taken) (cells []hostlist.Cell, why string) {
	nodes := Match(len(r.Cells), len(t.Nodes), func(cell, node int) bool {
		n := t.Nodes[node]
		if r.Allowed != nil && !slices.Contains(r.Allowed[cell], n.ID) {
			return false
		}
		_, ok := n.place(r.Cells[cell], r.Threads, taken)
		return ok
	})
	for cell, node := range nodes {
		placed, _ := t.Nodes[node].place(r.Cells[cell], r.Threads, taken)
		cells = append(cells, placed)
	}
	if cells != nil {
		return cells, ""
	}
	var dedicated int
	for _, c := range r.Cells {
		dedicated += len(c.Dedicated) + c.Emulator
	}
	why = fmt.Sprintf("no %d NUMA nodes have the CPUs and the memory of the server's cells", len(r.Cells))
	if dedicated > 0 {
		why += fmt.Sprintf(", with %d dedicated CPUs in all", dedicated)
	}
	if r.Threads == RequireThreads || r.Threads == IsolateThreads {
		why += " and the policy " + r.Threads + " for threads"
	}
	return nil, why
}

// place chooses the CPUs of a cell on a node.
func (n Node) place(c RequestedCell, threads string, taken Taken) (hostlist.Cell, bool) {
	to := hostlist.Cell{
		Node: n.ID, VCPUs: slices.Sorted(slices.Values(slices.Concat(c.Shared, c.Dedicated))),
		MemoryMB: c.MemoryMB, PageKB: c.PageKB,
	}
	if len(c.Shared) > 0 {
		if to.Shared = n.Shared; len(n.Shared) == 0 {
			return to, false
		}
	}
	if c.PageKB > 0 && !n.hasPages(c, taken) {
		return to, false
	}
	count := len(c.Dedicated) + c.Emulator
	cpus, blocked := n.dedicated(count, threads, taken)
	if len(cpus) < count {
		return to, false
	}
	if len(c.Dedicated) > 0 {
		to.CPUs = make(map[int]int, len(c.Dedicated))
	}
	for i, cpu := range c.Dedicated {
		to.CPUs[cpu] = cpus[i]
	}
	to.Emulator, to.Blocked = slices.Clone(cpus[len(c.Dedicated):]), blocked
	for _, threads := range n.Cores {
		var siblings []int
		for _, vcpu := range slices.Sorted(maps.Keys(to.CPUs)) {
			if slices.Contains(threads, to.CPUs[vcpu]) {
				siblings = append(siblings, vcpu)
			}
		}
		if len(siblings) > 1 {
			to.Siblings = append(to.Siblings, siblings)
		}
	}
	return to, true
}

// hasPages reports whether so much memory in pages of a cell's size is left on a node.
func (n Node) hasPages(c RequestedCell, taken Taken) bool {
	i := slices.IndexFunc(n.Pages, func(p Pages) bool { return p.SizeKB == c.PageKB })
	if i < 0 {
		return false
	}
	total, reserved := n.Pages[i].MemoryMB()
	return total-reserved-taken.Pages[[2]int64{int64(n.ID), c.PageKB}] >= c.MemoryMB
}

// dedicated chooses so many free dedicated CPUs of a node, or as many as there are. The policy says
// which threads of cores; those that no other server may use are blocked.
func (n Node) dedicated(count int, threads string, taken Taken) (cpus, blocked []int) {
	if count == 0 {
		return nil, nil
	}
	mine := map[int]bool{}
	for _, cpu := range n.Dedicated {
		mine[cpu] = true
	}
	type core struct {
		free []int
		size int // in dedicated threads
	}
	var cores []core
	for _, threads := range n.Cores {
		var c core
		for _, cpu := range threads {
			if !mine[cpu] {
				continue
			}
			if c.size++; !taken.CPUs[cpu] {
				c.free = append(c.free, cpu)
			}
		}
		if len(c.free) > 0 {
			cores = append(cores, c)
		}
	}
	// Cores with the most free threads come first: siblings stay together.
	slices.SortStableFunc(cores, func(a, b core) int { return cmp.Compare(len(b.free), len(a.free)) })
	for _, c := range cores {
		missing := count - len(cpus)
		switch {
		case missing == 0:
			return cpus, blocked
		case threads == IsolateThreads:
			if len(c.free) == c.size {
				cpus, blocked = append(cpus, c.free[0]), append(blocked, c.free[1:]...)
			}
		case threads == RequireThreads && len(c.free) < 2:
		default:
			cpus = append(cpus, c.free[:min(missing, len(c.free))]...)
		}
	}
	return cpus, blocked
}

// Add adds a cell of a server to what is taken.
func (t *Taken) Add(c hostlist.Cell) {
	if t.CPUs == nil {
		t.CPUs, t.Pages = map[int]bool{}, map[[2]int64]int64{}
	}
	for _, cpus := range [][]int{slices.Collect(maps.Values(c.CPUs)), c.Emulator, c.Blocked} {
		for _, cpu := range cpus {
			t.CPUs[cpu] = true
		}
	}
	if c.PageKB > 0 {
		t.Pages[[2]int64{int64(c.Node), c.PageKB}] += c.MemoryMB
	}
}
