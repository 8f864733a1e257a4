package documents

import (
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/berthcloud/berth/conformance/server"
)

// TestLinks follows the links of the pages to other files and to headings.
func TestLinks(t *testing.T) {
	link := regexp.MustCompile(`\]\(([^)#\s]*)(?:#([^)\s]*))?\)`)
	for _, p := range pages(t) {
		for _, m := range link.FindAllStringSubmatch(p.prose(), -1) {
			if strings.Contains(m[1], "://") {
				continue
			}
			target := filepath.Join(operations, m[1])
			if m[1] == "" {
				target = filepath.Join(operations, p.name)
			}
			if _, err := os.Stat(target); err != nil {
				t.Errorf("%s links to %s, which is not there", p.name, m[1])
				continue
			}
			if m[2] != "" && !(page{text: read(t, target)}).anchors()[m[2]] {
				t.Errorf("%s links to %s#%s: there is no such heading", p.name, m[1], m[2])
			}
		}
	}
}

// TestMetrics looks up every metric that the pages name. metrics.md is held to
// the program by a test of its own.
func TestMetrics(t *testing.T) {
	known := make(map[string]bool)
	described := regexp.MustCompile("(?m)^\\| `(berth_\\w+)`")
	for _, name := range []string{"metrics.md", "observability.md"} {
		for _, m := range described.FindAllStringSubmatch(read(t, filepath.Join(operations, name)), -1) {
			known[m[1]] = true
		}
	}
	tables := map[string]bool{"berth_version": true, "berth_writers": true, "berth_changes": true, "berth_copy": true}
	mention := regexp.MustCompile(`\bberth_[a-z_]*[a-z]\b`)
	for _, p := range pages(t) {
		for _, c := range p.code() {
			for _, name := range mention.FindAllString(c, -1) {
				if !known[name] && !tables[name] {
					t.Errorf("%s names %s, which is no metric and no table", p.name, name)
				}
			}
		}
	}
}

// TestAlerts looks up every alert that the pages name.
func TestAlerts(t *testing.T) {
	rules := read(t, filepath.Join(operations, "alerts/berth.rules.yaml"))
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

// settings returns the names of all settings by group. settings.md is held to the
// program by a test of its own.
func settings(t *testing.T) map[string][]string {
	t.Helper()
	all := make(map[string][]string)
	group := ""
	row := regexp.MustCompile("^\\| `(\\w+)` \\|")
	for line := range strings.SplitSeq(read(t, filepath.Join(operations, "settings.md")), "\n") {
		if title, ok := strings.CutPrefix(line, "## ["); ok {
			group = strings.TrimSuffix(title, "]")
		} else if m := row.FindStringSubmatch(line); m != nil {
			all[group] = append(all[group], m[1])
		}
	}
	return all
}

// TestSettings looks up the settings that the pages name with their group, in
// text as in files.
func TestSettings(t *testing.T) {
	known := settings(t)
	if len(known) == 0 {
		t.Fatal("settings.md has no settings")
	}
	mention := regexp.MustCompile(`^\[(\w+)\](?: (\w+))?`)
	for _, p := range pages(t) {
		if p.name == "settings.md" {
			continue // it names groups that Berth passes over
		}
		for _, c := range p.code() {
			if m := mention.FindStringSubmatch(c); m != nil && m[2] != "" && !slices.Contains(known[m[1]], m[2]) {
				t.Errorf("%s names [%s] %s, which is no setting", p.name, m[1], m[2])
			}
		}
		for _, set := range p.files() {
			if _, ok := known[set.group]; ok && !slices.Contains(known[set.group], set.name) {
				t.Errorf("%s sets %s in [%s], which is no setting", p.name, set.name, set.group)
			}
		}
	}
}

// An assignment is a line of a file with settings.
type assignment struct{ group, name string }

// files returns the assignments in blocks that have groups.
func (p page) files() []assignment {
	var all []assignment
	group := ""
	title, set := regexp.MustCompile(`^\s+\[(\w+)\]$`), regexp.MustCompile(`^\s+(\w+) =`)
	for line := range strings.SplitSeq(p.text, "\n") {
		if m := title.FindStringSubmatch(line); m != nil {
			group = m[1]
		} else if m := set.FindStringSubmatch(line); m != nil {
			all = append(all, assignment{group, m[1]})
		} else if !strings.HasPrefix(line, "    ") {
			group = ""
		}
	}
	return all
}

// TestCommands asks the program for every command that the pages name, and
// whether it has the options that stand behind it.
func TestCommands(t *testing.T) {
	bin := server.Berth(t)
	helps := make(map[string]string)
	for _, p := range pages(t) {
		for _, c := range p.code() {
			for _, line := range commandLines(c) {
				command, options := split(line)
				help, ok := helps[command]
				if !ok {
					help = helpOf(t, bin, command)
					helps[command] = help
				}
				if help == "" {
					t.Errorf("%s: %q: there is no command %q", p.name, line, command)
					continue
				}
				for _, o := range options {
					if !regexp.MustCompile(`(?m)^ .*(?:^|[ ,])` + regexp.QuoteMeta(o) + `\b`).MatchString(help) {
						t.Errorf("%s: %q: %q has no option %s", p.name, line, command, o)
					}
				}
			}
		}
	}
	if len(helps) < 10 {
		t.Errorf("the pages name %d commands only: this test looks for the wrong thing", len(helps))
	}
}

var program = regexp.MustCompile(`(?:^|[ (<])(?:/usr/bin/)?berth ((?:placement|db|up|version|completion|man)\b[^|;)#]*)`)

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

// helpOf returns the help of a command, "" when there is none: for words that it
// does not know, the program prints the help of the command above.
func helpOf(t *testing.T, bin, command string) string {
	t.Helper()
	code, out := server.Run(t, time.Minute, bin, append(strings.Fields(command), "--help")...)
	if code != 0 || !strings.Contains(out, "berth "+command) {
		return ""
	}
	return out
}
