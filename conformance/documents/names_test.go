package documents

import (
	"encoding/json"
	"io/fs"
	"maps"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/berthcloud/berth/internal/markdown"
	"github.com/berthcloud/berth/internal/server"
)

// TestLinks follows the links of all documents to other files and to headings.
func TestLinks(t *testing.T) {
	link := regexp.MustCompile(`\]\(([^)#\s]*)(?:#([^)\s]*))?\)`)
	for _, name := range documents(t) {
		text := read(t, filepath.Join(root, name))
		for _, m := range link.FindAllStringSubmatch(page{text: text}.prose(), -1) {
			if strings.Contains(m[1], "://") {
				continue
			}
			target := filepath.Join(root, filepath.Dir(name), m[1])
			if m[1] == "" {
				target = filepath.Join(root, name)
			}
			if _, err := os.Stat(target); err != nil {
				t.Errorf("%s links to %s, which does not exist", name, m[1])
				continue
			}
			if m[2] != "" && !(page{text: read(t, target)}).anchors()[m[2]] {
				t.Errorf("%s links to %s#%s: there is no such heading", name, m[1], m[2])
			}
		}
	}
}

// TestMetrics looks up every metric in the pages. Another test compares metrics.md with the
// program.
func TestMetrics(t *testing.T) {
	known := make(map[string]bool)
	described := regexp.MustCompile("(?m)^\\| `(berth_\\w+)`")
	for _, name := range []string{"metrics.md", "observability.md", "exporter.md"} {
		for _, m := range described.FindAllStringSubmatch(read(t, filepath.Join(operations, name)), -1) {
			known[m[1]] = true
		}
	}
	others := []string{
		"berth_version", "berth_writers", "berth_changes", "berth_copy", "berth_holds", // tables
		"berth_network", "berth_compute", // databases, and tables in them
		"berth_tables", "berth_tables_made", "berth_tables_from", // keys in the output of berth db
		"berth_agent", // a role
	}
	mention := regexp.MustCompile(`\bberth_[a-z_]*[a-z]\b`)
	for _, p := range pages(t) {
		for _, c := range p.code() {
			for _, name := range mention.FindAllString(c, -1) {
				if !known[name] && !slices.Contains(others, name) {
					t.Errorf("%s names %s, which is no metric", p.name, name)
				}
			}
		}
	}
}

// TestAlerts looks up every alert in the pages.
func TestAlerts(t *testing.T) {
	rules := read(t, filepath.Join(operations, "alerts/berth.rules.yaml")) +
		read(t, filepath.Join(operations, "alerts/berth-cloud.rules.yaml"))
	alert := regexp.MustCompile(`^Berth[A-Z][A-Za-z]+$`)
	found := 0
	for _, p := range pages(t) {
		for _, c := range p.code() {
			if !alert.MatchString(c) {
				continue
			}
			found++
			if !strings.Contains(rules, "alert: "+c+"\n") {
				t.Errorf("%s names the alert %s, which is not in the rules", p.name, c)
			}
		}
	}
	if found == 0 {
		t.Error("no page names an alert: this test looks for the wrong thing")
	}
}

// TestAlertsHavePages finds each alert in the table at the beginning of the operators' first page,
// which says what to read.
func TestAlertsHavePages(t *testing.T) {
	_, table, _ := strings.Cut(read(t, filepath.Join(operations, "README.md")), "\n## An alert, or something is wrong\n")
	table, _, _ = strings.Cut(table, "\n## ")
	alerts := regexp.MustCompile(`alert: (\w+)\n`).FindAllStringSubmatch(read(t,
		filepath.Join(operations, "alerts/berth.rules.yaml"))+read(
		t, filepath.Join(operations, "alerts/berth-cloud.rules.yaml")), -1)
	for _, m := range alerts {
		if !strings.Contains(table, "`"+m[1]+"`") {
			t.Errorf("README.md names no page for the alert %s", m[1])
		}
	}
	if len(alerts) == 0 {
		t.Error("there are no alerts: this test looks for the wrong thing")
	}
}

