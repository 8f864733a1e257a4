package ovstest

import (
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"strings"
	"syscall"
	"testing"

	"github.com/berthcloud/berth/internal/process"
)

// A Namespace is a network namespace. It is removed at the end of the test.
type Namespace struct {
	t   testing.TB
	dir string
	pid int // of the process that keeps it open
}

// NewNamespace creates a network namespace in which "lo" is up. It needs root privileges.
func NewNamespace(t testing.TB) *Namespace {
	t.Helper()
	NeedRoot(t, "iproute2 util-linux", "ip", "nsenter")
	n := &Namespace{t: t, dir: directory(t)}
	p, err := launch(n.dir, "namespace", syscall.SysProcAttr{Cloneflags: syscall.CLONE_NEWNET}, "sleep", "infinity")
	if err != nil {
		t.Fatal(err)
	}
	n.pid = p.Pid()
	t.Cleanup(func() { _ = p.End(syscall.SIGTERM, patience) })
	n.Run("ip", "link", "set", "lo", "up")
	return n
}

// Path returns where the namespace can be opened while the test runs.
func (n *Namespace) Path() string { return fmt.Sprintf("/proc/%d/ns/net", n.pid) }

// within returns a command line that runs another in the namespace.
func (n *Namespace) within(args ...string) []string {
	return append([]string{"-t", strconv.Itoa(n.pid), "-n", "--"}, args...)
}

// Run runs a program in the namespace and returns its output.
func (n *Namespace) Run(args ...string) string {
	n.t.Helper()
	out, err := n.Try(args...)
	if err != nil {
		n.t.Fatal(err)
	}
	return out
}

// Try is Run for a program that may fail.
func (n *Namespace) Try(args ...string) (string, error) {
	return run(n.dir, "nsenter", n.within(args...)...)
}

// Wrap returns the path of a program that runs another in the namespace.
func (n *Namespace) Wrap(program string) string {
	n.t.Helper()
	real, err := exec.LookPath(program) // so that PATH may begin with another path
	if err != nil {
		n.t.Fatal(err)
	}
	path := filepath.Join(n.dir, program)
	script := fmt.Sprintf("#!/bin/sh\nexec nsenter -t %d -n -- %s \"$@\"\n", n.pid, real)
	if err := os.WriteFile(path, []byte(script), 0o700); err != nil {
		n.t.Fatal(err)
	}
	return path
}

// Serve starts a program in the namespace that is stopped at the end of the test, or by end.
func (n *Namespace) Serve(args ...string) (end func()) {
	n.t.Helper()
	p, err := launch(n.dir, filepath.Base(args[0]), syscall.SysProcAttr{}, "nsenter", n.within(args...)...)
	if err != nil {
		n.t.Fatal(err)
	}
	end = func() { _ = p.End(syscall.SIGTERM, patience) }
	n.t.Cleanup(end)
	return end
}

// A Switch is an ovsdb-server and an ovs-vswitchd whose datapath runs in a
// network namespace.
type Switch struct {
	*Namespace
	Server *Server
	daemon *process.Process
	peers  int
}

// NewSwitch starts a switch without bridges. It is stopped at the end of the test.
func NewSwitch(t testing.TB) *Switch {
	t.Helper()
	Need(t, "openvswitch-switch", "ovsdb-server", "ovs-vswitchd", "ovs-vsctl", switchSchema)
	n := NewNamespace(t)
	s := &Switch{Namespace: n, Server: newServer(t, n.dir, switchSchema)}
	s.Control("--no-wait", "init")
	s.StartDaemon()
	t.Cleanup(func() {
		if t.Failed() {
			t.Logf("the last words of ovs-vswitchd:\n%s", lastWords(s.dir, "vswitchd"))
		}
		s.StopDaemon()
	})
	return s
}

// RunDir returns the directory with the management sockets of the bridges.
func (s *Switch) RunDir() string { return s.dir }

// StartDaemon starts an ovs-vswitchd that was stopped.
func (s *Switch) StartDaemon() {
	s.t.Helper()
	var err error
	s.daemon, err = launch(s.dir, "vswitchd", syscall.SysProcAttr{}, "nsenter", s.within("ovs-vswitchd",
		s.Server.Remote(), "--unixctl="+filepath.Join(s.dir, "vswitchd.ctl"),
		"--pidfile="+filepath.Join(s.dir, "ovs-vswitchd.pid"), "-vconsole:info")...)
	if err != nil {
		s.t.Fatal(err)
	}
	// ovs-vsctl returns when the switch has applied the database.
	s.Control("set", "open_vswitch", ".", "external_ids:started="+strconv.Itoa(s.daemon.Pid()))
}

// StopDaemon stops ovs-vswitchd; the database server continues.
func (s *Switch) StopDaemon() {
	s.t.Helper()
	if err := s.daemon.End(syscall.SIGTERM, patience); err != nil {
		s.t.Error(err)
	}
}

// Control changes the switch as ovs-vsctl does, waits until the change is applied, and returns the
// output of ovs-vsctl, without the space around it.
func (s *Switch) Control(args ...string) string {
	s.t.Helper()
	out, err := run(s.dir, "ovs-vsctl", append([]string{"--db=" + s.Server.Remote(), "--timeout=15"}, args...)...)
	if err != nil {
		s.t.Fatal(err)
	}
	return strings.TrimSpace(out)
}

// AddBridge adds a bridge with the datapath of ovs-vswitchd.
func (s *Switch) AddBridge(name string) {
	s.t.Helper()
	s.Control("add-br", name, "--", "set", "bridge", name, "datapath_type=netdev")
}

// AddPort adds a veth of this name to a bridge and returns a namespace with its other end, "eth0",
// and the end's address in 10.9.0.0/24. Interfaces with an id are those of servers' ports.
func (s *Switch) AddPort(bridge, name, id string) (*Namespace, string) {
	s.t.Helper()
	n := NewNamespace(s.t)
	s.peers++
	address := fmt.Sprintf("10.9.0.%d", s.peers)
	s.Run("ip", "link", "add", name, "type", "veth", "peer", "name", "eth0", "netns", strconv.Itoa(n.pid))
	s.Run("ip", "link", "set", name, "up")
	n.Run("ip", "link", "set", "eth0", "up")
	n.Run("ip", "addr", "add", address+"/24", "dev", "eth0")
	args := []string{"add-port", bridge, name}
	if id != "" {
		mac := strings.Fields(n.Run("ip", "-br", "link", "show", "dev", "eth0"))[2]
		args = append(args, "--", "set", "interface", name, "external_ids:iface-id="+id,
			`external_ids:attached-mac="`+mac+`"`)
	}
	s.Control(args...)
	return n, address
}
