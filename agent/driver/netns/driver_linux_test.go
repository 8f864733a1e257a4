package netns_test

import (
	"context"
	"errors"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/berthcloud/berth/agent/driver"
	"github.com/berthcloud/berth/agent/driver/netns"
	"github.com/berthcloud/berth/compute/hostlist"
	"github.com/berthcloud/berth/internal/ovstest"
	"github.com/berthcloud/berth/internal/traffictest"
)

// Every call may be repeated, also by a driver that was just created.
func TestEverythingTwice(t *testing.T) {
	m := newMachine(t)
	ctx := t.Context()
	first, second, third := port(1), shared(2), port(3)
	first.Addresses = append(first.Addresses, at("2001:db8::1/64")...)
	s := m.server(first, second)
	twice := func(fn func() error, want *driver.State, lines ...string) {
		t.Helper()
		for range 2 {
			m.must(fn())
			m.wantState(s.ID, want)
			if want != nil {
				m.wantInside(s.ID, lines...)
			}
		}
	}
	up1 := "eth0 veth fa:16:3e:00:00:01 up 192.0.2.1/24 2001:db8::1/64"
	up2 := "eth1 macvlan fa:16:3e:00:00:02 up 192.0.2.2/24"
	up3 := "eth2 veth fa:16:3e:00:00:03 up 192.0.2.3/24"
	twice(func() error { return m.driver.Build(ctx, s) }, built(s.ID, "", first, second), up1, up2)
	twice(func() error { return m.driver.Plug(ctx, s.ID, third) }, built(s.ID, "", first, second, third), up1, up2, up3)
	m.wantTaps("tap00000001-90 br0, tap00000003-90 br0")
	if got, want := addresses(t, m.driver), "fa:16:3e:00:00:01 fa:16:3e:00:00:02 fa:16:3e:00:00:03"; got != want {
		t.Errorf("servers have the addresses %s, want %s", got, want)
	}
	twice(func() error { return m.driver.Unplug(ctx, s.ID, second.ID) }, built(s.ID, "", first, third), up1, up3)
	up2 = strings.Replace(up2, "eth2", "eth1", 1)
	twice(func() error { return m.driver.Plug(ctx, s.ID, second) }, built(s.ID, "", first, second, third), up1, up2, up3)
	stopped := built(s.ID, "", first, second, third)
	stopped.Running = false
	twice(func() error { return m.driver.Stop(ctx, s.ID) }, stopped,
		"eth0 veth fa:16:3e:00:00:01 down 192.0.2.1/24", "eth1 macvlan fa:16:3e:00:00:02 down 192.0.2.2/24",
		"eth2 veth fa:16:3e:00:00:03 down 192.0.2.3/24")
	twice(func() error { return m.driver.Start(ctx, s.ID, "b1") }, built(s.ID, "b1", first, second, third), up1, up2, up3)
	twice(func() error { return m.driver.Start(ctx, s.ID, "b2") }, built(s.ID, "b2", first, second, third), up1, up2, up3)
	twice(func() error { return m.driver.Destroy(ctx, s.ID) }, nil)
	m.wantTaps("")
}

// A new boot takes the interfaces down: what was in the server notices.
func TestSecondStartInterrupts(t *testing.T) {
	m := newMachine(t)
	s := m.server(port(1))
	m.must(m.driver.Build(t.Context(), s))
	route := func() string {
		return traffictest.Run(t, "ip", "-n", m.config.Prefix+s.ID, "route", "show", "198.51.100.0/24")
	}
	addRoute := func() {
		traffictest.Run(t, "ip", "-n", m.config.Prefix+s.ID, "route", "add", "198.51.100.0/24", "via", "192.0.2.9")
	}
	addRoute()
	m.must(m.driver.Start(t.Context(), s.ID, ""))
	if route() == "" {
		t.Error("a start that has been interrupts the server")
	}
	m.must(m.driver.Start(t.Context(), s.ID, "again"))
	if got := route(); got != "" {
		t.Errorf("after another start there is still %q", got)
	}
}

