package migrations_test

import (
	"database/sql"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/berthcloud/berth/internal/racetest"
	"github.com/berthcloud/berth/sqlstore/migrations"
)

const first = "b4ed3a175331"

// same reports tables that differ.
func (s server) same(t *testing.T, what string, want, got catalog) {
	t.Helper()
	if len(want) == 0 {
		t.Errorf("%s: there is nothing to compare with", what)
	}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Errorf("%s (-want +got):\n%s", what, diff)
	}
}

func TestTablesAreUpstreams(t *testing.T) {
	racetest.Skip(t)
	onServers(t, func(t *testing.T, s server) {
		theirs, address := s.database(t)
		upstreamTo(t, address, first)
		ours, _ := s.at(t, first)
		s.same(t, "the first revision", s.catalog(t, theirs), s.catalog(t, ours))

		upstream(t, address, "db", "sync")
		want := s.catalog(t, theirs)
		run(t, ours, chain(t, s.name, first)...)
		s.same(t, "the steps from the first revision on", want, s.catalog(t, ours))

		fresh, address := s.at(t, migrations.Target)
		s.same(t, "all steps at once", want, s.catalog(t, fresh))

		run(t, fresh, own(t, s.name)...)
		want = s.catalog(t, fresh)
		upstream(t, address, "db", "sync")
		s.same(t, "upstream's upgrade of our database", want, s.catalog(t, fresh))
		if got := strings.TrimSpace(upstream(t, address, "db", "version")); got != migrations.Target {
			t.Errorf("upstream says of our database: %q, want %s", got, migrations.Target)
		}
	})
}

func TestSchemaFileMakesWhatTheStepsMake(t *testing.T) {
	onServers(t, func(t *testing.T, s server) {
		steps, _ := s.at(t, migrations.Target)
		file, _ := s.database(t)
		run(t, file, schema(t, s.name)...)
		s.same(t, "schema.sql", s.catalog(t, steps), s.catalog(t, file))
	})
}

func TestUpstreamUpgradesWhatWeBegan(t *testing.T) {
	racetest.Skip(t)
	onServers(t, func(t *testing.T, s server) {
		begun, address := s.at(t, first)
		run(t, begun, provider, consumer)
		upstream(t, address, "db", "sync")
		whole, _ := s.at(t, migrations.Target)
		s.same(t, "after upstream's upgrade", s.catalog(t, begun), s.catalog(t, whole))
	})
}

const (
	provider   = `INSERT INTO resource_providers (id, uuid, name, root_provider_id) VALUES (1, 'a', 'a', 1)`
	rootless   = `INSERT INTO resource_providers (id, uuid, name) VALUES (2, 'b', 'b')`
	allocation = `INSERT INTO allocations (resource_provider_id, consumer_id, resource_class_id, used) VALUES (1, 'vm', ` +
		`0, 1)`
	consumer = `INSERT INTO consumers (uuid, project_id, user_id) VALUES ('vm', 1, 1)`
)

// blockers counts what forbids each step that checks.
func blockers(t *testing.T, db *sql.DB) []int {
	t.Helper()
	var all []int
	for _, step := range migrations.After("") {
		if step.Blockers == "" {
			continue
		}
		var n int
		if err := db.QueryRow(step.Blockers).Scan(&n); err != nil {
			t.Fatal(err)
		}
		all = append(all, n)
	}
	return all
}

func TestBlockersAreCounted(t *testing.T) {
	onServers(t, func(t *testing.T, s server) {
		db, _ := s.at(t, first)
		for _, step := range []struct {
			row  string
			want []int
		}{
			{provider, []int{0, 0}},
			{rootless, []int{1, 0}},
			{allocation, []int{1, 1}},
			{consumer, []int{1, 0}},
		} {
			run(t, db, step.row)
			if diff := cmp.Diff(step.want, blockers(t, db)); diff != "" {
				t.Errorf("after %s (-want +got):\n%s", step.row, diff)
			}
		}
	})
}

func TestRowsSurviveTheSteps(t *testing.T) {
	onServers(t, func(t *testing.T, s server) {
		db, _ := s.at(t, first)
		run(t, db, provider, allocation, consumer)
		run(t, db, chain(t, s.name, first)...)
		var n int
		if err := db.QueryRow(`
SELECT COUNT(*)
FROM consumers
WHERE uuid = 'vm' AND generation = 0 AND consumer_type_id IS NULL`).Scan(&n); err != nil || n != 1 {
			t.Errorf("%d consumers, %v, want the 1 there was", n, err)
		}
	})
}

