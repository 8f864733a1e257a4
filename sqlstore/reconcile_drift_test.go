package sqlstore_test

import (
	"context"
	"testing"

	"github.com/berthcloud/berth/placement"
	"github.com/berthcloud/berth/placement/service"
	"github.com/berthcloud/berth/sqlstore"
)

// settles checks that Reconcile finds nothing any more when they have read once what
// differs: reading it for ever would be of no use.
func settles(t *testing.T, x *stranger, s *service.Service) {
	t.Helper()
	trees := 0
	for range 3 {
		trees = x.reconcile(s)
	}
	if trees != 0 {
		t.Errorf("the third Reconcile still reads %d trees again", trees)
	}
}

// TestDriftsAreReadOnce reconciles rows that the sums of a database and of the snapshot
// may see differently.
func TestDriftsAreReadOnce(t *testing.T) {
	odds := []struct {
		name  string
		ratio float64
		rows  string
	}{
		{name: "half a thousandth", ratio: 1.0625},
		{name: "more digits than a single shows", ratio: 1234.567},
		{name: "the largest ratio", ratio: 3.4e38},
		{name: "allocation without inventory", ratio: 1, rows: `
INSERT INTO allocations (resource_provider_id, consumer_id, resource_class_id, used)
VALUES (1, 'x', 1, 5)`},
		{name: "inventory of no provider", ratio: 1, rows: `
INSERT INTO inventories (resource_provider_id, resource_class_id, total, reserved, min_unit, max_unit, step_size, allocation_ratio)
VALUES (99, 1, 5, 0, 1, 1, 1, 1)`},
		{name: "aggregate of no provider", ratio: 1, rows: `
INSERT INTO resource_provider_aggregates (resource_provider_id, aggregate_id)
VALUES (98, 1)`},
	}
	onAll(t, func(t *testing.T, opts sqlstore.Options) {
		store := open(t, opts)
		s, x := serve(t, store), newStranger(t, opts, store)
		for n, odd := range odds {
			t.Run(odd.name, func(t *testing.T) {
				host(t)(s, n)
				inv := placement.Inventory{Total: 8, MinUnit: 1, MaxUnit: 8, StepSize: 1, AllocationRatio: odd.ratio}
				if _, err := s.SetInventories(context.Background(), id(n, "h"),
					[]placement.InventoryOf{{Class: "VCPU", Inventory: inv}, {Class: "DISK_GB", Inventory: inv}},
					placement.InventoryRule{}); err != nil {
					t.Fatal(err)
				}
				if odd.rows != "" {
					x.do(odd.rows)
				}
				settles(t, x, s)
			})
		}
	})
}

// TestDriftsAreReadOnceInLatin1 has names in a character set with other lengths.
func TestDriftsAreReadOnceInLatin1(t *testing.T) {
	needServers(t)
	opts := sqlstore.Options{Server: server(t, kinds[0].URL(t))}
	store := open(t, opts)
	touch(t, store, 1)
	do(t, store, "SET foreign_key_checks = 0", "ALTER TABLE resource_providers CONVERT TO CHARACTER SET latin1",
		"SET foreign_key_checks = 1")
	s := serve(t, store)
	if _, err := s.CreateProvider(context.Background(), placement.NewProvider{UUID: "h", Name: "Köln"}); err != nil {
		t.Fatal(err)
	}
	settles(t, newStranger(t, opts, store), s)
}
