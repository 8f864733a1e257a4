package main

import (
	"io/fs"
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"testing"

	"github.com/berthcloud/berth/sqlstore/migrations"
)

// documents returns all pages by their paths in the repository.
func documents(t *testing.T) map[string]string {
	t.Helper()
	pages := map[string]string{}
	for _, below := range []string{"README.md", "ARCHITECTURE.md", "CONTRIBUTING.md", "docs"} {
		err := filepath.WalkDir(filepath.Join("../..", below), func(path string, e fs.DirEntry, err error) error {
			if err != nil || e.IsDir() || filepath.Ext(path) != ".md" {
				return err
			}
			text, err := os.ReadFile(path)
			pages[strings.TrimPrefix(filepath.ToSlash(path), "../../")] = string(text)
			return err
		})
		if err != nil {
			t.Fatal(err)
		}
	}
	return pages
}

// Pages about Berth's own tables in placement's database name all of them, and none has another
// number.
func TestDocumentsNameOwnTables(t *testing.T) {
	pages := documents(t)
	_, help, _ := berth(t, "db", "uninstall", "--help")
	pages["berth db uninstall --help"] = help
	for _, page := range []string{
		"ARCHITECTURE.md", "docs/operations/database-tools.md", "docs/operations/migration.md", "docs/operations/sizing.md",
		"docs/decisions/0012-change-log.md", "berth db uninstall --help",
	} {
		for _, table := range migrations.Own {
			if !strings.Contains(pages[page], table) {
				t.Errorf("%s does not name %s", page, table)
			}
		}
	}
	number := regexp.MustCompile(`own (?:\[)?(one|two|three|four|five|six|[0-9]+) tables`)
	for page, text := range pages {
		for _, m := range number.FindAllStringSubmatch(text, -1) {
			if m[1] != "four" {
				t.Errorf("%s says %q; there are %d", page, m[0], len(migrations.Own))
			}
		}
	}
}

// nova-manage and nova-status work on upstream's Nova: a page that refers to them says so, as
// Berth's compute service has none of its tables.
func TestDocumentsSayWhoseNovaManage(t *testing.T) {
	wrapped := regexp.MustCompile(`\n +([^ *|\d])|\n([^\s*|#\d])`) // a line that goes on with the one before
	for page, text := range documents(t) {
		for line := range strings.Lines(wrapped.ReplaceAllString(text, " $1$2")) {
			if regexp.MustCompile(`nova-(manage|status)`).MatchString(line) && !strings.Contains(line, "pstream's Nova") {
				t.Errorf("%s does not say that this is of upstream's Nova: %s", page, line)
			}
		}
	}
}
