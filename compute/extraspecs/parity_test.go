package extraspecs_test

import (
	_ "embed"
	"fmt"
	"math/rand/v2"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/berthcloud/berth/compute/extraspecs"
	"github.com/berthcloud/berth/fault"
	"github.com/berthcloud/berth/internal/novatest"
	"github.com/berthcloud/berth/internal/racetest"
)

//go:embed testdata/nova.py
var novaScript string

// A pair is a flavor and an image.
type pair struct {
	VCPUs      int64             `json:"vcpus"`
	MemoryMB   int64             `json:"memory_mb"`
	Specs      map[string]string `json:"specs"`
	Properties map[string]string `json:"properties"`
}

// A verdict is what is said of a pair.
type verdict struct {
	Check      *string `json:"check"`
	NUMA       string  `json:"numa"`
	TPM        string  `json:"tpm"`
	Boot       string  `json:"boot"`
	PCI        string  `json:"pci"`
	Encryption string  `json:"encryption"`
}

// TestNova compares with what Nova itself says of values, and of flavors and images
// together.
func TestNova(t *testing.T) {
	racetest.Skip(t)
	r := rand.New(rand.NewPCG(6, 86))
	values := everyValue()
	pairs := make([]pair, 8000)
	for i := range pairs {
		if pairs[i] = randomPair(r, choices, 6); i%2 == 1 {
			pairs[i] = randomPair(r, cellChoices, 12)
		}
	}
	var answer struct {
		Values []*string `json:"values"`
		Pairs  []verdict `json:"pairs"`
	}
	novatest.Run(t, novaScript, map[string]any{"values": values, "pairs": pairs}, &answer)
	refused := 0
	for i, v := range values {
		if diff := cmp.Diff(answer.Values[i], text(extraspecs.Validate(v[0], v[1]))); diff != "" {
			t.Errorf("Validate(%q, %q) (-nova +berth):\n%s", v[0], v[1], diff)
		}
		if answer.Values[i] != nil {
			refused++
		}
	}
	agreed, divided := 0, 0
	for i, p := range pairs {
		if diff := cmp.Diff(answer.Pairs[i], judge(p)); diff != "" {
			t.Errorf("%+v (-nova +berth):\n%s", p, diff)
		}
		if answer.Pairs[i].Check == nil {
			agreed++
		}
		if strings.Count(answer.Pairs[i].NUMA, "/") > 2 && !strings.HasPrefix(answer.Pairs[i].NUMA, "error") {
			divided++
		}
	}
	if divided == 0 {
		t.Error("no pair has several NUMA cells")
	}
	t.Logf("%d values, %d of them refused; %d pairs, %d of them go together, %d in several NUMA cells",
		len(values), refused, len(pairs), agreed, divided)
}

// text is what the caller sees of a fault, nil for none.
func text(err error) *string {
	if err == nil {
		return nil
	}
	if kind, _ := fault.Of(err); kind != fault.Invalid {
		err = fmt.Errorf("not a fault of the caller's: %w", err)
	}
	s := err.Error()
	return &s
}

func judge(p pair) verdict {
	f := extraspecs.Flavor{Name: "m1", VCPUs: p.VCPUs, MemoryMB: p.MemoryMB, Specs: p.Specs}
	i := extraspecs.Image{ID: "i", Name: "cirros", Properties: p.Properties}
	v := verdict{Check: text(extraspecs.Check(f, i))}
	if i.Check() != nil {
		return v
	}
	found := func(s string, err error) string {
		if err != nil {
			return "error: " + err.Error()
		}
		return s
	}
	topology, err := extraspecs.Topology(f, i)
	v.NUMA = found(cellsOf(topology, p.Specs["hw:emulator_threads_policy"]), err)
	version, _, err := extraspecs.TPM(f, i)
	v.TPM = found(version, err)
	boot, err := extraspecs.SecureBoot(f, i)
	v.Boot = found(map[bool]string{true: "True", false: "False"}[boot], err)
	v.PCI = found(extraspecs.PCIPolicy(f, i))
	on, format, err := extraspecs.Encryption(f, i)
	if on {
		format = "on " + format
	}
	v.Encryption = found(format, err)
	return v
}

