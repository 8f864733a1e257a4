package sqlstore_test

import (
	"context"
	"fmt"
	"math/rand/v2"
	"sync"
	"testing"

	"github.com/berthcloud/berth/fault"
	"github.com/berthcloud/berth/placement"
	"github.com/berthcloud/berth/placement/service"
	"github.com/berthcloud/berth/sqlstore"
)

// rivals runs two things at once, many times, through two services on one
// database. What they may answer is success or a refusal.
func rivals(
	t *testing.T, url string, rounds int, prepare func(s *service.Service, round int),
	remaining, right func(s *service.Service, round int) error,
) *sqlstore.Store {
	t.Helper()
	storeA, storeB := two(t, url)
	a, b := serve(t, storeA), serve(t, storeB)
	for round := range rounds {
		prepare(a, round)
		var both sync.WaitGroup
		for _, side := range []struct {
			s  *service.Service
			fn func(*service.Service, int) error
		}{{a, remaining}, {b, right}} {
			both.Go(func() {
				err := side.fn(side.s, round)
				if kind, _ := fault.Of(err); err != nil && kind != fault.Conflict && kind != fault.NotFound &&
					kind != fault.Invalid {
					t.Errorf("round %d: %v", round, err)
				}
			})
		}
		both.Wait()
		a, b = b, a
	}
	return storeA
}

// orphans counts rows that a statement finds and that must not be.
func orphans(t *testing.T, s *sqlstore.Store, what, statement string) {
	t.Helper()
	n, err := s.Count(context.Background(), statement)
	if err != nil {
		t.Fatal(err)
	}
	if n != 0 {
		t.Errorf("%d %s", n, what)
	}
}

func id(round int, kind string) placement.UUID {
	return placement.UUID(fmt.Sprintf("%s%d", kind, round))
}

// host makes a provider with free capacity for claims.
func host(t *testing.T) func(s *service.Service, round int) {
	return func(s *service.Service, round int) {
		t.Helper()
		ctx := context.Background()
		uuid := id(round, "h")
		if _, err := s.CreateProvider(ctx, placement.NewProvider{UUID: uuid, Name: string(uuid)}); err != nil {
			t.Fatal(err)
		}
		inv := placement.Inventory{Total: 8, MinUnit: 1, MaxUnit: 8, StepSize: 1, AllocationRatio: 1}
		if _, err := s.SetInventories(ctx, uuid, []placement.InventoryOf{{Class: "VCPU", Inventory: inv}},
			placement.InventoryRule{}); err != nil {
			t.Fatal(err)
		}
	}
}

func claimVCPU(s *service.Service, consumer, provider placement.UUID, amount int64) error {
	return s.SetAllocations(context.Background(), placement.Claim{
		Consumer: consumer, Project: "p", User: "u",
		Allocations: []placement.ProviderAllocation{
			{Provider: provider, Resources: []placement.ClassAmount{{Class: "VCPU", Amount: amount}}},
		},
	})
}

func TestClaimsAndDeletionsOfProviders(t *testing.T) {
	onServers(t, func(t *testing.T, url string) {
		s := rivals(t, url, 40, host(t),
			func(s *service.Service, n int) error { return claimVCPU(s, id(n, "vm"), id(n, "h"), 1) },
			func(s *service.Service, n int) error { return s.DeleteProvider(context.Background(), id(n, "h")) })
		orphans(t, s, "allocations on providers that are gone", `
SELECT COUNT(*)
FROM allocations a
LEFT JOIN resource_providers p ON p.id = a.resource_provider_id
WHERE p.id IS NULL`)
	})
}

func TestClaimsAndDeletionsOfOneConsumer(t *testing.T) {
	onServers(t, func(t *testing.T, url string) {
		s := rivals(t, url, 40, func(s *service.Service, n int) {
			host(t)(s, n)
			if err := claimVCPU(s, id(n, "vm"), id(n, "h"), 1); err != nil {
				t.Fatal(err)
			}
		},
			func(s *service.Service, n int) error { return claimVCPU(s, id(n, "vm"), id(n, "h"), 2) },
			func(s *service.Service, n int) error {
				return s.DeleteAllocations(context.Background(), id(n, "vm"))
			})
		orphans(t, s, "allocations of consumers that are gone", `
SELECT COUNT(*)
FROM allocations a
LEFT JOIN consumers c ON c.uuid = a.consumer_id
WHERE c.id IS NULL`)
		orphans(t, s, "consumers that hold nothing", `
SELECT COUNT(*)
FROM consumers c
LEFT JOIN allocations a ON a.consumer_id = c.uuid
WHERE a.id IS NULL`)
	})
}

