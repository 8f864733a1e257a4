package packaging

import (
	"path/filepath"
	"regexp"
	"strings"
	"testing"
)

var (
	groupLine   = regexp.MustCompile(`^\[(\w+)\]$`)
	settingLine = regexp.MustCompile(`^(?:# )?([a-z_]+) = (.*)$`)
	tableRow    = regexp.MustCompile("^\\| `(\\w+)` \\| [^|]+ \\| (?:`([^|]*)`|–) \\| (\\w+) \\|")
	tableGroup  = regexp.MustCompile(`^## \[(\w+)\]$`)
)

// TestSettingsFile compares the installed settings with the documentation: each name exists and is
// used or kept, and a value behind # is the default where there is one.
func TestSettingsFile(t *testing.T) {
	for name, document := range map[string]string{"placement": "settings", "network": "settings-network", "compute": "settings-compute"} {
		t.Run(name, func(t *testing.T) { checkSettings(t, name+".conf", documentedSettings(t, document+".md")) })
	}
}

func checkSettings(t *testing.T, file string, documented map[string]documentedSetting) {
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
		d, ok := documented[group+"/"+m[1]]
		switch {
		case !ok:
			t.Errorf("[%s] %s is not in the document of settings", group, m[1])
		case d.use == "ignored":
			t.Errorf("[%s] %s has no effect", group, m[1])
		case strings.HasPrefix(line, "# ") && d.standard != "" && d.standard != m[2]:
			t.Errorf("[%s] %s = %s is shown as the default, which is %s", group, m[1], m[2], d.standard)
		}
	}
	if seen < 15 {
		t.Errorf("only %d settings in the file", seen)
	}
}

type documentedSetting struct{ standard, use string }

func documentedSettings(t *testing.T, document string) map[string]documentedSetting {
	t.Helper()
	all := map[string]documentedSetting{}
	group := ""
	for line := range strings.Lines(read(t, filepath.Join(tree, "docs", "operations", document))) {
		line = strings.TrimSuffix(line, "\n")
		if m := tableGroup.FindStringSubmatch(line); m != nil {
			group = m[1]
		}
		if m := tableRow.FindStringSubmatch(line); m != nil {
			all[group+"/"+m[1]] = documentedSetting{standard: m[2], use: m[3]}
		}
	}
	if len(all) < 50 {
		t.Fatalf("only %d settings in the document: has its form changed?", len(all))
	}
	return all
}
