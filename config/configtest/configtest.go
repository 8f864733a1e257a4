// Package configtest compares tables of settings with the options of OpenStack's own programs, as
// Debian installs them, and reads settings from text. It is for tests.
package configtest

import (
	_ "embed"
	"slices"
	"strings"
	"testing"

	"github.com/berthcloud/berth/config"
	"github.com/berthcloud/berth/internal/upstreamtest"
	"github.com/berthcloud/berth/osloconfig"
)

// An Option is one of upstream's.
type Option struct {
	Group, Name, Default string
	Older                []string // names, each with its group
}

// Key is the option's key in the result of Table.
func (o Option) Key() string { return o.Group + "." + o.Name }

// options is the first part of the scripts, each of which imports a program.
//
//go:embed options.py
var options string

var (
	//go:embed placement.py
	placement string
	//go:embed neutron.py
	neutron string
	//go:embed nova.py
	nova string
)

// Placement are the options of the placement service.
func Placement(t testing.TB) []Option { return fill(t, "placement-api", placement) }

// Neutron are the options of Neutron's server.
func Neutron(t testing.TB) []Option { return fill(t, "python3-neutron", neutron) }

// Nova are the options of Nova's services and hosts.
func Nova(t testing.TB) []Option { return fill(t, "python3-nova", nova) }

func fill(t testing.TB, packages, script string) (all []Option) {
	t.Helper()
	upstreamtest.Run(t, packages, options+script, nil, &all)
	return all
}

// Table returns settings by their groups and names; duplicates and help that is not a sentence are
// errors of the test.
func Table(t testing.TB, all []config.Setting) map[string]config.Setting {
	t.Helper()
	table := map[string]config.Setting{}
	for _, s := range all {
		name := s.Group + "." + s.Name.Option
		if _, twice := table[name]; twice {
			t.Errorf("the table has %s twice", name)
		}
		if s.Help == "" || !strings.HasSuffix(s.Help, ".") && !strings.HasSuffix(s.Help, "…") {
			t.Errorf("help of %s = %q, want a sentence", name, s.Help)
		}
		table[name] = s
	}
	return table
}

// Ignored returns whether an option with a group and a name, as Option.Key joins them, is ignored.
func Ignored(names osloconfig.Names) func(key string) bool {
	ignored := map[string]bool{}
	for _, n := range names.Options {
		ignored[n.Group+"."+n.Option] = true
	}
	return func(key string) bool {
		group, _, _ := strings.Cut(key, ".")
		return ignored[key] || slices.Contains(names.Groups, group)
	}
}

// Older reports an error for each name by which upstream reads an option and Berth does not. The
// option's current name is ignored.
func Older(t testing.TB, name string, s config.Setting, want []string) {
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
