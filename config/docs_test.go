package config_test

import (
	"cmp"
	"fmt"
	"maps"
	"slices"
	"strings"
	"testing"

	"github.com/berthcloud/berth/config"
	"github.com/berthcloud/berth/internal/golden"
	"github.com/berthcloud/berth/internal/markdown"
	"github.com/berthcloud/berth/osloconfig"
)

const docMarker = "<!-- The tables below come from the code: go test ./config -run TestSettingsDocument -update -->\n"

// TestSettingsDocument checks that names, types, defaults and help in the documents equal those in
// the code.
func TestSettingsDocument(t *testing.T) {
	places := map[string][]place{}
	for _, s := range services {
		path := "../docs/operations/" + s.document
		prose, _, ok := strings.Cut(golden.Read(t, path), docMarker)
		if !ok {
			t.Fatalf("%s has lost the line %q", path, docMarker)
		}
		golden.Compare(t, path,
			prose+docMarker+settingsTables(ordered(s.Settings()), s.document, places)+ignoredList(s.Ignores()))
	}
}

// services are the settings of empty files, with the documents that have them.
var services = []struct {
	document string
	service
}{
	{"settings.md", config.DefaultPlacement()},
	{"settings-network.md", config.DefaultNetwork()},
	{"settings-compute.md", config.DefaultCompute()},
}

var serviceOf = map[string]string{"settings.md": "placement", "settings-network.md": "network"}

type service interface {
	Settings() []config.Setting
	Ignores() osloconfig.Names
}

// ignoredList has the names of what is ignored, a line for each group.
func ignoredList(names osloconfig.Names) string {
	var b strings.Builder
	b.WriteString("\n## Ignored\n\nThese are accepted, so that existing files can be used unchanged, " +
		"and have no effect.\n\n")
	for group, options := range names.ByGroup() {
		b.WriteString(markdown.Wrap(fmt.Sprintf("* `[%s]`: %s", group, strings.Join(options, ", "))))
	}
	b.WriteString(markdown.Wrap("* whole groups: " + strings.Join(names.Groups, ", ")))
	return b.String()
}

// A place is where a row is described first.
type place struct{ document, group string }

// settingsTables has a table for each group. Rows that are described elsewhere, in the same words,
// are named with the place.
func settingsTables(settings []config.Setting, document string, places map[string][]place) string {
	var b strings.Builder
	for len(settings) > 0 {
		group := settings[0].Group
		end := slices.IndexFunc(settings, func(s config.Setting) bool { return s.Group != group })
		if end < 0 {
			end = len(settings)
		}
		fmt.Fprintf(&b, "\n## [%s]\n", group)
		table, elsewhere := "", map[place]string{}
		for _, s := range settings[:end] {
			row := fmt.Sprintf("| `%s` | %s | %s | %s |\n", s.Name.Option, kind(s), cell(s.Display()), help(s))
			if at := places[row]; len(at) > 0 {
				i := max(0, slices.IndexFunc(at, func(p place) bool { return p.group == group }))
				elsewhere[at[i]] += ", `" + s.Name.Option + "`"
			} else {
				table += row
			}
			places[row] = append(places[row], place{document, group})
		}
		for _, p := range slices.SortedFunc(maps.Keys(elsewhere), func(p, q place) int {
			return cmp.Or(cmp.Compare(p.document, q.document), cmp.Compare(p.group, q.group))
		}) {
			where := fmt.Sprintf("`[%s]`", p.group)
			if p.document != document {
				where = fmt.Sprintf("[`[%s]` of the %s service](%s#%s)", p.group, serviceOf[p.document], p.document,
					strings.ToLower(p.group))
			}
			b.WriteString("\n" + markdown.Wrap(fmt.Sprintf("As in %s: %s.", where, strings.TrimPrefix(elsewhere[p], ", "))))
		}
		if table != "" {
			b.WriteString("\n| name | type | default | what it does |\n|---|---|---|---|\n" + table)
		}
		settings = settings[end:]
	}
	return b.String()
}

// ordered sorts settings by group, in the order in which the groups appear.
func ordered(settings []config.Setting) []config.Setting {
	var groups []string
	byGroup := map[string][]config.Setting{}
	for _, s := range settings {
		if byGroup[s.Group] == nil {
			groups = append(groups, s.Group)
		}
		byGroup[s.Group] = append(byGroup[s.Group], s)
	}
	var all []config.Setting
	for _, g := range groups {
		all = append(all, byGroup[g]...)
	}
	return all
}

func kind(s config.Setting) string {
	if s.Secret() {
		return s.Value.Type() + ", secret"
	}
	return s.Value.Type()
}

func cell(text string) string {
	if text == "" {
		return "–"
	}
	return "`" + strings.ReplaceAll(strings.ReplaceAll(text, ",", ", "), ",  ", ", ") + "`"
}

func help(s config.Setting) string {
	text := strings.ReplaceAll(s.Help, "|", `\|`)
	for _, n := range s.Older {
		if n.Group == "" {
			text += fmt.Sprintf(" Also read as `%s`.", n.Option)
		} else {
			text += fmt.Sprintf(" Also read as `%s`.", n)
		}
	}
	return text
}

func TestSettingsAreNamedOnceAndExplained(t *testing.T) {
	for _, service := range services {
		seen := map[osloconfig.Name]bool{}
		once := func(n osloconfig.Name) {
			if seen[n] {
				t.Errorf("%s is there twice", n)
			}
			seen[n] = true
		}
		for _, n := range service.Ignores().Options {
			once(n)
		}
		for _, s := range service.Settings() {
			once(s.Name)
			for _, n := range s.Older {
				if n.Group == "" {
					n.Group = s.Group
				}
				once(n)
			}
			if !strings.HasSuffix(s.Help, ".") && !strings.HasSuffix(s.Help, "…") {
				t.Errorf("the help of %s is not a sentence: %q", s.Name, s.Help)
			}
		}
	}
}
