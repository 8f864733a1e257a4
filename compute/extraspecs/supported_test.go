package extraspecs

import (
	"strings"
	"testing"
)

// Each extra spec of Nova's is either supported or refused: an example of each, and what it is
// refused for.
func TestSupported(t *testing.T) {
	examples := map[string]string{ // of those whose values have a form
		"accel:device_profile": "dp", "pci_passthrough:alias": "gpu:1", "hw:cpu_dedicated_mask": "0",
		"hw:cpu_realtime_mask": "^0", "hw:mem_page_size": "large", "hw:pmem": "6GB", "vmware:hw_version": "v",
		"vmware:storage_policy": "p",
	}
	refused := 0
	for name, v := range single {
		value, ok := examples[name]
		switch {
		case ok:
		case v.kind == boolean:
			value = "true"
			if why := (Abilities{}).unsupported(name, "false"); why != "" {
				t.Errorf("%s=false requests nothing, but is refused: %s", name, why)
			}
		case len(v.enum) > 0:
			value = v.enum[0]
		default:
			value = "1"
		}
		if err := Validate(name, value); err != nil && v.kind != 0 {
			t.Fatalf("the example of %s: %v", name, err)
		}
		_, cur := supported[name]
		why := (Abilities{}).unsupported(name, value)
		if (why == "") != cur && len(supported[name]) == 0 && len(nothing[name]) == 0 {
			t.Errorf("%s=%s is supported: %v, but refused: %q", name, value, cur, why)
		} else if why != "" {
			refused++
		}
	}
	if refused < 80 {
		t.Errorf("only %d extra specs are refused", refused)
	}
	for name := range supported {
		if _, known := find(name); !known {
			t.Errorf("%s is supported, but no extra spec", name)
		}
	}
}

func TestSupportedTexts(t *testing.T) {
	for _, c := range []struct {
		specs, properties map[string]string
		want              string // "" for nothing
	}{
		{specs: map[string]string{
			"resources:VGPU": "1", "trait:HW_CPU_X86_VMX": "required", "ours": "7", "theirs:x": "y",
			"hw:cpu_policy": "dedicated",
		}},
		{specs: map[string]string{
			"hw:boot_menu": "no", "hw:watchdog_action": "disabled", "hw:pci_numa_affinity_policy": "preferred",
		}},
		{properties: map[string]string{
			"hw_disk_bus": "virtio", "os_distro": "debian", "hw_vif_model": "virtio", "hw_cpu_policy": "dedicated",
			"hw_boot_menu": "false",
		}},
		{
			specs: map[string]string{"pci_passthrough:alias": "gpu:1"},
			want: "Flavor f has the extra spec pci_passthrough:alias=gpu:1, which nothing here honours: servers get PCI " +
				"devices as ports only, without [filter_scheduler] pci_in_placement.",
		},
		{
			specs: map[string]string{"hw:numa_nodes": "2"},
			want: "Flavor f has the extra spec hw:numa_nodes=2, which nothing here honours: no host reports NUMA nodes " +
				"and their pages.",
		},
		{specs: map[string]string{"hw:numa_cpus.0": "0"}, want: "hw:numa_cpus.0=0"},
		{specs: map[string]string{"hw:mem_page_size": "1GB"}, want: "no host reports NUMA nodes"},
		{specs: map[string]string{"hw:cpu_realtime": "yes"}, want: "no host can do that"},
		{specs: map[string]string{"hw:emulator_threads_policy": "share"}, want: "no host can do that"},
		{specs: map[string]string{"hw:pci_numa_affinity_policy": "required"}},
		{specs: map[string]string{"quota:vif_inbound_average": "100"}, want: "QoS policies"},
		{specs: map[string]string{"capabilities:vcpus": ">= 1"}, want: "traits only"},
		{specs: map[string]string{"aggregate_instance_extra_specs:ssd": "true"}, want: "traits only"},
		{
			properties: map[string]string{"hw_numa_nodes": "2"},
			want: "Image i has the property hw_numa_nodes=2, which nothing here honours: no host reports NUMA nodes and " +
				"their pages.",
		},
		{properties: map[string]string{"hw_mem_page_size": "large"}, want: "no host reports NUMA nodes"},
		{properties: map[string]string{"img_hide_hypervisor_id": "true"}, want: "img_hide_hypervisor_id=true"},
	} {
		err := Supported(Flavor{Name: "f", Specs: c.specs}, Image{Name: "i", Properties: c.properties}, Abilities{})
		if (err == nil) != (c.want == "") || err != nil && !strings.Contains(err.Error(), c.want) {
			t.Errorf("%v %v: %v, want %q", c.specs, c.properties, err, c.want)
		}
	}
}

// What servers can have once a host reports its NUMA nodes.
func TestSupportedNUMA(t *testing.T) {
	f := Flavor{Name: "f", Specs: map[string]string{
		"hw:numa_nodes": "2", "hw:numa_cpus.0": "0", "hw:numa_mem.0": "512", "hw:mem_page_size": "large",
	}}
	i := Image{Name: "i", Properties: map[string]string{"hw_numa_nodes": "2", "hw_mem_page_size": "2MB"}}
	if err := Supported(f, i, Abilities{NUMA: true}); err != nil {
		t.Error(err)
	}
}

// Where servers get PCI devices by aliases, flavors may name some.
func TestAliasesAreSupported(t *testing.T) {
	f := Flavor{Name: "f", Specs: map[string]string{"pci_passthrough:alias": "gpu:1"}}
	if err := Supported(f, Image{}, Abilities{Aliases: true}); err != nil {
		t.Error(err)
	}
}
