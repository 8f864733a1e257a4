// Package server starts the services that black-box tests talk to: Berth's own
// program, and the distribution's Placement to compare it with. It is not for
// production: every service listens on loopback with a throw-away database and
// ends with the test that started it.
package server

import (
	"bytes"
	"errors"
	"fmt"
	"math/rand/v2"
	"net"
	"net/http"
	"os"
	"os/exec"
	"path/filepath"
	"sort"
	"strings"
	"sync"
	"syscall"
	"testing"
	"time"
)

// How long a service may take to answer its first request, and to end after
// it was asked to.
const (
	startTimeout = 60 * time.Second
	stopTimeout  = 15 * time.Second
)

// Options say how a service is configured. The zero value is a service with
// noauth2 and its defaults.
type Options struct {
	// Config overrides options of placement.conf: section, option, value.
	Config map[string]map[string]string

	// Database is the SQLAlchemy URL of the database. Empty means a fresh one.
	Database string

	// Processes is how many processes upstream's service has; 0 means one.
	Processes int

	// Policy is the text of a policy file, in YAML. Empty means no file.
	Policy string

	// Root is the directory of the system that StartUpstream takes the service
	// from. Empty means what UpstreamRoot returns, "/" the machine itself.
	Root string

	// Env holds further environment variables, each as KEY=value.
	Env []string
}

// A Server is one running service. Its methods are for one goroutine, the
// test's.
type Server struct {
	t       testing.TB
	name    string
	dir     string
	addr    string
	command func(addr string) *exec.Cmd

	cmd  *exec.Cmd
	done chan struct{} // closed when cmd has ended
	log  logBuffer
}

// URL returns the address of the service without a trailing slash. It stays
// the same across Restart.
func (s *Server) URL() string { return "http://" + s.addr }

// Stop asks the service to end and waits until it has; a service that does
// not end in time is killed and the test fails. A stopped service is left
// alone.
func (s *Server) Stop() {
	s.t.Helper()
	if s.cmd == nil {
		return
	}
	s.signal(syscall.SIGTERM)
	select {
	case <-s.done:
	case <-time.After(stopTimeout):
		s.t.Errorf("%s did not end within %v of SIGTERM", s.name, stopTimeout)
		s.kill()
		<-s.done
	}
	s.cmd = nil
}

// Kill ends the service and its children with SIGKILL and waits until it is gone.
func (s *Server) Kill() {
	if s.cmd == nil {
		return
	}
	s.kill()
	<-s.done
	s.cmd = nil
}

// Freeze halts the service as SIGSTOP does: its connections stay open and nothing
// answers until Thaw.
func (s *Server) Freeze() { s.signal(syscall.SIGSTOP) }

// Thaw lets a frozen service go on where it was.
func (s *Server) Thaw() { s.signal(syscall.SIGCONT) }

// Restart starts a stopped or killed service again, on the same data and the
// same address. A running one is stopped first.
func (s *Server) Restart() {
	s.t.Helper()
	s.Stop()
	if err := s.start(); err != nil {
		s.t.Fatalf("restarting %s: %v\n%s", s.name, err, s.log.tail())
	}
}

func (s *Server) signal(sig syscall.Signal) {
	// An error means that the process has ended already.
	_ = s.cmd.Process.Signal(sig)
}

func (s *Server) kill() {
	// An error means that all of them have ended already.
	_ = syscall.Kill(-s.cmd.Process.Pid, syscall.SIGKILL)
}

// launch starts the service on a free port and arranges its end. Another
// process may take the port between its choice and its use, so a few are
// tried.
func (s *Server) launch() *Server {
	s.t.Helper()
	s.t.Cleanup(s.finish)
	var err error
	for range 3 {
		s.addr = FreeAddress(s.t)
		if err = s.start(); err == nil {
			return s
		}
	}
	s.t.Fatalf("starting %s: %v\n%s", s.name, err, s.log.tail())
	return nil
}

func (s *Server) finish() {
	s.Kill()
	if s.t.Failed() {
		s.t.Logf("log of %s:\n%s", s.name, s.log.tail())
	}
}

