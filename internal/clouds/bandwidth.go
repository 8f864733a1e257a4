package clouds

import "fmt"

const (
	egress  = "NET_BW_EGR_KILOBIT_PER_SEC"
	ingress = "NET_BW_IGR_KILOBIT_PER_SEC"
	// deviceRate is what a device can do, in kilobits a second.
	deviceRate = 25_000_000
)

// An agent is one of Neutron's on a host, with the devices that it reports and
// the kinds of ports that those can have.
type agent struct {
	name    string
	devices []string
	vnics   []string
}

var agents = []agent{
	{"Open vSwitch agent", []string{"br-ex", "br-tenant", "br-storage"}, []string{"NORMAL"}},
	{"NIC Switch agent", []string{"ens1f0", "ens1f1", "ens2f0"}, []string{"DIRECT"}},
}

// Bandwidth returns hosts that are trees of nine, as Nova and Neutron make them
// together: the host, an agent for virtual switches and one for SR-IOV, and three
// devices of each, on three physical networks. Up to two servers with a port are
// on each. The query is a server's with a port of either kind, on networks of
// their own.
func Bandwidth(hosts int, seed uint64) *Cloud {
	m := newMaker(3, seed, func(n, more int) string {
		return "resources=" + flavorAmounts(n, more) +
			port("_PORT1", n, "DC0", "NORMAL") +
			port("_PORT2", n, "DC1", "DIRECT") + "&group_policy=none"
	})
	for n := range hosts {
		m.switchHost(n)
	}
	return m.Cloud
}

// port is the group of a port with guaranteed bandwidth.
func port(suffix string, n int, network, vnic string) string {
	return fmt.Sprintf("&resources%s=%s:%d,%s:%d&required%s=CUSTOM_PHYSNET_%s,CUSTOM_VNIC_TYPE_%s",
		suffix, egress, 1000+n, ingress, 1000+n, suffix, network, vnic)
}

func (m *maker) switchHost(n int) {
	root := m.provider(0, host(n))
	m.compute(n, root)
	var devices []int64
	for _, a := range agents {
		id := m.provider(root, host(n)+":"+a.name)
		for i, name := range a.devices {
			devices = append(devices, m.device(id, fmt.Sprintf("%s:%s:%s", host(n), a.name, name), i, a.vnics))
		}
	}
	for range m.random.IntN(3) {
		f, i, rate := m.flavor(), devices[m.random.IntN(len(devices))], 1000*(1+m.random.Int64N(50))
		m.consume(m.of(root, "VCPU", f.cpus), m.of(root, "MEMORY_MB", f.memory), m.of(root, "DISK_GB", f.disk),
			m.of(i, egress, rate), m.of(i, ingress, rate))
	}
}

// device adds a device below an agent, on the physical network of that number.
func (m *maker) device(agent int64, name string, network int, vnics []string) int64 {
	id := m.provider(agent, name)
	m.stocks(id, stock{egress, deviceRate, 0, 1}, stock{ingress, deviceRate, 0, 1})
	traits := []string{fmt.Sprintf("CUSTOM_PHYSNET_DC%d", network)}
	for _, vnic := range vnics {
		traits = append(traits, "CUSTOM_VNIC_TYPE_"+vnic)
	}
	m.has(id, traits...)
	return id
}
