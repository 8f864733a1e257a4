package inventory

import (
	"cmp"
	"maps"
	"slices"

	"github.com/berthcloud/berth/compute/numa"
	"github.com/berthcloud/berth/placement"
	"github.com/berthcloud/berth/placement/providertree"
)

// A Cell is a cell of a server's NUMA topology.
type Cell struct {
	Node *int // of the host that it was given; nil: none yet
	CPUs      // of the cell
	// MemoryMB is in MiB, in pages of PageKB: 0 for those of the ordinary size, LargePages or
	// AnyPages.
	MemoryMB, PageKB int64
}

// What PageKB says that is no size.
const (
	LargePages = -1 // of any size but the ordinary one
	AnyPages   = -2
)

// A target is where CPUs and memory of servers can be: a NUMA node, or the root of a host without.
type target struct {
	node  int
	cpus  placement.UUID
	free  map[string]int64 // of VCPU and PCPU, a class that it has not is missing
	most  map[string]int64 // that one consumer can have
	pages []pages
}

// pages is the memory of a target in pages of a size, 0 for every size.
type pages struct {
	sizeKB   int64
	small    bool
	provider placement.UUID
	free     int64
	most     int64 // that one consumer can have
}

// A demand is what a consumer has on providers that lose it.
type demand struct {
	consumer string
	cpus     map[string][]portion // by class
	memory   map[int64][]portion  // by the size of pages in kB, 0 for the ordinary one
	cells    []Cell               // nil: the consumer has no topology, or one that is not of these amounts
}

// A portion is an amount of a provider's class.
type portion struct {
	from   providerClass
	amount int64
}

func sum(all []portion) (n int64) {
	for _, p := range all {
		n += p.amount
	}
	return n
}

// rehome moves the CPUs and the memory of servers from providers that have them no more: to the
// host's NUMA nodes when it begins to report them, to its root when it does not any more, and to
// other nodes when some vanished.
//
// A server with a topology gets a node for each cell, the one that it was given if there is one.
// Any other one gets the node with the least that is enough, or parts of several: it has run on all
// of them, and goes on to.
func (m *mover) rehome() error {
	sources := m.lostCapacity()
	if len(sources) == 0 {
		return nil
	}
	targets := m.targets()
	demands := map[string]*demand{}
	for _, source := range sources {
		holders, err := m.holders(source)
		if err != nil {
			return err
		}
		for id, n := range holders {
			d := demands[id]
			if d == nil {
				d = &demand{consumer: id, cpus: map[string][]portion{}, memory: map[int64][]portion{}}
				demands[id] = d
			}
			if source.class != MemoryMB {
				d.cpus[source.class] = append(d.cpus[source.class], portion{source, n})
				continue
			}
			size := m.pageSize(source.provider)
			d.memory[size] = append(d.memory[size], portion{source, n})
		}
	}
	all := slices.Collect(maps.Values(demands))
	for _, d := range all {
		m.dedicate(d, targets)
		d.cells = m.cellsOf(d)
	}
	// Servers that are bound to nodes come first, then the large ones, which are harder to place.
	slices.SortFunc(all, func(a, b *demand) int {
		return cmp.Or(cmp.Compare(rank(a), rank(b)), cmp.Compare(size(b), size(a)), cmp.Compare(a.consumer, b.consumer))
	})
	refused, pinned := map[string]int64{}, map[string]int64{}
	for _, d := range all {
		if n := sum(d.cpus[PCPU]); n > 0 && !hasDedicated(targets) {
			pinned[d.consumer] = n
			continue
		}
		if !m.placeCells(d, targets) && (d.cells != nil || !m.placeWhole(d, targets) && !m.divide(d, targets)) {
			refused[d.consumer] = size(d)
		}
	}
	if err := m.refuse(pinned, PCPU, "the host has no dedicated CPUs any more: set [compute] cpu_dedicated_set again, or "+
		"move them to another host first"); err != nil {
		return err
	}
	if m.host.Nodes == nil {
		return m.refuse(refused, "MiB", "the host has too few CPUs or too little memory left for what they have of its "+
			"NUMA nodes: move them to other hosts or delete them first")
	}
	return m.refuse(refused, "MiB",
		"the host reports its NUMA nodes to placement, and no node, or too few of them, has so "+
			"much left: move them to other hosts or delete them first, or set [compute] enable_numa_reporting_to_placement back")
}

