package sqlstore_test

import (
	"context"
	"database/sql"
	"errors"
	"os/exec"
	"path/filepath"
	"regexp"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/berthcloud/berth/internal/golden"
	"github.com/berthcloud/berth/internal/racetest"
	"github.com/berthcloud/berth/internal/upstreamtest"
	"github.com/berthcloud/berth/sqlstore"
	"github.com/berthcloud/berth/sqlstore/migrations"
)

// schemaOf returns the statements that made a database, each table followed by
// its indexes, in the order of their names.
func schemaOf(tb testing.TB, path string) []string {
	tb.Helper()
	db, err := sql.Open("sqlite", "file:"+path+"?mode=ro")
	if err != nil {
		tb.Fatal(err)
	}
	defer db.Close()
	rows, err := db.Query(`SELECT sql FROM sqlite_master WHERE sql IS NOT NULL ORDER BY tbl_name, type DESC, name`)
	if err != nil {
		tb.Fatal(err)
	}
	defer rows.Close()
	var all []string
	for rows.Next() {
		var text string
		if err := rows.Scan(&text); err != nil {
			tb.Fatal(err)
		}
		all = append(all, text)
	}
	return all
}

var blanks = regexp.MustCompile(`\s+`)

// plain drops what differs in layout only.
func plain(statements []string) []string {
	out := make([]string, len(statements))
	for i, s := range statements {
		s = blanks.ReplaceAllString(s, " ")
		for _, mark := range []string{"(", ")", ","} {
			s = strings.ReplaceAll(strings.ReplaceAll(s, " "+mark, mark), mark+" ", mark)
		}
		out[i] = strings.ReplaceAll(s, `"`, "")
	}
	return out
}

func fresh(tb testing.TB) string {
	path := filepath.Join(tb.TempDir(), "fresh.db")
	if err := open(tb, sqlstore.Options{Path: path}).Close(); err != nil {
		tb.Fatal(err)
	}
	return path
}

func TestSchemaFileIsTheSumOfTheMigrations(t *testing.T) {
	got := strings.Join(schemaOf(t, fresh(t)), ";\n\n") + ";\n"
	golden.Compare(t, "migrations/sqlite/schema.sql", got)
}

// upstream runs Debian's placement-manage on a database.
func upstream(t *testing.T, path string, args ...string) string {
	t.Helper()
	const tool = "/usr/bin/placement-manage"
	upstreamtest.Need(t, "placement-api", tool)
	conf := filepath.Join(t.TempDir(), "placement.conf")
	mustWrite(t, conf, "[placement_database]\nconnection = sqlite:///"+path+"\n", 0o600)
	out, err := exec.Command(tool, append([]string{"--config-file", conf}, args...)...).CombinedOutput()
	if err != nil {
		t.Fatalf("placement-manage %v: %v\n%s", args, err, out)
	}
	return string(out)
}

func TestSchemaIsUpstreams(t *testing.T) {
	racetest.Skip(t)
	theirs := filepath.Join(t.TempDir(), "upstream.db")
	upstream(t, theirs, "db", "sync")
	ours := fresh(t)
	if diff := cmp.Diff(plain(schemaOf(t, theirs)), plain(schemaOf(t, ours))); diff != "" {
		t.Errorf("schemas differ (-upstream +berth):\n%s", diff)
	}
	s := open(t, sqlstore.Options{Path: theirs})
	if err := addProvider(s, "a"); err != nil {
		t.Errorf("writing to upstream's database: %v", err)
	}
	if err := s.Close(); err != nil {
		t.Error(err)
	}
	for _, path := range []string{theirs, ours} {
		upstream(t, path, "db", "sync")
		if got := upstream(t, path, "db", "version"); !strings.Contains(got, migrations.Target) {
			t.Errorf("upstream says of %s: %s", path, got)
		}
	}
}

