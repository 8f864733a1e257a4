package extraspecs

import (
	"regexp"
	"strings"
)

// namespaces are what the names of Nova's extra specs begin with, but for those about
// groups.
var namespaces = []string{
	"accel", "aggregate_instance_extra_specs", "capabilities", "hw", "hw_rng", "hw_video", "os", "pci_passthrough",
	"quota", "vmware",
}

// cpuList is a list of CPUs of the guest: "0-3,^2,5".
const cpuList = `\^?\d+((-\d+)?(,\^?\d+(-\d+)?)?)*`

// single are the extra specs that have one name each, apart from those that are one
// for each of some words.
var single = withWords(map[string]value{
	"group_policy":       oneOf("isolate", "none"),
	"hide_hypervisor_id": {kind: boolean},

	"accel:device_profile":  {},
	"pci_passthrough:alias": like(`[^:]+:\d+(?:\s*,\s*[^:]+:\d+)*`),

	"hw:boot_menu":                   {kind: boolean},
	"hw:cpu_cores":                   atLeast(1),
	"hw:cpu_dedicated_mask":          like(cpuList),
	"hw:cpu_policy":                  oneOf("dedicated", "shared", "mixed"),
	"hw:cpu_realtime":                {kind: boolean},
	"hw:cpu_realtime_mask":           like(`(\^)?\d+((-\d+)?(,\^?\d+(-\d+)?)?)*`),
	"hw:cpu_sockets":                 atLeast(1),
	"hw:cpu_thread_policy":           oneOf("prefer", "isolate", "require"),
	"hw:cpu_threads":                 atLeast(1),
	"hw:emulator_threads_policy":     oneOf("isolate", "share"),
	"hw:ephemeral_encryption":        {kind: boolean},
	"hw:ephemeral_encryption_format": oneOf(encryptionFormats...),
	"hw:hide_hypervisor_id":          {kind: boolean},
	"hw:locked_memory":               {kind: boolean},
	"hw:max_cpu_cores":               atLeast(1),
	"hw:max_cpu_sockets":             atLeast(1),
	"hw:max_cpu_threads":             atLeast(1),
	"hw:mem_encryption":              {kind: boolean},
	"hw:mem_encryption_model":        oneOf(encryptionModels...), // since Nova 2025.2
	"hw:mem_page_size":               like(`(large|small|any|\d+([kKMGT]i?)?(b|bit|B)?)`),
	"hw:numa_nodes":                  atLeast(1),
	"hw:pci_numa_affinity_policy":    oneOf("required", "preferred", "legacy", "socket"),
	"hw:pmem":                        like(`([a-zA-Z0-9_]+(,)?)+`),
	"hw:pmu":                         {kind: boolean},
	"hw:serial_port_count":           atLeast(0),
	"hw:sound_model":                 oneOf(soundModels...), // since Nova 2025.1
	"hw:tpm_model":                   oneOf(tpmModels...),
	"hw:tpm_secret_security":         oneOf("user", "host", "deployment"), // since Nova 2026.1
	"hw:tpm_version":                 oneOf(tpmVersions...),
	"hw:vif_multiqueue_enabled":      {kind: boolean},
	"hw:viommu_model":                oneOf("intel", "smmuv3", "virtio", "auto"),
	"hw:virtio_packed_ring":          {kind: boolean}, // since Nova 2024.1
	"hw:watchdog_action":             oneOf("none", "pause", "poweroff", "reset", "disabled"),
	"hw_rng:allowed":                 {kind: boolean},
	"hw_rng:rate_bytes":              atLeast(0),
	"hw_rng:rate_period":             atLeast(0),
	"hw_video:ram_max_mb":            atLeast(0),

	"os:monitors":    between(1, 8),
	"os:resolution":  oneOf("1024x768", "1280x1024", "1600x1200", "1920x1200", "2560x1600", "3840x2160"),
	"os:secure_boot": oneOf("disabled", "required"),
	"os:vram":        oneOf("64", "128", "256", "512", "1024"),

	"quota:cpu_period": atLeast(0),
	"quota:cpu_quota":  integer(),
	"quota:cpu_shares": atLeast(0),

	"vmware:hw_version":     {},
	"vmware:storage_policy": {},
})

// A family is the extra specs with a parameter in their names.
type family struct {
	names *regexp.Regexp
	value value
}

// families are all extra specs but those of groups. It is Nova's rule that a dot in a name matches
// any character.
var families = []family{
	{full(`aggregate_instance_extra_specs:.+`), value{}},
	{full(`hw:numa_cpus.\d+`), like(cpuList)},
	{full(`hw:numa_mem.\d+`), atLeast(1)},
	{full(`capabilities:(` + strings.ReplaceAll(deepCapabilities, " ", "|") + `)(:\w+)*`), value{}},
}

// Words that names consist of.
const (
	plainCapabilities = "id uuid service_id host vcpus memory_mb local_gb vcpus_used memory_mb_used local_gb_used " +
		"hypervisor_type hypervisor_version hypervisor_hostname free_ram_mb free_disk_gb current_workload running_vms " +
		"disk_available_least host_ip mapped cpu_allocation_ratio ram_allocation_ratio disk_allocation_ratio " +
		"total_usable_ram_mb total_usable_disk_gb disk_mb_used free_disk_mb vcpus_total num_instances num_io_ops " +
		"failed_builds aggregates cell_uuid updated"
	deepCapabilities = "cpu_info metrics stats numa_topology supported_hv_specs pci_device_pools nodename pci_stats " +
		"supported_instances limits instances"
	diskQuotas = "read_bytes read_iops write_bytes write_iops total_bytes total_iops"
	vifQuotas  = "inbound_average inbound_peak inbound_burst outbound_average outbound_peak outbound_burst"
)

// withWords adds the extra specs that are one for each of some words.
func withWords(all map[string]value) map[string]value {
	for _, what := range []string{"cpu", "memory", "disk_io", "vif"} {
		all["quota:"+what+"_limit"] = atLeast(0)
		all["quota:"+what+"_reservation"] = integer()
		all["quota:"+what+"_shares_level"] = oneOf("custom", "high", "normal", "low")
		all["quota:"+what+"_shares_share"] = atLeast(0)
	}
	for what := range strings.FieldsSeq(diskQuotas) {
		all["quota:disk_"+what+"_sec"] = atLeast(0)
	}
	for what := range strings.FieldsSeq(vifQuotas) {
		all["quota:vif_"+what] = atLeast(0)
	}
	for what := range strings.FieldsSeq(plainCapabilities) {
		all["capabilities:"+what] = value{}
	}
	return all
}
