package namespaces

import (
	"fmt"
	"os"
	"os/exec"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/berthcloud/berth/conformance/clients/openstack"
	"github.com/berthcloud/berth/internal/server"
	"github.com/berthcloud/berth/internal/traffictest"
)

// What a server is created with, and keeps when it moves.
const (
	moverIP  = "192.0.2.10"
	moverMAC = "fa:16:3e:00:02:10"
)

const (
	outside   = "berth-outside-bridge"
	outsideIP = "192.0.2.254"
)

// A mover is a server with a guarantee that moves between two hosts. On each there is also a server
// without one.
type mover struct {
	person
	id    string
	other map[string]traffictest.Flow // by host, to the outside
	port  int                         // of the last server of iperf3 in it
}

// space is the namespace of a server on a host.
func space(host, id string) string { return "berth-" + host + "-" + id }

// other is the other host.
func other(host string) string {
	if host == "devstack0" {
		return "devstack1"
	}
	return "devstack0"
}

// does types a command that prints nothing.
func (m *mover) does(command string, args ...any) {
	m.t.Helper()
	if out := m.session.Run(fmt.Sprintf(command, args...)); out != "" {
		m.t.Fatalf("openstack "+command+" prints %s", append(args, out)...)
	}
}

// becomes waits until fields of the server have values.
func (m *mover) becomes(want ...string) {
	m.t.Helper()
	got := ""
	for end := time.Now().Add(commandTime); time.Now().Before(end); {
		got = m.session.Run("server show mover -f value -c OS-EXT-SRV-ATTR:host -c status")
		if slices.Equal(strings.Fields(got), want) {
			return
		}
	}
	m.t.Fatalf("the server's host and status are %q, want %q", got, want)
}

// isAt requires that the server is on a host with a status, and has its addresses there, and that
// the outside and the server on the other host reach it.
func (m *mover) isAt(host, status string) {
	m.t.Helper()
	m.becomes(host, status)
	m.await("port", "mover")
	here := space(host, m.id)
	shown := traffictest.Run(m.t, "ip", "-n", here, "address", "show", "dev", "eth0")
	for _, want := range []string{"link/ether " + moverMAC + " ", "inet " + moverIP + "/24 ", "state UP "} {
		if !strings.Contains(shown, want) {
			m.t.Errorf("on %s the server has no %q:\n%s", host, want, shown)
		}
	}
	m.port++
	traffictest.Serve(m.t, here, m.port)
	for _, from := range []string{outside, m.other[other(host)].Namespace} {
		traffictest.Flow{Namespace: from, Server: moverIP, Port: m.port, Connections: 1}.Reach(m.t)
	}
}

// left waits until a host has nothing of the server.
func (m *mover) left(host string) {
	m.t.Helper()
	for end := time.Now().Add(commandTime); ; {
		_, err := os.Stat("/run/netns/" + space(host, m.id))
		switch {
		case os.IsNotExist(err):
			return
		case time.Now().After(end):
			m.t.Fatalf("%s still has the server: %v", host, err)
		}
		m.session.Run("server show mover -f value -c status")
	}
}

// feels requires that the server gets its guarantee on a host while the other one sends as much as
// it can, and that both together get what the host has, which is less than its link carries.
func (m *mover) feels(host string) {
	m.t.Helper()
	quiet := traffictest.Flow{Namespace: space(host, m.id), Server: outsideIP, Port: 5201, Connections: 1}
	loud := m.other[host]
	for try := 1; ; try++ {
		got := traffictest.Measure(m.t, 3, quiet, loud)
		m.t.Logf("try %d on %s: kbit/s %d", try, host, got)
		if got[0] >= promised*95/100 && got[0]+got[1] <= has*105/100 {
			return
		}
		if try == tries {
			m.t.Fatalf("on %s the server got %d kbit/s and the other one %d; promised are %d of %d", host, got[0], got[1],
				promised, has)
		}
	}
}

const has = 500_000 // kbit/s of the bridge of each host

