package ovstest

import (
	"encoding/json"
	"errors"
	"fmt"
	"net"
	"path/filepath"
	"strings"
	"syscall"
	"testing"

	"github.com/berthcloud/berth/internal/process"
)

const (
	switchSchema     = "/usr/share/openvswitch/vswitch.ovsschema"
	southboundSchema = "/usr/share/ovn/ovn-sb.ovsschema"
)

// A Server is an ovsdb-server with one database. Its methods fail the test on errors.
type Server struct {
	t       testing.TB
	dir     string
	name    string
	process *process.Process
}

// NewSouthbound starts a server with OVN's southbound database. It is stopped at the end of the
// test.
func NewSouthbound(t testing.TB) *Server {
	t.Helper()
	Need(t, "ovn-central", "ovsdb-server", "ovsdb-tool", southboundSchema)
	return newServer(t, directory(t), southboundSchema)
}

func newServer(t testing.TB, dir, schema string) *Server {
	t.Helper()
	s := &Server{t: t, dir: dir, name: "db"}
	if _, err := run(dir, "ovsdb-tool", "create", s.file(), schema); err != nil {
		t.Fatal(err)
	}
	s.begin()
	return s
}

// NewCluster starts servers that replicate one southbound database.
func NewCluster(t testing.TB, size int) []*Server {
	t.Helper()
	Need(t, "ovn-central", "ovsdb-server", "ovsdb-tool", southboundSchema)
	dir := directory(t)
	var servers []*Server
	for i := range size {
		s := &Server{t: t, dir: dir, name: fmt.Sprintf("db%d", i)}
		args := []string{"create-cluster", s.file(), southboundSchema, s.peer()}
		if i > 0 {
			args = []string{"join-cluster", s.file(), "OVN_Southbound", s.peer(), servers[0].peer()}
		}
		if _, err := run(dir, "ovsdb-tool", args...); err != nil {
			t.Fatal(err)
		}
		s.begin()
		servers = append(servers, s)
		// The members join one after the other, and each has to be known to all, so that the first
		// may fail from here on.
		for _, member := range servers {
			Await(t, fmt.Sprintf("%s knows of %d servers", member.name, i+1), func() bool {
				status := member.Control("cluster/status", "OVN_Southbound")
				return strings.Contains(status, "Status: cluster member") && strings.Count(status, " at unix:") == i+1
			})
		}
	}
	return servers
}

func (s *Server) file() string    { return filepath.Join(s.dir, s.name) }
func (s *Server) socket() string  { return s.file() + ".sock" }
func (s *Server) control() string { return s.file() + ".ctl" }
func (s *Server) peer() string    { return "unix:" + s.file() + ".raft" }

// Remote returns the server's address. A restart does not change it.
func (s *Server) Remote() string { return "unix:" + s.socket() }

func (s *Server) begin() {
	s.t.Helper()
	s.Start()
	s.t.Cleanup(func() {
		if s.t.Failed() {
			s.t.Logf("the last words of %s:\n%s", s.name, lastWords(s.dir, s.name))
		}
		s.Stop()
	})
}

// Start starts a server that was stopped, and returns when it answers.
func (s *Server) Start() {
	s.t.Helper()
	var err error
	s.process, err = launch(s.dir, s.name, syscall.SysProcAttr{}, "ovsdb-server", s.file(),
		"--remote=p"+s.Remote(), "--unixctl="+s.control(), "--no-chdir", "-vconsole:info")
	if err == nil {
		err = await(func() error { return errors.Join(answers(s.socket()), answers(s.control())) })
	}
	if err != nil {
		s.t.Fatalf("starting ovsdb-server: %v\n%s", err, lastWords(s.dir, s.name))
	}
}

// answers returns nil when a server accepts connections at a socket.
func answers(socket string) error {
	c, err := net.Dial("unix", socket)
	if err != nil {
		return err
	}
	return c.Close()
}

// Stop shuts the server down. Its data remains.
func (s *Server) Stop() { s.signal(syscall.SIGTERM) }

// Kill ends the server as a power failure does. Its data remains.
func (s *Server) Kill() { s.signal(syscall.SIGKILL) }

func (s *Server) signal(with syscall.Signal) {
	s.t.Helper()
	if err := s.process.End(with, patience); err != nil {
		s.t.Error(err)
	}
}

// Control sends a command to the server, as ovs-appctl does, and returns its output.
func (s *Server) Control(args ...string) string {
	s.t.Helper()
	out, err := run(s.dir, "ovs-appctl", append([]string{"-t", s.control()}, args...)...)
	if err != nil {
		s.t.Fatal(err)
	}
	return out
}

// Change carries out a transaction while the server is stopped: operations that
// become those of RFC 7047 in JSON.
func (s *Server) Change(database string, ops ...any) {
	s.t.Helper()
	text, err := json.Marshal(append([]any{database}, ops...))
	if err != nil {
		s.t.Fatal(err)
	}
	if _, err := run(s.dir, "ovsdb-tool", "transact", s.file(), string(text)); err != nil {
		s.t.Fatal(err)
	}
}
