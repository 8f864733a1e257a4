package dbtool_test

import (
	"fmt"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/berthcloud/berth/dbtool"
)

// sound are rows that nothing is wrong with: a tree of two providers, of whose
// 10 VCPU 4 are in use.
var sound = []string{
	`INSERT INTO resource_classes (id, name) VALUES (0, 'VCPU'), (1, 'MEMORY_MB')`,
	`INSERT INTO traits (id, name) VALUES (1, 'CUSTOM_A')`,
	`INSERT INTO projects (external_id) VALUES ('project')`,
	`INSERT INTO users (external_id) VALUES ('user')`,
	`INSERT INTO placement_aggregates (id, uuid) VALUES (1, 'aggregate')`,
	`INSERT INTO resource_providers (id, uuid, name, generation, root_provider_id) VALUES (1, 'p1', 'host', 1, 1)`,
	`INSERT INTO resource_providers (id, uuid, name, generation, root_provider_id, parent_provider_id) VALUES (2, 'p2', ` +
		`'numa', 1, 1, 1)`,
	`INSERT INTO resource_provider_traits (trait_id, resource_provider_id) VALUES (1, 2)`,
	`INSERT INTO resource_provider_aggregates (resource_provider_id, aggregate_id) VALUES (1, 1)`,
	`INSERT INTO inventories (resource_provider_id, resource_class_id, total, reserved, min_unit, max_unit, step_size, allocation_ratio)
VALUES (2, 0, 6, 1, 1, 6, 1, 2.0)`,
	`INSERT INTO consumers (uuid, project_id, user_id, generation) VALUES ('c1', 1, 1, 1)`,
	`INSERT INTO allocations (resource_provider_id, consumer_id, resource_class_id, used) VALUES (2, 'c1', 0, 4)`,
}

// findings returns what is not in order, by check.
func findings(t *testing.T, url string) map[string]string {
	t.Helper()
	all, err := with(t, url, dbtool.Look, func(tb *dbtool.Tables) ([]dbtool.Finding, error) {
		return tb.Check(t.Context())
	})
	if err != nil {
		t.Fatalf("Check: %v", err)
	}
	bad := make(map[string]string)
	for _, f := range all {
		if f.Verdict != dbtool.Success || f.Details != "" {
			bad[f.Check] = f.Verdict.String() + ": " + f.Details
		}
	}
	return bad
}

// A mistake is a row that a check finds.
type mistake struct {
	name, row string
	check     string
	want      string // a part of what is found
	file      bool   // foreign keys keep it from servers
}

