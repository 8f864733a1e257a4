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
	// Counted says that placement counts shared CPUs and memory by node. Otherwise Choose compares
	// them: placement knows the sums of the host only.
	Counted bool
}

// Sizes of pages that are no numbers, as those of a flavor (extraspecs.SmallPages, …).
const (
	SmallPages int64 = -1 // ordinary ones, which are not to be overcommitted
	LargePages int64 = -2 // any larger ones
	AnyPages   int64 = -3 // any
)

// A RequestedCell is a cell of a server. CPUs are the numbers that it has in the server.
type RequestedCell struct {
	Shared, Dedicated []int
	// Emulator is how many dedicated CPUs more the hypervisor needs (hw:emulator_threads_policy).
	Emulator int
	MemoryMB int64
	// PageKB is the size of its pages in kB, or one of the constants above; 0 for ordinary ones, which
	// the host's ratio overcommits.
	PageKB int64
}

// Taken is what servers with cells have of a host.
type Taken struct {
	CPUs   map[int]bool       // dedicated ones, and those that are threads of isolated cores
	Shared map[int]int        // virtual CPUs on shared ones, by node
	Pages  map[[2]int64]int64 // MiB of memory, by node and the size of its pages in kB: 0 for ordinary ones
}

// Choose chooses nodes, CPUs and pages of a host for the cells of a server, a node for each cell.
// Why is the reason when the host has too little. Shared CPUs and memory in ordinary pages may be
// overcommitted by the host's ratios, but not by a cell alone, as in Nova
// (nova.virt.hardware.numa_fit_instance_to_host).
func (t Topology) Choose(r Request, taken Taken) (cells []hostlist.Cell, why string) {
	nodes := Match(len(r.Cells), len(t.Nodes), func(cell, node int) bool {
		n := t.Nodes[node]
		if r.Allowed != nil && !slices.Contains(r.Allowed[cell], n.ID) {
			return false
		}
		_, ok := t.place(n, r.Cells[cell], r, taken)
		return ok
	})
	for cell, node := range nodes {
		placed, _ := t.place(t.Nodes[node], r.Cells[cell], r, taken)
		cells = append(cells, placed)
	}
	if cells != nil {
		return cells, ""
	}
	return nil, r.why()
}

// On returns the request with one of its cells on one node of a host.
func (r Request) On(cell, node int, t Topology) Request {
	allowed := make([][]int, len(r.Cells))
	for i := range allowed {
		for _, n := range t.Nodes {
			if i != cell || n.ID == node {
				allowed[i] = append(allowed[i], n.ID)
			}
		}
	}
	r.Allowed = allowed
	return r
}

// why is the reason when a host has no nodes for the cells.
func (r Request) why() string {
	var dedicated int
	for _, c := range r.Cells {
		dedicated += len(c.Dedicated) + c.Emulator
	}
	why := fmt.Sprintf("no %d NUMA nodes have the CPUs and the memory of the server's cells", len(r.Cells))
	if dedicated > 0 {
		why += fmt.Sprintf(", with %d dedicated CPUs in all", dedicated)
	}
	if r.Threads == RequireThreads || r.Threads == IsolateThreads {
		why += " and the policy " + r.Threads + " for threads"
	}
	if len(r.Cells) == 0 {
		return why
	}
	switch size := r.Cells[0].PageKB; { // that of all
	case size == LargePages:
		why += ", in huge pages"
	case size == SmallPages:
		why += ", in ordinary pages that are not overcommitted"
	case size > 0:
		why += fmt.Sprintf(", in pages of %d kB", size)
	}
	return why
}

// place chooses the CPUs and the pages of a cell on a node.
func (t Topology) place(n Node, c RequestedCell, r Request, taken Taken) (hostlist.Cell, bool) {
	to := hostlist.Cell{
		Node: n.ID, VCPUs: slices.Sorted(slices.Values(slices.Concat(c.Shared, c.Dedicated))), MemoryMB: c.MemoryMB,
	}
	if len(c.Shared) > 0 {
		if to.Shared = n.Shared; len(n.Shared) == 0 || !r.Counted && !t.hasCPUs(n, len(c.Shared), taken) {
			return to, false
		}
	}
	var ok bool
	if to.PageKB, ok = t.pages(n, c, r.Counted, taken); !ok {
		return to, false
	}
	count := len(c.Dedicated) + c.Emulator
	cpus, blocked := n.dedicated(count, r.Threads, taken)
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

// hasCPUs reports whether so many virtual CPUs may share those of a node that are for it.
func (t Topology) hasCPUs(n Node, count int, taken Taken) bool {
	return count <= len(n.Shared) &&
		float64(taken.Shared[n.ID]+count) <= float64(len(n.Shared))*cmp.Or(t.CPURatio, 1)
}

// pages chooses the size of the pages of a cell's memory on a node, 0 for ordinary ones: the
// largest that will do.
func (t Topology) pages(n Node, c RequestedCell, counted bool, taken Taken) (sizeKB int64, ok bool) {
	if c.PageKB == 0 && (counted || c.MemoryMB == 0) {
		return 0, true
	}
	for i, p := range slices.Backward(n.Pages) {
		size, ratio := p.SizeKB, 1.0
		if i == 0 {
			size = 0
		}
		switch c.PageKB {
		case 0:
			ratio, ok = cmp.Or(t.MemoryRatio, 1), i == 0
		case SmallPages:
			ok = i == 0
		case LargePages:
			ok = i > 0
		case AnyPages:
			ok = true
		default:
			ok = p.SizeKB == c.PageKB
		}
		total, reserved := p.MemoryMB()
		free := float64(total-reserved)*ratio - float64(taken.Pages[[2]int64{int64(n.ID), size}])
		whole := c.PageKB == 0 || c.MemoryMB*1024%p.SizeKB == 0
		if ok && whole && c.MemoryMB <= total-reserved && float64(c.MemoryMB) <= free {
			return size, true
		}
	}
	return 0, false
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
		t.CPUs, t.Shared, t.Pages = map[int]bool{}, map[int]int{}, map[[2]int64]int64{}
	}
	for _, cpus := range [][]int{slices.Collect(maps.Values(c.CPUs)), c.Emulator, c.Blocked} {
		for _, cpu := range cpus {
			t.CPUs[cpu] = true
		}
	}
	t.Shared[c.Node] += len(c.VCPUs) - len(c.CPUs)
	t.Pages[[2]int64{int64(c.Node), c.PageKB}] += c.MemoryMB
}
