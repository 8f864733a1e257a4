package guide

import (
	"bufio"
	"errors"
	"fmt"
	"io"
	"os"
	"os/exec"
	"regexp"
	"strings"
	"testing"
	"time"

	"github.com/berthcloud/berth/internal/keystonetest"
	"github.com/berthcloud/berth/internal/process"
)

const (
	program  = "/usr/bin/openstack"
	packages = "python3-openstackclient python3-osc-placement"

	// plugin is the client's plug-in for placement.
	plugin = "/usr/lib/python3/dist-packages/osc_placement/plugin.py"

	// commandTime bounds each command.
	commandTime = time.Minute
)

// personas are the users of the scripts, both in one project: each may use the other's objects.
var personas = map[string]string{"admin": "project-admin", "member": "project-member"}

// environment is the environment of a person's client besides the credentials.
func environment(home string, login []string) []string {
	return append([]string{
		"PATH=/usr/bin:/bin", "HOME=" + home, "LANG=C.UTF-8", "PYTHONUNBUFFERED=1",
		"COLUMNS=1000", // wide enough that no table is folded
	}, login...)
}

// atKeystone is how a person logs in at a Keystone.
func atKeystone(k *keystonetest.Keystone, who string) []string {
	p := keystonetest.Find(personas[who])
	return []string{
		"OS_AUTH_URL=" + k.URL() + "/v3", "OS_IDENTITY_API_VERSION=3",
		"OS_USERNAME=" + p.Name, "OS_PASSWORD=" + p.Password, "OS_PROJECT_NAME=" + p.Project,
		"OS_USER_DOMAIN_NAME=Default", "OS_PROJECT_DOMAIN_NAME=Default",
	}
}

// A terminal runs the commands of one person.
type terminal struct {
	t        *testing.T
	env      []string
	sessions map[string]*session // by version of placement's API
}

func newTerminal(t *testing.T, login []string) *terminal {
	t.Helper()
	return &terminal{t, environment(t.TempDir(), login), make(map[string]*session)}
}

// alone are commands that one client can run after the other: the client, which takes
// seconds to start, need not start for each.
var alone = regexp.MustCompile(`^openstack (?:--os-placement-api-version (\S+) )?([a-z][^|;$']*)$`)

// prepare starts the client for a command line, which takes a while.
func (m *terminal) prepare(line string) {
	m.t.Helper()
	command, _, _ := strings.Cut(line, " | ")
	if c := alone.FindStringSubmatch(command); c != nil {
		m.session(c[1])
	}
}

// run runs a command line and returns its output, errors included.
func (m *terminal) run(line string) string {
	m.t.Helper()
	command, filter, piped := strings.Cut(line, " | ")
	c := alone.FindStringSubmatch(command)
	if c == nil {
		return m.shell(line, "")
	}
	out := m.session(c[1]).run(c[2])
	if piped {
		out = m.shell(filter, out)
	}
	return out
}

// shell has the shell run a line with an input.
func (m *terminal) shell(line, input string) string {
	m.t.Helper()
	cmd := exec.CommandContext(m.t.Context(), "/bin/sh", "-c", line)
	cmd.Env, cmd.Stdin = m.env, strings.NewReader(input)
	out, err := cmd.CombinedOutput()
	if err != nil && cmd.ProcessState == nil { // a command that fails prints its error
		m.t.Fatal(err)
	}
	return string(out)
}

// session returns the client for a version of placement's API.
func (m *terminal) session(version string) *session {
	m.t.Helper()
	if m.sessions[version] == nil {
		env := m.env
		if version != "" {
			env = append(env[:len(env):len(env)], "OS_PLACEMENT_API_VERSION="+version)
		}
		m.sessions[version] = newSession(m.t, env)
	}
	return m.sessions[version]
}

// A session is a client that reads commands from its standard input.
type session struct {
	t   *testing.T
	in  io.Writer
	out *os.File
	buf *bufio.Reader // of out
}

func newSession(t *testing.T, env []string) *session {
	t.Helper()
	r, w, err := os.Pipe()
	if err != nil {
		t.Fatal(err)
	}
	defer w.Close()
	cmd := exec.Command(program)
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
	return &session{t, in, r, bufio.NewReader(r)}
}

// mark ends the output of a command.
const mark = "=== end of a command ==="

func (s *session) run(command string) string {
	s.t.Helper()
	_, err := fmt.Fprintf(s.in, "%s\n!echo '%s'\n", command, mark)
	if err := errors.Join(err, s.out.SetReadDeadline(time.Now().Add(commandTime))); err != nil {
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