func (s *Server) start() error {
	cmd := s.command(s.addr)
	cmd.Stdout, cmd.Stderr = &s.log, &s.log
	if cmd.SysProcAttr == nil {
		cmd.SysProcAttr = &syscall.SysProcAttr{}
	}
	cmd.SysProcAttr.Pdeathsig = syscall.SIGKILL
	cmd.SysProcAttr.Setpgid = true // so that Kill reaches all of it
	cmd.WaitDelay = stopTimeout
	if err := cmd.Start(); err != nil {
		return err
	}
	done := make(chan struct{})
	go func() {
		_ = cmd.Wait() // how it ended is in the log
		close(done)
	}()
	s.cmd, s.done = cmd, done
	if err := s.await(); err != nil {
		s.Kill()
		return err
	}
	return nil
}

// await returns when the root document is served.
func (s *Server) await() error {
	client := http.Client{Timeout: time.Second}
	for end := time.Now().Add(startTimeout); time.Now().Before(end); {
		select {
		case <-s.done:
			return errors.New("the process ended before it served")
		case <-time.After(20 * time.Millisecond):
		}
		res, err := client.Get(s.URL() + "/")
		if err != nil {
			continue
		}
		_ = res.Body.Close() // only the status matters
		if res.StatusCode == http.StatusOK {
			return nil
		}
	}
	return fmt.Errorf("no answer within %v", startTimeout)
}

// FreeAddress returns an address on loopback that nobody listens on, for a
// service to be started, or ends the test.
func FreeAddress(t testing.TB) string {
	t.Helper()
	l := Listen(t)
	if err := l.Close(); err != nil {
		t.Fatal(err)
	}
	return l.Addr().String()
}

// Listen opens a port on loopback that is outside the range which the kernel
// gives to outgoing connections, or ends the test. The caller closes it.
func Listen(t testing.TB) net.Listener {
	t.Helper()
	for range 100 {
		l, err := net.Listen("tcp", fmt.Sprintf("127.0.0.1:%d", 20000+rand.IntN(12000)))
		if err == nil {
			return l
		}
	}
	t.Fatal("no free port between 20000 and 32000")
	return nil
}

// tempDir makes a directory that goes away with the test: in memory where the
// system has such a place, since these databases need not outlive a crash.
func tempDir(t testing.TB, parents ...string) string {
	t.Helper()
	for _, p := range parents {
		dir, err := os.MkdirTemp(p, "berth-conformance-")
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

// writeFile writes a configuration file or ends the test.
func writeFile(t testing.TB, dir, name, text string) string {
	t.Helper()
	path := filepath.Join(dir, name)
	if err := os.WriteFile(path, []byte(text), 0o600); err != nil {
		t.Fatal(err)
	}
	return path
}

// render writes sections in oslo.config's format; later layers win.
func render(layers ...map[string]map[string]string) string {
	all := map[string]map[string]string{}
	for _, l := range layers {
		for section, opts := range l {
			if all[section] == nil {
				all[section] = map[string]string{}
			}
			for k, v := range opts {
				all[section][k] = v
			}
		}
	}
	var b strings.Builder
	for _, section := range sortedKeys(all) {
		fmt.Fprintf(&b, "[%s]\n", section)
		for _, k := range sortedKeys(all[section]) {
			fmt.Fprintf(&b, "%s = %s\n", k, all[section][k])
		}
		b.WriteByte('\n')
	}
	return b.String()
}

func sortedKeys[V any](m map[string]V) []string {
	keys := make([]string, 0, len(m))
	for k := range m {
		keys = append(keys, k)
	}
	sort.Strings(keys)
	return keys
}

// A logBuffer keeps a service's output; the process writes while the test
// reads.
type logBuffer struct {
	mu  sync.Mutex // guards buf
	buf bytes.Buffer
}

// Write appends p.
func (l *logBuffer) Write(p []byte) (int, error) {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.buf.Write(p)
}

// String returns all that was written.
func (l *logBuffer) String() string {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.buf.String()
}

// tail returns the last lines, enough to see why a service failed.
func (l *logBuffer) tail() string {
	const keep = 2 << 10
	text := l.String()
	if len(text) > keep {
		text = "…" + text[len(text)-keep:]
	}
	return text
}
