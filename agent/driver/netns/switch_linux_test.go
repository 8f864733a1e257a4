package netns_test

import (
	"context"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/berthcloud/berth/agent/driver/netns"
	"github.com/berthcloud/berth/agent/enforce"
	"github.com/berthcloud/berth/agent/ovsdb"
	"github.com/berthcloud/berth/agent/settings"
	"github.com/berthcloud/berth/compute/hostlist"
	"github.com/berthcloud/berth/internal/logtest"
	"github.com/berthcloud/berth/internal/ovstest"
	"github.com/berthcloud/berth/internal/traffictest"
	"github.com/berthcloud/berth/network/portlist"
	"github.com/berthcloud/berth/osloconfig"
)

// background runs something until the test has cleaned up.
func background(t *testing.T, run func(ctx context.Context)) {
	ctx, cancel := context.WithCancel(context.Background())
	var running sync.WaitGroup
	running.Go(func() { run(ctx) })
	t.Cleanup(func() { cancel(); running.Wait() })
}

// newSwitchMachine is a machine with an Open vSwitch, whose bridge br-ex is physnet0's.
func newSwitchMachine(t *testing.T) (*machine, *ovstest.Switch) {
	t.Helper()
	s := ovstest.NewSwitch(t)
	s.AddBridge("br-int")
	s.AddBridge("br-ex")
	remotes, err := ovsdb.ParseRemotes(s.Server.Remote())
	if err != nil {
		t.Fatal(err)
	}
	db := ovsdb.New(ovsdb.Config{Remotes: remotes, Database: "Open_vSwitch", Timeout: 5 * time.Second})
	background(t, func(ctx context.Context) { _ = db.Run(ctx) })
	n := machines.Add(1)
	m := &machine{t: t, config: netns.Config{
		Dir: t.TempDir(), Prefix: fmt.Sprintf("nd-%d-%d-s-", os.Getpid(), n), Namespace: s.Path(),
		Bridges: map[string]string{"physnet0": "br-none"},
		Switch:  &netns.Switch{DB: db, Integration: "br-int", Bridges: map[string]string{"physnet0": "br-ex"}},
	}}
	m.restart()
	t.Cleanup(m.clean)
	return m, s
}

// switched returns the nth port, on Open vSwitch.
func switched(n int, physical string) hostlist.Port {
	p := port(n)
	p.VIF, p.PhysicalNetwork = "ovs", physical
	return p
}

// plugs has the switch's interfaces of servers, with their bridges and ids.
func plugs(s *ovstest.Switch) string {
	var lines []string
	for _, bridge := range []string{"br-ex", "br-int"} {
		for _, name := range strings.Fields(s.Control("list-ports", bridge)) {
			lines = append(lines, bridge+" "+name+" "+s.Control("get", "interface", name, "external_ids"))
		}
	}
	return strings.Join(lines, "\n")
}

func wantPlugs(t *testing.T, s *ovstest.Switch, lines ...string) {
	t.Helper()
	if diff := cmp.Diff(strings.Join(lines, "\n"), plugs(s)); diff != "" {
		t.Errorf("plugged into the switch (-want +got):\n%s", diff)
	}
}

func plugged(bridge, server string, p hostlist.Port) string {
	return fmt.Sprintf(`%s tap%.11s {attached-mac="%s", iface-id="%s", iface-status=active, vm-uuid="%s"}`, bridge, p.ID,
		p.MAC, p.ID, server)
}

// load reads the settings of an agent of the host h.
func load(t *testing.T, kind settings.Kind, text string) *settings.Settings {
	t.Helper()
	path := filepath.Join(t.TempDir(), "agent.ini")
	if err := os.WriteFile(path, []byte(text), 0o600); err != nil {
		t.Fatal(err)
	}
	s, _, err := settings.Load(kind, osloconfig.Sources{Files: []string{path}}, settings.Names{Host: "h", Canonical: "h"})
	if err != nil {
		t.Fatal(err)
	}
	return s
}

// Ports on Open vSwitch have what others find them by, the agent that holds them to their
// rates for one.
func TestSwitch(t *testing.T) {
	m, s := newSwitchMachine(t)
	first, second := switched(1, "physnet0"), switched(2, "")
	server := m.server(first, second)
	holder, err := enforce.NewOVS(load(t, settings.OVS,
		"[ovs]\nbridge_mappings = physnet0:br-ex\novsdb_connection = "+s.Server.Remote()+"\n"), s.RunDir(), logtest.Logger())
	m.must(err)
	background(t, holder.Run)
	sees := func(want map[string]bool) {
		t.Helper()
		enforced, err := holder.Enforce(t.Context(),
			[]portlist.Port{{ID: first.ID, MAC: first.MAC, PhysicalNetwork: "physnet0"}, {ID: second.ID, MAC: second.MAC}})
		m.must(err)
		if diff := cmp.Diff(want, enforced.Plugged); diff != "" {
			t.Errorf("the holder sees (-want +got):\n%s", diff)
		}
	}
	sees(map[string]bool{first.ID: false, second.ID: false})
	for range 2 {
		m.must(m.driver.Build(t.Context(), server))
		m.wantState(server.ID, built(server.ID, "", first, second))
		wantPlugs(t, s, plugged("br-ex", server.ID, first), plugged("br-int", server.ID, second))
		m.wantInside(server.ID, "eth0 veth fa:16:3e:00:00:01 up 192.0.2.1/24", "eth1 veth fa:16:3e:00:00:02 up 192.0.2.2/24")
	}
	sees(map[string]bool{first.ID: true, second.ID: true})
	for range 2 {
		m.must(m.driver.Unplug(t.Context(), server.ID, second.ID))
		wantPlugs(t, s, plugged("br-ex", server.ID, first))
		m.restart()
	}
	sees(map[string]bool{first.ID: true, second.ID: false})
	moved := switched(1, "")
	m.must(m.driver.Plug(t.Context(), server.ID, moved))
	m.must(m.driver.Plug(t.Context(), server.ID, second))
	wantPlugs(t, s, plugged("br-int", server.ID, moved), plugged("br-int", server.ID, second))
	other := m.server(switched(3, "physnet0"))
	m.must(m.driver.Build(t.Context(), other))
	m.must(m.driver.Destroy(t.Context(), server.ID))
	wantPlugs(t, s, plugged("br-ex", other.ID, switched(3, "physnet0")))
	m.must(m.driver.Destroy(t.Context(), other.ID))
	m.must(m.driver.Destroy(t.Context(), other.ID))
	wantPlugs(t, s)
	sees(map[string]bool{first.ID: false, second.ID: false})
}

