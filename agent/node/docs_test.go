package node_test

import (
	"fmt"
	"slices"
	"strings"
	"testing"

	"github.com/berthcloud/berth/agent/node"
	"github.com/berthcloud/berth/config"
	"github.com/berthcloud/berth/internal/golden"
	"github.com/berthcloud/berth/internal/markdown"
)

const (
	docPage   = "../../docs/operations/compute-host.md"
	docMarker = "<!-- The tables below come from the code: go test ./agent/node -run TestSettingsDocument -update -->\n"
)

// TestSettingsDocument keeps names, types, defaults and help in the document equal to the
// code's. The group of a type of mediated devices stands there for all of them.
func TestSettingsDocument(t *testing.T) {
	prose, _, ok := strings.Cut(golden.Read(t, docPage), docMarker)
	if !ok {
		t.Fatalf("%s has lost the line %q", docPage, docMarker)
	}
	groups, rows := []string{}, map[string]string{}
	for _, s := range node.Documented() {
		if rows[s.Group] == "" {
			groups = append(groups, s.Group)
			rows[s.Group] = fmt.Sprintf("\n## [%s]\n\n| name | type | default | what it does |\n|---|---|---|---|\n", s.Group)
		}
		rows[s.Group] += row(s)
	}
	text := prose + docMarker
	for _, g := range groups {
		text += rows[g]
	}
	text += "\n## Ignored\n\nThese options about hosts are accepted, and have no effect.\n\n"
	for group, options := range node.IgnoredHere().ByGroup() {
		text += markdown.Wrap(fmt.Sprintf("* `[%s]`: %s", group, strings.Join(options, ", ")))
	}
	golden.Compare(t, docPage, text)
}

func row(s config.Setting) string {
	kind, help := s.Value.Type(), strings.ReplaceAll(s.Help, "|", `\|`)
	if s.Secret() {
		kind += ", secret"
	}
	shown := "–"
	if text := s.Display(); text != "" {
		shown = "`" + text + "`"
	}
	for _, n := range s.Older {
		if n.Group == "" {
			n.Group = s.Group
		}
		help += fmt.Sprintf(" Also read as `%s`.", n)
	}
	return fmt.Sprintf("| `%s` | %s | %s | %s |\n", s.Name.Option, kind, shown, help)
}

// The document says in words what the tables say.
func TestDocumentNamesTheDefaults(t *testing.T) {
	prose, _, _ := strings.Cut(golden.Read(t, docPage), docMarker)
	all := node.Documented()
	for name, want := range map[string]string{
		"initial_cpu_allocation_ratio": "(4.0)", "initial_ram_allocation_ratio": "(1.0)", "reserved_host_memory_mb": "(512)",
		"state_path": "/var/lib/nova", "provider_config_location": "/etc/nova/provider_config/",
	} {
		i := slices.IndexFunc(all, func(s config.Setting) bool { return s.Name.Option == name })
		if i < 0 || all[i].Display() != strings.Trim(want, "()") || !strings.Contains(prose, want) {
			t.Errorf("%s is not %s in the code, or not in the document", name, want)
		}
	}
}