// A server that is to be stopped is built with interfaces that are down.
func TestBuildStopped(t *testing.T) {
	m := newMachine(t)
	s := m.server(port(1), shared(2))
	s.Running = false
	m.must(m.driver.Build(t.Context(), s))
	m.wantState(s.ID, &driver.State{ID: s.ID, Built: true, Ports: []string{port(1).ID, port(2).ID}})
	m.wantInside(s.ID, "eth0 veth fa:16:3e:00:00:01 down", "eth1 macvlan fa:16:3e:00:00:02 down")
	m.must(m.driver.Plug(t.Context(), s.ID, port(3)))
	m.wantInside(s.ID, "eth0 veth fa:16:3e:00:00:01 down", "eth1 macvlan fa:16:3e:00:00:02 down",
		"eth2 veth fa:16:3e:00:00:03 down")
}

// The interfaces of a server that is paused or suspended are down, also after a restart of the
// agent, and nothing else of it changes. It goes on without a new start.
func TestPauseAndSuspend(t *testing.T) {
	m := newMachine(t)
	s := m.server(port(1))
	m.must(m.driver.Build(t.Context(), s))
	m.must(m.driver.Start(t.Context(), s.ID, "b"))
	up := "eth0 veth fa:16:3e:00:00:01 up 192.0.2.1/24"
	for _, halt := range []struct {
		do, undo func(context.Context, string) error
		running  bool
		power    string
	}{
		{m.driver.Pause, m.driver.Unpause, true, hostlist.Paused},
		{m.driver.Suspend, m.driver.Resume, false, hostlist.Suspended},
	} {
		m.must(halt.do(t.Context(), s.ID))
		m.must(halt.do(t.Context(), s.ID))
		m.restart()
		m.must(m.driver.Plug(t.Context(), s.ID, port(2)))
		want := built(s.ID, "b", port(1), port(2))
		want.Running, want.Power = halt.running, halt.power
		m.wantState(s.ID, want)
		m.wantInside(s.ID, "eth0 veth fa:16:3e:00:00:01 down 192.0.2.1/24", "eth1 veth fa:16:3e:00:00:02 down")
		m.must(m.driver.Unplug(t.Context(), s.ID, port(2).ID))
		m.must(halt.undo(t.Context(), s.ID))
		m.must(halt.undo(t.Context(), s.ID))
		m.wantState(s.ID, built(s.ID, "b", port(1)))
		m.wantInside(s.ID, up)
		m.must(halt.do(t.Context(), s.ID))
		m.must(m.driver.Start(t.Context(), s.ID, "b"))
		m.wantState(s.ID, built(s.ID, "b", port(1)))
		m.wantInside(s.ID, up)
		m.must(halt.do(t.Context(), s.ID))
		m.must(m.driver.Stop(t.Context(), s.ID))
		m.wantState(s.ID, &driver.State{ID: s.ID, Built: true, Boot: "b", Ports: []string{port(1).ID}})
		m.must(m.driver.Start(t.Context(), s.ID, "b"))
	}
}

func TestServersReachEachOther(t *testing.T) {
	m := newMachine(t)
	first, second := m.server(port(1), shared(11)), m.server(port(2), shared(12))
	first.Ports[1].Addresses, second.Ports[1].Addresses = at("198.51.100.1/24"), at("198.51.100.2/24")
	m.must(m.driver.Build(t.Context(), first))
	m.must(m.driver.Build(t.Context(), second))
	traffictest.Serve(t, m.config.Prefix+second.ID, 5201)
	for _, address := range []string{"192.0.2.2", "198.51.100.2"} {
		traffictest.Flow{Namespace: m.config.Prefix + first.ID, Server: address, Port: 5201, Connections: 1}.Reach(t)
	}
}

// A build that fails leaves a server that is half built, which the next build goes on
// with and Destroy removes.
func TestHalfMade(t *testing.T) {
	for name, next := range map[string]func(m *machine, s hostlist.Server) error{
		"Build": func(m *machine, s hostlist.Server) error { return m.driver.Build(m.t.Context(), s) },
		"DestroyAndBuild": func(m *machine, s hostlist.Server) error {
			return errors.Join(m.driver.Destroy(m.t.Context(), s.ID), m.driver.Destroy(m.t.Context(), s.ID),
				m.driver.Build(m.t.Context(), s))
		},
	} {
		t.Run(name, func(t *testing.T) {
			m := newMachine(t)
			second := port(2)
			second.PhysicalNetwork = "physnet9" // its bridge is not there
			s := m.server(port(1), second)
			err := m.driver.Build(t.Context(), s)
			refused(t, err, "port "+second.ID+": the host has no bridge br9")
			if errors.Is(err, driver.ErrEverywhere) {
				t.Error("another host may have that bridge")
			}
			m.wantState(s.ID, halfMade(s.ID))
			refused(t, m.driver.Plug(t.Context(), s.ID, port(3)), "half built")
			refused(t, m.driver.Start(t.Context(), s.ID, ""), "half built")
			m.ip("link", "add", "br9", "type", "bridge")
			m.must(next(m, s))
			m.wantState(s.ID, built(s.ID, "", port(1), second))
			m.wantTaps("tap00000001-90 br0, tap00000002-90 br9")
			m.must(m.driver.Destroy(t.Context(), s.ID))
			m.wantState(s.ID, nil)
			m.wantTaps("")
		})
	}
}

