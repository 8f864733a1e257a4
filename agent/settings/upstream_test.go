package settings_test

import (
	_ "embed"
	"slices"
	"strings"
	"testing"

	"github.com/berthcloud/berth/agent/settings"
	"github.com/berthcloud/berth/config"
	"github.com/berthcloud/berth/config/configtest"
	"github.com/berthcloud/berth/internal/upstreamtest"
	"github.com/berthcloud/berth/osloconfig"
)

//go:embed testdata/upstream.py
var upstreamScript string

type upstreamOption struct {
	Agent string
	configtest.Option
}

// apart are options with another default than upstream's, and why.
var apart = map[string]string{
	"default_log_levels": "upstream's programs change these levels at the start",
	"availability_zone":  "upstream's agents of layer 2 have the option and do not report it",
}

// TestUpstreamOptions compares the tables with the installed Neutron: each of
// its options is known, and what agents have has its default and older names.
func TestUpstreamOptions(t *testing.T) {
	tables := map[string]map[string]config.Setting{"ovs": tableOf(t, settings.OVS), "sriov": tableOf(t, settings.SRIOV)}
	var theirs []upstreamOption
	queryNeutron(t, upstreamScript, nil, &theirs)
	for _, u := range theirs {
		name := u.Key()
		for agent, table := range tables {
			if (u.Agent == "ovs" || u.Agent == "sriov") && u.Agent != agent {
				continue
			}
			if configtest.Ignored(settings.Ignored(settings.Kind(agent)))(name) {
				continue
			}
			s, ok := table[name]
			if !ok {
				t.Errorf("upstream has %s, the table of %s does not", name, agent)
				continue
			}
			if u.Agent == "none" || apart[u.Name] != "" {
				continue
			}
			if got := s.Display(); sorted(got) != sorted(u.Default) {
				t.Errorf("default of %s = %q, upstream's is %q", name, got, u.Default)
			}
			configtest.Older(t, name, s, u.Older)
		}
	}
}

// sorted makes texts of dictionaries comparable.
func sorted(text string) string {
	items := strings.Split(text, ",")
	slices.Sort(items)
	return strings.Join(items, ",")
}

func tableOf(t *testing.T, kind settings.Kind) map[string]config.Setting {
	t.Helper()
	s, _, err := settings.Load(kind, osloconfig.Sources{}, settings.Names{Host: "h", Canonical: "h"})
	if err != nil {
		t.Fatal(err)
	}
	return configtest.Table(t, s.Table())
}

func TestTables(t *testing.T) {
	for _, kind := range []settings.Kind{settings.OVS, settings.SRIOV, settings.OVN} {
		if len(tableOf(t, kind))+len(settings.Ignored(kind).Options) < 100 {
			t.Errorf("the table of %s is short", kind)
		}
	}
}

// queryNeutron queries the installed Neutron, which takes its time to start.
func queryNeutron(t *testing.T, script string, in, out any) {
	t.Helper()
	if testing.Short() {
		t.Skip("NOT COMPARED with Neutron: not under -short")
	}
	upstreamtest.Run(t, "python3-neutron", script, in, out)
}
