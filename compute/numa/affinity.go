package numa

import (
	"slices"

	"github.com/berthcloud/berth/compute/hostlist"
)

// The policies of where the PCI devices of a server with cells are to be, by the names of Nova's
// fields.PCINUMAAffinityPolicy.
const (
	Required  = "required"  // on a node of the cells
	Socket    = "socket"    // on a node of the cells, or another one of their sockets
	Legacy    = "legacy"    // on a node of the cells, if the machine says where they are
	Preferred = "preferred" // anywhere
)

// Affinity says how near to the cells of a server a PCI device is: a smaller rank is nearer. It is
// not ok when the policy does not allow the device; "" is Legacy. Every device will do for a server
// without cells, as in Nova (nova.pci.stats, _filter_pools_for_numa_cells).
func (t Topology) Affinity(policy string, cells []hostlist.Cell, address string) (rank int, ok bool) {
	if len(cells) == 0 {
		return 0, true
	}
	at, known := t.PCI[address]
	on := func(c hostlist.Cell) bool { return c.Node == at }
	switch {
	case known && slices.ContainsFunc(cells, on):
		return 0, true
	case policy == Required:
		return 0, false
	case policy == Socket:
		return 1, known && t.sameSocket(cells, at)
	case !known:
		return 1, true
	}
	return 2, policy == Preferred
}

// sameSocket reports whether a node is of a socket of one of the cells.
func (t Topology) sameSocket(cells []hostlist.Cell, node int) bool {
	if !t.HasSockets() {
		return false
	}
	i := slices.IndexFunc(t.Nodes, func(n Node) bool { return n.ID == node })
	return i >= 0 && slices.ContainsFunc(t.Nodes, func(n Node) bool {
		return n.Socket == t.Nodes[i].Socket &&
			slices.ContainsFunc(cells, func(c hostlist.Cell) bool { return c.Node == n.ID })
	})
}

// HasSockets reports whether the socket of each node is known, on which the policy Socket depends.
func (t Topology) HasSockets() bool {
	return len(t.Nodes) > 0 && !slices.ContainsFunc(t.Nodes, func(n Node) bool { return n.Socket == UnknownSocket })
}