// A server that was built differently is rebuilt as requested.
func TestBuildOfAnother(t *testing.T) {
	m := newMachine(t)
	s := m.server(port(1), shared(2), port(3))
	m.must(m.driver.Build(t.Context(), s))
	changed := port(3)
	changed.MAC, changed.Addresses = "fa:16:3e:00:00:33", at("192.0.2.33/24", "192.0.2.34")
	s.Ports = []hostlist.Port{shared(4), changed}
	m.must(m.driver.Build(t.Context(), s))
	m.wantState(s.ID, built(s.ID, "", shared(4), changed))
	m.wantInside(s.ID, "eth0 macvlan fa:16:3e:00:00:04 up 192.0.2.4/24",
		"eth1 veth fa:16:3e:00:00:33 up 192.0.2.33/24 192.0.2.34/32")
	m.wantTaps("tap00000003-90 br0")
}

// A port that has changed is plugged in again, one with other addresses gets those.
func TestPlugOfAChangedPort(t *testing.T) {
	m := newMachine(t)
	s := m.server(port(1), port(2))
	m.must(m.driver.Build(t.Context(), s))
	moved := port(1)
	moved.VIF, moved.PhysicalNetwork, moved.Addresses = "hw_veb", "physnet1", nil
	m.must(m.driver.Plug(t.Context(), s.ID, moved))
	other := port(2)
	other.Addresses = at("203.0.113.2/25")
	m.must(m.driver.Plug(t.Context(), s.ID, other))
	m.wantInside(s.ID, "eth0 macvlan fa:16:3e:00:00:01 up", "eth1 veth fa:16:3e:00:00:02 up 203.0.113.2/25")
	m.wantTaps("tap00000002-90 br0")
	m.restart()
	m.must(m.driver.Start(t.Context(), s.ID, "b"))
	m.wantInside(s.ID, "eth0 macvlan fa:16:3e:00:00:01 up", "eth1 veth fa:16:3e:00:00:02 up 203.0.113.2/25")
}

// A port that cannot be plugged in leaves nothing, and the server as it was.
func TestPlugFails(t *testing.T) {
	m := newMachine(t)
	s := m.server(port(1))
	m.must(m.driver.Build(t.Context(), s))
	bad := port(2)
	bad.PhysicalNetwork = "physnet9"
	refused(t, m.driver.Plug(t.Context(), s.ID, bad), "the host has no bridge br9")
	m.ip("link", "add", "br9", "type", "veth", "peer", "name", "br9peer")
	refused(t, m.driver.Plug(t.Context(), s.ID, bad), "br9 is no bridge but a veth")
	same := shared(3)
	same.MAC = m.mac("nic0")
	refused(t, m.driver.Plug(t.Context(), s.ID, same), "has this MAC address")
	m.ip("link", "set", "nic1", "master", "br0")
	busy := shared(4)
	busy.PhysicalNetwork, busy.Providers = "physnet2", []string{"p1"}
	refused(t, m.driver.Plug(t.Context(), s.ID, busy), "it is in use in another way")
	m.wantState(s.ID, built(s.ID, "", port(1)))
	m.wantInside(s.ID, "eth0 veth fa:16:3e:00:00:01 up 192.0.2.1/24")
	m.wantTaps("tap00000001-90 br0")
}

func (m *machine) mac(name string) string {
	m.t.Helper()
	return strings.Fields(m.ip("-br", "link", "show", "dev", name))[2]
}

