// Package servertest starts programs that serve HTTP on loopback for a test and stops them at its
// end. Database servers are in package dbtest.
package servertest

import (
	"net"
	"os"
	"os/exec"
	"syscall"
	"testing"
	"time"

	"github.com/berthcloud/berth/internal/process"
)

// Time-outs of a server's first answer, generous because machines that run tests are busy, and of
// its end after the signal.
const (
	startTime = 90 * time.Second
	stopTime  = 15 * time.Second
)

// A Server is one running program. Its methods are for one goroutine, the test's.
type Server struct {
	t       testing.TB
	name    string
	path    string
	addr    string
	command func(addr string) *exec.Cmd

	process *process.Process // nil when it was stopped
	log     process.Log
}

// Start starts a program on a free port and returns when it answers a path with 200, or ends the
// test. The name is for messages; command is called for each start, with the address to serve on.
// The program is stopped at the end of the test, and its log is printed if that failed.
func Start(t testing.TB, name, path string, command func(addr string) *exec.Cmd) *Server {
	t.Helper()
	s := &Server{t: t, name: name, path: path, command: command}
	t.Cleanup(s.finish)
	var err error
	for range 3 { // another process may take the port between its choice and its use
		s.addr = FreeAddress(t)
		if err = s.start(); err == nil {
			return s
		}
	}
	t.Fatalf("starting %s: %v\n%s", name, err, s.log.Tail())
	return nil
}

// URL returns the address of the server without a trailing slash. Restart does not change it.
func (s *Server) URL() string { return "http://" + s.addr }

// Log returns the last 6 KiB that the server has logged.
func (s *Server) Log() string { return s.log.Tail() }

// Stop shuts the server down and waits until it has ended; one that does not end in time is killed
// and the test fails. It does nothing for a stopped server.
func (s *Server) Stop() {
	s.t.Helper()
	if s.process == nil {
		return
	}
	if err := s.process.End(syscall.SIGTERM, stopTime); err != nil {
		s.t.Errorf("%s: %v", s.name, err)
	}
	s.process = nil
}

// Kill ends the server and its children with SIGKILL and waits until it has ended.
func (s *Server) Kill() {
	if s.process != nil {
		s.process.Kill()
		s.process = nil
	}
}

// Freeze suspends the server as SIGSTOP does: its connections stay open, new ones are accepted by
// the kernel, and no request is answered until Thaw.
func (s *Server) Freeze() { s.process.Signal(syscall.SIGSTOP) }

// Thaw resumes a frozen server.
func (s *Server) Thaw() { s.process.Signal(syscall.SIGCONT) }

// Restart restarts a server on the same data and the same address. A running one is stopped first.
func (s *Server) Restart() {
	s.t.Helper()
	s.Stop()
	if err := s.start(); err != nil {
		s.t.Fatalf("restarting %s: %v\n%s", s.name, err, s.log.Tail())
	}
}

func (s *Server) finish() {
	s.Kill()
	if s.t.Failed() {
		s.t.Logf("log of %s:\n%s", s.name, s.log.Tail())
	}
}

func (s *Server) start() error {
	cmd := s.command(s.addr)
	cmd.Stdout, cmd.Stderr = &s.log, &s.log
	cmd.WaitDelay = stopTime
	var err error
	if s.process, err = process.Start(cmd); err != nil {
		return err
	}
	if err = s.process.Await(s.URL()+s.path, startTime, 20*time.Millisecond); err != nil {
		s.Kill()
	}
	return err
}

// FreeAddress returns an address on loopback without a listener, for a program to be started, or
// ends the test.
func FreeAddress(t testing.TB) string {
	t.Helper()
	address, err := process.FreeAddress()
	if err != nil {
		t.Fatal(err)
	}
	return address
}

// Listen opens a port on loopback that is outside the kernel's ephemeral ports, or ends the test.
// The caller closes it.
func Listen(t testing.TB) net.Listener {
	t.Helper()
	l, err := process.Listen()
	if err != nil {
		t.Fatal(err)
	}
	return l
}

// Dir creates a directory that is removed at the end of the test, below the first of parents where
// that is possible; "" is the system's place for temporary files. Without parents it is in memory
// where the system has such a place: files of tests need not survive a crash.
func Dir(t testing.TB, parents ...string) string {
	t.Helper()
	if len(parents) == 0 {
		parents = []string{"/dev/shm", ""}
	}
	for _, parent := range parents {
		dir, err := os.MkdirTemp(parent, "berth-test-")
		if err != nil {
			continue
		}
		t.Cleanup(func() {
			if err := os.RemoveAll(dir); err != nil {
				t.Logf("removing %s: %v", dir, err)
			}
		})
		return dir
	}
	return t.TempDir()
}
