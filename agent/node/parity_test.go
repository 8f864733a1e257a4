package node_test

import (
	"fmt"
	"strings"
	"testing"

	"github.com/berthcloud/berth/agent/node"
)

// The questions of TestParity. It has none about what Berth does differently on purpose. Refused
// here only are a number of a device with a sign, an inventory that placement refuses, a key that
// is in a mapping twice, and words for yes and no that are neither; refused there only is the key
// __source_file. An empty mapping in a list of inventories adds something there only.

var parityCPUs = []string{
	"", "0", "0-3", "0-3,^2", "^2,0-3", "0-7,^2-4", " 0 , 2 - 3 ,, ", "0-3,2-5", "^0", "0,^0", "3-1", "a", "0-", "-3", "-",
	"^", "^-", "^a", "0-3-5", "1_0", "+1", "0x1", "1.5", "0,^1", "00,01", "^ 2,1-3", "1 2", "1;2", "5-5", "^5-4,1",
}

var parityDevices = []node.SpecDevice{
	{Address: "0000:00:1f.0", Vendor: "8086", Product: "a2c6"},
	{Address: "0000:81:00.0", Vendor: "8086", Product: "154d"},
	{Address: "0000:81:02.0", Vendor: "8086", Product: "154c", Parent: "0000:81:00.0"},
	{Address: "0000:81:02.1", Vendor: "8086", Product: "154c", Parent: "0000:81:00.0"},
	{Address: "0000:af:00.0", Vendor: "15b3", Product: "1017"},
	{Address: "0000:af:00.2", Vendor: "15b3", Product: "1018", Parent: "0000:af:00.0"},
	{Address: "0001:81:02.1", Vendor: "10de", Product: "1db4"},
}

// parityPages has no number that is negative and no part of a kB, which are refused here only.
var parityPages = [][]string{
	{},
	{""},
	{"node:0,size:2048,count:64"},
	{"node:0,size:2048,count:64", "node:1,size:1GB,count:1"},
	{"node:0,size:2048,count:64", "node:0,size:2MB,count:1"},
	{"node:0,size:2048,count:64", "node:0,size:1048576,count:0"},
	{" node : 0 , size : 2048 , count : 64 "},
	{"count:1,size:4,node:3,why:DPDK"},
	{"node:0,size:2048"},
	{"node:0,count:64"},
	{"size:2048,count:64"},
	{"node:0,size:2048,count:"},
	{"node:0,size:2048,count:64,"},
	{"node:0,size:2048,,count:64"},
	{"node:0,size:2048,count:64,:x"},
	{"node:0,node:1,size:2048,count:64"},
	{"node=0,size=2048,count=64"},
	{"node:0;size:2048;count:64"},
	{"node:a,size:2048,count:64"},
	{"node:0,size:a,count:64"},
	{"node:0,size:2048,count:a"},
	{"node:0.0,size:2048,count:64"},
	{"node:+1,size:2_048,count:1_0"},
	{"node:0,size:2MB,count:1"},
	{"node:0,size:1GB,count:1"},
	{"node:0,size:1TB,count:1"},
	{"node:0,size:0.5GB,count:1"},
	{"node:0,size:.5GB,count:1"},
	{"node:0,size:2048KB,count:1"},
	{"node:0,size:2097152B,count:1"},
	{"node:0,size:16384Kb,count:1"},
	{"node:0,size:16384Kbit,count:1"},
	{"node:0,size:1GiB,count:1"},
	{"node:0,size:2MiB,count:1"},
	{"node:0,size:1iB,count:1"},
	{"node:0,size:1GBit,count:1"},
	{"node:0,size:1G,count:1"},
	{"node:0,size:1gb,count:1"},
	{"node:0,size:1kB,count:1"},
	{"node:0,size:1 GB,count:1"},
	{"node:0,size:1e3,count:1"},
	{"node:0,size:0x800,count:1"},
	{"node:0,size:2048,count:64", "node:0"},
	{"2048"},
}

