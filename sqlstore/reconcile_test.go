package sqlstore_test

import (
	"context"
	"errors"
	"fmt"
	"path/filepath"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/berthcloud/berth/placement"
	"github.com/berthcloud/berth/placement/service"
	"github.com/berthcloud/berth/placement/snapshot"
	"github.com/berthcloud/berth/sqlstore"
)

// onAll runs a test on a file and on every kind of server, with how to open a
// store on its database.
func onAll(t *testing.T, test func(t *testing.T, opts sqlstore.Options)) {
	t.Run("SQLite", func(t *testing.T) {
		test(t, sqlstore.Options{Path: filepath.Join(t.TempDir(), "placement.db")})
	})
	onServers(t, func(t *testing.T, url string) { test(t, sqlstore.Options{Server: server(t, url)}) })
}

func serve(t *testing.T, store placement.Store) *service.Service {
	t.Helper()
	s, err := service.New(context.Background(), store, service.DefaultSettings())
	if err != nil {
		t.Fatalf("New: %v", err)
	}
	return s
}

// populate makes hosts with a child each, everything that rows can hold, and
// claims on them.
func populate(s *service.Service, hosts int) error {
	ctx := context.Background()
	_, err := s.EnsureTrait(ctx, "CUSTOM_GOLD")
	if err == nil {
		err = s.CreateClass(ctx, "CUSTOM_THING")
	}
	for i := range hosts {
		host, child := placement.UUID(fmt.Sprintf("h%d", i)), placement.UUID(fmt.Sprintf("c%d", i))
		ratio := []float64{1, 1.5, 16, 0.9, 0.333}[i%5]
		inv := placement.Inventory{
			Total: 8 + int64(i), Reserved: 1, MinUnit: 1, MaxUnit: 64, StepSize: 1, AllocationRatio: ratio,
		}
		_, err1 := s.CreateProvider(ctx, placement.NewProvider{UUID: host, Name: "Hafen " + string(host) + " ⚓"})
		_, err2 := s.CreateProvider(ctx, placement.NewProvider{UUID: child, Name: string(child), Parent: host})
		_, err3 := s.SetInventories(ctx, host,
			[]placement.InventoryOf{{Class: "VCPU", Inventory: inv}, {Class: "CUSTOM_THING", Inventory: inv}},
			placement.InventoryRule{})
		_, err4 := s.SetTraits(ctx, child, 0, []string{"CUSTOM_GOLD", "HW_CPU_X86_AVX"})
		_, err5 := s.SetAggregates(ctx, host, nil, []placement.UUID{"a1", placement.UUID(fmt.Sprintf("a%d", i%3))})
		err6 := claimOne(s, placement.UUID(fmt.Sprintf("vm%d", i)), host)
		err = errors.Join(err, err1, err2, err3, err4, err5, err6)
	}
	return err
}

func claimOne(s *service.Service, consumer, host placement.UUID) error {
	return s.SetAllocations(context.Background(), placement.Claim{
		Consumer: consumer, Project: "p", User: "u",
		Allocations: []placement.ProviderAllocation{
			{Provider: host, Resources: []placement.ClassAmount{{Class: "VCPU", Amount: 2}, {Class: "CUSTOM_THING", Amount: 1}}},
		},
	})
}

// TestReconcileFindsNothingInItsOwnSnapshot compares what is in memory with sums that
// the databases make: any difference would cost reading trees again for ever.
func TestReconcileFindsNothingInItsOwnSnapshot(t *testing.T) {
	onAll(t, func(t *testing.T, opts sqlstore.Options) {
		store := open(t, opts)
		s, x := serve(t, store), newStranger(t, opts, store)
		if n := x.reconcile(s); n != 0 {
			t.Errorf("Reconcile of nothing = %d trees", n)
		}
		if err := populate(s, 70); err != nil {
			t.Fatal(err)
		}
		if n := x.reconcile(s); n != 0 {
			t.Errorf("Reconcile = %d trees, want 0", n)
		}
		if err := s.DeleteAllocations(context.Background(), "vm0"); err != nil {
			t.Fatal(err)
		}
		if n := x.reconcile(s); n != 0 {
			t.Errorf("Reconcile after a deletion = %d trees, want 0", n)
		}
	})
}

