package netns_test

import (
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/berthcloud/berth/agent/driver/netns"
	"github.com/berthcloud/berth/agent/enforce"
	"github.com/berthcloud/berth/agent/settings"
	"github.com/berthcloud/berth/agent/tc"
	"github.com/berthcloud/berth/compute/hostlist"
	"github.com/berthcloud/berth/internal/traffictest"
	"github.com/berthcloud/berth/network/portlist"
)

// newLab makes a lab around a machine, with a NIC of its own and one in a bridge, both of
// 500 Mbit/s. It goes with the test, and leaves nothing.
func newLab(t *testing.T, m *machine) *netns.Lab {
	t.Helper()
	outside := strings.TrimSuffix(m.config.Prefix, "s-") + "out-"
	lab := &netns.Lab{Hosts: []string{m.host}, Wires: []netns.Wire{
		{NIC: "ens5", Outside: outside + "5", Rate: wireRate, Addresses: []string{"192.0.2.254/24"}},
		{
			NIC: "ens6", Bridge: "br-ens6", Outside: outside + "6", Rate: wireRate,
			Addresses: []string{"192.0.2.254/24", "2001:db8::fe/64"},
		},
	}}
	t.Cleanup(func() {
		if err := lab.Remove(context.Background()); err != nil {
			t.Error(err)
		}
		if remaining, _ := filepath.Glob("/run/netns/" + outside + "*"); len(remaining) > 0 {
			t.Errorf("namespaces stay: %q", remaining)
		}
	})
	m.must(lab.Make(t.Context()))
	return lab
}

const wireRate = 500_000 // kbit/s

// names are those of the host's interfaces.
func (m *machine) names() []string {
	var names []string
	for _, line := range strings.Split(strings.TrimSpace(m.ip("-br", "link")), "\n") {
		name, _, _ := strings.Cut(strings.Fields(line)[0], "@")
		names = append(names, name)
	}
	slices.Sort(names)
	return names
}

func TestLab(t *testing.T) {
	m := newMachine(t)
	before := m.names()
	lab := newLab(t, m)
	picture := func() string {
		var text strings.Builder
		for _, ns := range []string{m.host, lab.Wires[0].Outside, lab.Wires[1].Outside} {
			text.WriteString(interfaces(t, ns) + "\n" + traffictest.Run(t, "tc", "-n", ns, "qdisc"))
		}
		return text.String()
	}
	first := picture()
	if n := strings.Count(first, "rate 500Mbit"); n != 4 {
		t.Errorf("the rate is there %d times, want it at both ends of two wires:\n%s", n, first)
	}
	m.must(lab.Make(t.Context()))
	if diff := cmp.Diff(first, picture()); diff != "" {
		t.Errorf("made again, the lab is another (-first +again):\n%s", diff)
	}
	m.ip("link", "del", "ens5")
	traffictest.Run(t, "ip", "netns", "del", lab.Wires[1].Outside)
	m.must(lab.Make(t.Context()))
	if n := strings.Count(picture(), "rate 500Mbit"); n != 4 {
		t.Errorf("repaired, the rate is there %d times, want 4", n)
	}
	traffictest.Serve(t, lab.Wires[1].Outside, 5201)
	m.config.Bridges["physnet0"] = "br-ens6"
	m.restart()
	s := m.server(port(1))
	m.must(m.driver.Build(t.Context(), s))
	traffictest.Flow{Namespace: m.config.Prefix + s.ID, Server: "192.0.2.254", Port: 5201, Connections: 1}.Reach(t)
	for range 2 {
		m.must(lab.Remove(t.Context()))
		if diff := cmp.Diff(before, slices.DeleteFunc(m.names(), func(s string) bool {
			return s == "tap00000001-90"
		})); diff != "" {
			t.Errorf("without the lab the host has (-want +got):\n%s", diff)
		}
	}
}

