package guide

import (
	"os/exec"
	"regexp"
	"strings"
	"testing"

	"github.com/berthcloud/berth/conformance/clients/openstack"
	"github.com/berthcloud/berth/internal/keystonetest"
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
	sessions map[string]*openstack.Session // by version of placement's API
}

func newTerminal(t *testing.T, login []string) *terminal {
	t.Helper()
	return &terminal{t, environment(t.TempDir(), login), make(map[string]*openstack.Session)}
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
	out := m.session(c[1]).Run(c[2])
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
func (m *terminal) session(version string) *openstack.Session {
	m.t.Helper()
	if m.sessions[version] == nil {
		env := m.env
		if version != "" {
			env = append(env[:len(env):len(env)], "OS_PLACEMENT_API_VERSION="+version)
		}
		m.sessions[version] = openstack.NewSession(m.t, env)
	}
	return m.sessions[version]
}
