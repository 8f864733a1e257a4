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
var upstreamScript string

// apart lists the options that differ from Debian's upstream, with the reason.
var apart = map[string]string{
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

// TestUpstreamOptions compares the table with the installed upstream service:
// each of its options is known, with its default and its older names.
func TestUpstreamOptions(t *testing.T) {
	ours := map[string]config.Setting{}
	for _, s := range config.DefaultPlacement().Settings() {
		ours[s.Group+"."+s.Name.Option] = s
	}
	for _, u := range askUpstream(t) {
		name := u.Group + "." + u.Name
		if apart[name] != "" {
			continue
		}
		s, ok := ours[name]
		if !ok {
			t.Errorf("upstream has %s, the table does not", name)
			continue
		}
		if got := s.Display(); got != u.Default {
			t.Errorf("default of %s = %q, upstream's is %q", name, got, u.Default)
		}
		checkOlder(t, name, s, u.Older)
	}
}

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
		if !slices.Contains(older, n) {
			t.Errorf("%s is read as %s by upstream, but not here", name, n)
		}
	}
}

func askUpstream(t *testing.T) []upstreamOption {
	t.Helper()
	if os.Getenv("BERTH_TEST_NO_UPSTREAM") == "1" {
		t.Skip("SKIPPED: BERTH_TEST_NO_UPSTREAM=1, so nothing compares the settings with the real service's")
	}
	var failure string
	for _, python := range []string{"/usr/bin/python3", "python3"} {
		cmd := exec.Command(python, "-c", upstreamScript)
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
	t.Fatalf("no python3 here can list upstream's options: install Debian's placement-api, "+
		"or set BERTH_TEST_NO_UPSTREAM=1 to go without the comparison\n%s", failure)
	return nil
}

func message(err error) string {
	if exit, ok := err.(*exec.ExitError); ok {
		return string(exit.Stderr)
	}
	return err.Error()
}