// A server keeps its addresses when it moves to another host, and gets its guarantee there as
// before.
func TestGuaranteeMoves(t *testing.T) {
	traffictest.Need(t, "tc", "iperf3")
	openstack.Need(t)
	up, dir := server.StartBerthUp(t, "--driver", "netns", "--hosts", "2")
	m := &mover{person: newPerson(t, dir), other: map[string]traffictest.Flow{}, port: 5210}
	m.make("network create net0 --provider-network-type vlan --provider-physical-network physnet0 --provider-segment 100")
	m.make("subnet create subnet0 --network net0 --subnet-range 192.0.2.0/24")
	m.make("network qos policy create policy0")
	m.make("network qos rule create policy0 --type minimum-bandwidth --min-kbps %d --egress", promised)
	m.make("flavor create larger --vcpus 1 --ram 512 --disk 1")
	boot := func(name, host, more string) string {
		port := m.make("port create %s --network net0 %s", name, more)
		return m.make(
			"server create %s --flavor cirros256 --image cirros-0.5.1-x86_64-disk --port %s --availability-zone nova:%s", name,
			port, host)
	}
	traffictest.Run(t, "ip", "-n", outside, "address", "add", outsideIP+"/24", "dev", "eth0")
	traffictest.Serve(t, outside, 5201)
	for n, host := range []string{"devstack0", "devstack1"} {
		id := boot("on-"+host, host, "")
		m.await("server", "on-"+host)
		traffictest.Serve(t, outside, 5202+n)
		m.other[host] = traffictest.Flow{Namespace: space(host, id), Server: outsideIP, Port: 5202 + n, Connections: 16}
	}
	m.id = boot("mover", "devstack0",
		"--qos-policy policy0 --mac-address "+moverMAC+" --fixed-ip subnet=subnet0,ip-address="+moverIP)
	m.isAt("devstack0", "ACTIVE")
	m.feels("devstack0")

	m.does("server migrate --live-migration --host devstack1 mover")
	m.isAt("devstack1", "ACTIVE")
	m.left("devstack0")
	m.feels("devstack1")

	m.does("server migrate --host devstack0 mover")
	m.isAt("devstack0", "VERIFY_RESIZE")
	m.does("server resize revert mover")
	m.isAt("devstack1", "ACTIVE")
	m.left("devstack0")

	m.does("server migrate --host devstack0 mover")
	m.isAt("devstack0", "VERIFY_RESIZE")
	m.does("server resize confirm mover")
	m.isAt("devstack0", "ACTIVE")
	m.left("devstack1")
	m.feels("devstack0")

	m.does("server resize --flavor larger mover")
	m.isAt("devstack1", "VERIFY_RESIZE")
	m.does("server resize confirm mover")
	m.isAt("devstack1", "ACTIVE")
	m.left("devstack0")

	m.does("server shelve mover")
	m.becomes("None", "SHELVED_OFFLOADED")
	m.left("devstack1")
	m.does("compute service set --disable devstack1 nova-compute")
	m.does("server unshelve mover")
	m.isAt("devstack0", "ACTIVE")
	m.does("compute service set --enable devstack1 nova-compute")

	// The host is declared down and is not: it destroys its server when it hears of the evacuation.
	// The client cannot read the answer.
	m.does("compute service set --down devstack0 nova-compute")
	m.session.Run("server evacuate mover")
	m.isAt("devstack1", "ACTIVE")
	m.left("devstack0")
	m.feels("devstack1")
	m.does("compute service set --up devstack0 nova-compute")

	up.Stop()
	if _, all := spaces(t); len(all) > 0 {
		t.Errorf("a cloud that ended has left %q", all)
	}
}

// A cloud that is killed leaves its hosts and servers. The next one removes them, also those of
// hosts that it does not have, and leaves a namespace that another program has given such a name.
func TestKilledCloudIsSweptAway(t *testing.T) {
	traffictest.Need(t)
	openstack.Need(t)
	up, dir := server.StartBerthUp(t, "--driver", "netns", "--hosts", "3")
	p := newPerson(t, dir)
	p.make("server create one --flavor cirros256 --image cirros-0.5.1-x86_64-disk --nic none --availability-zone " +
		"nova:devstack2 --wait")
	up.Kill()
	traffictest.Run(t, "ip", "netns", "add", foreign)
	t.Cleanup(func() {
		if out, err := exec.Command("ip", "netns", "del", foreign).CombinedOutput(); err != nil {
			t.Errorf("%v: %s", err, out)
		}
	})
	traffictest.Run(t, "ip", "-n", foreign, "link", "add", "eth0", "type", "veth", "peer", "name", "eth1")
	if servers, all := spaces(t); len(servers) != 1 || len(all) != 7 {
		t.Errorf("a cloud that was killed has left %q", all)
	}
	up, _ = server.StartBerthUp(t, "--driver", "netns")
	want := []string{"berth-devstack0", foreign, "berth-outside-bridge", "berth-outside-nic"}
	if _, all := spaces(t); !slices.Equal(all, want) {
		t.Errorf("the next cloud has %q, want %q", all, want)
	}
	up.Stop()
	if _, all := spaces(t); !slices.Equal(all, want[1:2]) {
		t.Errorf("the next cloud has left %q, want %q", all, want[1:2])
	}
}

// foreign has the name of the ninth host.
const foreign = "berth-devstack8"