var paritySpecs = [][]string{
	{`{}`},
	{`[]`},
	{`[{"vendor_id": "8086"}, {"vendor_id": "15b3"}]`, `{"product_id": "1db4"}`},
	{`{"vendor_id": "8086", "product_id": "154c"}`},
	{`{"vendor_id": "15B3"}`},
	{`{"vendor_id": " 15b3 "}`},
	{`{"vendor_id": "0x15b3"}`},
	{`{"vendor_id": "*", "product_id": "*"}`},
	{`{"vendor_id": "115b3"}`},
	{`{"vendor_id": "what"}`},
	{`{"vendor_id": ""}`},
	{`{"vendor_id": 8086}`},
	{`{"product_id": "1db40"}`},
	{`{"address": "0000:81:00.0"}`},
	{`{"address": "0000:81:02.1"}`},
	{`{"address": "0000:81:02.*"}`},
	{`{"address": "*:81:*.*"}`},
	{`{"address": ":81:."}`},
	{`{"address": "81:02.1"}`},
	{`{"address": "02.1"}`},
	{`{"address": ".1"}`},
	{`{"address": "*"}`},
	{`{"address": ""}`},
	{`{"address": null}`},
	{`{"address": "0000:AF:0.0"}`},
	{`{"address": "0:af:00.0"}`},
	{`{"address": "0000:af:20.0"}`},
	{`{"address": "0000:100:00.0"}`},
	{`{"address": "10000:af:00.0"}`},
	{`{"address": "0000:af:00.8"}`},
	{`{"address": "0000:af:00.x"}`},
	{`{"address": "0:0:0:0.0"}`},
	{`{"address": 7}`},
	{`{"address": {"domain": ".*", "bus": "81", "slot": "0[02]", "function": "[0-1]"}}`},
	{`{"address": {"domain": "0000", "bus": "81", "slot": "00", "function": "0"}}`},
	{`{"address": {"bus": "81", "function": "1"}}`},
	{`{"address": {"bus": "8"}}`},
	{`{"address": {"bus": "AF"}}`},
	{`{"address": {"bus": "[aA][fF]", "slot": "00|01"}}`},
	{`{"address": {"bus": "1"}}`},
	{`{"address": {"bus": "["}}`},
	{`{"address": {"bus": 81}}`},
	{`{"address": {"domain": "0000", "bus": "af", "slot": "00", "function": "0"}, "product_id": "1018"}`},
	{`{"devname": "nowhere0"}`},
	{`{"devname": "nowhere0", "address": "0000:81:00.0"}`},
	{
		`{"address": "0000:81:00.0", "product_id": "154c", "physical_network": "p"}`,
		`{"address": "0000:81:00.0", "physical_network": "q"}`,
	},
	{`nonsense`},
	{`7`},
	{`"x"`},
	{`[7]`},
	{`[[]]`},
	{`{"vendor_id": "8086"`},
	{`{} {}`},
	{``},
}

var parityNames = []string{
	`{}`,
	`{"resource_class": "PGPU"}`, `{"resource_class": "pgpu"}`, `{"resource_class": "my gpu"}`,
	`{"resource_class": "CUSTOM_A"}`, `{"resource_class": "custom_a"}`, `{"resource_class": "a__b-c"}`,
	`{"resource_class": "CUSTOM_a-b"}`, `{"resource_class": ""}`, `{"resource_class": "-"}`, `{"resource_class": null}`,
	`{"resource_class": "GPU!"}`, `{"traits": "HW_GPU_API_VULKAN"}`, `{"traits": "hw_gpu_api_vulkan"}`,
	`{"traits": "a,b,a"}`, `{"traits": "CUSTOM_B,custom_b,B"}`, `{"traits": "a, b"}`, `{"traits": ""}`,
	`{"traits": "my-awesome  gpu"}`, `{"traits": "CUSTOM_A-B"}`, `{"traits": "COMPUTE_MANAGED_PCI_DEVICE"}`,
}

const metaLine = "meta: {schema_version: '1.0'}\n"

// provider is a file with one provider.
func provider(rest string) []string {
	return []string{metaLine + "providers:\n  - identification: {name: a}\n    " + rest + "\n"}
}