// What was interrupted by the end of the agent is removed by the next one, also when it is not
// requested again.
func TestInterrupted(t *testing.T) {
	m := newMachine(t)
	s := m.server(port(1), shared(2))
	m.must(m.driver.Build(t.Context(), s))
	text, err := os.ReadFile(m.file(s.ID))
	m.must(err)
	half := strings.ReplaceAll(string(text), `"made": true`, `"made": false`)
	if half == string(text) {
		t.Fatalf("the file does not say what was made: %s", text)
	}
	m.must(os.WriteFile(m.file(s.ID), []byte(half), 0o600))
	m.restart()
	m.wantState(s.ID, built(s.ID, ""))
	m.wantInside(s.ID)
	m.wantTaps("")
	m.must(m.driver.Plug(t.Context(), s.ID, port(1)))
	m.wantInside(s.ID, "eth0 veth fa:16:3e:00:00:01 up 192.0.2.1/24")
}

// The generation of a server is kept in its file, and what it has of the host of its own; those of
// earlier releases have none.
func TestGeneration(t *testing.T) {
	m := newMachine(t)
	s := m.server(port(1))
	m.must(m.driver.Build(t.Context(), s))
	if text, err := os.ReadFile(m.file(s.ID)); err != nil || strings.Contains(string(text), "generation") {
		t.Errorf("the file of generation 0 is %s, %v", text, err)
	}
	m.wantState(s.ID, built(s.ID, "", port(1)))
	m.must(m.driver.Destroy(t.Context(), s.ID))
	s.Generation = 3
	s.Assignment = &hostlist.Assignment{Mdevs: []hostlist.MediatedDevice{{UUID: "u", Provider: "pci_0000_84_00_0"}}}
	m.must(m.driver.Build(t.Context(), s))
	m.restart()
	want := built(s.ID, "", port(1))
	want.Generation, want.Assignment = 3, s.Assignment
	m.wantState(s.ID, want)
}

func TestFilesThatAreGarbage(t *testing.T) {
	for name, text := range map[string]string{
		"Empty": "", "Half": `{"server": "`, "Other": `{"server": "5e57e000-0000-4000-8000-000000000009", "built": true}`,
		"Path": `{"server": "5e57e000-0000-4000-8000-000000000001", "built": true, "plugs": [{"port": "../../../../etc", ` +
			`"way": "bridge"}]}`,
		"Way": `{"server": "5e57e000-0000-4000-8000-000000000001", "plugs": [{"port": "00000001-90a7", ` +
			`"mac": "fa:16:3e:00:00:01", "at": "br0", "way": "?"}]}`,
		"Slot": `{"server": "5e57e000-0000-4000-8000-000000000001", "plugs": [{"port": "00000001-90a7", ` +
			`"mac": "fa:16:3e:00:00:01", "at": "0000:05/../..", "way": "device"}]}`,
	} {
		t.Run(name, func(t *testing.T) {
			m := newMachine(t)
			s := m.server(port(1), shared(2))
			m.must(m.driver.Build(t.Context(), s))
			m.must(os.WriteFile(m.file(s.ID), []byte(text), 0o600))
			m.wantState(s.ID, halfMade(s.ID))
			refused(t, m.driver.Plug(t.Context(), s.ID, port(3)), "cannot be understood")
			refused(t, m.driver.Stop(t.Context(), s.ID), "cannot be understood")
			m.must(m.driver.Build(t.Context(), s))
			m.wantState(s.ID, built(s.ID, "", port(1), port(2)))
			m.must(os.WriteFile(m.file(s.ID), []byte(text), 0o600))
			m.must(m.driver.Destroy(t.Context(), s.ID))
			m.wantState(s.ID, nil)
			m.wantTaps("")
		})
	}
}

// A driver that was killed while it wrote its first record of a server has left something of the
// server, which is listed and can be destroyed.
func TestFilesThatWereBegun(t *testing.T) {
	m := newMachine(t)
	s := m.server()
	path := filepath.Join(m.config.Dir, s.ID+".json.new")
	m.must(os.WriteFile(path, []byte("{"), 0o600))
	m.restart()
	m.wantState(s.ID, &driver.State{ID: s.ID})
	m.must(m.driver.Destroy(t.Context(), s.ID))
	if _, err := os.Stat(path); err == nil {
		t.Error("the file stays")
	}
}