// A lab may own the namespace of its host: it is removed with the lab, and created again when
// somebody deleted it.
func TestLabWithItsHost(t *testing.T) {
	m := newMachine(t)
	host, outside := m.host+"-own", m.host+"-out"
	lab := &netns.Lab{
		Hosts: []string{host}, Own: true, Wires: []netns.Wire{{NIC: "ens5", Bridge: "br-ex", Outside: outside}},
	}
	t.Cleanup(func() { _ = lab.Remove(context.Background()) })
	for range 2 {
		m.must(lab.Make(t.Context()))
		if got := interfaces(t, host); !strings.Contains(got, "ens5") || !strings.Contains(got, "br-ex") {
			t.Errorf("the host has %s", got)
		}
		traffictest.Run(t, "ip", "netns", "del", host)
	}
	m.must(lab.Make(t.Context()))
	for range 2 {
		m.must(lab.Remove(t.Context()))
		for _, name := range []string{host, outside} {
			if _, err := os.Stat("/run/netns/" + name); err == nil {
				t.Errorf("the namespace %s stays", name)
			}
		}
	}
	lab.Hosts[0] = "../x"
	refused(t, lab.Make(t.Context()), `a host's namespace cannot be called "../x"`)
}

// Hosts of a lab have interfaces of the same names, and their servers reach each other and the
// outside. A server that is built at another host is reached there at once, even where nothing but
// the driver announces it. Lab and driver leave nothing.
func TestLabOfHosts(t *testing.T) {
	traffictest.Need(t, "tc", "iperf3")
	m := newMachine(t)
	prefix := strings.TrimSuffix(m.config.Prefix, "s-")
	outside := prefix + "out"
	lab := &netns.Lab{
		Hosts: []string{prefix + "a", prefix + "b"}, Own: true,
		Wires: []netns.Wire{
			{NIC: "ens5", Bridge: "br-ex", Outside: outside, Rate: wireRate, Addresses: []string{"192.0.2.254/24"}},
		},
	}
	t.Cleanup(func() {
		if err := lab.Remove(context.Background()); err != nil {
			t.Error(err)
		}
		if remaining, _ := filepath.Glob("/run/netns/" + prefix + "[abo]*"); len(remaining) > 0 {
			t.Errorf("namespaces stay: %q", remaining)
		}
	})
	m.must(lab.Make(t.Context()))
	m.must(lab.Make(t.Context()))
	if text := traffictest.Run(t, "tc", "-n", outside, "qdisc"); strings.Count(text, "rate 500Mbit") != 4 {
		t.Errorf("want the rate at both ends of two wires:\n%s", text)
	}
	var hosts []*netns.Driver
	for _, host := range lab.Hosts {
		d, err := netns.New(netns.Config{
			Dir: t.TempDir(), Prefix: host + "-", Namespace: host, Bridges: map[string]string{"physnet0": "br-ex"},
		})
		m.must(err)
		hosts = append(hosts, d)
		t.Cleanup(func() {
			remaining, err := d.Servers(context.Background())
			for _, s := range remaining {
				err = errors.Join(err, d.Destroy(context.Background(), s.ID))
			}
			if err != nil {
				t.Error(err)
			}
		})
	}
	moves, retained := m.server(port(1)), m.server(port(2))
	m.must(hosts[0].Build(t.Context(), moves))
	m.must(hosts[1].Build(t.Context(), retained))
	pathOf := func(host int, s hostlist.Server) string { return lab.Hosts[host] + "-" + s.ID }
	serve := func(namespace string) {
		t.Helper()
		traffictest.Serve(t, namespace, 5201)
		traffictest.Flow{Namespace: namespace, Server: "127.0.0.1", Port: 5201, Connections: 1}.Reach(t)
	}
	reach := func(namespace, dst string) { // before a lost packet is sent again
		t.Helper()
		traffictest.Run(t, "ip", "netns", "exec", namespace, "iperf3", "-c", dst, "-n", "64K", "--connect-timeout", "900")
	}
	serve(pathOf(0, moves))
	serve(pathOf(1, retained))
	reach(outside, "192.0.2.1")
	reach(outside, "192.0.2.2")
	reach(pathOf(1, retained), "192.0.2.1")
	moved := moves
	moved.Running = false
	m.must(hosts[1].Build(t.Context(), moved)) // both hosts have it, and the same interfaces
	serve(pathOf(1, moves))
	// which announces too
	traffictest.Run(t, "ip", "netns", "exec", pathOf(1, moves), "sysctl", "-q", "net.ipv6.conf.all.disable_ipv6=1")
	reach(outside, "192.0.2.1")
	m.must(hosts[0].Stop(t.Context(), moves.ID))
	m.must(hosts[1].Start(t.Context(), moves.ID, ""))
	reach(outside, "192.0.2.1")
	m.must(hosts[0].Destroy(t.Context(), moves.ID))
	reach(pathOf(1, retained), "192.0.2.1")
}