// cellsOf is a topology as testdata/nova.py shows it.
func cellsOf(t extraspecs.NUMA, emulator string) string {
	if len(t.Cells) == 0 {
		return ""
	}
	set := func(s extraspecs.CPUSet) string {
		return "[" + strings.ReplaceAll(strings.Trim(fmt.Sprint(slices.Collect(s.Numbers())), "[]"), " ", ", ") + "]"
	}
	or := func(word string) string {
		if word == "" {
			return "None"
		}
		return word
	}
	var cells []string
	for _, c := range t.Cells {
		cells = append(cells, fmt.Sprintf("%s/%s/%d", set(c.Shared), set(c.Dedicated), c.MemoryMB))
	}
	return fmt.Sprintf("%s pages %d, %s, %s, %s", strings.Join(cells, " "), t.PageKB, or(t.CPU.Policy), or(t.CPU.Threads),
		or(emulator))
}

// everyValue is each name that means something with each value that does.
func everyValue() (all [][2]string) {
	names := []string{
		"resources:VCPU", "resources1:VCPU", "resources_NET-a:CUSTOM_GOLD", "resources:custom_gold", "resources:GOLD",
		"resources: VCPU", "resources1.5:VCPU", "resources", "resources:", "trait:HW_CPU_X86_AVX", "traitX:CUSTOM_FAST",
		"trait:FAST", "traits:CUSTOM_FAST", "trait1:", "hw:numa_cpus.0", "hw:numa_cpus.x", "hw:numa_mem.12", "hw:numa_mem.",
		"hw:other", "hw:cpu_polic", "hwx:cpu_policy", "HW:cpu_policy", "aggregate_instance_extra_specs:ssd",
		"aggregate_instance_extra_specs:", "capabilities:vcpus", "capabilities:cpu_info:a:b", "capabilities:cpu_info:",
		"capabilities:other", "capabilities", "free words", "ssd:yes", "quota:vif_inbound_peak", "quota:vif_peak",
		"quota:disk_read_iops_sec", "quota:disk_io_shares_level", "quota:memory_reservation", "quota:other",
		"vmware:hw_version", "vmware:x", "pci_passthrough:alias", "pci_passthrough:x", "accel:device_profile", "os:monitors",
		"os:vram", "os:x", "hide_hypervisor_id", "group_policy", "hw:pmem", "hw:mem_page_size", "hw:cpu_realtime_mask",
		"hw:cpu_dedicated_mask", "hw:boot_menu", "hw:cpu_policy", "hw:watchdog_action", "hw:tpm_version",
		"hw:serial_port_count", "hw:max_cpu_cores", "hw_rng:rate_bytes", "hw_rng:allowed", "hw_video:ram_max_mb",
		"hw:ephemeral_encryption_format", "os:secure_boot", "os:resolution", "hw:viommu_model", "hw:pci_numa_affinity_policy",
	}
	values := []string{
		"", "1", "0", "-1", " 7 ", "+8", "9", "1_000", "1__0", "_1", "1.0", "0x1", "\u0663", "99999999999999999999", "true",
		"Off", " yes ", "maybe", "required", "forbidden", "Required", "isolate", "none", "dedicated", "custom", "1.2", "luks",
		"64", "1024x768", "virtio", "socket", "0-3,^2", "^1", "1-", "gpu:1", "gpu:1 , nic:2", "gpu", "2MB", "large", "4k",
		"a,b,", "a b", "words\nlines", "it's",
	}
	for _, n := range names {
		for _, v := range values {
			all = append(all, [2]string{n, v})
		}
	}
	return all
}

