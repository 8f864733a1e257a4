package settings

import (
	"maps"
	"slices"

	"github.com/berthcloud/berth/guarantee"
)

// Resources are an agent's resources in placement. Devices are bridges for OVS and OVN, physical
// functions for SR-IOV, or the name of all tunnelled networks.
type Resources struct {
	// Report has the rates of devices and hypervisors, the hypervisors of devices, and their
	// configured traits. Every device has a hypervisor. A hypervisor with packet rates is its own,
	// so that the agent has a provider there even without a device.
	Report guarantee.Report

	// Tunnelled is the device of all tunnelled networks, empty for agents without one.
	Tunnelled string
}

// Driver returns the mechanism driver that the agent belongs to.
func (k Kind) Driver() guarantee.Driver {
	switch k {
	case SRIOV:
		return guarantee.SRIOV
	case OVN:
		return guarantee.OVN
	}
	return guarantee.OpenVSwitch
}

// Mappings returns the devices of each physical network.
func (r *Resources) Mappings() map[string][]string {
	all := maps.Clone(r.Report.DeviceMappings)
	if all == nil {
		all = map[string][]string{}
	}
	for physnet, bridge := range r.Report.BridgeMappings {
		all[physnet] = []string{bridge}
	}
	return all
}

// Devices returns all mapped devices, sorted, each once.
func (r *Resources) Devices() []string {
	var all []string
	for _, devices := range r.Mappings() {
		all = append(all, devices...)
	}
	slices.Sort(all)
	return slices.Compact(all)
}

// Physnets returns the physical networks of a device, sorted.
func (r *Resources) Physnets(device string) []string {
	var nets []string
	for net, devices := range r.Mappings() {
		if slices.Contains(devices, device) {
			nets = append(nets, net)
		}
	}
	slices.Sort(nets)
	return nets
}

// mapped reports whether bandwidth of the device means something.
func (r *Resources) mapped(device string) bool {
	return r.Tunnelled != "" && device == r.Tunnelled || slices.Contains(r.Devices(), device)
}