var parityProviders = [][]string{
	{},
	{metaLine},
	{""},
	{"meta: {}\n"},
	{"meta: {schema_version: 1.0}\n"},
	{"meta: {schema_version: '1.7'}\n"},
	{"meta: {schema_version: '2.0'}\n"},
	{"meta: {schema_version: '1'}\n"},
	{"meta: {schema_version: one}\n"},
	{"meta: [\n"},
	{"- meta\n"},
	{metaLine + "---\n" + metaLine},
	{metaLine + "providers: []\n"},
	{metaLine + "providers: {}\n"},
	{metaLine + "providers:\n"},
	{metaLine + "providers: [7]\n"},
	{metaLine + "providers: [{}]\n"},
	{metaLine + "more: 1\n__other: 2\n"},
	provider("traits: {additional: [CUSTOM_A, CUSTOM_B, CUSTOM_A]}"),
	provider("traits: {additional: []}"),
	provider("traits: {}"),
	provider("traits:"),
	provider("traits: {additional: CUSTOM_A}"),
	provider("traits: {additional: [HW_CPU_X86_VMX]}"),
	provider("traits: {additional: [custom_a]}"),
	provider("traits: {additional: [7]}"),
	provider("traits: {additional: [CUSTOM_A], removed: [X]}"),
	provider("other: {additional: [CUSTOM_A]}\n    traits: {additional: [CUSTOM_A]}"),
	provider("inventories: {additional: [CUSTOM_A: {total: 5}]}"),
	provider("inventories: {additional: [{CUSTOM_A: {total: 5}, CUSTOM_B: {total: 6}}]}"),
	provider("inventories: {additional: [CUSTOM_A: {total: 22, reserved: 2, min_unit: 1, max_unit: 11, step_size: 1, " +
		"allocation_ratio: 1.5}]}"),
	provider("inventories: {additional: [CUSTOM_A: {total: 5.0, allocation_ratio: 2}]}"),
	provider("inventories: {additional: [CUSTOM_A: {total: 5.5}]}"),
	provider("inventories: {additional: [CUSTOM_A: {total: '5'}]}"),
	provider("inventories: {additional: [CUSTOM_A: {total: true}]}"),
	provider("inventories: {additional: [CUSTOM_A: {reserved: 5}]}"),
	provider("inventories: {additional: [CUSTOM_A: {total: 5, used: 5}]}"),
	provider("inventories: {additional: [CUSTOM_A: 5]}"),
	provider("inventories: {additional: [VCPU: {total: 5}]}"),
	provider("inventories: {additional: {CUSTOM_A: {total: 5}}}"),
	{metaLine + "providers: [{identification: {name: ''}, traits: {additional: [CUSTOM_A]}}]\n"},
	{metaLine + "providers: [{identification: {name: 7}, traits: {additional: [CUSTOM_A]}}]\n"},
	{metaLine + "providers: [{identification: {}, traits: {additional: [CUSTOM_A]}}]\n"},
	{metaLine + "providers: [{identification: {name: a, uuid: $COMPUTE_NODE}, traits: {additional: [CUSTOM_A]}}]\n"},
	{metaLine + "providers: [{identification: {other: a}, traits: {additional: [CUSTOM_A]}}]\n"},
	{metaLine + "providers: [{identification: {uuid: $COMPUTE_NODE}, traits: {additional: [CUSTOM_A]}}]\n"},
	{metaLine + "providers: [{identification: {uuid: " + hostID + "}, traits: {additional: [CUSTOM_A]}}]\n"},
	{metaLine + "providers: [{identification: {uuid: 3b36d91ebf60460fb1f83322dee5cdfd}, traits: {additional: " +
		"[CUSTOM_A]}}]\n"},
	{metaLine + "providers: [{identification: {uuid: nonsense}, traits: {additional: [CUSTOM_A]}}]\n"},
	append(provider("traits: {additional: [CUSTOM_A]}"), provider("traits: {additional: [CUSTOM_B]}")...),
	append(provider("traits: {additional: [CUSTOM_A]}"), provider("traits: {}")...),
	append(provider("traits: {additional: [CUSTOM_A]}"),
		metaLine+"providers: [{identification: {uuid: $COMPUTE_NODE}, traits: {additional: [CUSTOM_A]}}]\n"),
}