// A lab takes nothing that is somebody else's.
func TestLabAmongOthers(t *testing.T) {
	m := newMachine(t)
	other := traffictest.Namespace(t, "nd-other", "lab")
	traffictest.Run(t, "ip", "-n", other, "link", "add", "eth0", "type", "veth", "peer", "name", "eth1")
	for name, c := range map[string]struct {
		wire netns.Wire
		want string
	}{
		"NIC": {netns.Wire{NIC: "nic0", Outside: other + "-2"}, "there is an interface nic0 that is not a lab's"},
		"Bridge": {
			netns.Wire{NIC: "ens5", Bridge: "br0", Outside: other + "-2"},
			"there is an interface br0 that is not a lab's",
		},
		"Namespace": {netns.Wire{NIC: "ens5", Outside: other}, "which has an interface eth0, is not a lab's"},
		"Name":      {netns.Wire{NIC: "ens5/1", Outside: other}, `the NIC cannot be called "ens5/1"`},
		"Outside":   {netns.Wire{NIC: "ens5", Outside: "../x"}, `a namespace cannot be called "../x"`},
		"Rate":      {netns.Wire{NIC: "ens5", Outside: other, Rate: -1}, "cannot have a rate of -1 kbit/s"},
		"Address": {
			netns.Wire{NIC: "ens5", Outside: other, Addresses: []string{"192.0.2.1"}},
			"the address outside of ens5",
		},
		"Twice": {netns.Wire{NIC: "ens5", Bridge: "ens5", Outside: other}, "interface ens5 is listed twice"},
	} {
		t.Run(name, func(t *testing.T) {
			lab := &netns.Lab{Hosts: []string{m.host}, Wires: []netns.Wire{c.wire}}
			refused(t, lab.Make(t.Context()), c.want)
			if err := lab.Remove(t.Context()); err != nil {
				refused(t, err, c.want)
			}
			names := m.names()
			if !slices.Contains(names, "br0") || !slices.Contains(names, "nic0") || slices.Contains(names, "ens5") {
				t.Errorf("the host has %q", names)
			}
			if _, err := os.Stat("/run/netns/" + other + "-2"); err == nil {
				t.Errorf("the namespace %s-2 stays", other)
			}
		})
	}
	lab := &netns.Lab{Hosts: []string{other, m.host + "-own"}, Own: true}
	refused(t, lab.Make(t.Context()), "which has an interface eth0, is not a lab's")
	traffictest.Run(t, "ip", "netns", "add", lab.Hosts[1])
	refused(t, lab.Remove(t.Context()), "which has an interface eth0, is not a lab's")
	if _, err := os.Stat("/run/netns/" + lab.Hosts[1]); err == nil {
		t.Errorf("the namespace %s stays", lab.Hosts[1])
	}
	if got := interfaces(t, other); !strings.Contains(got, "eth0") {
		t.Errorf("the other namespace has lost its interfaces: %s", got)
	}
}

