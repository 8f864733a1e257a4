package archtest

import (
	"io/fs"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"
)

var (
	code     = regexp.MustCompile("`([^`]+)`")
	goFile   = regexp.MustCompile(`^[\w/]+\.go$`)
	testName = regexp.MustCompile(`^[A-Z][A-Za-z]+(/|$)`)
)

// TestFilesOfDocuments requires the existence of each Go file that ARCHITECTURE.md and the
// decisions name, and in "Where to change what", where names are paths from the root, of each file
// and directory.
func TestFilesOfDocuments(t *testing.T) {
	text := architecture(t)
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
	pages, err := filepath.Glob(filepath.Join(root, "docs/decisions/*.md"))
	if err != nil || len(pages) == 0 {
		t.Fatalf("there are no decisions: %v", err)
	}
	for _, page := range append(pages, filepath.Join(root, "ARCHITECTURE.md")) {
		content, err := os.ReadFile(page)
		if err != nil {
			t.Fatal(err)
		}
		for _, m := range code.FindAllStringSubmatch(string(content), -1) {
			if goFile.MatchString(m[1]) &&
				!slices.ContainsFunc(files, func(f string) bool { return strings.HasSuffix(f, "/"+m[1]) }) {
				t.Errorf("%s names %s, which does not exist", filepath.Base(page), m[1])
			}
		}
	}
	where, found := 0, section(text, "Where to change what")
	for _, m := range code.FindAllStringSubmatch(found, -1) {
		if !strings.Contains(m[1], "/") {
			continue
		}
		where++
		if _, err := os.Stat(filepath.Join(root, m[1])); err != nil {
			t.Errorf("\"Where to change what\" names %s, which does not exist", m[1])
		}
	}
	if where < 20 {
		t.Errorf("\"Where to change what\" names %d files: this test looks for the wrong thing", where)
	}
}

// TestSequencesOfArchitecture requires that the sections about a read, a write and a boot name each
// Go file by its path from the root, and at most as many as somebody reads on the way.
func TestSequencesOfArchitecture(t *testing.T) {
	const most = 30
	for _, title := range []string{
		"A read: GET /allocation_candidates", "A write: PUT /allocations/{consumer}", "A boot: POST /servers",
	} {
		named := make(map[string]bool)
		for _, m := range code.FindAllStringSubmatch(section(architecture(t), title), -1) {
			if !goFile.MatchString(m[1]) {
				continue
			}
			named[m[1]] = true
			if _, err := os.Stat(filepath.Join(root, m[1])); err != nil {
				t.Errorf("%q names %s, which does not exist", title, m[1])
			}
		}
		if len(named) == 0 || len(named) > most {
			t.Errorf("%q names %d files, want 1 to %d", title, len(named), most)
		}
	}
}

// TestTestsOfArchitecture requires the existence of each test that the tables of ARCHITECTURE.md
// name, in the package named before it. Parts of a suite are methods or the names of subtests.
func TestTestsOfArchitecture(t *testing.T) {
	sources := make(map[string]string) // by package
	checked := 0
	for _, title := range []string{"Where to change what", "Invariants"} {
		for line := range strings.Lines(section(architecture(t), title)) {
			cells := strings.Split(strings.Trim(line, "| \n"), " | ")
			pkg := ""
			for _, m := range code.FindAllStringSubmatch(cells[len(cells)-1], -1) {
				name, _, _ := strings.Cut(m[1], "/")
				switch {
				case !strings.HasPrefix(line, "|"):
				case !testName.MatchString(m[1]):
					pkg = m[1]
				default:
					checked++
					if sources[pkg] == "" {
						sources[pkg] = source(t, pkg)
					}
					if !regexp.MustCompile(`\b` + name + `\b`).MatchString(sources[pkg]) {
						t.Errorf("ARCHITECTURE.md names the test %s of %s, which does not exist", name, pkg)
					}
				}
			}
		}
	}
	if checked < 100 {
		t.Errorf("the tables name %d tests: this test looks for the wrong thing", checked)
	}
}

const root = "../.."

func architecture(t *testing.T) string {
	t.Helper()
	text, err := os.ReadFile(filepath.Join(root, "ARCHITECTURE.md"))
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
