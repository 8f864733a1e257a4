package clouds

import "fmt"

const numaMemory = 131072

// Nested returns hosts that are trees of seven, much like those of upstream's performance job: the
// host with its disk, two NUMA nodes with processors and memory, and accelerators below each.
// Servers take no FPGA, so that none is missing. The query requests processors and an FPGA below
// the same NUMA node.
func Nested(hosts int, seed uint64) *Cloud {
	m := newMaker(2, seed, func(n, more int) string {
		cpus, memory, disk := amounts(n)
		if more > 0 {
			memory = numaMemory - 1024 + 1 + n
		}
		return fmt.Sprintf("resources=DISK_GB:%d&resources_COMPUTE=VCPU:%d,MEMORY_MB:%d&required_COMPUTE=CUSTOM_FOO"+
			"&resources_FPGA=FPGA:1&group_policy=none&same_subtree=_COMPUTE,_FPGA", disk, cpus, memory)
	})
	for n := range hosts {
		m.numaHost(n)
	}
	return m.Cloud
}

func (m *maker) numaHost(n int) {
	root := m.provider(0, host(n))
	m.stocks(root, stock{"DISK_GB", 3725, 0, 1})
	traits := []string{"COMPUTE_NODE", "COMPUTE_VOLUME_MULTI_ATTACH"}
	if m.random.IntN(2) == 0 {
		traits = append(traits, ZonedTrait)
	}
	m.has(root, traits...)
	m.place(n, root)
	for i, below := range [][]string{{"FPGA", "PGPU"}, {"FPGA", "FPGA"}} {
		numa := m.numa(root, fmt.Sprintf("%s_numa%d", host(n), i))
		for k, class := range below {
			id := m.provider(numa, fmt.Sprintf("%s_numa%d_%s%d", host(n), i, class, k))
			m.stocks(id, stock{class, 1, 0, 1})
			m.has(id, "CUSTOM_"+class+"_MODEL_A")
		}
	}
}

// numa adds a NUMA node, with a server on every second one.
func (m *maker) numa(root int64, name string) int64 {
	id := m.provider(root, name)
	m.stocks(id, stock{"VCPU", 32, 0, 2}, stock{"MEMORY_MB", numaMemory, 1024, 1})
	m.has(id, "HW_NUMA_ROOT", "CUSTOM_FOO")
	if m.random.IntN(2) == 0 {
		f := m.flavor()
		m.consume(m.of(root, "DISK_GB", f.disk), m.of(id, "VCPU", f.cpus), m.of(id, "MEMORY_MB", f.memory))
	}
	return id
}
