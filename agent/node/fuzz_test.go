package node_test

import (
	"fmt"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/berthcloud/berth/agent/node"
	"github.com/berthcloud/berth/agent/settings"
	"github.com/berthcloud/berth/osloconfig"
)

// FuzzCPUs reads any text as a set of CPUs. What it means is the same when it is written
// again.
func FuzzCPUs(f *testing.F) {
	for _, text := range parityCPUs {
		f.Add(text)
	}
	f.Add("0-65535,^1-65534")
	f.Fuzz(func(t *testing.T, text string) {
		numbers, again, err := node.ParseCPUs(text)
		oneLineEach(t, err)
		if err != nil {
			return
		}
		got, _, err := node.ParseCPUs(again)
		if err != nil || !slices.Equal(got, numbers) {
			t.Errorf("%q is %v, and written again, %q, it is %v, %v", text, numbers, again, got, err)
		}
	})
}

// FuzzReservedPages reads any text as huge pages that are reserved. What it means is the same when
// it is written again.
func FuzzReservedPages(f *testing.F) {
	for _, texts := range parityPages {
		if len(texts) > 0 {
			f.Add(texts[0])
		}
	}
	f.Fuzz(func(t *testing.T, text string) {
		pages, err := node.ReservedPages([]string{text})
		oneLineEach(t, err)
		var again []string
		for id, sizes := range pages {
			for size, count := range sizes {
				again = append(again, fmt.Sprintf("node:%d,size:%d,count:%d", id, size, count))
			}
		}
		got, againErr := node.ReservedPages(again)
		if againErr != nil || len(again) != 1 && err == nil || !cmp.Equal(got, pages) {
			t.Errorf("%q is %v, %v, and written again, %q, it is %v, %v", text, pages, err, again, got, againErr)
		}
	})
}

// FuzzTopology reads any text from the files of a machine of two nodes. There is an error, or every
// CPU is in one node and in one core of it, and no memory is counted twice.
func FuzzTopology(f *testing.F) {
	f.Add("0-3", "0-1", "2,3", "Node 0 MemTotal: 4096 kB", "1", "10 20", "0-1", "0", "1")
	f.Add("0", "0", "", "MemTotal: 0 kB", "0", "10", "", "-1", "-1")
	s, _, err := node.Load(osloconfig.Sources{}, settings.Names{Host: "h", Canonical: "h"})
	if err != nil {
		f.Fatal(err)
	}
	m := &host{dir: f.TempDir(), disk: 200, arch: "x86_64"} // each time with other files
	f.Fuzz(func(t *testing.T, online, first, second, memory, huge, distance, siblings, socket, near string) {
		for path, text := range map[string]string{
			"system/cpu/online": online, "system/node/node0/cpulist": first, "system/node/node1/cpulist": second,
			"system/node/node0/meminfo": memory, "system/node/node1/meminfo": memory,
			"system/node/node1/hugepages/hugepages-2kB/nr_hugepages": huge, "system/node/node1/distance": distance,
			"system/cpu/cpu0/topology/thread_siblings_list": siblings, "system/cpu/cpu0/topology/physical_package_id": socket,
		} {
			m.write(t, "machine/sys/devices/"+path, text)
		}
		m.write(t, "machine/sys/bus/pci/devices/0000:01:00.0/numa_node", near)
		top, err := s.Topology(m.machine())
		oneLineEach(t, err)
		cpus := map[int]bool{}
		for _, n := range top.Nodes {
			if !slices.Equal(slices.Sorted(slices.Values(slices.Concat(n.Cores...))), n.CPUs) {
				t.Errorf("node %d has the CPUs %v and the cores %v", n.ID, n.CPUs, n.Cores)
			}
			for _, cpu := range n.CPUs {
				if cpus[cpu] {
					t.Errorf("CPU %d is in two nodes", cpu)
				}
				cpus[cpu] = true
			}
			for _, p := range n.Pages {
				if p.Total < 0 || p.Total*p.SizeKB/1024 > n.MemoryMB {
					t.Errorf("node %d of %d MiB has %d pages of %d kB", n.ID, n.MemoryMB, p.Total, p.SizeKB)
				}
			}
		}
	})
}

// FuzzCPUModels reads any text as models and flags. The features are traits, and a machine that is
// compared with them has all of them.
func FuzzCPUModels(f *testing.F) {
	f.Add("Haswell,EPYC", "+vmx,-svm,pcid")
	f.Add("haswell-v4", "--sse4.1")
	f.Add("486", "+")
	f.Fuzz(func(t *testing.T, models, flags string) {
		const machine = "mmx sse sse2 pni ssse3 sse4_1 sse4_2 aes avx avx2 bmi1 bmi2 fma pclmulqdq vmx"
		features, err := node.CPUFeatures("custom", models, flags, machine)
		oneLineEach(t, err)
		for _, name := range features {
			if node.CPUTraits[name] == nil || err == nil && !slices.Contains(strings.Fields(machine), name) {
				t.Errorf("%q with %q can do %q", models, flags, name)
			}
		}
	})
}

// oneLineEach wants every mistake to be one line that can be printed.
func oneLineEach(t *testing.T, err error) {
	t.Helper()
	if err == nil {
		return
	}
	for line := range strings.SplitSeq(err.Error(), "\n") {
		if !strings.Contains(line, ": ") || strings.ContainsFunc(line, func(r rune) bool { return r < ' ' }) {
			t.Errorf("%q is not the line of a mistake", line)
		}
	}
}

// FuzzDeviceSpecs reads any text as the entries of [pci] device_spec, and holds devices
// against them.
func FuzzDeviceSpecs(f *testing.F) {
	for _, texts := range paritySpecs {
		f.Add(texts[0])
	}
	for _, text := range parityNames {
		f.Add(text)
	}
	f.Fuzz(func(t *testing.T, text string) {
		matched, err := node.Specs([]string{text}, parityDevices)
		oneLineEach(t, err)
		if err == nil && len(matched) != len(parityDevices) {
			t.Errorf("%q means %v", text, matched)
		}
	})
}

// FuzzProviders reads any text as a file of what is added to providers. What is taken can
// be reported to placement.
func FuzzProviders(f *testing.F) {
	for _, files := range parityProviders {
		if len(files) > 0 {
			f.Add(files[0])
		}
	}
	f.Add("a: &a [*a]")
	f.Add("meta: &m {<<: *m}")
	f.Fuzz(func(t *testing.T, text string) {
		all, warnings, err := node.ReadProviders([]byte(text))
		oneLineEach(t, err)
		for _, w := range warnings {
			if strings.ContainsAny(w, "\n\r") {
				t.Errorf("%q is not one line", w)
			}
		}
		for _, a := range all {
			if (a.ID == "") == (a.Name == "") || len(a.Inventories)+len(a.Traits) == 0 {
				t.Errorf("%+v names no provider, or adds nothing", a)
			}
			for class, e := range a.Inventories {
				if !strings.HasPrefix(class, "CUSTOM_") || e.Total < 1 {
					t.Errorf("%s has %+v", class, e)
				}
			}
		}
	})
}
