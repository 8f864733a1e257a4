package archtest

import (
	"io/fs"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"
	"unicode/utf8"

	"github.com/berthcloud/berth/microversion"
)

var (
	code     = regexp.MustCompile("`([^`]+)`")
	goFile   = regexp.MustCompile(`^[\w/]+\.go$`)
	goName   = regexp.MustCompile(`^([a-z]\w*)\.([A-Z]\w*)$`)
	testName = regexp.MustCompile(`^[A-Z][A-Za-z]+(/|$)`)
)

const root = "../.."

// developerDocuments are the pages about the code, from the root.
func developerDocuments(t *testing.T) []string {
	t.Helper()
	pages, err := filepath.Glob(filepath.Join(root, "docs/decisions/*.md"))
	if err != nil || len(pages) == 0 {
		t.Fatalf("there are no decisions: %v", err)
	}
	for i, page := range pages {
		pages[i] = strings.TrimPrefix(filepath.ToSlash(page), root+"/")
	}
	return append(pages, "ARCHITECTURE.md", "CONTRIBUTING.md", "docs/invariants.md")
}

// TestFilesOfDocuments requires the existence of each Go file that the documents for developers
// name.
func TestFilesOfDocuments(t *testing.T) {
	var files []string
	err := filepath.WalkDir(root, func(path string, d fs.DirEntry, err error) error {
		if err == nil && strings.HasSuffix(path, ".go") {
			files = append(files, filepath.ToSlash(path))
		}
		return err
	})
	if err != nil {
		t.Fatal(err)
	}
	for _, page := range developerDocuments(t) {
		for _, m := range code.FindAllStringSubmatch(read(t, page), -1) {
			if goFile.MatchString(m[1]) &&
				!slices.ContainsFunc(files, func(f string) bool { return strings.HasSuffix(f, "/"+m[1]) }) {
				t.Errorf("%s names %s, which does not exist", page, m[1])
			}
		}
	}
}

// TestWhereToChangeWhat requires that the table in CONTRIBUTING.md names files and directories that
// exist, by their paths from the root.
func TestWhereToChangeWhat(t *testing.T) {
	checked := 0
	for line := range strings.Lines(section(read(t, "CONTRIBUTING.md"), "Where to change what")) {
		for _, m := range code.FindAllStringSubmatch(line, -1) {
			path := strings.TrimSuffix(m[1], "/...")
			if !strings.Contains(m[1], "/") || strings.Contains(path, " ") {
				continue
			}
			checked++
			if _, err := os.Stat(filepath.Join(root, path)); err != nil {
				t.Errorf("\"Where to change what\" names %s, which does not exist", path)
			}
		}
	}
	if checked < 100 {
		t.Errorf("\"Where to change what\" names %d files: this test looks for the wrong thing", checked)
	}
}

// TestNamesOfArchitecture requires that the packages and the Go names in ARCHITECTURE.md exist, and
// that it is a page that somebody reads.
func TestNamesOfArchitecture(t *testing.T) {
	const longest = 15_000
	text, all := read(t, "ARCHITECTURE.md"), packages(t)
	if len(text) > longest {
		t.Errorf("ARCHITECTURE.md has %d bytes, at most %d", len(text), longest)
	}
	checked := 0
	for _, m := range code.FindAllStringSubmatch(text, -1) {
		if path := m[1]; strings.Contains(path, "/") && !strings.ContainsAny(path, " …") {
			checked++
			if _, err := os.Stat(filepath.Join(root, path)); err != nil {
				t.Errorf("ARCHITECTURE.md names %s, which does not exist", path)
			}
		}
		name := goName.FindStringSubmatch(m[1])
		if name == nil {
			continue
		}
		checked++
		declared := regexp.MustCompile(`(?m)^\s*(?:type |func |func \(.*\) )?` + name[2] + `\b`)
		found := false
		for pkg := range all {
			found = found || strings.HasSuffix("/"+pkg, "/"+name[1]) && declared.MatchString(source(t, pkg))
		}
		if !found {
			t.Errorf("ARCHITECTURE.md names %s, which no package %s declares", m[1], name[1])
		}
	}
	if checked < 30 {
		t.Errorf("ARCHITECTURE.md names %d packages: this test looks for the wrong thing", checked)
	}
}

// TestTestsOfDocuments requires the existence of each test that the tables of invariants and of
// "Where to change what" name, in the package named before it. Parts of a suite are methods or the
// names of subtests.
func TestTestsOfDocuments(t *testing.T) {
	sources := make(map[string]string) // by package
	for page, text := range map[string]string{
		"docs/invariants.md": read(t, "docs/invariants.md"),
		"CONTRIBUTING.md":    section(read(t, "CONTRIBUTING.md"), "Where to change what"),
	} {
		checked := 0
		for line := range strings.Lines(text) {
			if !strings.HasPrefix(line, "|") {
				continue
			}
			cells := strings.Split(strings.Trim(line, "| \n"), " | ")
			pkg := ""
			for _, m := range code.FindAllStringSubmatch(cells[len(cells)-1], -1) {
				name, _, _ := strings.Cut(m[1], "/")
				if !testName.MatchString(m[1]) {
					pkg = m[1]
					continue
				}
				checked++
				if sources[pkg] == "" {
					sources[pkg] = source(t, pkg)
				}
				if !regexp.MustCompile(`\b` + name + `\b`).MatchString(sources[pkg]) {
					t.Errorf("%s names the test %s of %s, which does not exist", page, name, pkg)
				}
			}
		}
		if checked < 50 {
			t.Errorf("%s names %d tests: this test looks for the wrong thing", page, checked)
		}
	}
}

