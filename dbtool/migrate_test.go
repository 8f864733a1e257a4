package dbtool_test

import (
	"fmt"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/berthcloud/berth/dbtool"
)

// migrate runs both migrations with a bound and returns what each changed.
func migrate(t *testing.T, url string, most int) (roots, consumers int) {
	t.Helper()
	_, err := with(t, url, dbtool.Change, func(tb *dbtool.Tables) (any, error) {
		var err error
		if roots, err = tb.SetRoots(t.Context(), most); err != nil {
			return nil, err
		}
		consumers, err = tb.CreateConsumers(t.Context(), most, "nobody's project", "nobody")
		return nil, err
	})
	if err != nil {
		t.Fatal(err)
	}
	return roots, consumers
}

func TestMigrationsCompleteRows(t *testing.T) {
	onPlaces(t, func(t *testing.T, url string) {
		execute(t, synced(t, url), sound...)
		execute(t, url, `UPDATE resource_providers SET root_provider_id = NULL`)
		for i := 10; i < 15; i++ {
			execute(t, url,
				fmt.Sprintf(`INSERT INTO resource_providers (id, uuid) VALUES (%d, 'p%d')`, i, i),
				fmt.Sprintf(`INSERT INTO allocations (resource_provider_id, consumer_id, resource_class_id, used) VALUES (1, `+
					`'c%d', 0, 1), (2, 'c%d', 0, 1)`, i, i))
		}
		var got [][2]int
		for range 4 {
			roots, consumers := migrate(t, url, 3)
			got = append(got, [2]int{roots, consumers})
		}
		if diff := cmp.Diff([][2]int{{3, 3}, {3, 2}, {1, 0}, {0, 0}}, got); diff != "" {
			t.Errorf("rows changed (-want +got):\n%s", diff)
		}
		bad := findings(t, url)
		if bad["Missing Root Provider IDs"]+bad["Incomplete Consumers"]+bad["Provider Trees"]+
			bad["Dangling References"] != "" {
			t.Errorf("found afterwards: %v", bad)
		}
		if diff := cmp.Diff([]int64{1, 1, 10, 11, 12, 13, 14},
			numbers(t, url, `SELECT root_provider_id FROM resource_providers ORDER BY id`)); diff != "" {
			t.Errorf("roots (-want +got):\n%s", diff)
		}
		if n := numbers(t, url, `
SELECT COUNT(*)
FROM consumers c
JOIN projects p ON p.id = c.project_id
JOIN users u ON u.id = c.user_id
WHERE p.external_id = 'nobody''s project' AND u.external_id = 'nobody' AND c.generation = 0 AND c.created_at IS NOT NULL`); n[0] != 5 {
			t.Errorf("%d of the new consumers are nobody's, want 5", n[0])
		}
	})
}

// Before the upgrade that wants them is when they are needed.
func TestMigrationsAtTheFirstRevision(t *testing.T) {
	path := old(t, "b4ed3a175331", `INSERT INTO resource_providers (id, uuid) VALUES (1, 'p1')`,
		`INSERT INTO allocations (resource_provider_id, consumer_id, resource_class_id, used) VALUES (1, 'c1', 0, 1)`)
	url := "sqlite:///" + path
	sync := func() error {
		_, err := with(t, url, dbtool.Make, func(tb *dbtool.Tables) (dbtool.Upgrade, error) { return tb.Sync(t.Context()) })
		return err
	}
	if err := sync(); err == nil || !strings.Contains(err.Error(), "resource providers without a root provider") {
		t.Errorf("Sync = %v, want an error about roots", err)
	}
	if roots, consumers := migrate(t, url, 50); roots != 1 || consumers != 1 {
		t.Errorf("%d roots and %d consumers were made, want 1 and 1", roots, consumers)
	}
	if err := sync(); err != nil {
		t.Errorf("Sync: %v", err)
	}
}

// A circle has no root: a provider in it becomes one, and Check reports it.
func TestMigrationsEndInCircles(t *testing.T) {
	url := synced(t, newFile(t))
	execute(t, url, `INSERT INTO resource_providers (id, uuid, parent_provider_id) VALUES (1, 'p1', 2), (2, 'p2', 1)`)
	if roots, _ := migrate(t, url, 50); roots != 2 {
		t.Errorf("%d rows were changed, want 2", roots)
	}
	diff := cmp.Diff([]int64{1, 1}, numbers(t, url, `SELECT root_provider_id FROM resource_providers ORDER BY id`))
	if diff != "" {
		t.Errorf("roots (-want +got):\n%s", diff)
	}
}

// Two at a time do the work of one. A file has one tool at a time.
func TestMigrationsSideBySide(t *testing.T) {
	onServers(t, func(t *testing.T, url string) {
		execute(t, synced(t, url), sound...)
		for i := range 60 {
			execute(t, url, fmt.Sprintf(
				`INSERT INTO allocations (resource_provider_id, consumer_id, resource_class_id, used) VALUES (1, 'x%d', 0, 1)`, i))
		}
		made := make(chan int)
		for range 2 {
			tb := tables(t, url, dbtool.Change)
			go func() {
				sum := 0
				for n, err := 1, error(nil); n > 0; sum += n {
					if n, err = tb.CreateConsumers(t.Context(), 7, "p", "u"); err != nil {
						t.Error(err)
						break
					}
				}
				made <- sum
			}()
		}
		if n := <-made + <-made; n != 60 {
			t.Errorf("%d consumers were made, want 60", n)
		}
		if bad := findings(t, url)["Incomplete Consumers"]; bad != "" {
			t.Error(bad)
		}
	})
}