var mistakes = []mistake{
	{
		"NoRoot", `UPDATE resource_providers SET root_provider_id = NULL WHERE id = 2`, "Missing Root Provider IDs",
		"Failure: 1 resource providers", false,
	},
	{"NoConsumer", `INSERT INTO allocations (resource_provider_id, consumer_id, resource_class_id, used) VALUES (2, ` +
		`'c2', 0, 1), (2, 'c2', 0, 1)`, "Incomplete Consumers", "Warning: 1 consumers", false},
	{
		"WrongRoot", `UPDATE resource_providers SET root_provider_id = 2 WHERE id = 2`, "Provider Trees",
		"Failure: 1 resource providers are not in a proper tree: id 2 has the root 2, its tree has the root 1.", false,
	},
	{
		"Circle", `UPDATE resource_providers SET parent_provider_id = 2 WHERE id = 1`, "Provider Trees",
		"id 1 is its own ancestor, or below one that is; id 2 is its own", false,
	},
	{
		"OwnParent", `UPDATE resource_providers SET parent_provider_id = 1 WHERE id = 1`, "Provider Trees",
		"id 1 is its own ancestor", false,
	},
	{
		"NoParent", `UPDATE resource_providers SET parent_provider_id = 9 WHERE id = 2`, "Provider Trees",
		"id 2 has the parent 9, which is not there", true,
	},
	{
		"TooMuchUsed", `UPDATE allocations SET used = 11`, "Usage Over Capacity",
		"Warning: 1 inventories have more in use than their capacity: p2 has 11 VCPU in use of 10.", false,
	},
	{
		"AllocationWithoutProvider",
		`INSERT INTO allocations (resource_provider_id, consumer_id, resource_class_id, used) VALUES (9, 'c1', 0, 1)`,
		"Dangling Allocations",
		"Failure: 1 rows of allocations have a resource_provider_id that is not in resource_providers.", false,
	},
	{
		"AllocationWithoutClass",
		`INSERT INTO allocations (resource_provider_id, consumer_id, resource_class_id, used) VALUES (2, 'c1', 9, 1)`,
		"Dangling Allocations", "resource_class_id that is not in resource_classes", false,
	},
	{
		"InventoryWithoutProvider",
		`INSERT INTO inventories (resource_provider_id, resource_class_id, total, reserved, min_unit, max_unit, step_size, ` +
			`allocation_ratio) VALUES (9, 0, 1, 0, 1, 1, 1, 1.0)`,
		"Dangling References", "1 rows of inventories have a resource_provider_id", false,
	},
	{
		"InventoryWithoutClass",
		`INSERT INTO inventories (resource_provider_id, resource_class_id, total, reserved, min_unit, max_unit, step_size, ` +
			`allocation_ratio) VALUES (1, 9, 1, 0, 1, 1, 1, 1.0)`,
		"Dangling References", "1 rows of inventories have a resource_class_id", false,
	},
	{
		"ConsumerWithoutProject", `UPDATE consumers SET project_id = 9`, "Dangling References", "consumers have a project_id",
		false,
	},
	{"ConsumerWithoutUser", `UPDATE consumers SET user_id = 9`, "Dangling References", "consumers have a user_id", false},
	{
		"ConsumerWithoutType", `UPDATE consumers SET consumer_type_id = 9`, "Dangling References",
		"consumers have a consumer_type_id", true,
	},
	{"TraitGone", `DELETE FROM traits`, "Dangling References", "resource_provider_traits have a trait_id", true},
	{
		"AggregateGone", `DELETE FROM placement_aggregates`, "Dangling References",
		"resource_provider_aggregates have a aggregate_id", false,
	},
	{"NoInventory", `DELETE FROM inventories`, "Usage Over Capacity", "p2 has 4 VCPU in use of 0", false},
	{
		"NoAllocation", `INSERT INTO consumers (uuid, project_id, user_id, generation) VALUES ('c3', 1, 1, 0)`,
		"Idle Consumers", "Warning: 1 consumers have no allocations.", false,
	},
	{
		"CopyUnderWay", `CREATE TABLE berth_copy (id INTEGER)`, "Unfinished Copy",
		"Failure: A copy into this database was interrupted", false,
	},
}

func TestCheckFindsMistakes(t *testing.T) {
	for _, m := range mistakes {
		t.Run(m.name, func(t *testing.T) {
			url := synced(t, newFile(t))
			execute(t, url, append(sound, m.row)...)
			bad := findings(t, url)
			if got := bad[m.check]; !strings.Contains(got, m.want) {
				t.Errorf("%s: %q, want %q in it", m.check, got, m.want)
			}
			delete(bad, m.check)
			if diff := cmp.Diff(map[string]string{}, bad); diff != "" {
				t.Errorf("found besides (-want +got):\n%s", diff)
			}
		})
	}
}

func TestCheckIsContentWithSoundRows(t *testing.T) {
	onPlaces(t, func(t *testing.T, url string) {
		execute(t, synced(t, url), sound...)
		if diff := cmp.Diff(map[string]string{}, findings(t, url)); diff != "" {
			t.Errorf("found (-want +got):\n%s", diff)
		}
		var want []string
		for _, m := range mistakes {
			if m.file ||
				slices.Contains([]string{"NoInventory", "AggregateGone", "WrongRoot", "AllocationWithoutClass"}, m.name) {
				continue // it hides others, or others hide it
			}
			execute(t, url, m.row)
			want = append(want, m.check)
		}
		bad := findings(t, url)
		for _, check := range want {
			if bad[check] == "" {
				t.Errorf("%s found nothing: %v", check, bad)
			}
		}
	})
}