// Other files are somebody else's.
func TestOtherFilesAreLeftAlone(t *testing.T) {
	m := newMachine(t)
	names := []string{"README", "notes.json", "5e57e000-0000-4000-8000-00000000000g.json"}
	for _, name := range names {
		m.must(os.WriteFile(m.config.Dir+"/"+name, []byte("?"), 0o600))
		defer os.Remove(m.config.Dir + "/" + name)
	}
	m.restart()
	if all, err := m.driver.Servers(t.Context()); err != nil || len(all) != 0 {
		t.Errorf("servers: %v, %v; want none", all, err)
	}
}

// A server whose namespace somebody removed, or whose file, is half built.
func TestPartsAreGone(t *testing.T) {
	m := newMachine(t)
	s := m.server(port(1), shared(2))
	for name, remove := range map[string]func(){
		"Namespace": func() { traffictest.Run(t, "ip", "netns", "del", m.config.Prefix+s.ID) },
		"File":      func() { m.must(os.Remove(m.file(s.ID))) },
		"Both": func() {
			traffictest.Run(t, "ip", "netns", "del", m.config.Prefix+s.ID)
			m.must(os.Remove(m.file(s.ID)))
			m.must(os.WriteFile("/run/netns/"+m.config.Prefix+s.ID, nil, 0o444)) // that nothing was mounted on yet
		},
	} {
		t.Run(name, func(t *testing.T) {
			m.must(m.driver.Build(t.Context(), s))
			remove()
			m.wantState(s.ID, halfMade(s.ID))
			m.must(m.driver.Build(t.Context(), s))
			m.wantState(s.ID, built(s.ID, "", port(1), port(2)))
			remove()
			m.must(m.driver.Destroy(t.Context(), s.ID))
			m.wantState(s.ID, nil)
			ovstest.Await(t, "the kernel has removed what was in the namespace", func() bool { return m.taps() == "" })
		})
	}
}

// What somebody removed from a server is created again by the next call that needs it.
func TestInterfacesAreGone(t *testing.T) {
	m := newMachine(t)
	s := m.server(port(1), shared(2), port(3))
	m.must(m.driver.Build(t.Context(), s))
	m.ip("link", "del", "tap00000001-90")
	traffictest.Run(t, "ip", "-n", m.config.Prefix+s.ID, "link", "del", "eth1")
	m.ip("link", "set", "tap00000003-90", "nomaster")
	m.must(m.driver.Stop(t.Context(), s.ID))
	m.must(m.driver.Start(t.Context(), s.ID, "b"))
	m.wantInside(s.ID, "eth0 veth fa:16:3e:00:00:01 up 192.0.2.1/24", "eth1 macvlan fa:16:3e:00:00:02 up 192.0.2.2/24",
		"eth2 veth fa:16:3e:00:00:03 up 192.0.2.3/24")
	m.wantTaps("tap00000001-90 br0, tap00000003-90 br0")
	m.ip("link", "del", "tap00000001-90")
	m.must(m.driver.Unplug(t.Context(), s.ID, port(1).ID))
	m.ip("link", "del", "tap00000003-90")
	m.must(m.driver.Destroy(t.Context(), s.ID))
	m.wantState(s.ID, nil)
}

// A driver skips what has the names of its interfaces and is not its own.
func TestInterfacesOfOthers(t *testing.T) {
	m := newMachine(t)
	m.ip("link", "add", "tap00000001-90", "type", "veth", "peer", "name", "other")
	m.ip("link", "set", "tap00000001-90", "alias",
		"00000001-9000-4000-8000-000000000000 5e57e000-0000-4000-8000-000000000001")
	s := m.server(port(1))
	refused(t, m.driver.Build(t.Context(), s), `is not of port 00000001-90a7`)
	m.must(m.driver.Destroy(t.Context(), s.ID))
	m.wantTaps("tap00000001-90 ")
}

// A port that another server has by now stays there when the first goes.
func TestPortsOfAnotherServer(t *testing.T) {
	m := newMachine(t)
	first, second := m.server(port(1)), m.server(port(1))
	m.must(m.driver.Build(t.Context(), first))
	m.must(m.driver.Build(t.Context(), second))
	m.wantInside(second.ID, "eth0 veth fa:16:3e:00:00:01 up 192.0.2.1/24")
	m.must(m.driver.Unplug(t.Context(), first.ID, port(1).ID))
	m.must(m.driver.Destroy(t.Context(), first.ID))
	m.wantInside(second.ID, "eth0 veth fa:16:3e:00:00:01 up 192.0.2.1/24")
	m.wantTaps("tap00000001-90 br0")
}

