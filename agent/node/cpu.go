package node

import (
	"encoding/json"
	"maps"
	"slices"
	"strconv"
	"strings"
)

// cpuTraits are the traits of CPUs by the kernel's names of what they can do. Nova has
// them by libvirt's names, which differ.
var cpuTraits = map[string][]string{
	"3dnow":            {"HW_CPU_X86_3DNOW"},
	"abm":              {"HW_CPU_X86_ABM"},
	"aes":              {"HW_CPU_X86_AESNI"},
	"avx":              {"HW_CPU_X86_AVX"},
	"avx2":             {"HW_CPU_X86_AVX2"},
	"avx512_bitalg":    {"HW_CPU_X86_AVX512BITALG"},
	"avx512_vbmi2":     {"HW_CPU_X86_AVX512VBMI2"},
	"avx512_vnni":      {"HW_CPU_X86_AVX512VNNI"},
	"avx512_vpopcntdq": {"HW_CPU_X86_AVX512VPOPCNTDQ"},
	"avx512bw":         {"HW_CPU_X86_AVX512BW"},
	"avx512cd":         {"HW_CPU_X86_AVX512CD"},
	"avx512dq":         {"HW_CPU_X86_AVX512DQ"},
	"avx512er":         {"HW_CPU_X86_AVX512ER"},
	"avx512f":          {"HW_CPU_X86_AVX512F"},
	"avx512ifma":       {"HW_CPU_X86_AVX512IFMA"},
	"avx512pf":         {"HW_CPU_X86_AVX512PF"},
	"avx512vbmi":       {"HW_CPU_X86_AVX512VBMI"},
	"avx512vl":         {"HW_CPU_X86_AVX512VL"},
	"bmi1":             {"HW_CPU_X86_BMI"},
	"bmi2":             {"HW_CPU_X86_BMI2"},
	"f16c":             {"HW_CPU_X86_F16C"},
	"fma":              {"HW_CPU_X86_FMA3"},
	"fma4":             {"HW_CPU_X86_FMA4"},
	"gfni":             {"HW_CPU_X86_AVX512GFNI"},
	"mmx":              {"HW_CPU_X86_MMX"},
	"mpx":              {"HW_CPU_X86_MPX"},
	"pclmulqdq":        {"HW_CPU_X86_CLMUL"},
	"pni":              {"HW_CPU_X86_SSE3"},
	"sha_ni":           {"HW_CPU_X86_SHA"},
	"sse":              {"HW_CPU_X86_SSE"},
	"sse2":             {"HW_CPU_X86_SSE2"},
	"sse4_1":           {"HW_CPU_X86_SSE41"},
	"sse4_2":           {"HW_CPU_X86_SSE42"},
	"sse4a":            {"HW_CPU_X86_SSE4A"},
	"ssse3":            {"HW_CPU_X86_SSSE3"},
	"svm":              {"HW_CPU_X86_SVM", "HW_CPU_X86_AMD_SVM"},
	"tbm":              {"HW_CPU_X86_TBM"},
	"vaes":             {"HW_CPU_X86_AVX512VAES"},
	"vmx":              {"HW_CPU_X86_VMX", "HW_CPU_X86_INTEL_VMX"},
	"vpclmulqdq":       {"HW_CPU_X86_AVX512VPCLMULQDQ"},
	"xop":              {"HW_CPU_X86_XOP"},
}

// A processor is what /proc/cpuinfo says.
type processor struct {
	vendor, model           string
	features                []string // of all CPUs, sorted; nil when the file does not list x86's
	sockets, cores, threads int      // cores of a socket, threads of a core; at least 1
}

// processor reads /proc/cpuinfo.
func (m Machine) processor() (processor, error) {
	text, err := m.read("/proc/cpuinfo")
	if err != nil {
		return processor{}, err
	}
	var p processor
	var features map[string]bool
	sockets := map[string]bool{}
	cores, siblings := 1, 1
	for line := range strings.SplitSeq(text, "\n") {
		name, value, _ := strings.Cut(line, ":")
		value = strings.TrimSpace(value)
		switch strings.TrimSpace(name) {
		case "vendor_id":
			p.vendor = vendorName(value)
		case "model name":
			p.model = value
		case "physical id":
			sockets[value] = true
		case "cpu cores":
			cores = atLeastOne(value)
		case "siblings":
			siblings = atLeastOne(value)
		case "flags":
			features = common(features, strings.Fields(value))
		}
	}
	p.features = slices.Sorted(maps.Keys(features))
	p.sockets, p.cores, p.threads = max(len(sockets), 1), cores, max(siblings/cores, 1)
	return p, nil
}

// vendorName is libvirt's name of a vendor.
func vendorName(id string) string {
	if name, ok := map[string]string{"GenuineIntel": "Intel", "AuthenticAMD": "AMD", "HygonGenuine": "Hygon"}[id]; ok {
		return name
	}
	return id
}

func atLeastOne(text string) int {
	n, err := strconv.Atoi(text)
	if err != nil {
		return 1
	}
	return max(n, 1)
}

// common keeps what is in the words too; of nil, all of them.
func common(all map[string]bool, words []string) map[string]bool {
	retained := map[string]bool{}
	for _, w := range words {
		if all == nil || all[w] {
			retained[w] = true
		}
	}
	return retained
}

// traits are those of the CPUs of servers, which can do what the features say.
func (p processor) traits(features []string) []string {
	var all []string
	for _, f := range features {
		all = append(all, cpuTraits[f]...)
	}
	if p.threads > 1 {
		all = append(all, "HW_CPU_HYPERTHREADING")
	}
	slices.Sort(all)
	return all
}

// info is the object that Nova shows as cpu_info.
func (p processor) info(arch string) []byte {
	type topology struct {
		Cells   int `json:"cells"`
		Sockets int `json:"sockets"`
		Cores   int `json:"cores"`
		Threads int `json:"threads"`
	}
	text, err := json.Marshal(struct {
		Arch     string   `json:"arch"`
		Model    string   `json:"model"`
		Vendor   string   `json:"vendor"`
		Topology topology `json:"topology"`
		Features []string `json:"features"`
	}{arch, p.model, p.vendor, topology{1, p.sockets, p.cores, p.threads}, append([]string{}, p.features...)})
	if err != nil {
		panic(err) // strings and numbers only
	}
	return text
}