// rank orders demands: those with nodes that are known, those with cells, others.
func rank(d *demand) int {
	switch {
	case slices.ContainsFunc(d.cells, func(c Cell) bool { return c.Node != nil }):
		return 0
	case d.cells != nil:
		return 1
	}
	return 2
}

// size is the memory of a demand, in MiB.
func size(d *demand) (n int64) {
	for _, all := range d.memory {
		n += sum(all)
	}
	return n
}

// lostCapacity are the providers and classes of CPUs and memory that leave the tree and have
// allocations: those of the root, and of NUMA nodes that the host does not report any more. Huge
// pages that vanished from a node that is there are not replaced by others.
func (m *mover) lostCapacity() (all []providerClass) {
	cur, _ := m.actual.Find(m.root)
	for _, class := range providertree.RemovedClasses(cur, m.desired(m.root)) {
		if m.host.Nodes != nil && class != DiskGB && isCapacity(class) && cur.Used[class] > 0 {
			all = append(all, providerClass{m.root, class})
		}
	}
	for _, p := range m.removed {
		node := m.host.isNode(p)
		if !node && m.host.isPages(p) {
			node = slices.ContainsFunc(m.removed, func(parent providertree.Provider) bool { return parent.ID == p.Parent })
		}
		for _, class := range slices.Sorted(maps.Keys(p.InUse())) {
			if node && isCapacity(class) {
				all = append(all, providerClass{p.ID, class})
			}
		}
	}
	return all
}

func isCapacity(class string) bool { return class == VCPU || class == PCPU || class == MemoryMB }

// pageSize is the size of the pages of a provider in kB, 0 for ordinary ones and for the root.
func (m *mover) pageSize(provider placement.UUID) int64 {
	p, _ := m.actual.Find(provider)
	_, size, _ := m.host.nodeOf(p.Name)
	if slices.Contains(p.Traits, TraitSmallPages) {
		return 0
	}
	return size
}

// targets are the NUMA nodes, in the order of their IDs, or the root, with what is free of them.
func (m *mover) targets() (all []*target) {
	if m.host.Nodes == nil {
		root := m.desired(m.root)
		to := m.target(root)
		to.pages = []pages{{0, true, root.ID, m.free(root, MemoryMB), root.Inventories[MemoryMB].MaxUnit}}
		return []*target{to}
	}
	for _, n := range m.host.Nodes {
		to := m.target(m.namedDesired(m.host.NodeName(n.ID)))
		to.node = n.ID
		for _, memory := range n.Pages {
			if memory.Total > 0 {
				p := m.namedDesired(m.host.PagesName(n.ID, memory.SizeKB))
				to.pages = append(to.pages, pages{memory.SizeKB, memory.Small, p.ID, m.free(p, MemoryMB), memory.Total})
			}
		}
		all = append(all, to)
	}
	return all
}

// target is the CPUs of a desired provider.
func (m *mover) target(p providertree.Provider) *target {
	to := &target{cpus: p.ID, free: map[string]int64{}, most: map[string]int64{}}
	for _, class := range []string{VCPU, PCPU} {
		if i, has := p.Inventories[class]; has {
			to.free[class], to.most[class] = m.free(p, class), i.MaxUnit
		}
	}
	return to
}

func (m *mover) namedDesired(name string) providertree.Provider {
	i := slices.IndexFunc(m.want, func(p providertree.Provider) bool { return p.Name == name })
	return m.want[i] // a node of the host
}

