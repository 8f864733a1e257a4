package scheduler

import (
	"cmp"

	"github.com/berthcloud/berth/compute/extraspecs"
	"github.com/berthcloud/berth/compute/hostlist"
	"github.com/berthcloud/berth/compute/numa"
)

// An affinity says how near to the cells of a server its PCI devices are to be.
type affinity struct {
	numa.Topology
	cells  []hostlist.Cell // none: anywhere
	policy string          // of the flavor or the image, "" for none
}

// pciPolicy is the policy of a flavor or an image for PCI devices, "" for none. They were checked
// when the server was created: they say nothing if they contradict each other now.
func pciPolicy(f extraspecs.Flavor, i extraspecs.Image) string {
	policy, err := extraspecs.PCIPolicy(f, i)
	if err != nil {
		return ""
	}
	return policy
}

// nearest is the index of the nearest of those devices that are free and that a policy allows, the
// first of equal ones; -1 when there is none.
func (n affinity) nearest(policy string, count int, device func(i int) (address string, free bool)) int {
	best, at := 0, -1
	for i := range count {
		address, free := device(i)
		if !free {
			continue
		}
		if rank, ok := n.Affinity(policy, n.cells, address); ok && (at < 0 || rank < best) {
			best, at = rank, i
		}
	}
	return at
}

// why adds the policy to a reason why no device is free, if it matters.
func (n affinity) why(policy string) string {
	if len(n.cells) == 0 {
		return ""
	}
	return ", with the NUMA affinity policy " + cmp.Or(policy, numa.Legacy)
}
