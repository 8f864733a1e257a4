package netns_test

import (
	"context"
	"encoding/json"
	"fmt"
	"net"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"sync/atomic"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/berthcloud/berth/agent/driver"
	"github.com/berthcloud/berth/agent/driver/netns"
	"github.com/berthcloud/berth/compute/hostlist"
	"github.com/berthcloud/berth/internal/traffictest"
)

// A machine is a host in a network namespace of its own, with a bridge br0 and the NICs
// nic0 and nic1, of which the first is physnet0's and both are physnet2's.
type machine struct {
	t       *testing.T
	host    string // namespace
	config  netns.Config
	driver  *netns.Driver
	servers int
}

// machines counts those of this process, of which there may be several at once.
var machines atomic.Int64

func newMachine(t *testing.T) *machine {
	t.Helper()
	traffictest.Need(t)
	n := machines.Add(1)
	m := &machine{t: t, host: traffictest.Namespace(t, "nd", fmt.Sprintf("%d-host", n))}
	m.config = netns.Config{
		Dir: t.TempDir(), Prefix: fmt.Sprintf("nd-%d-%d-s-", os.Getpid(), n), Namespace: m.host, PCI: t.TempDir(),
		Bridges: map[string]string{"physnet0": "br0", "physnet9": "br9", "": "br0"},
		NICs: map[string][]netns.NIC{
			"physnet1": {{Name: "nic0"}}, "physnet2": {{Name: "nic0", Provider: "p0"}, {Name: "nic1", Provider: "p1"}},
		},
	}
	m.ip("link", "add", "br0", "type", "bridge")
	m.ip("link", "set", "br0", "up")
	for _, nic := range []string{"nic0", "nic1"} {
		m.ip("link", "add", nic, "type", "veth", "peer", "name", "wire"+nic)
		m.ip("link", "set", nic, "up")
		m.ip("link", "set", "wire"+nic, "up")
	}
	m.restart()
	t.Cleanup(m.clean)
	return m
}

func (m *machine) ip(args ...string) string {
	m.t.Helper()
	return traffictest.Run(m.t, append([]string{"ip", "-n", m.host}, args...)...)
}

// restart replaces the driver by a new one, as a restart of the agent does.
func (m *machine) restart() {
	m.t.Helper()
	var err error
	if m.driver, err = netns.New(m.config); err != nil {
		m.t.Fatal(err)
	}
}

// clean destroys what a test has left, of which nothing may stay.
func (m *machine) clean() {
	all, err := m.driver.Servers(context.Background())
	if err != nil {
		m.t.Error(err)
	}
	for _, s := range all {
		if err := m.driver.Destroy(context.Background(), s.ID); err != nil {
			m.t.Error(err)
		}
	}
	if remaining, _ := filepath.Glob("/run/netns/" + m.config.Prefix + "*"); len(remaining) > 0 {
		m.t.Errorf("namespaces stay: %q", remaining)
	}
	if remaining, _ := os.ReadDir(m.config.Dir); len(remaining) > 0 {
		m.t.Errorf("files stay: %q", remaining)
	}
}

// server returns one with a new id that runs.
func (m *machine) server(ports ...hostlist.Port) hostlist.Server {
	m.servers++
	return hostlist.Server{
		ID: fmt.Sprintf("5e57e000-0000-4000-8000-%012d", m.servers), Name: "instance", Running: true, Ports: ports,
	}
}

// port returns the nth, on a Linux bridge.
func port(n int) hostlist.Port {
	return hostlist.Port{
		ID: fmt.Sprintf("%08d-90a7-4000-8000-000000000000", n), MAC: fmt.Sprintf("fa:16:3e:00:00:%02x", n), VNIC: "normal",
		VIF: "bridge", PhysicalNetwork: "physnet0", Addresses: at(fmt.Sprintf("192.0.2.%d/24", n)),
	}
}

// shared returns the nth, on nic0.
func shared(n int) hostlist.Port {
	p := port(n)
	p.VNIC, p.VIF, p.PhysicalNetwork = "macvtap", "hw_veb", "physnet1"
	return p
}

func (m *machine) must(err error) {
	m.t.Helper()
	if err != nil {
		m.t.Fatal(err)
	}
}

// refused wants an error that has a text.
func refused(t *testing.T, err error, want string) {
	t.Helper()
	if err == nil || !strings.Contains(err.Error(), want) {
		t.Errorf("the error is %v, want %q in it", err, want)
	}
}

// state is what the driver says of a server, nil when it knows none.
func (m *machine) state(id string) *driver.State {
	m.t.Helper()
	all, err := m.driver.Servers(m.t.Context())
	m.must(err)
	for _, s := range all {
		if s.ID == id {
			return &s
		}
	}
	return nil
}

