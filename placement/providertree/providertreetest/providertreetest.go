// Package providertreetest has what tests of the clients of a placement service need: a small tree
// of providers, functions that change one, and a suite that any providertree.Placement and
// allocations.Placement must pass.
package providertreetest

import (
	"context"
	"math"
	"testing"

	"github.com/berthcloud/berth/allocations"
	"github.com/berthcloud/berth/guarantee"
	"github.com/berthcloud/berth/placement"
	"github.com/berthcloud/berth/placement/providertree"
)

// Placement is a placement service as the services see it that have trees and allocations there.
type Placement interface {
	allocations.Placement
	providertree.Placement
}

// UUIDs of what tests of a Placement create. Nothing has the last.
const (
	RootProvider   = "00000000-0000-4000-8000-000000000001"
	AgentProvider  = "00000000-0000-4000-8000-000000000002"
	DeviceProvider = "00000000-0000-4000-8000-000000000003"
	OtherProvider  = "00000000-0000-4000-8000-000000000004"
	Consumer       = "00000000-0000-4000-8000-0000000000aa"
	Nobody         = "00000000-0000-4000-8000-00000000000f"
)

// Set makes placement have providers as they are given, parents first.
func Set(ctx context.Context, p providertree.Placement, all ...providertree.Provider) error {
	for _, want := range all {
		want = want.Clone()
		err := syncOne(ctx, p, want.ID, func(actual providertree.Tree) (providertree.Plan, error) {
			plan := providertree.Compare(actual, []providertree.Provider{want}, nil)
			plan.Update = providertree.Misplaced(actual, []providertree.Provider{want})
			return plan, nil
		})
		if err != nil {
			return err
		}
	}
	return nil
}

// Change changes inventories and traits of a provider that exists.
func Change(
	ctx context.Context, p providertree.Placement, id placement.UUID, change func(*providertree.Provider),
) error {
	return syncOne(ctx, p, id, func(actual providertree.Tree) (providertree.Plan, error) {
		cur, exists := actual.Find(id)
		if !exists {
			return providertree.Plan{}, allocations.ErrNoProvider
		}
		want := cur.Clone()
		change(&want)
		want = want.Clone() // sorted
		return providertree.Compare(actual, []providertree.Provider{want}, nil), nil
	})
}

func syncOne(
	ctx context.Context, p providertree.Placement, id placement.UUID,
	plan func(providertree.Tree) (providertree.Plan, error),
) error {
	result, err := providertree.Sync(ctx, p, providertree.Spec{
		Root: id, Contents: func(cur providertree.Provider) bool { return cur.ID == id }, Plan: plan,
	})
	if err == nil {
		err = result.Err()
	}
	return err
}

// Offer is an inventory with placement's defaults.
func Offer(total int64) placement.Inventory {
	return placement.Inventory{Total: total, MinUnit: 1, MaxUnit: math.MaxInt32, StepSize: 1, AllocationRatio: 1}
}

// Offering are inventories of so much egress.
func Offering(total int64) map[string]placement.Inventory {
	return map[string]placement.Inventory{guarantee.EgressBandwidth: Offer(total)}
}

// MakeTree makes a host with an agent and a device that offers 1000 kbit/s of egress.
func MakeTree(t testing.TB, p providertree.Placement) {
	t.Helper()
	must(t, "Set", Set(context.Background(), p,
		providertree.Provider{ID: RootProvider, Name: "host one"},
		providertree.Provider{ID: AgentProvider, Name: "host one:agent", Parent: RootProvider},
		providertree.Provider{
			ID: DeviceProvider, Name: "host one:agent:br-ex", Parent: AgentProvider, Inventories: Offering(1000),
		},
	))
}

// Allocation is a new consumer's allocation of the device's egress.
func Allocation(amount int64) allocations.Consumer {
	return allocations.Consumer{
		Amounts: allocations.Amounts{DeviceProvider: {guarantee.EgressBandwidth: amount}},
		Project: "project", User: "user",
	}
}

// Tidy removes what tests with these UUIDs have created.
func Tidy(t testing.TB, p Placement) {
	t.Helper()
	ctx := context.Background()
	a, err := p.Allocations(ctx, Consumer)
	must(t, "Allocations", err)
	if a.Amounts != nil {
		a.Amounts = nil
		must(t, "SetAllocations of nothing", p.SetAllocations(ctx, Consumer, a))
	}
	for _, id := range []placement.UUID{OtherProvider, DeviceProvider, AgentProvider, RootProvider} {
		must(t, "Remove", p.Remove(ctx, id))
	}
}

func must(t testing.TB, what string, err error) {
	t.Helper()
	if err != nil {
		t.Fatalf("%s = %v", what, err)
	}
}
