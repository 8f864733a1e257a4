package config_test

import (
	_ "embed"
	"encoding/json"
	"os"
	"os/exec"
	"slices"
	"testing"

	"github.com/berthcloud/berth/config"
)

//go:embed testdata/upstream.py
var placementScript string

//go:embed testdata/upstream_network.py
var neutronScript string

// placementApart lists the options that differ from Debian's upstream, with the
// reason.
var placementApart = map[string]string{
	"DEFAULT.config_file":              "belongs to the command line",
	"DEFAULT.config_dir":               "belongs to the command line",
	"DEFAULT.config_source":            "belongs to the command line",
	"DEFAULT.shell_completion":         "belongs to the command line",
	"DEFAULT.pybasedir":                "upstream computes it from where it is installed",
	"DEFAULT.state_path":               "upstream's default is $pybasedir; here it follows pybasedir",
	"DEFAULT.default_log_levels":       "upstream's service adds routes=INFO when it starts",
	"oslo_policy.policy_file":          "policy.json until oslo.policy changed to policy.yaml",
	"oslo_policy.enforce_scope":        "false until oslo.policy 4.4",
	"oslo_policy.enforce_new_defaults": "false until oslo.policy 4.4",
	"keystone_authtoken.auth_uri":      "an older name of www_authenticate_uri here",
	"keystone_authtoken.tenant_id":     "an older name of project_id here",
	"keystone_authtoken.tenant_name":   "an older name of project_name here",
}

type upstreamOption struct {
	Group, Name, Default string
	Older                []string
}

// neutronApart does the same for Neutron.
var neutronApart = map[string]string{
	"DEFAULT.host":                      "upstream's is the name of the machine",
	"DEFAULT.control_exchange":          "Neutron sets it when it starts",
	"DEFAULT.default_log_levels":        "Neutron adds those of its own libraries when it starts",
	"DEFAULT.allowed_conntrack_helpers": "a list of dictionaries, which are written otherwise",
	"keystone_authtoken.auth_uri":       "an older name of www_authenticate_uri here",
	"keystone_authtoken.tenant_id":      "an older name of project_id here",
	"keystone_authtoken.tenant_name":    "an older name of project_name here",
	"placement.tenant_id":               "an older name of project_id here",
	"placement.tenant_name":             "an older name of project_name here",
	"nova.tenant_id":                    "an older name of project_id here",
	"nova.tenant_name":                  "an older name of project_name here",
}

// TestUpstreamOptions compares the table with the installed placement service: each
// of its options is known, with its default and its older names.
func TestUpstreamOptions(t *testing.T) {
	compareOptions(t, config.DefaultPlacement().Settings(), askUpstream(t, placementScript, "placement-api"), placementApart)
}

// TestNeutronOptions does the same with the installed Neutron server. Of groups that
// Berth does without, nothing needs to be known.
func TestNeutronOptions(t *testing.T) {
	if _, err := os.Stat("/usr/lib/python3/dist-packages/neutron"); err != nil {
		t.Skip("SKIPPED: Debian's python3-neutron is not installed, so nothing compares the settings with Neutron's")
	}
	theirs := slices.DeleteFunc(askUpstream(t, neutronScript, "python3-neutron"), func(o upstreamOption) bool {
		return slices.Contains(config.NetworkForeign, o.Group)
	})
	compareOptions(t, config.DefaultNetwork().Settings(), theirs, neutronApart)
}

func compareOptions(t *testing.T, settings []config.Setting, theirs []upstreamOption, apart map[string]string) {
	t.Helper()
	ours := map[string]config.Setting{}
	for _, s := range settings {
		ours[s.Group+"."+s.Name.Option] = s
	}
	for _, u := range theirs {
		name := u.Group + "." + u.Name
		if apart[name] != "" {
			continue
		}
		s, ok := ours[name]
		if !ok {
			t.Errorf("upstream has %s, the table does not", name)
			continue
		}
		if got := s.Display(); got != u.Default && !hidden(s, u) {
			t.Errorf("default of %s = %q, upstream's is %q", name, got, u.Default)
		}
		checkOlder(t, name, s, u.Older)
	}
}

// hidden says that a secret has a default, as Neutron's transport_url has: it is
// not shown.
func hidden(s config.Setting, u upstreamOption) bool { return s.Secret() && u.Default != "" }

func checkOlder(t *testing.T, name string, s config.Setting, want []string) {
	t.Helper()
	var older []string
	for _, n := range s.Older {
		if n.Group == "" {
			n.Group = s.Group
		}
		older = append(older, n.Group+"."+n.Option)
	}
	for _, n := range want {
		if n != name && !slices.Contains(older, n) {
			t.Errorf("%s is read as %s by upstream, but not here", name, n)
		}
	}
}

// askUpstream has a script list the options of a service that is in a package of
// Debian's.
func askUpstream(t *testing.T, script, pkg string) []upstreamOption {
	t.Helper()
	if os.Getenv("BERTH_TEST_NO_UPSTREAM") == "1" {
		t.Skip("SKIPPED: BERTH_TEST_NO_UPSTREAM=1, so nothing compares the settings with the real service's")
	}
	var failure string
	for _, python := range []string{"/usr/bin/python3", "python3"} {
		cmd := exec.Command(python, "-c", script)
		out, err := cmd.Output()
		if err != nil {
			failure += python + ": " + message(err) + "\n"
			continue
		}
		var options []upstreamOption
		if err := json.Unmarshal(out, &options); err != nil {
			t.Fatal(err)
		}
		return options
	}
	t.Fatalf("no python3 here can list upstream's options: install Debian's %s, "+
		"or set BERTH_TEST_NO_UPSTREAM=1 to go without the comparison\n%s", pkg, failure)
	return nil
}

func message(err error) string {
	if exit, ok := err.(*exec.ExitError); ok {
		return string(exit.Stderr)
	}
	return err.Error()
}
