package node_test

import (
	"encoding/xml"
	"flag"
	"fmt"
	"maps"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/berthcloud/berth/agent/node"
	"github.com/berthcloud/berth/internal/golden"
)

var (
	cpuMap    = flag.String("cpu-map", "", "directory of libvirt's CPU models: TestCPUModels compares the table with it")
	cpuSource = flag.String("cpu-source", "", "with -cpu-map: release of libvirt that it is from")
)

const modelsFile = "cpumodels.txt"

// TestCPUModels checks the table of CPU models. To take it from another release of libvirt, unpack
// Debian's package libvirt-common, and run
//
//	go test ./agent/node -run TestCPUModels -cpu-map DIR/usr/share/libvirt/cpu_map \
//		-cpu-source "libvirt 11.3.0" -update
func TestCPUModels(t *testing.T) {
	if *cpuMap != "" {
		golden.Compare(t, modelsFile, tableOf(t, *cpuMap))
	}
	flags, models := node.CPUModels()
	if len(flags) < 300 || len(models) < 100 {
		t.Errorf("the table has %d flags and %d models", len(flags), len(models))
	}
	// What Intel and AMD have documented of these.
	for name, want := range map[string]string{
		"486":         "",
		"Nehalem":     "mmx pni sse sse2 sse4_1 sse4_2 ssse3",
		"SandyBridge": "aes avx mmx pclmulqdq pni sse sse2 sse4_1 sse4_2 ssse3",
		"Haswell":     "aes avx avx2 bmi1 bmi2 fma mmx pclmulqdq pni sse sse2 sse4_1 sse4_2 ssse3",
		"Haswell-v4":  "aes avx avx2 bmi1 bmi2 fma mmx pclmulqdq pni sse sse2 sse4_1 sse4_2 ssse3",
		"EPYC": "abm aes avx avx2 bmi1 bmi2 f16c fma mmx pclmulqdq pni sha_ni sse sse2 sse4_1 sse4_2 sse4a ssse3 " +
			"svm",
		"qemu64": "mmx pni sse sse2 svm",
	} {
		got := slices.Sorted(slices.Values(models[name]))
		if strings.Join(got, " ") != want {
			t.Errorf("%s can do %q, want %q", name, got, want)
		}
	}
	for name, features := range models {
		for _, f := range features {
			if node.CPUTraits[f] == nil {
				t.Errorf("%s has %s, which is no trait", name, f)
			}
		}
	}
}

// A cpuFile is a file of libvirt's cpu_map.
type cpuFile struct {
	Models   []cpuFileModel `xml:"model"`
	Features []cpuFeature   `xml:"feature"`
}

type cpuFileModel struct {
	Name string `xml:"name,attr"`
	Base *struct {
		Name string `xml:"name,attr"`
	} `xml:"model"`
	Features []cpuFeature `xml:"feature"`
}

// A cpuFeature is one that QEMU's model of the name has not, when it was removed.
type cpuFeature struct {
	Name    string `xml:"name,attr"`
	Removed string `xml:"removed,attr"`
}

// tableOf is the table of what a directory of libvirt's has.
func tableOf(t *testing.T, dir string) string {
	t.Helper()
	models := map[string]cpuFileModel{}
	var flags []string
	for _, path := range golden.Files(t, filepath.Join(dir, "x86_*.xml")) {
		text, err := os.ReadFile(path)
		if err != nil {
			t.Fatal(err)
		}
		var f cpuFile
		if err := xml.Unmarshal(text, &f); err != nil {
			t.Fatalf("%s: %v", path, err)
		}
		for _, m := range f.Models {
			models[m.Name] = m
		}
		for _, feature := range f.Features {
			flags = append(flags, feature.Name)
		}
	}
	var b strings.Builder
	fmt.Fprintf(&b, `# CPU models for x86, and those of their features that are traits, by libvirt's names.
# Features that QEMU has removed from a model are left out. The line * has the names of all features.
# From share/libvirt/cpu_map/x86_*.xml; TestCPUModels says how the table is written.
@ %s
`, *cpuSource)
	for _, name := range slices.Sorted(maps.Keys(models)) {
		fmt.Fprintln(&b, strings.TrimSpace(name+" "+strings.Join(featuresOf(models, name), " ")))
	}
	slices.Sort(flags)
	for line := range slices.Chunk(flags, 10) {
		fmt.Fprintln(&b, "*", strings.Join(line, " "))
	}
	return b.String()
}

// featuresOf are the features of a model, and of the one that it is made from, that are traits.
func featuresOf(models map[string]cpuFileModel, name string) []string {
	m := models[name]
	all := map[string]bool{}
	if m.Base != nil {
		for _, f := range featuresOf(models, m.Base.Name) {
			all[f] = true
		}
	}
	for _, f := range m.Features {
		all[f.Name] = f.Removed != "yes"
		if len(node.KernelNamesOf([]string{f.Name})) == 0 {
			all[f.Name] = false
		}
	}
	maps.DeleteFunc(all, func(_ string, has bool) bool { return !has })
	return slices.Sorted(maps.Keys(all))
}
