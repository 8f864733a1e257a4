package scheduler

import (
	"encoding/json"
	"errors"
	"fmt"
	"maps"
	"slices"

	"github.com/berthcloud/berth/compute"
	"github.com/berthcloud/berth/compute/extraspecs"
	"github.com/berthcloud/berth/compute/hostlist"
	"github.com/berthcloud/berth/compute/inventory"
	"github.com/berthcloud/berth/compute/numa"
	"github.com/berthcloud/berth/compute/request"
	"github.com/berthcloud/berth/compute/selection"
	"github.com/berthcloud/berth/guarantee"
	"github.com/berthcloud/berth/placement"
)

// cells chooses the NUMA nodes and the CPUs of a server's cells: the nodes of its claim on a host
// that reports them to placement, and any on another. A host that has reported no topology gives
// none: it is refused when the flavor or the image has cells or pages itself. On a host that does
// not report its nodes to placement, what else is to be near to the cells is tried with each
// choice: accept returns a *HostRefused for one that will not do. First come any nodes, then each
// of those with PCI devices for each of the cells.
func (a assignable) cells(
	claim *selection.Claim, t extraspecs.NUMA, top numa.Topology, assignments []compute.Assignment,
	accept func([]hostlist.Cell) error,
) ([]hostlist.Cell, error) {
	if len(t.Cells) == 0 {
		return nil, accept(nil)
	}
	nodes := request.Nodes(claim.Mappings)
	switch {
	case len(top.Nodes) > 0:
	case t.Explicit && len(nodes) == 0:
		return nil, &HostRefused{Why: "the host has reported no NUMA topology"}
	default:
		return nil, accept(nil)
	}
	id, err := guarantee.ParseUUID(string(a.node.ID))
	if err != nil {
		return nil, fmt.Errorf("the compute node %s: %w", a.node.Name, err)
	}
	host := inventory.Host{ID: id, Name: a.node.Name}
	provider := func(name string) placement.UUID { return placement.UUID(id.Derive(name).String()) }

	dedicated := claims(claim, inventory.PCPU)
	if !dedicated && requestsDedicated(t) && hasDedicated(top) {
		return nil, &HostRefused{Why: "the host has dedicated CPUs, and too few of them are free: " +
			"it has shared ones (VCPU) only for servers that request no others"}
	}
	r := numa.Request{Threads: t.CPU.Threads, Counted: len(nodes) > 0}
	for i, c := range t.Cells {
		cell := numa.RequestedCell{MemoryMB: c.MemoryMB, PageKB: t.PageKB}
		for cpu := range c.Shared.Numbers() {
			cell.Shared = append(cell.Shared, int(cpu))
		}
		for cpu := range c.Dedicated.Numbers() {
			if dedicated {
				cell.Dedicated = append(cell.Dedicated, int(cpu))
			} else { // the host counts them as VCPU: see [workarounds] disable_fallback_pcpu_query
				cell.Shared = append(cell.Shared, int(cpu))
			}
		}
		if i == 0 && t.CPU.Isolate && dedicated {
			cell.Emulator = 1
		}
		if i < len(nodes) {
			at := slices.IndexFunc(top.Nodes, func(n numa.Node) bool { return provider(host.NodeName(n.ID)) == nodes[i] })
			if at < 0 {
				return nil, &HostRefused{Why: "the host does not report any more the NUMA nodes that were allocated"}
			}
			n := top.Nodes[at]
			r.Allowed = append(r.Allowed, []int{n.ID})
			cell.PageKB = pagesOf(n, func(size int64) bool {
				return claim.Amounts[string(provider(host.PagesName(n.ID, size)))][inventory.MemoryMB] > 0
			})
		}
		r.Cells = append(r.Cells, cell)
	}
	var taken numa.Taken
	for _, other := range assignments {
		for _, c := range other.Cells {
			taken.Add(c)
		}
	}
	cells, why := top.Choose(r, taken)
	if why != "" {
		return nil, &HostRefused{Why: why}
	}
	refused := accept(cells)
	if refused == nil || !errors.As(refused, new(*HostRefused)) || len(nodes) > 0 {
		return cells, refused
	}
	for _, node := range slices.Compact(slices.Sorted(maps.Values(top.PCI))) {
		for at := range r.Cells {
			if cells, why = top.Choose(r.On(at, node, top), taken); why != "" {
				continue
			}
			if err := accept(cells); err == nil || !errors.As(err, new(*HostRefused)) {
				return cells, err
			}
		}
	}
	return nil, refused
}

// topology is that of the host, without nodes when it has reported none.
func (a assignable) topology() (top numa.Topology, err error) {
	if len(a.node.Topology) > 0 {
		if err = json.Unmarshal(a.node.Topology, &top); err != nil {
			err = fmt.Errorf("reading the topology of %s: %w", a.node.Name, err)
		}
	}
	return top, err
}

// requestsDedicated reports whether cells have dedicated CPUs.
func requestsDedicated(t extraspecs.NUMA) bool {
	return slices.ContainsFunc(t.Cells, func(c extraspecs.Cell) bool { return c.Dedicated.Len() > 0 })
}

// hasDedicated reports whether a host has CPUs that are for servers with dedicated ones. They get
// no others then, as in Nova.
func hasDedicated(t numa.Topology) bool {
	return slices.ContainsFunc(t.Nodes, func(n numa.Node) bool { return len(n.Dedicated) > 0 })
}

// claims reports whether a claim has something of a class.
func claims(claim *selection.Claim, class string) bool {
	for _, classes := range claim.Amounts {
		if classes[class] > 0 {
			return true
		}
	}
	return false
}

// pagesOf is the size of the huge pages of a node that are claimed, 0 for ordinary pages.
func pagesOf(n numa.Node, claimed func(sizeKB int64) bool) int64 {
	for i, p := range n.Pages {
		if i > 0 && claimed(p.SizeKB) {
			return p.SizeKB
		}
	}
	return 0
}
