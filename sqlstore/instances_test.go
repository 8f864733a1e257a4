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

// TestClaimsKnowClassesThatWereReplaced deletes a class through one service and
// gives its number to another one: the other service must not mix them up.
func TestClaimsKnowClassesThatWereReplaced(t *testing.T) {
	onServers(t, func(t *testing.T, url string) {
		ctx := context.Background()
		storeA, storeB := two(t, url)
		a, b := serve(t, storeA), serve(t, storeB)
		host(t)(a, 0)
		if err := a.CreateClass(ctx, "CUSTOM_OLD"); err != nil {
			t.Fatal(err)
		}
		if _, err := b.Snapshot(ctx); err != nil {
			t.Fatal(err)
		}
		if err := a.DeleteClass(ctx, "CUSTOM_OLD"); err != nil {
			t.Fatal(err)
		}
		if err := a.CreateClass(ctx, "CUSTOM_NEW"); err != nil {
			t.Fatal(err)
		}
		inv := placement.Inventory{Total: 8, MinUnit: 1, MaxUnit: 8, StepSize: 1, AllocationRatio: 1}
		if _, err := a.AddInventory(ctx, "h0", placement.InventoryOf{Class: "CUSTOM_NEW", Inventory: inv},
			placement.InventoryRule{}); err != nil {
			t.Fatal(err)
		}
		err := b.SetAllocations(ctx, placement.Claim{
			Consumer: "vm", Project: "p", User: "u",
			Allocations: []placement.ProviderAllocation{
				{Provider: "h0", Resources: []placement.ClassAmount{{Class: "CUSTOM_OLD", Amount: 1}}},
			},
		})
		if kind, _ := fault.Of(err); kind != fault.Invalid {
			t.Errorf("claim of a class that is gone: %v, want Invalid", err)
		}
	})
}

// TestClassesMadeAtOnceGetNumbersOfTheirOwn makes two classes through two
// services at the same time.
func TestClassesMadeAtOnceGetNumbersOfTheirOwn(t *testing.T) {
	onServers(t, func(t *testing.T, url string) {
		make := func(side string) func(*service.Service, int) error {
			return func(s *service.Service, n int) error {
				err := s.CreateClass(context.Background(), fmt.Sprintf("CUSTOM_%s%d", side, n))
				if err != nil {
					t.Errorf("CreateClass: %v", err)
				}
				return err
			}
		}
		rivals(t, url, 20, func(*service.Service, int) {}, make("L"), make("R"))
	})
}

// TestInstancesStartTogether starts several on a database that has no tables.
func TestInstancesStartTogether(t *testing.T) {
	onServers(t, func(t *testing.T, url string) {
		var all sync.WaitGroup
		for range 4 {
			all.Go(func() {
				s, err := sqlstore.Open(context.Background(), sqlstore.Options{Server: server(t, url)})
				if err != nil {
					t.Errorf("Open: %v", err)
					return
				}
				defer s.Close()
				if _, err := service.New(context.Background(), s, service.DefaultSettings()); err != nil {
					t.Errorf("NewService: %v", err)
				}
			})
		}
		all.Wait()
	})
}
