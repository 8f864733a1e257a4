package extraspecs_test

import (
	"fmt"
	"strings"
	"testing"

	"github.com/berthcloud/berth/compute/extraspecs"
)

// specsOf reads "name=value name=value": names with a colon are extra specs, others properties.
func specsOf(text string) (specs, properties map[string]string) {
	specs, properties = map[string]string{}, map[string]string{}
	for word := range strings.FieldsSeq(text) {
		name, v, _ := strings.Cut(word, "=")
		if isProperty(name) {
			properties[name] = v
		} else {
			specs[name] = v
		}
	}
	return specs, properties
}

func topologyOf(vcpus, memory int64, text string) (extraspecs.NUMA, error) {
	f := extraspecs.Flavor{Name: "m1", VCPUs: vcpus, MemoryMB: memory}
	i := extraspecs.Image{ID: "i", Name: "cirros"}
	f.Specs, i.Properties = specsOf(text)
	if err := i.Check(); err != nil {
		return extraspecs.NUMA{}, err
	}
	return extraspecs.Topology(f, i)
}

func TestTopology(t *testing.T) {
	f := func(text, want string) {
		t.Helper()
		n, err := topologyOf(4, 4096, text)
		if err != nil {
			t.Errorf("%s: %v", text, err)
			return
		}
		var got []string
		for _, c := range n.Cells {
			got = append(got, fmt.Sprintf("%v|%v|%d", c.Shared, c.Dedicated, c.MemoryMB))
		}
		if n.PageKB != 0 {
			got = append(got, fmt.Sprint(n.PageKB))
		}
		if n.Explicit {
			got = append(got, "explicit")
		}
		if text := strings.Join(got, " "); text != want {
			t.Errorf("%s: %s, want %s", text, text, want)
		}
	}
	f("", "")
	f("hw:cpu_policy=shared", "")
	f("hw:numa_nodes=1", "0-3||4096 explicit")
	f("hw:numa_nodes=2", "0-1||2048 2-3||2048 explicit")
	f("hw_numa_nodes=2", "0-1||2048 2-3||2048 explicit")
	f("hw:cpu_policy=dedicated", "|0-3|4096")
	f("hw_cpu_policy=dedicated", "|0-3|4096")
	f("resources:PCPU=4", "|0-3|4096")
	f("hw:pmem=a", "0-3||4096")
	f("hw:cpu_policy=mixed hw:cpu_dedicated_mask=1-2", "0,3|1-2|4096")
	f("hw:cpu_policy=mixed hw:cpu_dedicated_mask=1-2 hw:numa_nodes=2", "0|1|2048 3|2|2048 explicit")
	f("hw:numa_nodes=2 hw:numa_cpus.0=0,2-3 hw:numa_mem.0=3072 hw:numa_cpus.1=1 hw:numa_mem.1=1024",
		"0,2-3||3072 1||1024 explicit")
	f("hw:numa_nodes=2 hw_numa_cpus.0=0-2 hw_numa_mem.0=4096 hw_numa_cpus.1=3 hw_numa_mem.1=0",
		"0-2||4096 3||0 explicit")
	// Without hw:numa_nodes there is one cell, which dedicated CPUs or pages make.
	f("hw:numa_cpus.0=0-3 hw:numa_mem.0=4096", "")
	f("hw:numa_cpus.0=0-3 hw:numa_mem.0=4096 hw:mem_page_size=small", "0-3||4096 -1 explicit")
	f("hw:mem_page_size=large", "0-3||4096 -2 explicit")
	f("hw:mem_page_size=any", "0-3||4096 -3 explicit")
	f("hw:mem_page_size=any hw_mem_page_size=2MB", "0-3||4096 2048 explicit")
	f("hw:mem_page_size=large hw_mem_page_size=1GB", "0-3||4096 1048576 explicit")
	f("hw:mem_page_size=2048", "0-3||4096 2048 explicit")
	f("hw:mem_page_size=4KB", "0-3||4096 4 explicit")
	f("hw:mem_page_size=2MiB", "0-3||4096 2048 explicit")
	f("hw:mem_page_size=16Mbit", "0-3||4096 2048 explicit")
	f("hw:mem_page_size=4096B", "0-3||4096 4 explicit")
}

