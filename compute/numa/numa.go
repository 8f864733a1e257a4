// Package numa has the NUMA topology of a compute host: which CPUs, memory and devices are near to
// each other, and what of them its settings give to servers. Hosts report it in this JSON.
package numa

// A Topology is that of a host. A machine of which the kernel distinguishes no nodes has one, 0.
type Topology struct {
	Nodes []Node `json:"nodes"` // in the order of their IDs
	// Reported says that the nodes are providers of resources in placement: see
	// [compute] enable_numa_reporting_to_placement.
	Reported bool `json:"reported,omitempty"`
	// Excluded says that the host is not for servers with a NUMA topology.
	Excluded bool `json:"excluded,omitempty"`
	// PCI are the nodes that the PCI devices for servers are near to, by their addresses. A device
	// that is near to no node, or of which the machine does not say, is not among them.
	PCI map[string]int `json:"pci_devices,omitempty"`
	// CPURatio and MemoryRatio are the allocation ratios of the host's shared CPUs and of its memory
	// in ordinary pages, by its settings; 0 is 1.
	CPURatio    float64 `json:"cpu_ratio,omitempty"`
	MemoryRatio float64 `json:"memory_ratio,omitempty"`
}

// A Node is a NUMA node: CPUs, memory, or both.
type Node struct {
	ID   int   `json:"id"`
	CPUs []int `json:"cpus,omitempty"` // that are online, in order; none of a node that is memory only
	// Cores are the CPUs by core: those in one list share it, as threads. They are in the order of
	// their first CPUs.
	Cores [][]int `json:"cores,omitempty"`
	// Socket is that of the CPUs: UnknownSocket when they are in several, or the machine does not say.
	Socket int `json:"socket"`

	// MemoryMB is the memory with that of huge pages, in MiB; 0 for a node of CPUs only.
	MemoryMB int64 `json:"memory_mb"`
	// Pages are by size; the first are those of the ordinary size, which have the rest of the memory.
	Pages []Pages `json:"pages,omitempty"`
	// Distances are those to all nodes, in the order of Nodes: 10 to itself, 20 to one that is twice
	// as far. Nil when the machine does not say.
	Distances []int `json:"distances,omitempty"`

	Shared    []int `json:"shared,omitempty"`    // CPUs for servers that share them (VCPU), in order
	Dedicated []int `json:"dedicated,omitempty"` // CPUs of which a server gets its own (PCPU), in order
}

// UnknownSocket is the Socket of nodes that have no single one.
const UnknownSocket = -1

// Pages is the memory of a node in pages of one size.
type Pages struct {
	SizeKB   int64 `json:"size_kb"`
	Total    int64 `json:"total"`
	Reserved int64 `json:"reserved"` // by [DEFAULT] reserved_huge_pages; not more than Total
}

// MemoryMB is the memory of all pages, and of the reserved ones, in MiB.
func (p Pages) MemoryMB() (total, reserved int64) {
	return p.Total * p.SizeKB / 1024, (p.Reserved*p.SizeKB + 1023) / 1024
}