func TestInventoriesAndDeletionsOfClasses(t *testing.T) {
	onServers(t, func(t *testing.T, url string) {
		class := func(n int) string { return fmt.Sprintf("CUSTOM_C%d", n) }
		s := rivals(t, url, 40, func(s *service.Service, n int) {
			host(t)(s, n)
			if err := s.CreateClass(context.Background(), class(n)); err != nil {
				t.Fatal(err)
			}
		},
			func(s *service.Service, n int) error {
				inv := placement.Inventory{Total: 8, MinUnit: 1, MaxUnit: 8, StepSize: 1, AllocationRatio: 1}
				_, err := s.SetInventories(context.Background(), id(n, "h"),
					[]placement.InventoryOf{{Class: class(n), Inventory: inv}}, placement.InventoryRule{})
				return err
			},
			func(s *service.Service, n int) error { return s.DeleteClass(context.Background(), class(n)) })
		orphans(t, s, "inventories of classes that are gone", `
SELECT COUNT(*)
FROM inventories i
LEFT JOIN resource_classes c ON c.id = i.resource_class_id
WHERE c.id IS NULL`)
	})
}

func TestLinksAndDeletionsOfTraits(t *testing.T) {
	onServers(t, func(t *testing.T, url string) {
		trait := func(n int) string { return fmt.Sprintf("CUSTOM_T%d", n) }
		s := rivals(t, url, 40, func(s *service.Service, n int) {
			host(t)(s, n)
			if _, err := s.EnsureTrait(context.Background(), trait(n)); err != nil {
				t.Fatal(err)
			}
		},
			func(s *service.Service, n int) error {
				_, err := s.SetTraits(context.Background(), id(n, "h"), 1, []string{trait(n)})
				return err
			},
			func(s *service.Service, n int) error { return s.DeleteTrait(context.Background(), trait(n)) })
		orphans(t, s, "links to traits that are gone", `
SELECT COUNT(*)
FROM resource_provider_traits l
LEFT JOIN traits t ON t.id = l.trait_id
WHERE t.id IS NULL`)
	})
}

// TestMovesKeepTrees moves providers about at random through two services: there
// must be no loop, and everybody's root must be the one above.
func TestMovesKeepTrees(t *testing.T) {
	onServers(t, func(t *testing.T, url string) {
		const providers = 6
		random := rand.New(rand.NewPCG(1, 2))
		var plan [2][40][2]int
		for side := range plan {
			for n := range plan[side] {
				plan[side][n] = [2]int{random.IntN(providers), random.IntN(providers + 1)}
			}
		}
		move := func(side int) func(*service.Service, int) error {
			return func(s *service.Service, n int) error {
				what, to := plan[side][n][0], plan[side][n][1]
				c := placement.ProviderChange{Name: string(id(what, "p")), SetParent: true, Reparent: true}
				if to < providers {
					c.Parent = id(to, "p")
				}
				_, err := s.UpdateProvider(context.Background(), id(what, "p"), c)
				return err
			}
		}
		s := rivals(t, url, 40, func(s *service.Service, n int) {
			for i := 0; n == 0 && i < providers; i++ {
				_, err := s.CreateProvider(context.Background(), placement.NewProvider{UUID: id(i, "p"), Name: string(id(i, "p"))})
				if err != nil {
					t.Fatal(err)
				}
			}
		}, move(0), move(1))
		orphans(t, s, "providers whose root is not that of their parent", `
SELECT COUNT(*)
FROM resource_providers p
LEFT JOIN resource_providers q ON q.id = p.parent_provider_id
WHERE p.root_provider_id <> COALESCE(q.root_provider_id, p.id)`)
		orphans(t, s, "roots that have a parent", `
SELECT COUNT(*)
FROM resource_providers p
WHERE p.parent_provider_id IS NOT NULL AND p.root_provider_id = p.id`)
	})
}