func TestServersThatAreNotThere(t *testing.T) {
	m := newMachine(t)
	s := m.server(port(1))
	ctx := t.Context()
	for _, id := range []string{s.ID, "", "../x"} {
		refused(t, m.driver.Plug(ctx, id, port(1)), "there is no server")
		refused(t, m.driver.Unplug(ctx, id, port(1).ID), "there is no server")
		refused(t, m.driver.Start(ctx, id, ""), "there is no server")
		refused(t, m.driver.Stop(ctx, id), "there is no server")
	}
	m.must(m.driver.Destroy(ctx, s.ID))
	refused(t, m.driver.Destroy(ctx, "../x"), "is no id of a server")
	m.must(m.driver.Build(ctx, s))
	m.must(m.driver.Unplug(ctx, s.ID, port(7).ID))
	m.must(m.driver.Unplug(ctx, s.ID, "nothing"))
	m.wantState(s.ID, built(s.ID, "", port(1)))
}

// Only what no host could build is said to be so.
func TestPortsThatCannotBe(t *testing.T) {
	m := newMachine(t)
	with := func(change func(p *hostlist.Port)) hostlist.Server {
		p := port(1)
		change(&p)
		return m.server(p)
	}
	twins := m.server(port(1), port(1))
	unnamed := m.server()
	unnamed.ID = "server-1"
	for name, c := range map[string]struct {
		server     hostlist.Server
		want       string
		everywhere bool
	}{
		"NoUUID":  {unnamed, `"server-1" is no id of a server`, true},
		"NoID":    {with(func(p *hostlist.Port) { p.ID = "x/../../x/../../y" }), "is no id of a port", true},
		"ShortID": {with(func(p *hostlist.Port) { p.ID = "p1" }), `"p1" is no id of a port`, true},
		"NoMAC":   {with(func(p *hostlist.Port) { p.MAC = "fa:16" }), `"fa:16" is no MAC address`, true},
		"Multicast": {
			with(func(p *hostlist.Port) { p.MAC = "01:00:5e:00:00:01" }),
			"is no MAC address of an interface", true,
		},
		"NoAddress": {
			with(func(p *hostlist.Port) { p.Addresses = at("10.0.0.7/33") }),
			`"10.0.0.7/33" is no address`, true,
		},
		"Twins": {twins, "their interfaces would have one name", true},
		"VIF":   {with(func(p *hostlist.Port) { p.VIF = "binding_failed" }), `VIF type "binding_failed"`, false},
		"NoBridge": {
			with(func(p *hostlist.Port) { p.PhysicalNetwork = "physnet7" }),
			"there is no bridge for physical network physnet7", false,
		},
		"NoNIC": {
			with(func(p *hostlist.Port) { p.VIF = "hw_veb" }),
			"there is no NIC for physical network physnet0", false,
		},
		"WhichNIC": {
			with(func(p *hostlist.Port) { p.VIF, p.PhysicalNetwork = "hw_veb", "physnet2" }),
			"its NIC among those of physical network physnet2 is unknown", false,
		},
		"Slot": {with(func(p *hostlist.Port) { p.VIF, p.Slot = "hw_veb", "../../x" }), "is no PCI address", false},
		"NoDevice": {
			with(func(p *hostlist.Port) { p.VIF, p.Slot = "hw_veb", "0000:05:10.1" }),
			"there is not one network device at 0000:05:10.1 but 0", false,
		},
		"OffloadedPort": {with(func(p *hostlist.Port) { p.VIF, p.Slot = "ovs", "0000:05:10.1" }), "offloading", false},
	} {
		t.Run(name, func(t *testing.T) {
			err := m.driver.Build(t.Context(), c.server)
			refused(t, err, c.want)
			if errors.Is(err, driver.ErrEverywhere) != c.everywhere {
				t.Errorf("%v: is it to fail on any host? want %t", err, c.everywhere)
			}
		})
	}
	p := port(1)
	p.VIF, p.PhysicalNetwork, p.Providers = "hw_veb", "physnet2", []string{"p1", "p7"}
	s := m.server(p)
	m.must(m.driver.Build(t.Context(), s))
	index, _, _ := strings.Cut(m.ip("-o", "link", "show", "dev", "nic1"), ":")
	if got := traffictest.Run(t, "ip", "-n", m.config.Prefix+s.ID, "link", "show", "dev",
		"eth0"); !strings.Contains(got, "eth0@if"+index+":") {
		t.Errorf("the interface is not on nic1, number %s, that serves the port: %s", index, got)
	}
	m.wantInside(s.ID, "eth0 macvlan fa:16:3e:00:00:01 up 192.0.2.1/24")
}

