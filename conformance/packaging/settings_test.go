package packaging

import (
	"path/filepath"
	"regexp"
	"strings"
	"testing"

	"github.com/berthcloud/berth/internal/markdown"
)

var (
	groupLine   = regexp.MustCompile(`^\[(\w+)\]$`)
	settingLine = regexp.MustCompile(`^(?:# )?([a-z_]+) = (.*)$`)
	tableRow    = regexp.MustCompile("^\\| `(\\w+)` \\| [^|]+ \\| (?:`([^|]*)`|–) \\|")
	// sharedRow names settings that are described in another document.
	sharedRow  = regexp.MustCompile("^As in \\[`\\[(\\w+)\\]`[^\\]]*\\]\\(([a-z-]+\\.md)#[^)]*\\): (.*)")
	sharedName = regexp.MustCompile("`([^`]+)`")
	tableGroup = regexp.MustCompile(`^## \[(\w+)\]$`)
)

// TestSettingsFile compares the installed settings with the documentation: each name exists and has
// an effect, and a value behind # is the default where there is one.
func TestSettingsFile(t *testing.T) {
	for name, document := range map[string]string{
		"placement": "settings", "network": "settings-network", "compute": "settings-compute",
	} {
		t.Run(name, func(t *testing.T) { checkSettings(t, name+".conf", documentedDefaults(t, document+".md")) })
	}
}

func checkSettings(t *testing.T, file string, defaults map[string]string) {
	group, seen := "", 0
	for line := range strings.Lines(read(t, filepath.Join(tree, "packaging", file))) {
		line = strings.TrimSuffix(line, "\n")
		if m := groupLine.FindStringSubmatch(line); m != nil {
			group = m[1]
			continue
		}
		m := settingLine.FindStringSubmatch(line)
		if m == nil {
			continue
		}
		seen++
		standard, ok := defaults[group+"/"+m[1]]
		switch {
		case !ok:
			t.Errorf("[%s] %s is not among the settings that have an effect", group, m[1])
		case strings.HasPrefix(line, "# ") && standard != "" && standard != m[2]:
			t.Errorf("[%s] %s = %s is shown as the default, which is %s", group, m[1], m[2], standard)
		}
	}
	if seen < 15 {
		t.Errorf("only %d settings in the file", seen)
	}
}

// documentedDefaults returns the defaults of the settings that have an effect, by group and name.
func documentedDefaults(t *testing.T, document string) map[string]string {
	t.Helper()
	all := map[string]string{}
	group := ""
	for _, line := range markdown.Unwrap(read(t, filepath.Join(tree, "docs", "operations", document))) {
		if m := tableGroup.FindStringSubmatch(line); m != nil {
			group = m[1]
		}
		if m := sharedRow.FindStringSubmatch(line); m != nil {
			existing := documentedDefaults(t, m[2])
			for _, name := range sharedName.FindAllStringSubmatch(m[3], -1) {
				standard, ok := existing[m[1]+"/"+name[1]]
				if !ok {
					t.Errorf("%s does not have [%s] %s, as %s says", m[2], m[1], name[1], document)
				}
				all[group+"/"+name[1]] = standard
			}
		}
		if m := tableRow.FindStringSubmatch(line); m != nil {
			all[group+"/"+m[1]] = m[2]
		}
	}
	if len(all) < 50 {
		t.Fatalf("only %d settings in the document: has its form changed?", len(all))
	}
	return all
}
