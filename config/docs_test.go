package config_test

import (
	"fmt"
	"strings"
	"testing"

	"github.com/berthcloud/berth/config"
	"github.com/berthcloud/berth/internal/golden"
)

const docMarker = "<!-- The tables below come from the code: go test ./config -run TestSettingsDocument -update -->\n"

// TestSettingsDocument checks that names, types, defaults and help in the documents equal those in
// the code.
func TestSettingsDocument(t *testing.T) {
	for path, settings := range map[string][]config.Setting{
		"../docs/operations/settings.md":         config.DefaultPlacement().Settings(),
		"../docs/operations/settings-network.md": config.DefaultNetwork().Settings(),
		"../docs/operations/settings-compute.md": config.DefaultCompute().Settings(),
	} {
		prose, _, ok := strings.Cut(golden.Read(t, path), docMarker)
		if !ok {
			t.Fatalf("%s has lost the line %q", path, docMarker)
		}
		golden.Compare(t, path, prose+docMarker+settingsTables(settings))
	}
}

func settingsTables(settings []config.Setting) string {
	var b strings.Builder
	group := ""
	for _, s := range ordered(settings) {
		if s.Group != group {
			group = s.Group
			fmt.Fprintf(&b, "\n## [%s]\n\n| name | type | default | used | what it does |\n|---|---|---|---|---|\n", group)
		}
		fmt.Fprintf(&b, "| `%s` | %s | %s | %s | %s |\n", s.Name.Option, kind(s), cell(s.Display()), s.Use, help(s))
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
			n.Group = s.Group
		}
		text += fmt.Sprintf(" Also read as `%s`.", n)
	}
	return text
}

func TestSettingsAreNamedOnceAndExplained(t *testing.T) {
	for _, settings := range [][]config.Setting{
		config.DefaultPlacement().Settings(), config.DefaultNetwork().Settings(), config.DefaultCompute().Settings(),
	} {
		seen := map[string]bool{}
		for _, s := range settings {
			name := s.Name.String()
			if seen[name] {
				t.Errorf("%s is in the table twice", name)
			}
			seen[name] = true
			if !strings.HasSuffix(s.Help, ".") && !strings.HasSuffix(s.Help, "…") {
				t.Errorf("the help of %s is not a sentence: %q", name, s.Help)
			}
		}
	}
}