// Ports of VIF type ovs, and those of tunnels, are on a Linux bridge where there is no
// Open vSwitch.
func TestBridgeInsteadOfTheSwitch(t *testing.T) {
	m := newMachine(t)
	first, second := port(1), port(2)
	first.VIF, second.VIF, second.PhysicalNetwork = "ovs", "ovs", ""
	m.must(m.driver.Build(t.Context(), m.server(first, second)))
	m.wantTaps("tap00000001-90 br0, tap00000002-90 br0")
}

func TestNothingIsDoneWhenItIsTooLate(t *testing.T) {
	m := newMachine(t)
	s := m.server(port(1))
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	for name, err := range map[string]error{"Build": m.driver.Build(ctx, s), "Destroy": m.driver.Destroy(ctx, s.ID)} {
		if !errors.Is(err, context.Canceled) {
			t.Errorf("%s: %v, want that it was cancelled", name, err)
		}
	}
	m.wantState(s.ID, nil)
	m.must(m.driver.Build(t.Context(), s))
	for name, err := range map[string]error{
		"Plug": m.driver.Plug(ctx, s.ID, port(2)), "Unplug": m.driver.Unplug(ctx, s.ID, port(1).ID),
		"Start": m.driver.Start(ctx, s.ID, "b"), "Stop": m.driver.Stop(ctx, s.ID), "Destroy": m.driver.Destroy(ctx, s.ID),
	} {
		if !errors.Is(err, context.Canceled) {
			t.Errorf("%s: %v, want that it was cancelled", name, err)
		}
	}
	m.wantState(s.ID, built(s.ID, "", port(1)))
}

// Servers are worked on at the same time, and one server by one at a time.
func TestManyAtOnce(t *testing.T) {
	m := newMachine(t)
	var all []hostlist.Server
	for i := range 8 {
		all = append(all, m.server(port(2*i+1), shared(2*i+2)))
	}
	var wg sync.WaitGroup
	each := func(fn func(s hostlist.Server) error) {
		t.Helper()
		for _, s := range all {
			for range 2 {
				wg.Go(func() {
					if err := fn(s); err != nil {
						t.Error(err)
					}
				})
			}
		}
		wg.Go(func() {
			if _, err := m.driver.Servers(t.Context()); err != nil {
				t.Error(err)
			}
		})
		wg.Wait()
	}
	each(func(s hostlist.Server) error { return m.driver.Build(t.Context(), s) })
	for _, s := range all {
		m.wantState(s.ID, built(s.ID, "", s.Ports...))
	}
	each(func(s hostlist.Server) error { return m.driver.Unplug(t.Context(), s.ID, s.Ports[0].ID) })
	each(func(s hostlist.Server) error { return m.driver.Start(t.Context(), s.ID, "b") })
	for _, s := range all {
		m.wantState(s.ID, built(s.ID, "b", s.Ports[1]))
	}
	each(func(s hostlist.Server) error { return m.driver.Destroy(t.Context(), s.ID) })
	m.wantTaps("")
}

// A driver keeps no namespace open, which would keep what is in it, and leaves none of the
// process's threads in another.
func TestNothingStaysOpen(t *testing.T) {
	m := newMachine(t)
	s := m.server(port(1), shared(2))
	round := func() {
		m.must(m.driver.Build(t.Context(), s))
		m.must(m.driver.Plug(t.Context(), s.ID, port(3)))
		m.must(m.driver.Unplug(t.Context(), s.ID, port(1).ID))
		refused(t, m.driver.Plug(t.Context(), s.ID, hostlist.Port{
			ID: port(4).ID, MAC: port(4).MAC, VIF: "bridge", PhysicalNetwork: "physnet9",
		}), "no bridge br9")
		m.must(m.driver.Start(t.Context(), s.ID, "b"))
		m.must(m.driver.Stop(t.Context(), s.ID))
		m.must(m.driver.Destroy(t.Context(), s.ID))
		m.restart()
	}
	round()
	before := opened(t)
	for range 3 {
		round()
	}
	// What was closed just before the first count may have been in it still, and what was
	// closed just now may be in this one.
	after := opened(t)
	for deadline := time.Now().Add(10 * time.Second); after > before && time.Now().Before(deadline); after = opened(t) {
		time.Sleep(10 * time.Millisecond)
	}
	if after > before {
		t.Errorf("%d namespaces and sockets are open, %d were before", after, before)
	}
	home, err := os.Readlink("/proc/self/ns/net")
	m.must(err)
	threads, err := filepath.Glob("/proc/self/task/*/ns/net")
	m.must(err)
	for _, thread := range threads {
		if path, err := os.Readlink(thread); err == nil && path != home { // or it has ended
			t.Errorf("%s is %s, that of the process is %s", thread, path, home)
		}
	}
}