// wantState compares what the driver says of a server, also one that has just begun.
func (m *machine) wantState(id string, want *driver.State) {
	m.t.Helper()
	for _, owner := range []string{"the driver", "one that starts again"} {
		if diff := cmp.Diff(want, m.state(id)); diff != "" {
			m.t.Errorf("%s says of server %s (-want +got):\n%s", owner, id, diff)
		}
		m.restart()
	}
}

// built is the state of a server that runs with ports.
func built(id, boot string, ports ...hostlist.Port) *driver.State {
	s := &driver.State{ID: id, Built: true, Running: true, Boot: boot}
	for _, p := range ports {
		s.Ports = append(s.Ports, p.ID)
	}
	slices.Sort(s.Ports)
	return s
}

func halfMade(id string) *driver.State { return &driver.State{ID: id} }

// inside has an interface of a server in each line.
func (m *machine) inside(id string) string {
	m.t.Helper()
	return interfaces(m.t, m.config.Prefix+id)
}

// interfaces has each of a namespace in a line: its name, kind, whether it is up, and its
// addresses.
func interfaces(t *testing.T, namespace string) string {
	t.Helper()
	var all []struct {
		Name  string `json:"ifname"`
		MAC   string `json:"address"`
		Flags []string
		Info  struct {
			Kind string `json:"info_kind"`
		} `json:"linkinfo"`
		Addresses []struct {
			Local  string
			Length int `json:"prefixlen"`
			Scope  string
		} `json:"addr_info"`
	}
	if err := json.Unmarshal([]byte(traffictest.Run(t, "ip", "-n", namespace, "-j", "-d", "address")), &all); err != nil {
		t.Fatal(err)
	}
	var lines []string
	for _, i := range all {
		if i.Name != "lo" && i.Info.Kind == "" ||
			strings.HasSuffix(i.Name, "0") && i.Info.Kind != "veth" && i.Info.Kind != "macvlan" && i.Info.Kind != "bridge" {
			continue // every namespace has them
		}
		up := "down"
		if slices.Contains(i.Flags, "UP") {
			up = "up"
		}
		line := []string{i.Name, i.Info.Kind, i.MAC, up}
		if i.Name == "lo" {
			line = []string{"lo", up}
		}
		for _, a := range i.Addresses {
			if a.Scope == "global" {
				line = append(line, fmt.Sprintf("%s/%d", a.Local, a.Length))
			}
		}
		lines = append(lines, strings.Join(line, " "))
	}
	slices.Sort(lines)
	return strings.Join(lines, "\n")
}

func (m *machine) wantInside(id string, lines ...string) {
	m.t.Helper()
	if diff := cmp.Diff(strings.Join(append(lines, "lo up"), "\n"), m.inside(id)); diff != "" {
		m.t.Errorf("in the server (-want +got):\n%s", diff)
	}
}

// taps are the host's ends of servers' ports, with the bridge that each is in.
func (m *machine) taps() string {
	m.t.Helper()
	var all []struct {
		Name   string `json:"ifname"`
		Master string
	}
	if err := json.Unmarshal([]byte(m.ip("-j", "link")), &all); err != nil {
		m.t.Fatal(err)
	}
	var taps []string
	for _, i := range all {
		if strings.HasPrefix(i.Name, "tap") {
			taps = append(taps, i.Name+" "+i.Master)
		}
	}
	slices.Sort(taps)
	return strings.Join(taps, ", ")
}

func (m *machine) wantTaps(want string) {
	m.t.Helper()
	if got := m.taps(); got != want {
		m.t.Errorf("the host has %q, want %q", got, want)
	}
}

// file is that of a server.
func (m *machine) file(id string) string { return filepath.Join(m.config.Dir, id+".json") }

func addresses(t *testing.T, d *netns.Driver) string {
	t.Helper()
	all, err := d.Addresses()
	if err != nil {
		t.Fatal(err)
	}
	return strings.Join(slices.Sorted(slices.Values(texts(all))), " ")
}

func texts(all []net.HardwareAddr) (s []string) {
	for _, a := range all {
		s = append(s, a.String())
	}
	return s
}

// at are addresses, with the lengths of their prefixes or without.
func at(texts ...string) (all []hostlist.Address) {
	for _, text := range texts {
		ip, prefix, _ := strings.Cut(text, "/")
		n, _ := strconv.Atoi(prefix)
		all = append(all, hostlist.Address{IP: ip, Prefix: n})
	}
	return all
}