const (
	oldProvider   = `INSERT INTO resource_providers (id, uuid, name, root_provider_id) VALUES (1, 'a', 'a', 1)`
	oldRootless   = `INSERT INTO resource_providers (id, uuid, name) VALUES (2, 'b', 'b')`
	oldAllocation = `INSERT INTO allocations (resource_provider_id, consumer_id, resource_class_id, used) VALUES (1, ` +
		`'vm', 0, 1)`
	oldConsumer = `INSERT INTO consumers (uuid, project_id, user_id) VALUES ('vm', 1, 1)`
)

func TestOldSchemasAreUpgradedWhenAllowed(t *testing.T) {
	for _, revision := range []string{"b4ed3a175331", "611cd6dffd7b", "b5c396305c25"} {
		path := old(t, revision, oldProvider, oldAllocation, oldConsumer)
		refused(t, path, "revision "+revision+", older than")
		s := open(t, sqlstore.Options{Path: path, Sync: true})
		if diff := cmp.Diff([]string{"a"}, providerNames(t, s)); diff != "" {
			t.Errorf("providers (-want +got):\n%s", diff)
		}
		if err := s.Close(); err != nil {
			t.Error(err)
		}
		if diff := cmp.Diff(schemaOf(t, fresh(t)), schemaOf(t, path)); diff != "" {
			t.Errorf("schema after the upgrade from %s (-fresh +upgraded):\n%s", revision, diff)
		}
		open(t, sqlstore.Options{Path: path})
	}
}

func TestUpgradesAreBlockedByIncompleteRows(t *testing.T) {
	for _, test := range []struct{ revision, row, want string }{
		{"b4ed3a175331", oldRootless, "1 resource providers without a root"},
		{"b4ed3a175331", oldAllocation, "1 allocations without a consumer"},
		{"611cd6dffd7b", oldAllocation, "1 allocations without a consumer"},
	} {
		path := old(t, test.revision, test.row)
		before := contents(t, path)
		_, err := sqlstore.Open(context.Background(), sqlstore.Options{Path: path, Sync: true})
		if err == nil || !strings.Contains(err.Error(), test.want) {
			t.Errorf("Open() = %v, want it to say %q", err, test.want)
		}
		if contents(t, path) != before {
			t.Errorf("the file was changed: %v", err)
		}
	}
}

// The newest revision drops indexes and nothing else.
func TestNewestSchemaIsAccepted(t *testing.T) {
	path := fresh(t)
	makeFile(t, path,
		`DROP INDEX inventories_resource_provider_id_idx`,
		`DROP INDEX inventories_resource_provider_resource_class_idx`,
		`DROP INDEX ix_placement_aggregates_uuid`,
		`DROP INDEX resource_providers_name_idx`,
		`DROP INDEX resource_providers_uuid_idx`,
		`UPDATE alembic_version SET version_num = 'a082b8bb98d0'`)
	want := schemaOf(t, path)
	s := open(t, sqlstore.Options{Path: path, Sync: true})
	if err := errors.Join(addProvider(s, "a"), s.Close()); err != nil {
		t.Error(err)
	}
	if diff := cmp.Diff(want, schemaOf(t, path)); diff != "" {
		t.Errorf("schema (-before +after):\n%s", diff)
	}
}

// Upstream does not look at the revision unless it is to upgrade, so a database
// that has all the tables and no revision is one that it runs on.
func TestTablesWithoutARevisionAreAccepted(t *testing.T) {
	path := fresh(t)
	makeFile(t, path, `DROP TABLE alembic_version`)
	want := schemaOf(t, path)
	s := open(t, sqlstore.Options{Path: path, Sync: true})
	if err := errors.Join(addProvider(s, "a"), s.Close()); err != nil {
		t.Error(err)
	}
	if diff := cmp.Diff(want, schemaOf(t, path)); diff != "" {
		t.Errorf("schema (-before +after):\n%s", diff)
	}
}