// free is what is free of a class of a desired provider.
func (m *mover) free(p providertree.Provider, class string) int64 {
	i := p.Inventories[class]
	cur, _ := m.actual.Find(p.ID)
	return int64(float64(i.Total-i.Reserved)*i.AllocationRatio) - cur.Used[class]
}

func hasDedicated(targets []*target) bool {
	return slices.ContainsFunc(targets, func(to *target) bool { _, has := to.free[PCPU]; return has })
}

// dedicate makes the CPUs of a demand those of its flavor: dedicated ones where there are some now.
// A server has none by the query that [workarounds] disable_fallback_pcpu_query switches off, or
// from before cpu_dedicated_set was set.
func (m *mover) dedicate(d *demand, targets []*target) {
	if !hasDedicated(targets) {
		return
	}
	shared, pinned := sum(d.cpus[VCPU]), sum(d.cpus[PCPU])
	n := min(m.host.Consumers[d.consumer].dedicated(shared+pinned)-pinned, shared)
	if n > 0 {
		d.cpus[PCPU] = append(d.cpus[PCPU], take(d.cpus, VCPU, n)...)
	}
}

// take removes n units of a class, or size of pages, from a demand's, which has as many.
func take[K comparable](all map[K][]portion, key K, n int64) (taken []portion) {
	for n > 0 {
		first := &all[key][0]
		part := min(first.amount, n)
		taken = append(taken, portion{first.from, part})
		n -= part
		if first.amount -= part; first.amount == 0 {
			all[key] = all[key][1:]
		}
	}
	return taken
}

// cellsOf are the cells of a consumer that have the amounts of a demand, nil without.
func (m *mover) cellsOf(d *demand) []Cell {
	var memory int64
	for size, all := range d.memory {
		if size != 0 && m.host.Nodes != nil {
			return nil // it comes from another node, with its pages
		}
		memory += sum(all)
	}
	for _, cells := range m.host.Consumers[d.consumer].Topologies {
		var total CPUs
		var mb int64
		for _, c := range cells {
			total.Total, total.Dedicated, mb = total.Total+c.Total, total.Dedicated+c.Dedicated, mb+c.MemoryMB
		}
		shared, pinned := sum(d.cpus[VCPU]), sum(d.cpus[PCPU])
		if total.Total == shared+pinned && (pinned == 0 || pinned == total.Dedicated) && mb == memory && m.host.Nodes != nil {
			return cells
		}
	}
	return nil
}

// placeCells moves a demand to targets, one for each of its cells, and reports whether it could.
func (m *mover) placeCells(d *demand, targets []*target) bool {
	if d.cells == nil {
		return false
	}
	chosen := numa.Match(len(d.cells), len(targets), func(cell, node int) bool {
		c, to := d.cells[cell], targets[node]
		known := c.Node != nil && slices.ContainsFunc(targets, func(to *target) bool { return to.node == *c.Node })
		return (!known || to.node == *c.Node) && to.has(c.cpus(d), c.MemoryMB, c.PageKB)
	})
	if chosen == nil {
		return false
	}
	for i, c := range d.cells {
		m.give(d, targets[chosen[i]], c.cpus(d), c.MemoryMB, c.PageKB)
	}
	return true
}

// cpus are those of a cell by class: all of VCPU on a host that has none that are dedicated.
func (c Cell) cpus(d *demand) map[string]int64 {
	if sum(d.cpus[PCPU]) == 0 {
		return map[string]int64{VCPU: c.Total}
	}
	return map[string]int64{VCPU: c.Total - c.Dedicated, PCPU: c.Dedicated}
}

// has reports whether a target has CPUs and memory left.
func (t *target) has(cpus map[string]int64, memoryMB, pageKB int64) bool {
	for class, n := range cpus {
		if n > t.part(class) {
			return false
		}
	}
	return memoryMB == 0 || t.memory(memoryMB, pageKB) != nil
}

// part is how much of a class one more consumer can have.
func (t *target) part(class string) int64 { return max(min(t.free[class], t.most[class]), 0) }

