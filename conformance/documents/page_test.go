package documents

import (
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"
)

const operations = "../../docs/operations"

// A page is one of the documents.
type page struct {
	name string
	text string
}

// pages reads all of them.
func pages(t *testing.T) []page {
	t.Helper()
	files, err := filepath.Glob(filepath.Join(operations, "*.md"))
	if err != nil {
		t.Fatal(err)
	}
	if len(files) == 0 {
		t.Fatalf("%s has no pages", operations)
	}
	var all []page
	for _, f := range files {
		all = append(all, page{filepath.Base(f), read(t, f)})
	}
	return all
}

func read(t *testing.T, path string) string {
	t.Helper()
	data, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	return string(data)
}

var inlineCode = regexp.MustCompile("`([^`]+)`")

// code returns what the page sets as code: the lines of its blocks, with those
// that a backslash continues joined, and the pieces within its text.
func (p page) code() []string {
	var all []string
	text := strings.ReplaceAll(p.text, "\\\n", " ")
	for _, line := range strings.Split(text, "\n") {
		if block, ok := strings.CutPrefix(line, "    "); ok {
			all = append(all, strings.TrimSpace(block))
		}
	}
	prose := strings.ReplaceAll(p.prose(), "\n", " ")
	for _, m := range inlineCode.FindAllStringSubmatch(prose, -1) {
		all = append(all, m[1])
	}
	return all
}

// prose returns the lines that are not in blocks.
func (p page) prose() string {
	var lines []string
	fenced := false
	for line := range strings.SplitSeq(p.text, "\n") {
		switch {
		case strings.HasPrefix(line, "```"):
			fenced = !fenced
		case !fenced && !strings.HasPrefix(line, "    "):
			lines = append(lines, line)
		}
	}
	return strings.Join(lines, "\n")
}

// block returns the lines of the indented block of a page in which a line begins with first, or
// ends the test.
func (p page) block(t *testing.T, first string) []string {
	t.Helper()
	lines := strings.Split(p.text, "\n")
	at := slices.IndexFunc(lines, func(line string) bool { return strings.HasPrefix(strings.TrimSpace(line), first) })
	if at < 0 {
		t.Fatalf("%s has no line %q", p.name, first)
	}
	indent := lines[at][:len(lines[at])-len(strings.TrimLeft(lines[at], " "))]
	var block []string
	for _, line := range lines[at:] {
		if strings.TrimSpace(line) != "" && !strings.HasPrefix(line, indent) {
			break
		}
		block = append(block, strings.TrimPrefix(line, indent))
	}
	return block
}

var heading = regexp.MustCompile(`(?m)^#+ (.+)$`)

// anchors returns what a link may have behind its #, as the usual renderers of
// Markdown make it of the headings.
func (p page) anchors() map[string]bool {
	all := map[string]bool{"": true}
	for _, m := range heading.FindAllStringSubmatch(p.text, -1) {
		all[anchor(m[1])] = true
	}
	return all
}

var notInAnchors = regexp.MustCompile(`[^\pL\pN _-]`)

func anchor(title string) string {
	return strings.ReplaceAll(notInAnchors.ReplaceAllString(strings.ToLower(title), ""), " ", "-")
}