// TestKeysOfLists compares the keys of the commands that list what they know with those in the
// table of README.md.
func TestKeysOfLists(t *testing.T) {
	readme := read(t, filepath.Join(operations, "README.md"))
	for _, command := range []string{"audit", "doctor"} {
		code, out := server.Run(t, time.Minute, server.Berth(t), command, "--list", "-f", "json")
		var list []map[string]any
		if err := json.Unmarshal([]byte(out), &list); err != nil || code != 0 || len(list) == 0 {
			t.Errorf("berth %s --list ends with %d and prints %.100q: %v", command, code, out, err)
			continue
		}
		_, row, _ := strings.Cut(readme, "\n| `berth "+command+" -f json` |")
		row, _, _ = strings.Cut(row, "\n")
		_, keys, _ := strings.Cut(row, "with `--list` a list, each with ")
		var listed []string
		for _, m := range regexp.MustCompile("`([^`]+)`").FindAllStringSubmatch(keys, -1) {
			listed = append(listed, m[1])
		}
		if got := slices.Sorted(maps.Keys(list[0])); !slices.Equal(got, slices.Sorted(slices.Values(listed))) {
			t.Errorf("berth %s --list has the keys %q, README.md lists %q", command, got, listed)
		}
	}
}

// TestRoutesOfBerth compares the table of Berth's own routes with the routes that the program has.
func TestRoutesOfBerth(t *testing.T) {
	path := regexp.MustCompile(`/berth/v1/[\w{}/]*\w\}?`)
	served := map[string]bool{}
	err := filepath.WalkDir(filepath.Join(root, "httpapi"), func(name string, d fs.DirEntry, err error) error {
		if err != nil || !strings.HasSuffix(name, ".go") || strings.HasSuffix(name, "_test.go") {
			return err
		}
		for line := range strings.SplitSeq(read(t, name), "\n") {
			code, _, _ := strings.Cut(line, "// ")
			for _, p := range path.FindAllString(code, -1) {
				served[p] = true
			}
		}
		return nil
	})
	if err != nil {
		t.Fatal(err)
	}
	delete(served, "/berth/v1/hosts") // the beginning of others
	table, _, _ := strings.Cut(read(t, filepath.Join(root, "docs/api/berth.md")), "\n## ")
	listed := map[string]bool{}
	for _, p := range path.FindAllString(table, -1) {
		listed[p] = true
	}
	if !maps.Equal(served, listed) || len(served) < 10 {
		t.Errorf("the program has %q,\nberth.md lists %q", slices.Sorted(maps.Keys(served)), slices.Sorted(maps.Keys(listed)))
	}
}

// settingsPages list all settings. Another test compares them with the program, and they include
// ignored ones.
var settingsPages = []string{"settings.md", "settings-network.md", "settings-compute.md", "compute-host.md"}

// settings returns the names of all settings by group.
func settings(t *testing.T) map[string][]string {
	t.Helper()
	all := make(map[string][]string)
	row := regexp.MustCompile("^\\| `(\\w+)` \\|")
	quoted := regexp.MustCompile("`(\\w+)`")
	ignored := regexp.MustCompile(`^\* .\[(\w+)\].: (.*)`)
	for _, name := range append(slices.Clone(settingsPages), "agent.md") {
		group := ""
		if name == "agent.md" {
			group = "berth" // its only table of settings; the others are Neutron's
		}
		for _, line := range markdown.Unwrap(read(t, filepath.Join(operations, name))) {
			if title, ok := strings.CutPrefix(line, "## ["); ok {
				group = strings.TrimSuffix(title, "]")
			} else if m := row.FindStringSubmatch(line); m != nil {
				all[group] = append(all[group], m[1])
			} else if strings.HasPrefix(line, "As in ") {
				for _, m := range quoted.FindAllStringSubmatch(line, -1) {
					all[group] = append(all[group], m[1])
				}
			} else if m := ignored.FindStringSubmatch(line); m != nil {
				all[m[1]] = append(all[m[1]], strings.Split(m[2], ", ")...)
			}
		}
	}
	return all
}

// TestSettings looks up the settings that the pages name with their group, in text and in files.
func TestSettings(t *testing.T) {
	known := settings(t)
	if len(known) == 0 {
		t.Fatal("settings.md has no settings")
	}
	for _, p := range pages(t) {
		if slices.Contains(settingsPages, p.name) {
			continue
		}
		for _, set := range append(p.mentions(), p.files()...) {
			if _, ok := known[set.group]; ok && !slices.Contains(known[set.group], set.name) {
				t.Errorf("%s names [%s] %s, which is no setting", p.name, set.group, set.name)
			}
		}
	}
}

// A setting is named by its group and its name.
type setting struct{ group, name string }