// memory returns the memory of a target that has so much left in pages of a size, nil for none.
func (t *target) memory(memoryMB, pageKB int64) *pages {
	for i := range t.pages {
		p := &t.pages[i]
		fits := p.sizeKB == 0 || p.sizeKB == pageKB || p.small && pageKB == 0 || !p.small && pageKB == LargePages ||
			pageKB == AnyPages
		if fits && min(p.free, p.most) >= memoryMB && (p.small || p.sizeKB < 2048 || memoryMB%(p.sizeKB/1024) == 0) {
			return p
		}
	}
	return nil
}

// give moves a part of a demand to a target that has as much.
func (m *mover) give(d *demand, to *target, cpus map[string]int64, memoryMB, pageKB int64) {
	for _, class := range []string{VCPU, PCPU} {
		if n := cpus[class]; n > 0 {
			m.movePortions(d.consumer, take(d.cpus, class, n), providerClass{to.cpus, class})
			to.free[class] -= n
		}
	}
	if memoryMB == 0 {
		return
	}
	p := to.memory(memoryMB, pageKB)
	key := max(pageKB, 0)
	if sum(d.memory[key]) == 0 {
		key = 0 // the root does not say of which size it is
	}
	m.movePortions(d.consumer, take(d.memory, key, memoryMB), providerClass{p.provider, MemoryMB})
	p.free -= memoryMB
}

func (m *mover) movePortions(consumer string, all []portion, to providerClass) {
	for _, p := range all {
		m.move(consumer, p.from, to, p.amount)
	}
}

// amounts are the CPUs and the memory of a demand.
func (d *demand) amounts() (cpus map[string]int64, memory map[int64]int64) {
	cpus, memory = map[string]int64{}, map[int64]int64{}
	for class, all := range d.cpus {
		cpus[class] = sum(all)
	}
	for size, all := range d.memory {
		memory[size] = sum(all)
	}
	return cpus, memory
}

// placeWhole moves a demand to the target with the least memory left that has enough of all, and
// reports whether there is one.
func (m *mover) placeWhole(d *demand, targets []*target) bool {
	cpus, memory := d.amounts()
	var best *target
	for _, to := range targets {
		fits := to.has(cpus, 0, 0)
		for size, n := range memory {
			fits = fits && to.memory(n, size) != nil
		}
		if fits && (best == nil || to.pages[0].free < best.pages[0].free) {
			best = to
		}
	}
	if best == nil {
		return false
	}
	m.give(d, best, cpus, 0, 0)
	for _, size := range slices.Sorted(maps.Keys(memory)) {
		m.give(d, best, nil, memory[size], size)
	}
	return true
}

// divide moves parts of a demand to several targets, and reports whether they have enough left.
func (m *mover) divide(d *demand, targets []*target) bool {
	cpus, memory := d.amounts()
	for class, n := range cpus {
		for _, to := range targets {
			n -= to.part(class)
		}
		if n > 0 {
			return false
		}
	}
	for size, n := range memory {
		for _, to := range targets {
			n -= to.partOfMemory(size)
		}
		if n > 0 {
			return false
		}
	}
	for _, to := range targets {
		part := map[string]int64{}
		for class, n := range cpus {
			part[class] = min(n, to.part(class))
			cpus[class] -= part[class]
		}
		m.give(d, to, part, 0, 0)
		for _, size := range slices.Sorted(maps.Keys(memory)) {
			n := min(memory[size], to.partOfMemory(size))
			m.give(d, to, nil, n, size)
			memory[size] -= n
		}
	}
	return true
}

// partOfMemory is how much memory in pages of a size one more consumer can have.
func (t *target) partOfMemory(pageKB int64) (n int64) {
	for _, p := range t.pages {
		if p.sizeKB == 0 || p.sizeKB == pageKB || p.small && pageKB == 0 {
			part := min(p.free, p.most)
			if !p.small && p.sizeKB >= 2048 {
				part -= part % (p.sizeKB / 1024)
			}
			n = max(n, part)
		}
	}
	return n
}
