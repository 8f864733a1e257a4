package extraspecs

import (
	"maps"
	"slices"
	"strings"
)

// Supported returns a fault (Invalid) that names a requirement of a flavor or an image that no
// query to placement and no host here can meet. Extra specs outside Nova's namespaces are the
// operator's own and require nothing. Of an image's properties only those with the meaning of an
// extra spec are checked; others describe devices that a guest of the image can use.
//
// Nova's scheduler answers most of these with "no valid host" where no host can meet them, but only
// after the server was accepted, and ignores those that a driver does not know.
func Supported(f Flavor, i Image, by Abilities) error {
	for _, name := range slices.Sorted(maps.Keys(f.Specs)) {
		if why := by.unsupported(name, f.Specs[name]); why != "" {
			return conflict("Flavor %s has the extra spec %s=%s, which nothing here honours: %s.", f.Name, name,
				f.Specs[name], why)
		}
	}
	for _, property := range slices.Sorted(maps.Keys(i.Properties)) {
		namespace, name, _ := strings.Cut(property, "_")
		if property == "img_hide_hypervisor_id" {
			namespace, name = "hw", "hide_hypervisor_id"
		}
		if namespace != "hw" && namespace != "os" {
			continue
		}
		if why := by.unsupported(namespace+":"+name, i.Properties[property]); why != "" {
			return conflict("Image %s has the property %s=%s, which nothing here honours: %s.", i.Name, property,
				i.Properties[property], why)
		}
	}
	return nil
}

// supported are the extra specs, besides those of groups, that package request turns into resources
// or traits. Where it does so for some values only, they are listed; none means all.
var supported = map[string][]string{
	"group_policy": nil,

	"hw:cpu_dedicated_mask": nil, "hw:cpu_policy": nil, "hw:cpu_thread_policy": nil,
	"hw:emulator_threads_policy": {"isolate"},
	"hw:ephemeral_encryption":    nil, "hw:ephemeral_encryption_format": nil, "hw:mem_encryption": nil,
	"hw:mem_encryption_model":     nil,
	"hw:pci_numa_affinity_policy": nil, // hosts are compared with it when a server is claimed
	"hw:pmem":                     nil, "hw:sound_model": {"virtio"}, "hw:tpm_model": nil, "hw:tpm_secret_security": nil,
	"hw:tpm_version": nil, "hw:virtio_packed_ring": nil, "os:secure_boot": nil,
}

// nothing are values that request nothing, by extra spec; those of truth values are in unsupported.
var nothing = map[string][]string{
	"hw:watchdog_action": {"none", "disabled"}, "hw:serial_port_count": {"0"},
}

// Abilities are what the hosts of a cloud can do.
type Abilities struct {
	NUMA bool // some host reports its NUMA nodes, to placement or to the compute service
	// Aliases says that servers get PCI devices by aliases: who reads the aliases refuses those that
	// do not exist.
	Aliases bool
}

// unsupported says why an extra spec is not supported, "" when it is or requires nothing.
func (a Abilities) unsupported(name, value string) string {
	v, known := find(name)
	if _, _, _, group := Split(name); !known || group {
		return ""
	}
	if words, cur := supported[name]; cur && (words == nil || slices.Contains(words, value)) {
		return ""
	}
	if on, _ := Bool(value); v.kind == boolean && !on || slices.Contains(nothing[name], value) {
		return ""
	}
	namespace, rest, _ := strings.Cut(name, ":")
	switch {
	case namespace == "pci_passthrough":
		if a.Aliases {
			return ""
		}
		return "servers get PCI devices as ports only, without [filter_scheduler] pci_in_placement"
	case namespace == "accel":
		return "there is no accelerator service"
	case namespace == "aggregate_instance_extra_specs", namespace == "capabilities":
		return "hosts are distinguished by traits only"
	case namespace == "quota":
		return "hosts bound ports by their QoS policies, and nothing else of a server"
	case namespace == "hw" && (strings.HasPrefix(rest, "numa_") || rest == "mem_page_size"):
		if a.NUMA {
			return ""
		}
		return "no host reports NUMA nodes and their pages"
	}
	return "no host can do that"
}
