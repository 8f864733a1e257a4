package migrations_test

import (
	"regexp"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/berthcloud/berth/sqlstore/migrations"
)

var databases = []string{"sqlite", "mysql", "postgresql"}

var (
	primaryKey = regexp.MustCompile(`^PRIMARY KEY \((.*)\)$`)
	foreignKey = regexp.MustCompile(`FOREIGN KEY ?\((\w+)\) REFERENCES (\w+)`)
	column     = regexp.MustCompile(`^(\w+) (INTEGER|SERIAL|FLOAT|VARCHAR|DATETIME|TIMESTAMP)`)
)

var kinds = map[string]migrations.Kind{
	"INTEGER": migrations.Int, "SERIAL": migrations.Int, "FLOAT": migrations.Float, "VARCHAR": migrations.Text,
	"DATETIME": migrations.Time, "TIMESTAMP": migrations.Time,
}

// counters are how columns that count by themselves are declared.
var counters = map[string]string{
	"sqlite":     "id INTEGER NOT NULL",
	"mysql":      "id INTEGER NOT NULL AUTO_INCREMENT",
	"postgresql": "id SERIAL NOT NULL",
}

// tableOf reads a table's description from its definitions.
func tableOf(database, name string, defs []string) migrations.Table {
	t := migrations.Table{Name: name}
	for _, d := range defs {
		if m := primaryKey.FindStringSubmatch(d); m != nil {
			t.Key = strings.Split(m[1], ", ")
		}
		if m := foreignKey.FindStringSubmatch(d); m != nil && m[2] == name {
			t.Self = append(t.Self, m[1])
		}
		if m := column.FindStringSubmatch(d); m != nil {
			t.Columns = append(t.Columns, migrations.Column{Name: m[1], Kind: kinds[m[2]]})
		}
		t.Serial = t.Serial || strings.HasPrefix(d, counters[database])
	}
	slices.Sort(t.Self)
	return t
}

func TestTablesAreThoseOfTheSchema(t *testing.T) {
	want := make(map[string]migrations.Table)
	for _, table := range migrations.Tables {
		table.Self = slices.Sorted(slices.Values(table.Self))
		want[table.Name] = table
	}
	for _, database := range databases {
		got := make(map[string]migrations.Table)
		for name, defs := range definitions(t, schema(t, database)) {
			if name != "alembic_version" {
				got[name] = tableOf(database, name, defs)
			}
		}
		if diff := cmp.Diff(want, got); diff != "" {
			t.Errorf("%s (-Tables +schema.sql):\n%s", database, diff)
		}
	}
}

func TestTablesComeBehindThoseTheyReferTo(t *testing.T) {
	place := make(map[string]int)
	for i, table := range migrations.Tables {
		place[table.Name] = i
	}
	keys := 0
	for name, defs := range definitions(t, schema(t, "postgresql")) {
		for _, d := range defs {
			m := foreignKey.FindStringSubmatch(d)
			if m == nil || m[2] == name {
				continue
			}
			keys++
			if place[m[2]] >= place[name] {
				t.Errorf("%s refers to %s, which comes behind it", name, m[2])
			}
		}
	}
	if keys != 3 {
		t.Errorf("the schema has %d foreign keys between tables, want 3", keys)
	}
}
