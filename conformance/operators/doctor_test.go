package operators

import (
	"compress/gzip"
	"encoding/json"
	"io"
	"net/http"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/berthcloud/berth/conformance/clients/rest"
)

// A checked is what berth doctor says of a check.
type checked struct {
	Check    string
	Result   string
	Evidence []struct{ Result, Text string }
	Command  string
}

// checks makes checks of doctor, and returns what they say by their names.
func (s *stack) checks(t *testing.T, env []string, code int, args ...string) map[string]checked {
	t.Helper()
	got := s.berth(t, env, append([]string{"doctor", "-f", "json"}, args...)...)
	var report struct{ Checks []checked }
	if err := json.Unmarshal([]byte(got.stdout), &report); err != nil || got.code != code {
		t.Fatalf("doctor %q, want exit code %d: %s", args, code, got)
	}
	all := map[string]checked{}
	for _, c := range report.Checks {
		all[c.Check] = c
	}
	return all
}

// examined is about berth doctor: no check fails in a healthy cloud but those of what failed on purpose, what is broken is found by its check,
// and a bundle has no password.
func (s *stack) examined(t *testing.T) {
	bundle := filepath.Join(t.TempDir(), "report.tar.gz")
	for name, c := range s.checks(t, nil, 0, "--server", "golden", "--bundle", bundle) {
		// Debian's Keystone is served without a date here.
		if c.Result == "failed" || c.Result == "unknown" && (name != "clocks" || !s.debian) || c.Result != "ok" && strings.HasPrefix(name, "server-") {
			t.Errorf("in a healthy cloud, of a server with a guarantee: %+v", c)
		}
	}
	for _, variable := range s.env {
		if name, password, _ := strings.Cut(variable, "="); name == "OS_PASSWORD" {
			if got := unpacked(t, bundle); strings.Contains(got, password) || !strings.Contains(got, "berth cloud records") {
				t.Errorf("the bundle has the password, or no records:\n%s", got)
			}
		}
	}
	failed := s.checks(t, nil, 6, "--server", "failed", "--port", "vast")
	if c := failed["server-candidates"]; c.Result != "failed" || !strings.HasPrefix(c.Command, "berth explain --server ") {
		t.Errorf("of a server without a host: %+v", c)
	}

	agent := s.agent(t, "neutron-openvswitch-agent", 0)
	enable := func(up bool) {
		s.nets.Must(t, http.StatusOK, "PUT", "/agents/"+agent, rest.Object{"agent": rest.Object{"admin_state_up": up}})
	}
	enable(false)
	c := s.checks(t, nil, 6, "--check", "agents-enabled")["agents-enabled"]
	enable(true)
	if c.Result != "failed" || c.Command != "openstack network agent set --enable "+agent {
		t.Errorf("of a disabled agent: %+v", c)
	}

	if s.debian {
		for name, c := range s.checks(t, s.people["project-reader"], 0) {
			if name == "agents-alive" && c.Result != "unknown" || name == "token-roles" && c.Result != "warning" {
				t.Errorf("for a reader: %+v", c)
			}
		}
	}
}

// unpacked returns the texts of all files in a bundle.
func unpacked(t *testing.T, path string) string {
	t.Helper()
	f, err := os.Open(path)
	if err != nil {
		t.Fatal(err)
	}
	defer f.Close()
	z, err := gzip.NewReader(f)
	if err != nil {
		t.Fatal(err)
	}
	text, err := io.ReadAll(z) // the archive has them one after the other
	if err != nil {
		t.Fatal(err)
	}
	return string(text)
}