// MySQL keeps what the statements before a crash did: wherever it comes, running
// all of them again ends the same.
func TestMySQLStepsCanBeCutShort(t *testing.T) {
	s := servers[0]
	whole, _ := s.at(t, migrations.Target)
	want := s.catalog(t, whole)
	delete(want, "alembic_version")
	db, _ := s.database(t)
	all := chain(t, s.name, "")
	for n := range all {
		run(t, db, all[:n+1]...)
	}
	s.same(t, "after all these beginnings", want, s.catalog(t, db))
}

func TestOwnTablesAreMadeOnce(t *testing.T) {
	onServers(t, func(t *testing.T, s server) {
		db, _ := s.at(t, migrations.Target)
		before := s.catalog(t, db)
		first, err := migrations.OwnScript(s.name, 1)
		if err != nil {
			t.Fatal(err)
		}
		run(t, db, first...)
		run(t, db, `INSERT INTO berth_version (version) VALUES (1)`)
		run(t, db, first...)
		after := s.catalog(t, db)
		var version int
		if err := db.QueryRow(`SELECT version FROM berth_version`).Scan(&version); err != nil || version != 1 {
			t.Errorf("the version is %d, %v, want the 1 that was there", version, err)
		}
		for _, name := range slices.Backward(migrations.Own) {
			if after[name] == "" {
				t.Errorf("there is no table %s", name)
			}
			run(t, db, `DROP TABLE `+name)
		}
		s.same(t, "without the own tables again", before, s.catalog(t, db))
	})
}

// doubled are the indexes that the newest revision drops.
var doubled = []struct{ table, index string }{
	{"inventories", "inventories_resource_provider_id_idx"},
	{"inventories", "inventories_resource_provider_resource_class_idx"},
	{"placement_aggregates", "ix_placement_aggregates_uuid"},
	{"resource_providers", "resource_providers_name_idx"},
	{"resource_providers", "resource_providers_uuid_idx"},
}

func TestConstraintsStandWithoutTheDoubledIndexes(t *testing.T) {
	const inventory = `
INSERT INTO inventories (resource_provider_id, resource_class_id, total, reserved, min_unit, max_unit, step_size, allocation_ratio)
VALUES (1, 0, 1, 0, 1, 1, 1, 1.0)`
	onServers(t, func(t *testing.T, s server) {
		db, _ := s.at(t, migrations.Target)
		for _, d := range doubled {
			drop := `DROP INDEX ` + d.index
			if s.name == "mysql" {
				drop += ` ON ` + d.table
			}
			run(t, db, drop)
		}
		for _, test := range []struct{ row, clash string }{
			{provider, `INSERT INTO resource_providers (uuid, name) VALUES ('a', 'b')`},
			{rootless, `INSERT INTO resource_providers (uuid, name) VALUES ('c', 'b')`},
			{`INSERT INTO placement_aggregates (uuid) VALUES ('a')`, `INSERT INTO placement_aggregates (uuid) VALUES ('a')`},
			{inventory, inventory},
		} {
			run(t, db, test.row)
			if _, err := db.Exec(test.clash); err == nil {
				t.Errorf("after %s\nthis was accepted: %s", test.row, test.clash)
			}
		}
	})
}

// samples are values of each kind; all rows have the id 1 and refer to 1.
var samples = map[migrations.Kind]string{
	migrations.Int: "1", migrations.Float: "1.5", migrations.Text: "'a'", migrations.Time: "'2026-01-31 12:00:00'",
}

// sample writes a row of a table, all columns but those that refer to the table
// itself.
func sample(table migrations.Table) string {
	var names, values []string
	for _, c := range table.Columns {
		if !slices.Contains(table.Self, c.Name) {
			names, values = append(names, c.Name), append(values, samples[c.Kind])
		}
	}
	return `INSERT INTO ` + table.Name + ` (` + strings.Join(names, ", ") + `) VALUES (` + strings.Join(values, ", ") + `)`
}

// set gives the columns of a table that refer to itself a value.
func set(t *testing.T, db *sql.DB, table migrations.Table, value string) {
	t.Helper()
	for _, name := range table.Self {
		run(t, db, `UPDATE `+table.Name+` SET `+name+` = `+value)
	}
}

func TestTablesAreLoadedInOrderAndEmptiedInTheOpposite(t *testing.T) {
	onServers(t, func(t *testing.T, s server) {
		db, _ := s.at(t, migrations.Target)
		for _, table := range migrations.Tables {
			run(t, db, sample(table))
			set(t, db, table, "1")
			if _, err := db.Exec(sample(table)); err == nil {
				t.Errorf("%s has two rows with the key %v", table.Name, table.Key)
			}
		}
		for _, table := range slices.Backward(migrations.Tables) {
			set(t, db, table, "NULL")
			run(t, db, `DELETE FROM `+table.Name)
		}
	})
}
