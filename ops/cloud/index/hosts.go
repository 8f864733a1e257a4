package index

import (
	"slices"

	"github.com/berthcloud/berth/ops/cloud"
)

// DisabledTrait is the trait of a host on which Nova starts nothing.
const DisabledTrait = "COMPUTE_STATUS_DISABLED"

// SpentDevices returns the one-time-use PCI devices that Nova has reserved when they were used, and
// that no server uses any more: an operator cleans each, and sets its reserved amount to 0 again.
func SpentDevices(c *cloud.Cloud) (devices []*cloud.Provider) {
	if c.Placement == nil {
		return nil
	}
	for i := range c.Placement.Providers {
		p := &c.Placement.Providers[i]
		if !OneTimeUse(p) {
			continue
		}
		for class, inventory := range p.Inventories {
			if inventory.Reserved >= inventory.Total && p.Usages[class] == 0 {
				devices = append(devices, p)
				break
			}
		}
	}
	return devices
}

// OneTimeUse reports whether a provider is a PCI device that Nova reserves with its first use.
func OneTimeUse(p *cloud.Provider) bool { return slices.Contains(p.Traits, "HW_PCI_ONE_TIME_USE") }

// RemovedTrait is the trait of a provider of which Berth's compute service has reserved everything:
// its device vanished, or has another class, while servers have some of it.
const RemovedTrait = "CUSTOM_BERTH_REMOVED"

// Vanished reports whether a provider has RemovedTrait.
func Vanished(p *cloud.Provider) bool { return slices.Contains(p.Traits, RemovedTrait) }

// IsHost reports whether a root provider looks like one of a compute node.
func IsHost(p *cloud.Provider) bool {
	for _, class := range []string{"VCPU", "PCPU", "MEMORY_MB"} {
		if _, ok := p.Inventories[class]; ok {
			return true
		}
	}
	return slices.Contains(p.Traits, "COMPUTE_NODE")
}