// TestReconcileFindsWhatOthersWrote makes changes as a person with a database client
// makes them, one at a time.
func TestReconcileFindsWhatOthersWrote(t *testing.T) {
	onAll(t, func(t *testing.T, opts sqlstore.Options) {
		store := open(t, opts)
		s, x := serve(t, store), newStranger(t, opts, store)
		if err := populate(s, 5); err != nil {
			t.Fatal(err)
		}
		for _, statement := range []string{
			`UPDATE resource_providers SET generation = generation + 1 WHERE uuid = 'h1'`,
			`UPDATE resource_providers SET name = 'renamed' WHERE uuid = 'c1'`,
			`UPDATE inventories SET allocation_ratio = 4.0`,
			`UPDATE inventories SET total = total + 1`,
			`UPDATE inventories SET reserved = 0, min_unit = 2, max_unit = 6, step_size = 2`,
			`DELETE FROM allocations WHERE consumer_id = 'vm1'`,
			`UPDATE allocations SET used = 3 WHERE consumer_id = 'vm2'`,
			`DELETE FROM resource_provider_traits`,
			`DELETE FROM resource_provider_aggregates WHERE aggregate_id > 1`,
			`DELETE FROM inventories WHERE resource_class_id <> 0`,
			`INSERT INTO resource_providers (created_at, uuid, name, generation) VALUES ('2026-01-02 03:04:05', 'new', 'new', ` +
				`0); UPDATE resource_providers SET root_provider_id = id WHERE uuid = 'new'`,
			`UPDATE resource_providers SET root_provider_id = NULL WHERE uuid = 'new'; ` +
				`DELETE FROM resource_providers WHERE uuid = 'new'`,
			`INSERT INTO traits (created_at, name) VALUES ('2026-01-02 03:04:05', 'CUSTOM_IRON')`,
			`UPDATE resource_classes SET name = 'CUSTOM_OTHER' WHERE name = 'CUSTOM_THING'`,
		} {
			x.do(strings.Split(statement, "; ")...)
			if _, err := s.Reconcile(context.Background()); err != nil {
				t.Fatalf("Reconcile after %s: %v", statement, err)
			}
			sameSnapshots(t, "after "+statement, s, store)
		}
	})
}

// sameSnapshots compares a service's snapshot with one that is read again.
func sameSnapshots(t *testing.T, when string, s *service.Service, store *sqlstore.Store) {
	t.Helper()
	got, _ := s.Ready()
	fresh := serve(t, store)
	want, _ := fresh.Ready()
	if diff := cmp.Diff(describe(want), describe(got)); diff != "" {
		t.Errorf("%s the snapshot is stale (-database +snapshot):\n%s", when, diff)
	}
}

// describe lists all that a snapshot says of its providers.
func describe(w *snapshot.Snapshot) map[string]string {
	all := make(map[string]string)
	for tree := range w.Trees() {
		for _, p := range tree.Providers {
			text := fmt.Sprintf("%s gen %d root %s", p.Name, p.Generation, tree.Root().UUID)
			for _, st := range p.Inventories {
				text += fmt.Sprintf(" %s %+v used %d", w.ClassName(st.Class), st.Inventory, st.Used)
			}
			for _, id := range p.Traits {
				text += " " + w.TraitName(id)
			}
			for _, id := range p.Aggregates {
				text += " " + string(w.AggregateUUID(id))
			}
			all[string(p.UUID)] = text
		}
	}
	for _, n := range w.Traits().List() {
		all["trait "+n.Name] = fmt.Sprint(n.ID)
	}
	return all
}

// TestServicesReadEachOthersWrites writes here and reads there.
func TestServicesReadEachOthersWrites(t *testing.T) {
	onServers(t, func(t *testing.T, url string) {
		storeA, storeB := two(t, url)
		a, b := serve(t, storeA), serve(t, storeB)
		if err := populate(a, 3); err != nil {
			t.Fatal(err)
		}
		for i := range 30 {
			vm := placement.UUID(fmt.Sprintf("round%d", i))
			host := placement.UUID(fmt.Sprintf("h%d", i%3))
			before := used(t, b, host)
			if err := claimOne(a, vm, host); err != nil {
				t.Fatalf("claim %d: %v", i, err)
			}
			if got := used(t, b, host); got != before+2 {
				t.Fatalf("after claim %d the other service sees %d in use, want %d", i, got, before+2)
			}
			if err := b.DeleteAllocations(context.Background(), vm); err != nil {
				t.Fatalf("delete %d: %v", i, err)
			}
			if got := used(t, a, host); got != before {
				t.Fatalf("after delete %d the first service sees %d in use, want %d", i, got, before)
			}
			a, b = b, a
		}
		if n, err := a.Reconcile(context.Background()); n != 0 || err != nil {
			t.Errorf("Reconcile = %d trees, %v; want 0", n, err)
		}
	})
}

// used is how much of a host's VCPU a service believes to be in use.
func used(t *testing.T, s *service.Service, host placement.UUID) int64 {
	t.Helper()
	w, err := s.Snapshot(context.Background())
	if err != nil {
		t.Fatalf("Snapshot: %v", err)
	}
	p, _ := w.Provider(host)
	if p == nil {
		t.Fatalf("there is no provider %s", host)
	}
	return p.Inventory(0).Used
}
