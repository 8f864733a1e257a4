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

	"github.com/berthcloud/berth/internal/rest"
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

// examined is about berth doctor: no check fails in a healthy cloud but those of what failed on
// purpose, what is broken is found by its check, and a bundle has no password.
func (s *stack) examined(t *testing.T) {
	bundle := filepath.Join(t.TempDir(), "report.tar.gz")
	for name, c := range s.checks(t, nil, 0, "--server", "golden", "--bundle", bundle) {
		// Debian's Keystone is served without a date here.
		if c.Result == "failed" || c.Result == "unknown" && (name != "clocks" || !s.debian) ||
			c.Result != "ok" && strings.HasPrefix(name, "server-") {
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

	s.trunked(t)

	if s.debian {
		for name, c := range s.checks(t, s.people["project-reader"], 0) {
			if name == "agents-alive" && c.Result != "unknown" || name == "token-roles" && c.Result != "warning" {
				t.Errorf("for a reader: %+v", c)
			}
		}
	}
}

// trunked is about a trunk whose parent is guaranteed less than its subports: the commands that
// doctor prints repair it, first with a policy for the parent alone, then by a change of that
// policy.
func (s *stack) trunked(t *testing.T) {
	policy := s.made(t, "/qos/policies", "policy", object{"name": "voice"})
	rules := "/qos/policies/" + policy + "/minimum_bandwidth_rules"
	rule := made(t, s.nets, rules, "minimum_bandwidth_rule", object{"min_kbps": 700, "direction": "egress"})
	port := func(policy string) string {
		return s.newPort(t, object{"network_id": s.id("network net0"), "qos_policy_id": policy})
	}
	one, two, parent := port(policy), port(policy), port(s.id("policy gold"))
	trunk := s.made(t, "/trunks", "trunk", object{"name": "lines", "port_id": parent})
	look := func() checked {
		t.Helper()
		return s.checks(t, nil, 0, "--check", "trunks")["trunks"]
	}
	if c := look(); c.Result != "ok" || c.Evidence[0].Text != "1 trunk, none with subports that are guaranteed bandwidth" {
		t.Errorf("of a trunk without subports: %+v", c)
	}
	add := " --subport segmentation-type=vlan,segmentation-id=101,port=" + one +
		" --subport segmentation-type=vlan,segmentation-id=102,port=" + two
	if out := s.client("").Run("network trunk set" + add + " " + trunk); out != "" {
		t.Fatal(out)
	}
	t.Cleanup(func() { // the policy that the command makes can be deleted when no port has it
		s.nets.Must(t, http.StatusOK, "PUT", "/ports/"+parent, object{"port": object{"qos_policy_id": nil}})
		if out := s.client("").Run("network qos policy delete trunk-" + trunk); out != "" {
			t.Error(out)
		}
	})
	for _, tc := range []struct {
		kbps           int
		seen, commands string
	}{
		{700, "1400 kbit/s egress and 0 ingress together", "openstack network qos policy create trunk-" + trunk},
		{900, "1800 kbit/s egress and 0 ingress together", "openstack network qos rule set --min-kbps 1800 "},
	} {
		s.nets.Must(t, http.StatusOK, "PUT", rules+"/"+rule, object{"minimum_bandwidth_rule": object{"min_kbps": tc.kbps}})
		c := look()
		if c.Result != "warning" || !strings.Contains(c.Evidence[0].Text, tc.seen) ||
			!strings.HasPrefix(c.Command, tc.commands) {
			t.Errorf("of subports with %d kbit/s: %+v", tc.kbps, c)
		}
		s.run(t, c.Command)
		if c := look(); c.Result != "ok" {
			t.Errorf("after %s: %+v", c.Command, c)
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