var parityPlacement = [][]string{
	{`{"product_id": "154c"}`},
	{`{"address": "0000:81:00.0", "product_id": "154c", "resource_class": "vf", "traits": "a,HW_GPU_API_VULKAN"}`},
	{`{"address": "0000:81:00.0"}`},
	{`{"address": "0000:81:00.0", "product_id": "154d"}`, `{"vendor_id": "10de"}`, `{"address": "0000:af:00.2"}`},
	{`{"address": "0000:81:02.0", "resource_class": "a"}`, `{"address": "0000:81:02.1", "resource_class": "b"}`},
	{`{"address": "0000:81:02.0", "resource_class": "a"}`, `{"address": "0000:81:02.1", "resource_class": "A"}`},
	{`{"address": "0000:81:02.0", "traits": "a"}`, `{"address": "0000:81:02.1", "traits": "b"}`},
	{`{"address": "0000:81:02.0", "traits": "a,b"}`, `{"address": "0000:81:02.1", "traits": "b,a"}`},
	{`{"address": "0000:81:02.0"}`, `{"address": "0000:81:02.1", "physical_network": "p"}`},
	{`{"address": "0000:81:02.0", "physical_network": "p"}`, `{"address": "0000:81:02.0"}`},
	{`{"devname": "ens5", "physical_network": "p"}`},
}

// carded is a host with parityDevices.
func carded(t *testing.T, lines ...string) (*node.Settings, node.Machine, error) {
	t.Helper()
	parents := map[string]bool{}
	for _, d := range parityDevices {
		parents[d.Parent] = true
	}
	for _, d := range parityDevices {
		line := fmt.Sprintf("pci %s %s:%s", d.Address, d.Vendor, d.Product)
		if parents[d.Address] {
			line += " physical"
		}
		if d.Parent != "" {
			line += " of " + d.Parent
		}
		lines = append(lines, line)
	}
	h := answer(t, lines)
	s, _, err := h.load()
	return s, h.machine(), err
}

func placedHere(t *testing.T, texts []string) map[string]providerOf {
	t.Helper()
	lines := []string{"[pci]", "report_in_placement = true"}
	for _, text := range texts {
		lines = append(lines, "device_spec = "+text)
	}
	s, m, err := carded(t, lines...)
	if err != nil {
		return nil
	}
	r, err := s.Report(m)
	if err != nil {
		return nil
	}
	all := map[string]providerOf{}
	for _, d := range r.Host.Devices {
		all[r.Host.DeviceName(d)] = providerOf{d.Class, int(d.Total), d.Traits}
	}
	return all
}

const (
	shared, dedicated, pinned, reserved = "compute.cpu_shared_set", "compute.cpu_dedicated_set", "vcpu_pin_set",
		"reserved_host_cpus"
)

var paritySets = []map[string]any{
	{},
	{reserved: 2},
	{shared: "0-3"},
	{shared: "0-8"},
	{shared: "^0"},
	{shared: "0-3", reserved: 1},
	{dedicated: "4-7"},
	{dedicated: "4-7", reserved: 1},
	{dedicated: "7,8"},
	{shared: "0-3", dedicated: "4-7"},
	{shared: "0-4", dedicated: "4-7"},
	{shared: "0-3", dedicated: "3-7,^3"},
	{shared: "x"},
	{dedicated: "x"},
	{pinned: "0-3"},
	{pinned: "0-3", reserved: 1},
	{pinned: "0-8"},
	{pinned: "^0"},
	{pinned: "0-3", shared: "5"},
	{pinned: "0-3", shared: "5,9"},
	{pinned: "0-3", dedicated: "5"},
	{pinned: "x"},
}

func setsHere(t *testing.T, options map[string]any) []int {
	t.Helper()
	var lines []string
	for _, name := range []string{shared, dedicated, pinned, reserved} {
		if value, ok := options[name]; ok {
			group, option, inGroup := strings.Cut(name, ".")
			if !inGroup {
				group, option = "DEFAULT", name
			}
			lines = append(lines, "["+group+"]", fmt.Sprintf("%s = %v", option, value))
		}
	}
	h := answer(t, lines)
	s, _, err := h.load()
	if err != nil {
		return nil
	}
	r, err := s.Report(h.machine())
	if err != nil {
		return nil
	}
	return []int{int(r.Host.VCPU.Total), int(r.Host.PCPU.Total)}
}