// choices are extra specs and properties that have to do with each other.
var choices = map[string][]string{
	"hw:cpu_policy":                  {"dedicated", "dedicated", "shared", "mixed", "mixed", "odd"},
	"hw:cpu_thread_policy":           {"prefer", "isolate", "require", "odd"},
	"hw:emulator_threads_policy":     {"isolate", "share", "odd"},
	"hw:cpu_realtime":                {"yes", "no", "odd"},
	"hw:cpu_realtime_mask":           {"^0", "0-3", "0-1", "7", "^0-9", "x", "3-1", "^x", "1-2-3", ",,2", "^1-x"},
	"hw:cpu_dedicated_mask":          {"^0", "0-3", "0-1", "7", "0-1,^1", "it's", "-3"},
	"resources:VCPU":                 {"4", "0", "x"},
	"resources:PCPU":                 {"4", "5", "0", "-4"},
	"resources1:PCPU":                {"4", "1"},
	"resources_A:PCPU":               {"4"},
	"trait:HW_CPU_HYPERTHREADING":    {"required", "forbidden", "odd"},
	"hw:mem_encryption":              {"true", "false", "odd"},
	"hw:tpm_version":                 {"1.2", "2.0", "3"},
	"hw:tpm_model":                   {"tpm-tis", "tpm-crb", "odd"},
	"os:secure_boot":                 {"required", "disabled", "it's"},
	"hw:pci_numa_affinity_policy":    {"socket", "legacy", "odd"},
	"hw:ephemeral_encryption":        {"on", "off", "odd"},
	"hw:ephemeral_encryption_format": {"luks", "plain", "odd"},
	"hw_cpu_policy":                  {"dedicated", "shared", "mixed", "odd"},
	"hw_cpu_thread_policy":           {"prefer", "isolate", "require", "odd"},
	"hw_cpu_realtime_mask":           {"^0", "0-3", "0-9"},
	"trait:HW_CPU_HYPERTHREADING.":   {"required", "forbidden"},
	"hw_mem_encryption":              {"true", "false", "odd"},
	"hw_firmware_type":               {"uefi", "uefi", "uefi", "bios", "odd"},
	"hw_machine_type":                {"pc-q35-2.11", "pc"},
	"hw_tpm_version":                 {"1.2", "2.0", "3"},
	"hw_tpm_model":                   {"tpm-tis", "tpm-crb", "odd"},
	"os_secure_boot":                 {"required", "optional", "odd"},
	"hw_pci_numa_affinity_policy":    {"socket", "legacy", "odd"},
	"hw_ephemeral_encryption":        {"on", "off", "odd"},
	"hw_ephemeral_encryption_format": {"luks", "plain", "odd"},
	"hw_architecture":                {"x86_64", "AMD64", "odd"},
	"architecture":                   {"i386", "Odd"},
	"hw_vif_model":                   {"VirtualE1000", "virtio", "odd"},
}

// cellChoices are those about NUMA nodes: most pairs of them have cells.
var cellChoices = map[string][]string{
	"hw:numa_nodes":  {"1", "2", "2", "2", "3", "0", "-1", "02", "x", ""},
	"hw:numa_cpus.0": {"0", "0-1", "0,2", "", "0-1", "0-1,4", "x", "^0"},
	"hw:numa_cpus.1": {"1", "2-3", "2-3", "1,3", "2", "0-3", "9"},
	"hw:numa_cpus.2": {"3"},
	"hw:numa_mem.0":  {"256", "256", "512", "0", "100"},
	"hw:numa_mem.1":  {"256", "256", "412", "0"},
	"hw:numa_mem.2":  {"0"},
	"hw:mem_page_size": {
		"small", "large", "any", "4", "2048", "2MB", "2M", "1GB", "2.5GiB",
		"1048576", "16Mb", "8Gbit", "4kB", "4096B", "odd", "0", "٢",
	},
	"hw:pmem":               {"a", "a,b", ""},
	"hw:cpu_policy":         {"dedicated", "shared", "mixed"},
	"hw:cpu_dedicated_mask": {"0-1", "^0", "2"},
	"hw_numa_nodes":         {"1", "2", "2", "0", " 2 ", "odd", "-3"},
	"hw_numa_cpus.0":        {"0-1", "0-1", "0", "odd"},
	"hw_numa_cpus.1":        {"2-3", "2-3", "1-3"},
	"hw_numa_mem.0":         {"256", "256", "512", "odd"},
	"hw_numa_mem.1":         {"256", "256"},
	"hw_mem_page_size":      {"small", "large", "any", "2048", "2MB", "odd"},
	"hw_cpu_policy":         {"dedicated", "shared", "mixed"},
}

// randomPair sets some of the choices.
func randomPair(r *rand.Rand, choices map[string][]string, most int) pair {
	p := pair{VCPUs: 1 + r.Int64N(4), MemoryMB: 512, Specs: map[string]string{}, Properties: map[string]string{}}
	names := sorted(choices)
	for range 1 + r.IntN(most) {
		name := names[r.IntN(len(names))]
		values := choices[name]
		v := values[r.IntN(len(values))]
		switch {
		case name == "trait:HW_CPU_HYPERTHREADING.":
			p.Properties["trait:HW_CPU_HYPERTHREADING"] = v
		case name == "architecture" && p.Properties["hw_architecture"] != "",
			name == "hw_architecture" && p.Properties["architecture"] != "":
		case isProperty(name):
			p.Properties[name] = v
		default:
			p.Specs[name] = v
		}
	}
	return p
}