// TestDecisionsAreListed requires that each decision has a title with its number and a status, and
// that docs/decisions/README.md has a line with both.
func TestDecisionsAreListed(t *testing.T) {
	title := regexp.MustCompile(`^# (\d+)\. (.+)\n\nStatus: (accepted)(?s:; .+?)?\.\n\n`)
	index := read(t, "docs/decisions/README.md")
	line := regexp.MustCompile(`(?m)^\| \d+ \| .+ \| (accepted|superseded|withdrawn)\b.* \|$`)
	listed := line.FindAllString(index, -1)
	for _, page := range developerDocuments(t) {
		name, ok := strings.CutPrefix(page, "docs/decisions/")
		if !ok || name == "README.md" {
			continue
		}
		m := title.FindStringSubmatch(read(t, page))
		if m == nil {
			t.Errorf("%s does not begin with its number, its title and a line such as \"Status: accepted.\"", page)
			continue
		}
		want := "| " + m[1] + " | [" + m[2] + "](" + name + ") | " + m[3]
		if !slices.ContainsFunc(listed, func(l string) bool { return strings.HasPrefix(l, want) }) {
			t.Errorf("docs/decisions/README.md has no line %q", want)
		}
	}
	if rows := strings.Count(index, "\n| ") - 1; rows != len(listed) {
		t.Errorf("docs/decisions/README.md has %d decisions, %d of them with a status", rows, len(listed))
	}
}

// TestDocumentsAreWrapped refuses long lines in documents. Tables, code, pictures and the targets
// of links are as long as they need to be.
func TestDocumentsAreWrapped(t *testing.T) {
	const longest = 100
	link := regexp.MustCompile(`\]\([^)]*\)`)
	pages := append(developerDocuments(t), "README.md", "CHANGELOG.md")
	for _, pattern := range []string{"docs/*.md", "docs/api/*.md", "docs/operations/*.md"} {
		found, err := filepath.Glob(filepath.Join(root, pattern))
		if err != nil || len(found) == 0 {
			t.Fatalf("there is no %s: %v", pattern, err)
		}
		for _, page := range found {
			pages = append(pages, strings.TrimPrefix(filepath.ToSlash(page), root+"/"))
		}
	}
	for _, page := range pages {
		fenced := false
		for i, line := range strings.Split(read(t, page), "\n") {
			if strings.HasPrefix(strings.TrimSpace(line), "```") {
				fenced = !fenced
			}
			drawing := strings.HasPrefix(line, "    ") && !strings.HasPrefix(strings.TrimSpace(line), "* ")
			if fenced || drawing || strings.HasPrefix(strings.TrimSpace(line), "|") || strings.HasPrefix(line, "![") {
				continue
			}
			if n := utf8.RuneCountInString(link.ReplaceAllString(line, "]()")); n > longest {
				t.Errorf("%s:%d: %d columns, at most %d", page, i+1, n, longest)
			}
		}
	}
}

// read returns the text of a file, by its path from the root.
func read(t *testing.T, path string) string {
	t.Helper()
	text, err := os.ReadFile(filepath.Join(root, path))
	if err != nil {
		t.Fatal(err)
	}
	return string(text)
}

// section returns the text below a heading of the second level.
func section(text, title string) string {
	_, text, _ = strings.Cut(text, "\n## "+title+"\n")
	text, _, _ = strings.Cut(text, "\n## ")
	return text
}

// source returns all files of a package, one after the other.
func source(t *testing.T, pkg string) string {
	t.Helper()
	files, err := filepath.Glob(filepath.Join(root, pkg, "*.go"))
	if err != nil {
		t.Fatal(err)
	}
	var all strings.Builder
	for _, f := range files {
		text, err := os.ReadFile(f)
		if err != nil {
			t.Fatal(err)
		}
		all.Write(text)
	}
	return all.String()
}

// TestDocumentsNameTheNewestVersion requires of what cannot derive it the newest microversion of
// Placement that microversion.Placement has: of documents that say which there are, and of the
// tests that see the program from outside.
func TestDocumentsNameTheNewestVersion(t *testing.T) {
	newest := microversion.Placement.Max().String()
	said := regexp.MustCompile(`1\.0 to (1\.[0-9]+)|Newest += "(1\.[0-9]+)"`)
	for _, path := range []string{
		"README.md", "docs/api/README.md", "docs/operations/placement.md", "internal/rest/rest.go",
	} {
		found := said.FindAllStringSubmatch(read(t, path), -1)
		if len(found) == 0 {
			t.Errorf("%s does not name the newest microversion of Placement any more", path)
		}
		for _, m := range found {
			if got := m[1] + m[2]; got != newest {
				t.Errorf("%s names %s, want %s as the newest microversion of Placement", path, got, newest)
			}
		}
	}
}
