package settings_test

import (
	_ "embed"
	"encoding/json"
	"errors"
	"os/exec"
	"slices"
	"strings"
	"testing"

	"github.com/berthcloud/berth/agent/settings"
	"github.com/berthcloud/berth/config"
	"github.com/berthcloud/berth/osloconfig"
)

//go:embed testdata/upstream.py
var upstreamScript string

type upstreamOption struct {
	Agent, Group, Name, Default string
	Older                       []string
}

// TestUpstreamOptions compares the tables with the installed Neutron: each of
// its options is known, and what agents have has its default and older names.
func TestUpstreamOptions(t *testing.T) {
	tables := map[string]map[string]config.Setting{"ovs": tableOf(t, settings.OVS), "sriov": tableOf(t, settings.SRIOV)}
	for _, u := range askUpstream(t) {
		name := u.Group + "." + u.Name
		for agent, table := range tables {
			if (u.Agent == "ovs" || u.Agent == "sriov") && u.Agent != agent {
				continue
			}
			s, ok := table[name]
			if !ok {
				t.Errorf("upstream has %s, the table of %s does not", name, agent)
				continue
			}
			if u.Agent == "none" || u.Name == "default_log_levels" { // upstream's programs change these levels at the start
				continue
			}
			if got := s.Display(); sorted(got) != sorted(u.Default) {
				t.Errorf("default of %s = %q, upstream's is %q", name, got, u.Default)
			}
			checkOlder(t, name, s, u.Older)
		}
	}
}

// sorted makes texts of dictionaries comparable.
func sorted(text string) string {
	items := strings.Split(text, ",")
	slices.Sort(items)
	return strings.Join(items, ",")
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

func tableOf(t *testing.T, kind settings.Kind) map[string]config.Setting {
	t.Helper()
	s, _, err := settings.Load(kind, osloconfig.Sources{}, settings.Names{Host: "h", Canonical: "h"})
	if err != nil {
		t.Fatal(err)
	}
	all := map[string]config.Setting{}
	for _, o := range s.Table() {
		name := o.Group + "." + o.Name.Option
		if _, twice := all[name]; twice {
			t.Errorf("the table of %s has %s twice", kind, name)
		}
		if o.Help == "" || !strings.HasSuffix(o.Help, ".") {
			t.Errorf("help of %s = %q, want a sentence", name, o.Help)
		}
		all[name] = o
	}
	return all
}

func TestTables(t *testing.T) {
	for _, kind := range []settings.Kind{settings.OVS, settings.SRIOV, settings.OVN} {
		if len(tableOf(t, kind)) < 100 {
			t.Errorf("the table of %s is short", kind)
		}
	}
}

func askUpstream(t *testing.T) []upstreamOption {
	t.Helper()
	if testing.Short() {
		t.Skip("SKIPPED under -short: comparing the options with the installed Neutron's")
	}
	out, err := exec.Command("/usr/bin/python3", "-c", upstreamScript).Output()
	if err != nil {
		text := err.Error()
		if exit, ok := errors.AsType[*exec.ExitError](err); ok {
			text = string(exit.Stderr)
		}
		t.Skipf("SKIPPED: /usr/bin/python3 cannot list Neutron's options; install Debian's python3-neutron to compare them: %s", text)
	}
	var options []upstreamOption
	if err := json.Unmarshal(out, &options); err != nil {
		t.Fatal(err)
	}
	return options
}