// cards are three, of which the last has no devices of type a.
var cards = map[string]map[string][2]int{
	"pci_0000_84_00_0": {"a": {2, 4}, "b": {0, 2}},
	"pci_0000_85_00_0": {"a": {0, 4}, "b": {1, 1}},
	"pci_0000_86_00_0": {"b": {0, 2}},
}

func addresses(list ...string) map[string]any { return map[string]any{"device_addresses": list} }

func classed(class string, list ...string) map[string]any {
	return map[string]any{"device_addresses": list, "mdev_class": class}
}

var parityMdevs = []mdevQuestion{
	{[]string{}, nil, cards},
	{[]string{"a"}, nil, cards},
	{[]string{"b"}, nil, cards},
	{[]string{"c"}, nil, cards},
	{[]string{"a", "b"}, nil, cards},
	{[]string{"b", "a"}, map[string]map[string]any{"mdev_b": addresses("0000:84:00.0")}, cards},
	{[]string{"a", "b"}, map[string]map[string]any{
		"mdev_a": addresses("0000:84:00.0"),
		"mdev_b": addresses("0000:85:00.0", "0000:86:00.0"),
	}, cards},
	{[]string{"a", "b"}, map[string]map[string]any{
		"mdev_a": addresses("0000:84:00.0"),
		"mdev_b": classed("CUSTOM_B", "0000:86:00.0"),
	}, cards},
	{[]string{"a", "b"}, map[string]map[string]any{
		"mdev_a": classed("CUSTOM_A", "0000:84:00.0"),
		"mdev_b": classed("CUSTOM_B"),
	}, cards},
	{[]string{"a", "b"}, map[string]map[string]any{
		"mdev_a": addresses("0000:84:00.0"),
		"mdev_b": addresses("0000:84:00.0"),
	}, cards},
	{[]string{"a", "b"}, map[string]map[string]any{
		"mdev_a": addresses("84:00.0"),
		"mdev_b": addresses("0000:85:00.0"),
	}, cards},
	{[]string{"a", "b"}, map[string]map[string]any{
		"mdev_a": addresses("0000:84:00.0"),
		"mdev_b": addresses("0000:99:00.0"),
	}, cards},
	{[]string{"a"}, map[string]map[string]any{"mdev_a": classed("CUSTOM_A", "0000:84:00.0")}, cards},
	{[]string{"a"}, map[string]map[string]any{"mdev_a": classed("CUSTOM_A")}, cards},
}

func mdevsHere(t *testing.T, q mdevQuestion) map[string]map[string]int {
	t.Helper()
	lines := []string{"[devices]", "enabled_mdev_types = " + strings.Join(q.Types, ",")}
	for group, options := range q.Groups {
		lines = append(lines, "["+group+"]")
		for option, value := range options {
			if list, ok := value.([]string); ok {
				value = strings.Join(list, ",")
			}
			lines = append(lines, fmt.Sprintf("%s = %v", option, value))
		}
	}
	for name, kinds := range q.Cards {
		part := strings.Split(name, "_")
		for kind, n := range kinds {
			line := fmt.Sprintf("mdev %s:%s:%s.%s %s %d", part[1], part[2], part[3], part[4], kind, n[1])
			for i := range n[0] {
				line += fmt.Sprintf(" made%d", i)
			}
			lines = append(lines, line)
		}
	}
	h := answer(t, lines)
	s, _, err := h.load()
	if err != nil {
		return nil
	}
	r, err := s.Report(h.machine())
	if err != nil {
		return nil
	}
	all := map[string]map[string]int{}
	for _, d := range r.Host.Devices {
		all[d.Suffix] = map[string]int{d.Class: int(d.Total)}
	}
	return all
}

