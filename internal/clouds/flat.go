package clouds

import "fmt"

// Of a flat host, and of the root of a bandwidth host.
const (
	hostMemory   = 262144
	hostReserved = 2048
)

// Flat returns hosts without anything below them, as nova-compute makes them. Up
// to three servers are on each. The query is a flavor's.
func Flat(hosts int, seed uint64) *Cloud {
	m := newMaker(1, seed, func(n, more int) string {
		return "resources=" + flavorAmounts(n, more)
	})
	for n := range hosts {
		id := m.provider(0, host(n))
		m.compute(n, id)
		for range m.random.IntN(4) {
			f := m.flavor()
			m.consume(m.of(id, "VCPU", f.cpus), m.of(id, "MEMORY_MB", f.memory), m.of(id, "DISK_GB", f.disk))
		}
	}
	return m.Cloud
}

// compute adds the nth host's inventory, traits and aggregates.
func (m *maker) compute(n int, id int64) {
	m.stocks(id,
		stock{"VCPU", 64, 0, 4},
		stock{"MEMORY_MB", hostMemory, hostReserved, 1},
		stock{"DISK_GB", 3725, 0, 1})
	traits := []string{
		"COMPUTE_NODE", "COMPUTE_VOLUME_MULTI_ATTACH", "COMPUTE_NET_ATTACH_INTERFACE",
		"HW_CPU_X86_VMX",
	}
	if m.random.IntN(2) == 0 {
		traits = append(traits, ZonedTrait)
	}
	m.has(id, traits...)
	m.place(n, id)
}

// flavorAmounts are the resources of the nth flavor. With more, the memory exceeds the unreserved
// part.
func flavorAmounts(n, more int) string {
	cpus, memory, disk := amounts(n)
	if more > 0 {
		memory = hostMemory - hostReserved + 1 + n
	}
	return fmt.Sprintf("VCPU:%d,MEMORY_MB:%d,DISK_GB:%d", cpus, memory, disk)
}