// Servers on a switch in userspace, which computes no checksums for them, reach each other.
func TestServersOnTheSwitchReachEachOther(t *testing.T) {
	m, _ := newSwitchMachine(t)
	traffictest.Need(t, "iperf3")
	first, second := m.server(switched(1, "")), m.server(switched(2, ""))
	m.must(m.driver.Build(t.Context(), first))
	m.must(m.driver.Build(t.Context(), second))
	traffictest.Serve(t, m.config.Prefix+second.ID, 5201)
	traffictest.Flow{Namespace: m.config.Prefix + first.ID, Server: "192.0.2.2", Port: 5201, Connections: 1}.Reach(t)
}

// What Open vSwitch has of a server is found without the server's file.
func TestSwitchForgetsLostServers(t *testing.T) {
	m, s := newSwitchMachine(t)
	for name, lose := range map[string]func(file string) error{
		"Gone":    os.Remove,
		"Garbage": func(file string) error { return os.WriteFile(file, []byte("{"), 0o600) },
	} {
		t.Run(name, func(t *testing.T) {
			server := m.server(switched(1, "physnet0"))
			m.must(m.driver.Build(t.Context(), server))
			m.must(lose(m.file(server.ID)))
			m.wantState(server.ID, halfMade(server.ID))
			m.must(m.driver.Destroy(t.Context(), server.ID))
			m.wantState(server.ID, nil)
			wantPlugs(t, s)
		})
	}
}

// An interface that somebody removed is plugged in again.
func TestSwitchAfterTheInterfaceWent(t *testing.T) {
	m, s := newSwitchMachine(t)
	server := m.server(switched(1, "physnet0"))
	m.must(m.driver.Build(t.Context(), server))
	s.Run("ip", "link", "del", "tap00000001-90")
	m.must(m.driver.Plug(t.Context(), server.ID, server.Ports[0]))
	wantPlugs(t, s, plugged("br-ex", server.ID, server.Ports[0]))
	m.wantInside(server.ID, "eth0 veth fa:16:3e:00:00:01 up 192.0.2.1/24")
	ovstest.Await(t, "the switch has the new interface", func() bool {
		return s.Control("get", "interface", "tap00000001-90", "error") == "[]"
	})
}

func TestSwitchFails(t *testing.T) {
	m, s := newSwitchMachine(t)
	server := m.server(switched(1, "physnet0"))
	m.must(m.driver.Build(t.Context(), server))
	only := plugged("br-ex", server.ID, server.Ports[0])

	m.config.Switch.Bridges["physnet1"] = "br-two"
	refused(t, m.driver.Plug(t.Context(), server.ID, switched(2, "physnet1")), "the switch has no bridge br-two")
	s.Control("add-port", "br-int", "tap00000003-90", "--", "set", "interface", "tap00000003-90", "type=internal",
		"external_ids:iface-id=other")
	refused(t, m.driver.Plug(t.Context(), server.ID, switched(3, "")),
		"interface tap00000003-90 of the host is not of port")
	s.Control("del-port", "tap00000003-90")
	wantPlugs(t, s, only)

	s.StopDaemon()
	soon, cancel := context.WithTimeout(t.Context(), time.Second)
	defer cancel()
	refused(t, m.driver.Plug(soon, server.ID, switched(2, "")), "the switch did not take tap00000002-90 up")
	s.StartDaemon()
	wantPlugs(t, s, only)
	m.wantState(server.ID, built(server.ID, "", server.Ports[0]))
	m.must(m.driver.Plug(t.Context(), server.ID, switched(2, "")))

	s.Server.Stop()
	soon, cancel = context.WithTimeout(t.Context(), time.Second)
	defer cancel()
	refused(t, m.driver.Destroy(soon, server.ID), "no connection to the database Open_vSwitch")
	s.Server.Start()
	m.must(m.driver.Destroy(t.Context(), server.ID))
	wantPlugs(t, s)
}

// A driver that is given no Open vSwitch any more says so, and destroys nothing by halves.
func TestSwitchIsMissing(t *testing.T) {
	m, s := newSwitchMachine(t)
	server := m.server(switched(1, "physnet0"))
	m.must(m.driver.Build(t.Context(), server))
	config := m.config
	m.config.Switch = nil
	m.restart()
	refused(t, m.driver.Unplug(t.Context(), server.ID, server.Ports[0].ID), "Open vSwitch, which this driver has none of")
	refused(t, m.driver.Destroy(t.Context(), server.ID), "Open vSwitch, which this driver has none of")
	m.config = config
	m.restart()
	m.wantState(server.ID, halfMade(server.ID))
	m.must(m.driver.Destroy(t.Context(), server.ID))
	wantPlugs(t, s)
}