// What the CPUs of two machines can do.
var (
	haswell = strings.Fields("fpu mmx pni sse sse2 sse4.1 sse4.2 ssse3 aes avx avx2 bmi1 bmi2 fma pclmuldq vmx")
	epyc    = strings.Fields("fpu mmx pni sse sse2 sse4.1 sse4.2 sse4a ssse3 abm aes avx avx2 bmi1 bmi2 f16c fma " +
		"pclmuldq sha-ni svm")
)

// parityModels remove no feature that a model or the host has: here that removes its trait too.
var parityModels = []modelQuestion{
	{Host: haswell},
	{Host: epyc},
	{Mode: "host-model", Host: haswell},
	{Mode: "host-passthrough", Host: epyc},
	{Mode: "none", Host: haswell},
	{Mode: "none", Models: []string{"Haswell"}, Host: haswell},
	{Mode: "none", Flags: []string{"+avx512f"}, Host: haswell},
	{Mode: "host-model", Models: []string{"Haswell"}, Host: haswell},
	{Mode: "host-passthrough", Models: []string{"Haswell"}, Host: haswell},
	{Models: []string{"Haswell"}, Host: haswell},
	{Mode: "host-model", Flags: []string{"+AVX512F", "sha-ni", "pcid"}, Host: haswell},
	{Flags: []string{"avx512f"}, Host: haswell},
	{Mode: "custom", Host: haswell},
	{Mode: "custom", Models: []string{"Haswell"}, Host: haswell},
	{Mode: "custom", Models: []string{"haswell-notsx-ibrs"}, Host: haswell},
	{Mode: "custom", Models: []string{"SandyBridge", "Nehalem", "IvyBridge"}, Host: append(haswell, "f16c")},
	{Mode: "custom", Models: []string{"IvyBridge"}, Host: haswell},
	{Mode: "custom", Models: []string{"Nehalem", "Skylake-Server"}, Host: haswell},
	{Mode: "custom", Models: []string{"Nehalem", "Skylake-Server"}, Host: haswell, Skip: true},
	{Mode: "custom", Models: []string{"Nehalem", "Haswel"}, Host: haswell},
	{Mode: "custom", Models: []string{"Nehalem", "Haswel"}, Host: haswell, Skip: true},
	{Mode: "custom", Models: []string{"", "Nehalem"}, Host: haswell},
	{Mode: "custom", Models: []string{"Nehalem"}, Flags: []string{"vmx", "+avx2"}, Host: haswell},
	{Mode: "custom", Models: []string{"Nehalem"}, Flags: []string{"vmx", "+avx512f"}, Host: haswell},
	{Mode: "custom", Models: []string{"Nehalem"}, Flags: []string{"vmx", "+avx512f"}, Host: haswell, Skip: true},
	{Mode: "custom", Models: []string{"EPYC"}, Host: epyc},
	{Mode: "custom", Models: []string{"EPYC-v4", "Opteron_G3"}, Host: epyc},
	{Mode: "custom", Models: []string{"EPYC"}, Host: haswell},
	{Mode: "custom", Models: []string{"486"}, Host: epyc},
}

// modelsHere are the traits of a host's CPUs, nil when they are refused. Nova has SSE3 by a name
// that libvirt does not use, so that none of its hosts has the trait.
func modelsHere(t *testing.T, q modelQuestion) []string {
	t.Helper()
	lines := []string{"cpuflags " + strings.Join(append(node.KernelNamesOf(q.Host), "fpu"), " "), "[libvirt]"}
	if q.Mode != "" {
		lines = append(lines, "cpu_mode = "+q.Mode)
	}
	if q.Models != nil {
		lines = append(lines, "cpu_models = "+strings.Join(q.Models, ", "))
	}
	lines = append(lines, "cpu_model_extra_flags = "+strings.Join(q.Flags, ","), "[workarounds]",
		fmt.Sprintf("skip_cpu_compare_at_startup = %t", q.Skip))
	h := answer(t, lines)
	s, _, err := h.load()
	if err != nil {
		return nil
	}
	r, err := s.Report(h.machine())
	if err != nil {
		return nil
	}
	traits := []string{}
	for _, name := range r.Host.Traits {
		if strings.HasPrefix(name, "HW_CPU_X86_") && name != "HW_CPU_X86_SSE3" {
			traits = append(traits, name)
		}
	}
	return traits
}