// TestGuaranteeIsFelt lets a server whose port is promised 200 of 500 Mbit/s keep them
// while the other server on the NIC sends, or receives, as much as it can, and use more when that
// one is done. The agent's enforcer keeps the promise on the NIC, which the ports share as macvlans
// or by a bridge. Other load of the machine may spoil an attempt.
func TestGuaranteeIsFelt(t *testing.T) {
	traffictest.Need(t, "tc", "iperf3")
	for _, c := range []struct {
		name, nic string
		shared    bool
		direction string
	}{
		{"MacvlanEgress", "ens5", true, "egress"},
		{"MacvlanIngress", "ens5", true, "ingress"},
		{"BridgeEgress", "ens6", false, "egress"},
	} {
		t.Run(c.name, func(t *testing.T) {
			w := newFixture(t, c.nic, c.shared, c.direction)
			w.hold() // nothing
			without := traffictest.Measure(t, 2, w.quiet, w.loud)
			w.hold(portlist.Rule{Type: "minimum_bandwidth", Direction: c.direction, Rate: promised})
			for try := 1; ; try++ {
				together := traffictest.Measure(t, 3, w.quiet, w.loud)
				single := traffictest.Measure(t, 2, w.quiet)
				t.Logf("try %d: kbit/s without a guarantee %d, with it %d, alone %d", try, without, together, single)
				switch {
				case together[0] >= promised*95/100 && single[0] > together[0]*3/2:
					if without[0] >= promised*95/100 {
						t.Log("the other server sent too little for this to prove much")
					}
					return
				case try == tries:
					t.Fatalf("the server got %d kbit/s with the other one and %d without it; promised are %d of %d", together[0],
						single[0], promised, w.rate())
				}
			}
		})
	}
}

const (
	promised = 200_000 // kbit/s
	tries    = 3
)

// A fixture is a host with two servers that share a NIC, and what is at the end of its wire.
type fixture struct {
	*machine
	physical    string // network
	direction   string
	holder      *enforce.SRIOV
	quiet, loud traffictest.Flow
}

// rate is what the NIC is said to have. What comes in must be slowed down here, before
// it waits at the other end of the wire, or is lost there when all begin.
func (w *fixture) rate() int64 {
	if w.direction == "ingress" {
		return wireRate * 4 / 5
	}
	return wireRate
}

func newFixture(t *testing.T, nic string, share bool, direction string) *fixture {
	t.Helper()
	w := &fixture{machine: newMachine(t), direction: direction}
	lab := newLab(t, w.machine)
	w.config.NICs["physnet1"], w.config.Bridges["physnet0"] = []netns.NIC{{Name: "ens5"}}, "br-ens6"
	w.restart()
	outside := lab.Wires[0].Outside
	newPort := shared
	w.physical = "physnet1"
	if !share {
		newPort, outside, w.physical = port, lab.Wires[1].Outside, "physnet0"
	}
	flow := func(n, connections int) traffictest.Flow {
		s := w.server(newPort(n))
		w.must(w.driver.Build(t.Context(), s))
		traffictest.Serve(t, outside, 5200+n)
		return traffictest.Flow{
			Namespace: w.config.Prefix + s.ID, Server: "192.0.2.254", Port: 5200 + n, Connections: connections,
			Download: direction == "ingress",
		}
	}
	w.quiet, w.loud = flow(1, 1), flow(2, 16)
	kernel, err := tc.Open(w.host)
	w.must(err)
	t.Cleanup(kernel.Close)
	w.holder = enforce.NewSRIOV(load(t, settings.SRIOV, fmt.Sprintf(
		"[sriov_nic]\nphysical_device_mappings = %s:%s\nresource_provider_bandwidths = "+
			"%s:%d:%d\nresource_provider_default_hypervisor = h\n",
		w.physical, nic, nic, w.rate(), w.rate())), kernel, settings.Sysfs(t.TempDir()))
	w.holder.Elsewhere = w.driver.Addresses
	return w
}

// hold has the holder hold the first port to rules, and the other to none. Both are
// plugged in.
func (w *fixture) hold(rules ...portlist.Rule) {
	w.t.Helper()
	ports := []portlist.Port{
		{ID: port(1).ID, MAC: port(1).MAC, VNIC: "macvtap", PhysicalNetwork: w.physical, Rules: rules},
		{ID: port(2).ID, MAC: port(2).MAC, VNIC: "macvtap", PhysicalNetwork: w.physical},
	}
	enforced, err := w.holder.Enforce(w.t.Context(), ports)
	w.must(err)
	for _, finding := range enforced.Findings {
		if !strings.Contains(finding, "fq_codel") {
			w.t.Errorf("it is not held: %s", finding)
		}
	}
	if !enforced.Plugged[port(1).ID] || !enforced.Plugged[port(2).ID] {
		w.t.Errorf("the holder sees %v, want both plugged in", enforced.Plugged)
	}
}
