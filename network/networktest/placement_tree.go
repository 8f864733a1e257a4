package networktest

import (
	"context"
	"testing"

	"github.com/berthcloud/berth/allocations"
	"github.com/berthcloud/berth/guarantee"
	"github.com/berthcloud/berth/network"
)

// UUIDs of what tests of a network.Placement make. Nothing has the last.
const (
	RootProvider   = "00000000-0000-4000-8000-000000000001"
	AgentProvider  = "00000000-0000-4000-8000-000000000002"
	DeviceProvider = "00000000-0000-4000-8000-000000000003"
	OtherProvider  = "00000000-0000-4000-8000-000000000004"
	Consumer       = "00000000-0000-4000-8000-0000000000aa"
	Nobody         = "00000000-0000-4000-8000-00000000000f"
)

// MakeTree makes a host with an agent and a device that offers 1000 kbit/s of egress.
func MakeTree(t testing.TB, p network.Placement) {
	t.Helper()
	ctx := context.Background()
	for _, provider := range []network.Provider{
		{UUID: RootProvider, Name: "host one"},
		{UUID: AgentProvider, Name: "host one:agent", Parent: RootProvider},
		{UUID: DeviceProvider, Name: "host one:agent:br-ex", Parent: AgentProvider},
	} {
		must(t, "EnsureProvider of "+provider.Name, p.EnsureProvider(ctx, provider))
	}
	must(t, "SetInventories", p.SetInventories(ctx, DeviceProvider, Offering(1000)))
}

// Offering are inventories of so much egress.
func Offering(total int64) map[string]guarantee.Inventory {
	return map[string]guarantee.Inventory{guarantee.EgressBandwidth: {Total: total}}
}

// Allocation is a new consumer's allocation of the device's egress.
func Allocation(amount int64) allocations.Consumer {
	return allocations.Consumer{
		Amounts: allocations.Amounts{DeviceProvider: {guarantee.EgressBandwidth: amount}},
		Project: "project", User: "user",
	}
}

// Tidy removes what tests with these UUIDs have created.
func Tidy(t testing.TB, p network.Placement) {
	t.Helper()
	ctx := context.Background()
	a, err := p.Allocations(ctx, Consumer)
	must(t, "Allocations", err)
	if a.Amounts != nil {
		a.Amounts = nil
		must(t, "SetAllocations of nothing", p.SetAllocations(ctx, Consumer, a))
	}
	for _, uuid := range []string{OtherProvider, DeviceProvider, AgentProvider, RootProvider} {
		must(t, "RemoveProvider", p.RemoveProvider(ctx, uuid))
	}
}

func must(t testing.TB, what string, err error) {
	t.Helper()
	if err != nil {
		t.Fatalf("%s = %v", what, err)
	}
}
