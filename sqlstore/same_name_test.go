package sqlstore_test

import (
	"context"
	"fmt"
	"sync"
	"testing"

	"github.com/berthcloud/berth/fault"
	"github.com/berthcloud/berth/placement"
	"github.com/berthcloud/berth/placement/service"
	"github.com/berthcloud/berth/sqlstore"
)

// Three services are requested the same name at once, each by several clients: one gets it, and
// the others a conflict, or the same success where repeating is none.
func TestRacesForOneName(t *testing.T) {
	ctx := context.Background()
	for _, race := range []struct {
		what string
		make func(s *service.Service, round, client int) error
		once bool // only one succeeds
	}{
		{"Class", func(s *service.Service, n, _ int) error { return s.CreateClass(ctx, fmt.Sprintf("CUSTOM_C%d", n)) }, true},
		{"EnsuredClass", func(s *service.Service, n, _ int) error {
			_, err := s.EnsureClass(ctx, fmt.Sprintf("CUSTOM_E%d", n))
			return err
		}, false},
		{"Trait", func(s *service.Service, n, _ int) error {
			_, err := s.EnsureTrait(ctx, fmt.Sprintf("CUSTOM_T%d", n))
			return err
		}, false},
		{"ProviderByName", func(s *service.Service, n, client int) error {
			_, err := s.CreateProvider(ctx, placement.NewProvider{UUID: id(1000*n+client, "u"), Name: fmt.Sprintf("name%d", n)})
			return err
		}, true},
		{"ProviderByUUID", func(s *service.Service, n, client int) error {
			_, err := s.CreateProvider(ctx, placement.NewProvider{
				UUID: id(n, "same"), Name: fmt.Sprintf("other%d-%d", n, client),
			})
			return err
		}, true},
		// New consumers on a host each, in a project, of a user and of a type that are new as well.
		{"Owners", func(s *service.Service, n, client int) error {
			return s.SetAllocations(ctx, claimOfNew(n, client, "vm"))
		}, false},
		{"OwnersOfMany", func(s *service.Service, n, client int) error {
			return s.SetManyAllocations(ctx, []placement.Claim{claimOfNew(n, client, "a"), claimOfNew(n, client, "b")})
		}, false},
		{"Aggregates", func(s *service.Service, n, client int) error {
			uuid := id(1000*n+client, "p")
			if _, err := s.CreateProvider(ctx, placement.NewProvider{UUID: uuid, Name: string(uuid)}); err != nil {
				return err
			}
			_, err := s.SetAggregates(ctx, uuid, nil, []placement.UUID{id(n, "x"), id(n, "y"), id(n, "z")})
			return err
		}, false},
	} {
		t.Run(race.what, func(t *testing.T) {
			onServers(t, func(t *testing.T, url string) {
				services := []*service.Service{}
				for range 3 {
					services = append(services, serve(t, open(t, sqlstore.Options{Server: server(t, url)})))
				}
				for client := range 12 {
					uuid := id(client, "h")
					if _, err := services[0].CreateProvider(ctx, placement.NewProvider{UUID: uuid, Name: string(uuid)}); err != nil {
						t.Fatal(err)
					}
					if _, err := services[0].SetInventories(ctx, uuid, roomy(100), placement.InventoryRule{}); err != nil {
						t.Fatal(err)
					}
				}
				for round := range 12 {
					var all sync.WaitGroup
					results := make([]error, 12)
					for client := range results {
						all.Go(func() { results[client] = race.make(services[client%3], round, client) })
					}
					all.Wait()
					won := 0
					for _, err := range results {
						switch kind, _ := fault.Of(err); {
						case err == nil:
							won++
						case kind != fault.Conflict || !race.once:
							t.Errorf("round %d: %v", round, err)
						}
					}
					if won == 0 || race.once && won != 1 {
						t.Errorf("round %d: %d of %d succeed", round, won, len(results))
					}
				}
			})
		})
	}
}

// claimOfNew claims on a client's host for a consumer whose project, user and type no consumer of
// an earlier round has.
func claimOfNew(round, client int, consumer string) placement.Claim {
	return placement.Claim{
		Consumer: id(1000*round+client, consumer), Project: fmt.Sprintf("project%d", round),
		User: fmt.Sprintf("user%d", round), Type: fmt.Sprintf("TYPE%d", round),
		Allocations: []placement.ProviderAllocation{
			{Provider: id(client, "h"), Resources: []placement.ClassAmount{{Class: "VCPU", Amount: 1}}},
		},
	}
}
