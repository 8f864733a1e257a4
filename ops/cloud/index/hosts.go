package index

import (
	"slices"

	"github.com/berthcloud/berth/ops/cloud"
)

// DisabledTrait is the trait of a host on which Nova starts nothing.
const DisabledTrait = "COMPUTE_STATUS_DISABLED"

// IsHost reports whether a root provider looks like one of a compute node.
func IsHost(p *cloud.Provider) bool {
	for _, class := range []string{"VCPU", "PCPU", "MEMORY_MB"} {
		if _, ok := p.Inventories[class]; ok {
			return true
		}
	}
	return slices.Contains(p.Traits, "COMPUTE_NODE")
}
