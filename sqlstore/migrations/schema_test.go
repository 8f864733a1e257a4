package migrations_test

import (
	"regexp"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/berthcloud/berth/sqlstore/migrations"
)

var (
	createTable = regexp.MustCompile(`(?s)^CREATE TABLE (?:IF NOT EXISTS )?"?(\w+)"? \((.*)\)[^)]*$`)
	createIndex = regexp.MustCompile(`^CREATE INDEX (\w+) ON (\w+) (\(.*\))$`)
	alterTable  = regexp.MustCompile(`(?s)ALTER TABLE (\w+)\s+(ADD .*\w\)?)`)
	executing   = regexp.MustCompile(`^(PREPARE|EXECUTE|DEALLOCATE PREPARE) `)
	added       = regexp.MustCompile(`^ADD (COLUMN )?`)
)

// definitions returns what statements define of each table: its columns,
// constraints and indexes, in the order of the statements.
func definitions(t *testing.T, statements []string) map[string][]string {
	t.Helper()
	all := make(map[string][]string)
	for _, s := range statements {
		if m := createTable.FindStringSubmatch(s); m != nil {
			all[m[1]] = append(all[m[1]], lines(m[2])...)
		} else if m := createIndex.FindStringSubmatch(s); m != nil {
			all[m[2]] = append(all[m[2]], "INDEX "+m[1]+" "+m[3])
		} else if m := alterTable.FindStringSubmatch(s); m != nil {
			all[m[1]] = append(all[m[1]], lines(m[2])...)
		} else if !executing.MatchString(s) {
			t.Fatalf("the test does not understand %q", s)
		}
	}
	return all
}

// lines returns the definitions in a list, one a line.
func lines(list string) []string {
	var all []string
	for d := range strings.SplitSeq(list, ",\n") {
		all = append(all, added.ReplaceAllString(strings.TrimSpace(d), ""))
	}
	return all
}

func split(text string) []string {
	var all []string
	for s := range strings.SplitSeq(text, ";\n") {
		if s = strings.TrimSpace(s); s != "" {
			all = append(all, s)
		}
	}
	return all
}

func schema(t *testing.T, database string) []string {
	t.Helper()
	text, err := migrations.Schema(database)
	if err != nil {
		t.Fatal(err)
	}
	return split(text)
}

// chain returns the statements that lead to Target from a revision.
func chain(t *testing.T, database, from string) []string {
	t.Helper()
	var all []string
	for _, step := range migrations.After(from) {
		script, err := migrations.Script(database, step.ID)
		if err != nil {
			t.Fatal(err)
		}
		all = append(all, script...)
	}
	return all
}

// SQLite copies a table to change it; for it, sqlstore has the test that runs
// the statements.
func TestSchemaFileIsTheSumOfTheSteps(t *testing.T) {
	for _, database := range []string{"mysql", "postgresql"} {
		t.Run(database, func(t *testing.T) {
			sum := definitions(t, append(chain(t, database, ""), migrations.VersionTable))
			file := definitions(t, schema(t, database))
			for _, all := range []map[string][]string{sum, file} {
				for _, list := range all {
					slices.Sort(list)
				}
			}
			if diff := cmp.Diff(file, sum); diff != "" {
				t.Errorf("schema.sql differs from the steps (-file +steps):\n%s", diff)
			}
		})
	}
}

// A step that can be cut short anywhere is one that can be run again.
func TestMySQLStepsDoNotMindWhatIsThere(t *testing.T) {
	for _, s := range chain(t, "mysql", "") {
		again := strings.HasPrefix(s, "CREATE TABLE IF NOT EXISTS ") ||
			strings.HasPrefix(s, "SET @berth_step = IF(EXISTS (") || executing.MatchString(s)
		if !again {
			t.Errorf("this cannot be run again: %s", s)
		}
	}
}

func TestScriptsHaveNoComments(t *testing.T) {
	for _, database := range databases {
		for _, s := range append(own(t, database), chain(t, database, "")...) {
			if strings.Contains(s, "--") || strings.Contains(s, ";") || strings.Contains(s, "?") {
				t.Errorf("%s: not one statement without comments and placeholders: %q", database, s)
			}
		}
	}
}

func TestUnknownDatabasesAreErrors(t *testing.T) {
	if got, err := migrations.Script("oracle", migrations.Target); err == nil {
		t.Errorf("Script(oracle) = %q, want an error", got)
	}
	if got, err := migrations.Schema("oracle"); err == nil {
		t.Errorf("Schema(oracle) = %q, want an error", got)
	}
	if got, err := migrations.OwnScript("oracle", 1); err == nil {
		t.Errorf("OwnScript(oracle) = %q, want an error", got)
	}
	if got, err := migrations.OwnScript("mysql", migrations.OwnVersion+1); err == nil {
		t.Errorf("OwnScript of a later version = %q, want an error", got)
	}
}

// own returns the statements of all versions of Berth's own tables.
func own(t *testing.T, database string) (all []string) {
	t.Helper()
	for version := range migrations.OwnVersion {
		script, err := migrations.OwnScript(database, version+1)
		if err != nil {
			t.Fatal(err)
		}
		all = append(all, script...)
	}
	return all
}

func TestOwnTablesAreThoseOfTheList(t *testing.T) {
	for _, database := range databases {
		var got []string
		for _, s := range own(t, database) {
			if m := createTable.FindStringSubmatch(s); m != nil && strings.Contains(s, "IF NOT EXISTS") {
				got = append(got, m[1])
			}
		}
		if diff := cmp.Diff(migrations.Own, got); diff != "" {
			t.Errorf("%s makes other tables than Own (-Own +made):\n%s", database, diff)
		}
	}
}