// What is reserved while it is in use, as a bare-metal node, is not over its capacity.
func TestCheckOfReservedInventories(t *testing.T) {
	url := synced(t, newFile(t))
	execute(t, url, append(sound, `UPDATE inventories SET reserved = total`)...)
	if diff := cmp.Diff(map[string]string{}, findings(t, url)); diff != "" {
		t.Errorf("found (-want +got):\n%s", diff)
	}
	execute(t, url, `UPDATE inventories SET reserved = total - 1`)
	if got := findings(t, url)["Usage Over Capacity"]; !strings.Contains(got, "has 4 VCPU in use of 2") {
		t.Errorf("with less reserved: %q", got)
	}
}

func TestCheckNamesSomeOfMany(t *testing.T) {
	url := synced(t, newFile(t))
	execute(t, url, sound...)
	for i := 10; i < 20; i++ {
		execute(t, url,
			fmt.Sprintf(`INSERT INTO resource_providers (id, uuid, root_provider_id) VALUES (%d, 'p%d', 1)`, i, i))
	}
	got := findings(t, url)["Provider Trees"]
	if !strings.Contains(got, "10 resource providers are not in a proper tree, 3 of them: id 10 ") ||
		strings.Contains(got, "id 13 ") {
		t.Errorf("Provider Trees: %s", got)
	}
}

func TestCheckRevisions(t *testing.T) {
	stamped := func(statement string) string {
		url := synced(t, newFile(t))
		execute(t, url, statement)
		return url
	}
	for name, tc := range map[string]struct{ url, want string }{
		"Older": {
			"sqlite:///" + old(t, "b4ed3a175331"),
			"Failure: The database is at revision b4ed3a175331, Berth needs 422ece571366.",
		},
		"Newer":   {stamped(`UPDATE alembic_version SET version_num = 'a082b8bb98d0'`), ""},
		"Unknown": {stamped(`UPDATE alembic_version SET version_num = 'c0ffee'`), `Failure: Revision "c0ffee" is not known`},
		"Without": {stamped(`DROP TABLE alembic_version`), "Warning: There is no table alembic_version"},
		"Empty":   {"sqlite:///" + emptyFile(t), "Failure: The database is empty."},
	} {
		t.Run(name, func(t *testing.T) {
			if got := findings(t, tc.url)["Schema Revision"]; !strings.HasPrefix(got, tc.want) ||
				(tc.want == "") != (got == "") {
				t.Errorf("Schema Revision: %q, want %q at its beginning", got, tc.want)
			}
		})
	}
}

func TestCheckOtherCharacterSets(t *testing.T) {
	needServers(t)
	for name, tc := range map[string]struct{ statement, want string }{
		"Latin": {`ALTER TABLE traits CONVERT TO CHARACTER SET latin1`, "Warning: Text is kept as latin1_"},
		"Mixed": {
			`ALTER TABLE traits CONVERT TO CHARACTER SET utf8mb4 COLLATE utf8mb4_bin`,
			"Warning: Columns have different collations (utf8mb4_bin, utf8mb4_general_ci)",
		},
	} {
		t.Run(name, func(t *testing.T) {
			url := synced(t, places[1].url(t))
			execute(t, url, tc.statement)
			if got := findings(t, url)["Character Set"]; !strings.HasPrefix(got, tc.want) {
				t.Errorf("Character Set: %q, want %q at its beginning", got, tc.want)
			}
		})
	}
}

func TestCheckChangeLogThatNobodyClears(t *testing.T) {
	needServers(t)
	url := synced(t, places[2].url(t))
	execute(t, url, `INSERT INTO berth_writers (id, created_at, beat_at) VALUES (1, '2026-01-01', '2026-01-01')`,
		`INSERT INTO berth_changes (writer, seq, created_at, body) SELECT 1, n, '2026-01-01', '' FROM GENERATE_SERIES(1, `+
			`40000) AS n`)
	if bad := findings(t, url); len(bad) > 0 {
		t.Errorf("found in a log of its normal size: %v", bad)
	}
	execute(t, url, `INSERT INTO berth_changes (writer, seq, created_at, body) VALUES (1, 40001, '2026-01-01', '')`)
	got := findings(t, url)["Change Log"]
	if !strings.HasPrefix(got, "Warning: The change log has 40001 entries of 1 writers") {
		t.Errorf("Change Log: %q", got)
	}
}