// mentions returns the settings that the page names in its text with their
// groups.
func (p page) mentions() []setting {
	var all []setting
	mention := regexp.MustCompile(`^\[(\w+)\] (\w+)`)
	for _, c := range p.code() {
		if m := mention.FindStringSubmatch(c); m != nil {
			all = append(all, setting{m[1], m[2]})
		}
	}
	return all
}

// files returns the settings in blocks that have groups.
func (p page) files() []setting {
	var all []setting
	group := ""
	title, set := regexp.MustCompile(`^\s+\[(\w+)\]$`), regexp.MustCompile(`^\s+(\w+) =`)
	for line := range strings.SplitSeq(p.text, "\n") {
		if m := title.FindStringSubmatch(line); m != nil {
			group = m[1]
		} else if m := set.FindStringSubmatch(line); m != nil {
			all = append(all, setting{group, m[1]})
		} else if !strings.HasPrefix(line, "    ") {
			group = ""
		}
	}
	return all
}

// TestCommands checks that every command in the pages exists, and has the options there.
func TestCommands(t *testing.T) {
	m := manual{t, server.Berth(t), make(map[string]string)}
	for _, p := range pages(t) {
		for _, c := range p.code() {
			for _, line := range commandLines(c) {
				m.check(p.name, line)
			}
		}
	}
	if len(m.helps) < 10 {
		t.Errorf("the pages name %d commands only: this test looks for the wrong thing", len(m.helps))
	}
}

// A manual caches the help of commands.
type manual struct {
	t     *testing.T
	bin   string
	helps map[string]string // by command; "" for a missing one
}

// check reports names in a line of a page that the program does not have.
func (m manual) check(page, line string) {
	m.t.Helper()
	command, options := split(line)
	help := m.help(command)
	if help == "" {
		m.t.Errorf("%s: %q: there is no command %q", page, line, command)
		return
	}
	for _, o := range options {
		if !regexp.MustCompile(`(?m)^ .*(?:^|[ ,])` + regexp.QuoteMeta(o) + `\b`).MatchString(help) {
			m.t.Errorf("%s: %q: %q has no option %s", page, line, command, o)
		}
	}
}

// help returns the help of a command. For unknown words, the program prints the help of the command
// above.
func (m manual) help(command string) string {
	m.t.Helper()
	help, ok := m.helps[command]
	if !ok {
		code, out := server.Run(m.t, time.Minute, m.bin, append(strings.Fields(command), "--help")...)
		if code == 0 && strings.Contains(out, "berth "+command) {
			help = out
		}
		m.helps[command] = help
	}
	return help
}

var program = regexp.MustCompile(`(?:^|[ (<])(?:/usr/bin/)?berth ` +
	`((?:placement|network|compute|agent|db|up|version|completion|man|audit|capacity|doctor|explain|heal|records|` +
	`upgrade-check|watch)\b[^|;)#]*)`)

// commandLines returns the calls of berth in a piece of code.
func commandLines(c string) []string {
	var all []string
	for _, m := range program.FindAllStringSubmatch(c, -1) {
		all = append(all, strings.TrimSpace(m[1]))
	}
	return all
}

// split returns the words of a command and its options.
func split(line string) (command string, options []string) {
	var words []string
	for _, w := range strings.Fields(line) {
		switch {
		case strings.HasPrefix(w, "-"):
			name, _, _ := strings.Cut(w, "=")
			options = append(options, name)
		case len(options) == 0 && regexp.MustCompile(`^[a-z][a-z-]*$`).MatchString(w):
			words = append(words, w)
		}
	}
	return strings.Join(words, " "), options
}

// TestLogLines finds in the program the log lines that the pages of the network service, the
// compute service and the agent list. Some of those in README.md are composed of parts.
func TestLogLines(t *testing.T) {
	program := read(t, server.Berth(t))
	row := regexp.MustCompile("(?m)^\\| `([^`]* [^`]*)`[^|]*\\|")
	found := 0
	for _, name := range []string{"network.md", "compute.md", "agent.md"} {
		p := page{name, read(t, filepath.Join(operations, name))}
		_, section, _ := strings.Cut(p.text, "\n## Logs\n")
		section, _, _ = strings.Cut(section, "\n## ")
		for _, m := range row.FindAllStringSubmatch(section, -1) {
			found++
			if !strings.Contains(program, m[1]) {
				t.Errorf("%s: the program has no line %q in its log", p.name, m[1])
			}
		}
	}
	if found < 12 {
		t.Errorf("the pages list %d lines only: this test looks for the wrong thing", found)
	}
}
