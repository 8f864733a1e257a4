package guide

import (
	"os"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
)

// A page is a document with commands and their output.
type page struct {
	path     string
	lines    []string
	commands []*typed
}

func readPage(t *testing.T, path string) *page {
	t.Helper()
	data, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	p := &page{path: path, lines: strings.Split(string(data), "\n")}
	if p.commands = commandsOf(p.lines); len(p.commands) < 15 {
		t.Fatalf("%s has %d commands: this test looks for the wrong thing", path, len(p.commands))
	}
	return p
}

// printed is the output on the page of the command that begins with a text.
func (p *page) printed(t *testing.T, begin string) string {
	t.Helper()
	for _, c := range p.commands {
		if strings.HasPrefix(c.line, begin) {
			return c.want
		}
	}
	t.Fatalf("%s does not have the command %s", p.path, begin)
	return ""
}

// compare runs the commands and compares their output with the page, but ids that are not known;
// with -record it writes the output.
func (p *page) compare(t *testing.T, known string, run func(*typed) string) {
	t.Helper()
	lines, added := p.lines, 0 // by -record
	for _, c := range p.commands {
		got := run(c)
		if *record && !strings.Contains(c.want, left) {
			count := strings.Count(c.want, "\n")
			at := c.end + added
			var block []string
			for line := range strings.Lines(got) {
				if line = strings.TrimRight(line, " \n"); line != "" {
					block = append(block, "    "+line)
				}
			}
			lines = append(lines[:at-count:at-count], append(block, lines[at:]...)...)
			added += len(block) - count
			continue
		}
		want, printed := stable(c.want, known), stable(got, known)
		if strings.Contains(c.want, left) {
			printed = kept(want, printed)
		}
		if d := cmp.Diff(want, printed); d != "" {
			t.Errorf("%s: %s (-page +printed)\n%s", p.path, c.line, d)
		}
	}
	if *record {
		if err := os.WriteFile(p.path, []byte(strings.Join(lines, "\n")), 0o644); err != nil {
			t.Fatal(err)
		}
	}
}
