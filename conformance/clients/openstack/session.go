// Package openstack runs Debian's openstack client for the black-box tests: one process for many
// commands, because the client takes seconds to start.
package openstack

import (
	"bufio"
	"errors"
	"fmt"
	"io"
	"os"
	"os/exec"
	"strings"
	"testing"
	"time"

	"github.com/berthcloud/berth/internal/process"
	"github.com/berthcloud/berth/internal/upstreamtest"
)

// Program is the client, and Packages are the packages that it needs.
const (
	Program  = "/usr/bin/openstack"
	Packages = "python3-openstackclient python3-osc-placement"
)

// Plugin is the client's plug-in for placement.
const Plugin = "/usr/lib/python3/dist-packages/osc_placement/plugin.py"

// CommandTime bounds each command.
const CommandTime = time.Minute

// Need ends a test for which the client is not installed.
func Need(t testing.TB) {
	t.Helper()
	upstreamtest.Need(t, Packages, Program, Plugin)
}

// A Session is a client that reads commands from its standard input. It is for one goroutine.
type Session struct {
	t   testing.TB
	in  io.Writer
	out *os.File
	buf *bufio.Reader // of out
}

// NewSession starts a client with an environment. It ends with the test.
func NewSession(t testing.TB, env []string) *Session {
	t.Helper()
	r, w, err := os.Pipe()
	if err != nil {
		t.Fatal(err)
	}
	defer w.Close()
	cmd := exec.Command(Program)
	cmd.Env, cmd.Stdout, cmd.Stderr = env, w, w // one pipe, which preserves the order
	in, err := cmd.StdinPipe()
	if err != nil {
		t.Fatal(err)
	}
	p, err := process.Start(cmd)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { p.Kill(); _ = r.Close() })
	return &Session{t, in, r, bufio.NewReader(r)}
}

// mark ends the output of a command.
const mark = "=== end of a command ==="

// Run runs a command, without the client's name, and returns its output, errors included.
func (s *Session) Run(command string) string {
	s.t.Helper()
	_, err := fmt.Fprintf(s.in, "%s\n!echo '%s'\n", command, mark)
	if err := errors.Join(err, s.out.SetReadDeadline(time.Now().Add(CommandTime))); err != nil {
		s.t.Fatal(err)
	}
	var out strings.Builder
	for {
		line, err := s.buf.ReadString('\n')
		if err != nil {
			s.t.Fatalf("openstack %s: %v\n%s%s", command, err, out.String(), line)
		}
		if strings.TrimSpace(line) == mark {
			return out.String()
		}
		out.WriteString(line)
	}
}
