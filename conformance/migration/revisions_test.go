package migration

import (
	"slices"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/berthcloud/berth/internal/rest"
)

// older are the revisions before the one that Berth works on.
var older = []string{"b4ed3a175331", "611cd6dffd7b", "b5c396305c25"}

var syncing = map[string]map[string]string{"placement_database": {"sync_on_startup": "true"}}

// TestOlderRevisions starts Berth on databases that older releases left. The
// names are as upstream's service of that time wrote them.
func TestOlderRevisions(t *testing.T) {
	onEach(t, func(t *testing.T, current *database) {
		current.manage("db", "sync")
		want := current.schema(false)
		for _, revision := range older {
			t.Run(revision, func(t *testing.T) {
				db := newDatabase(t, current.engine, current.server)
				db.upstreamTo(revision)
				db.exec(oldRows...)
				c := newCloud(t, db.berth(syncing).URL()).c
				sameLines(t, "upgraded by Berth", want, db.schema(false))
				oldCloud(t, c)
				if got := db.lines("SELECT version_num FROM alembic_version"); !slices.Equal(got, []string{target}) {
					t.Errorf("it is at revision %q, want %s", got, target)
				}
			})
		}
	})
}

// oldRows are a host with a server on it.
var oldRows = []string{
	`INSERT INTO resource_providers (id, uuid, name, generation, root_provider_id)
VALUES (1, '000000b0-0000-4000-8000-000000000000', 'old host', 7, 1)`,
	`INSERT INTO inventories (resource_provider_id, resource_class_id, total, reserved, min_unit, max_unit, step_size, allocation_ratio)
VALUES (1, 0, 8, 0, 1, 8, 1, 1.5)`,
	`INSERT INTO projects (id, external_id) VALUES (1, 'project')`,
	`INSERT INTO users (id, external_id) VALUES (1, 'user')`,
	`INSERT INTO consumers (uuid, project_id, user_id, generation) VALUES ('000000c0-0000-4000-8000-000000000000', 1, ` +
		`1, 3)`,
	`INSERT INTO allocations (resource_provider_id, consumer_id, resource_class_id, used)
VALUES (1, '000000c0-0000-4000-8000-000000000000', 0, 5)`,
}

// oldCloud requires the old rows to be served, and writes to them.
func oldCloud(t *testing.T, c *rest.Client) {
	t.Helper()
	if got := c.Generation(t, host(0)); got != 7 {
		t.Errorf("generation %d, want 7", got)
	}
	if d := cmp.Diff(rest.Resources{"VCPU": 5}, c.Usages(t, host(0))); d != "" {
		t.Errorf("usages (-want +got):\n%s", d)
	}
	c.Must(t, 204, "PUT", "/allocations/"+instance(0), rest.Claim(3, map[string]rest.Resources{host(0): {"VCPU": 6}}))
	c.Must(t, 204, "PUT", "/allocations/"+instance(1), rest.Claim(nil, map[string]rest.Resources{host(0): {"VCPU": 6}}))
}

// TestBlockedUpgrades starts Berth on databases whose rows upstream's tool must repair before it
// would upgrade them.
func TestBlockedUpgrades(t *testing.T) {
	for _, c := range []struct{ name, row, says string }{
		{
			"ProviderWithoutRoot", `INSERT INTO resource_providers (id, uuid, name) VALUES (2, 'b', 'b')`,
			"1 resource providers without a root provider",
		},
		{"AllocationWithoutConsumer", `DELETE FROM consumers`, "1 allocations without a consumer"},
	} {
		t.Run(c.name, func(t *testing.T) {
			onEach(t, func(t *testing.T, db *database) {
				db.upstreamTo(older[0])
				db.exec(append(oldRows[:len(oldRows):len(oldRows)], c.row)...)
				refuseWith(t, db, db.url, syncing, exitDatabase, []string{c.says, "placement-manage db online_data_migrations"})
			})
		})
	}
}