// opened counts the descriptors of namespaces and sockets.
func opened(t *testing.T) (n int) {
	t.Helper()
	all, err := os.ReadDir("/proc/self/fd")
	if err != nil {
		t.Fatal(err)
	}
	for _, fd := range all {
		if dst, err := os.Readlink("/proc/self/fd/" + fd.Name()); err == nil &&
			(strings.HasPrefix(dst, "socket:") || strings.HasPrefix(dst, "net:") || strings.Contains(dst, "netns")) {
			n++
		}
	}
	return n
}

// Two drivers on one machine see their own servers only.
func TestDriversOfOneMachine(t *testing.T) {
	m, other := newMachine(t), newMachine(t)
	s := m.server(port(1))
	m.must(m.driver.Build(t.Context(), s))
	m.must(os.Remove(m.file(s.ID)))
	if got := other.state(s.ID); got != nil {
		t.Errorf("the other driver has the server %+v", got)
	}
	m.wantState(s.ID, halfMade(s.ID))
}

func TestConfigurationsThatCannotBe(t *testing.T) {
	traffictest.Need(t)
	for name, c := range map[string]struct {
		config netns.Config
		want   string
	}{
		"NoDir":  {netns.Config{}, "there is no directory for the files of servers"},
		"Prefix": {netns.Config{Dir: t.TempDir(), Prefix: "a/b"}, `names that begin with "a/b"`},
		"Bridge": {
			netns.Config{Dir: t.TempDir(), Bridges: map[string]string{"physnet0": "a bridge"}},
			`the bridge of physnet0 cannot be called "a bridge"`,
		},
		"NIC": {
			netns.Config{Dir: t.TempDir(), NICs: map[string][]netns.NIC{"physnet0": {{Name: ""}}}},
			`the NIC of physnet0 cannot be called ""`,
		},
		"NoDatabase": {
			netns.Config{Dir: t.TempDir(), Switch: &netns.Switch{Integration: "br-int-that-is-long"}},
			"the switch has no database",
		},
		"LongName": {
			netns.Config{Dir: t.TempDir(), Switch: &netns.Switch{Integration: "br-int-that-is-long"}},
			`the integration bridge cannot be called`,
		},
		"NoHost": {
			netns.Config{Dir: t.TempDir(), Namespace: "nd-nobody"},
			"the host's bridges and NICs: opening the network namespace /run/netns/nd-nobody",
		},
		"DirIsAFile": {netns.Config{Dir: "/proc/version"}, "the directory for the files of servers"},
	} {
		t.Run(name, func(t *testing.T) {
			_, err := netns.New(c.config)
			refused(t, err, c.want)
		})
	}
}

// TestRights is run a second time by itself, as root without what makes namespaces.
func TestRights(t *testing.T) {
	traffictest.Need(t, "setpriv")
	if os.Getenv("BERTH_TEST_RIGHTS") == "" {
		self, err := os.Executable()
		if err != nil {
			t.Fatal(err)
		}
		cmd := exec.CommandContext(t.Context(), "setpriv", "--bounding-set=-sys_admin", "--inh-caps=-sys_admin", self,
			"-test.run=^TestRights$", "-test.v")
		cmd.Env = append(os.Environ(), "BERTH_TEST_RIGHTS=1")
		out, err := cmd.CombinedOutput()
		if err != nil || !strings.Contains(string(out), "--- PASS") {
			t.Errorf("%v\n%s", err, out)
		}
		return
	}
	_, err := netns.New(netns.Config{Dir: t.TempDir()})
	refused(t, err, "network namespaces need root's rights, CAP_SYS_ADMIN and CAP_NET_ADMIN")
	t.Log(err)
}