// Each way in which a flavor and an image cannot have a topology.
func TestTopologyFaults(t *testing.T) {
	f := func(text, want string) {
		t.Helper()
		_, err := topologyOf(4, 4096, text)
		if err == nil || err.Error() != want {
			t.Errorf("%s: %v, want %s", text, err, want)
		}
	}
	const (
		nodes      = "The property 'numa_nodes' cannot be '%s'. It must be a number greater than 0"
		asymmetric = "Instance CPUs and/or memory cannot be evenly distributed across instance NUMA nodes. " +
			"Explicit assignment of CPUs and memory to nodes is required"
		incomplete = "CPU and memory allocation must be provided for all NUMA nodes"
		overriding = "Image property '%s' is not permitted to override NUMA configuration set against the flavor"
		two        = "hw:numa_nodes=2 hw:numa_mem.0=2048 hw:numa_mem.1=2048 "
	)
	f("hw:numa_nodes=0", fmt.Sprintf(nodes, "0"))
	f("hw:numa_nodes=two", fmt.Sprintf(nodes, "two"))
	f("hw:numa_nodes=02", fmt.Sprintf(nodes, "02"))
	f("hw_numa_nodes=0", fmt.Sprintf(nodes, "0"))
	f("hw_numa_nodes=two", "Invalid image metadata. Error: invalid literal for int() with base 10: 'two'")
	f("hw:numa_nodes=2 hw_numa_nodes=2", fmt.Sprintf(overriding, "hw_numa_nodes"))
	f("hw:numa_nodes=3", asymmetric)
	f("hw:numa_nodes=8", asymmetric)
	f(two, incomplete)
	f(two+"hw:numa_cpus.0=0-3", incomplete)
	f(two+"hw:numa_cpus.0=0-1 hw:numa_cpus.1=2-3 hw:numa_cpus.2=4", incomplete)
	f(two+"hw:numa_cpus.0=0-1 hw:numa_cpus.1=2-4", "CPU number 4 is larger than max 3")
	f(two+"hw:numa_cpus.0=0-1 hw:numa_cpus.1=1-3", "CPU number 1 is assigned to two nodes")
	f(two+"hw:numa_cpus.0=0 hw:numa_cpus.1=2", "CPU number {1, 3} is not assigned to any node")
	f("hw:numa_nodes=1 hw:numa_cpus.0=0-3 hw:numa_mem.0=1024", "1024 MB of memory assigned, but expected 4096 MB")
	f("hw:numa_nodes=1 hw:numa_cpus.0=0-3 hw:numa_mem.0=-1",
		"The memory of a NUMA node cannot be '-1'. It must be a number of MB")
	f("hw:numa_nodes=1 hw:numa_cpus.0=x hw:numa_mem.0=4096", "Invalid inclusion expression 'x'")
	f("hw_numa_cpus.0=3-1", "Invalid range expression '3-1'")
	f("hw_numa_mem.0=x", "Invalid image metadata. Error: invalid literal for int() with base 10: 'x'")
	f(two+"hw_numa_mem.0=4096 hw:numa_cpus.0=0-1 hw:numa_cpus.1=2-3", fmt.Sprintf(overriding, "hw_numa_mem"))
	f(two+"hw_numa_cpus.0=0-3 hw:numa_cpus.0=0-1 hw:numa_cpus.1=2-3", fmt.Sprintf(overriding, "hw_numa_cpus"))
	f("hw_mem_page_size=large", "Page size large forbidden against '<empty>'")
	f("hw:mem_page_size=2048 hw_mem_page_size=2048", "Page size 2048 forbidden against '2048'")
	f("hw:mem_page_size=small hw_mem_page_size=large", "Page size large forbidden against 'small'")
	f("hw:mem_page_size=huge", "Invalid memory page size 'huge'")
	f("hw:mem_page_size=2kB", "Invalid memory page size '2kB'")
	f("hw:mem_page_size=7B", "Invalid memory page size '7B'")
	f("hw:mem_page_size=-2MB", "Invalid memory page size '-2MB'")
	f("hw:mem_page_size=any hw_mem_page_size=huge", "Invalid memory page size 'huge'")
	f("hw:numa_nodes=2 hw:cpu_policy=mixed", "Dedicated CPU set can be specified from either 'hw:cpu_dedicated_mask' or "+
		"'hw:cpu_realtime_mask' when using 'mixed' CPU policy. 'hw:cpu_dedicated_mask' and 'hw:cpu_realtime_mask' can not "+
		"be specified at the same time, or be specified with none of them.")
}

// A flavor may have more CPUs than there is memory to list.
func TestTopologyOfManyCPUs(t *testing.T) {
	const most = 1<<31 - 1
	n, err := topologyOf(most, 1, "hw:cpu_policy=dedicated")
	if err != nil || len(n.Cells) != 1 || n.Cells[0].Dedicated.Len() != most {
		t.Errorf("%+v, %v", n, err)
	}
	_, err = topologyOf(most, 1, "hw:numa_nodes=1 hw:numa_cpus.0=0 hw:numa_mem.0=1")
	if err == nil || len(err.Error()) > 2000 {
		t.Errorf("a fault about CPUs that are not assigned: %.2100v", err)
	}
}

func TestTopologiesAreEqual(t *testing.T) {
	f := func(a, b string, want bool) {
		t.Helper()
		one, err := topologyOf(4, 4096, a)
		two, other := topologyOf(4, 4096, b)
		if err != nil || other != nil || one.Equal(two) != want {
			t.Errorf("%s and %s: %v, want %v; %v %v", a, b, !want, want, err, other)
		}
	}
	f("hw:numa_nodes=2", "hw_numa_nodes=2", true)
	f("hw:numa_nodes=2", "hw_numa_nodes=1", false)
	f("", "hw_numa_nodes=1", false)
	f("hw:numa_nodes=1", "hw:mem_page_size=small", false)
	f("hw:cpu_policy=dedicated", "hw:cpu_policy=dedicated hw:cpu_thread_policy=isolate", false)
	f("hw:cpu_policy=mixed hw:cpu_dedicated_mask=0", "hw:cpu_policy=mixed hw:cpu_dedicated_mask=1", false)
}
