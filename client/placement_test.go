package client_test

import (
	"net/http"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"github.com/google/go-cmp/cmp/cmpopts"

	"github.com/berthcloud/berth/client"
	"github.com/berthcloud/berth/conformance/server"
	"github.com/berthcloud/berth/fault"
	"github.com/berthcloud/berth/network"
)

func TestPlacementOfBerth(t *testing.T) {
	testPlacement(t, newProxy(t, berth(t)))
}

// TestPlacementOfUpstream asks the distribution's service the same.
func TestPlacementOfUpstream(t *testing.T) {
	if testing.Short() {
		t.Skip("starts the distribution's Placement")
	}
	url := server.StartUpstream(t, server.Options{}).URL()
	testPlacement(t, newProxy(t, forward(url)))
	t.Run("ConnectionsThatEndWithoutAWord", func(t *testing.T) {
		p := newPlacement(t, url, func(o *client.Options) { o.Retries = 0 })
		for range 5 {
			testAllocations(t, nil, p)
			tidy(t, p)
		}
	})
}

// testPlacement is what is promised of a Placement, whatever service it asks.
func testPlacement(t *testing.T, service *proxy) {
	for _, tc := range []struct {
		name string
		test func(*testing.T, *proxy, network.Placement)
	}{
		{"Providers", testProviders},
		{"ProvidersAreMadeOnce", testMadeOnce},
		{"RemovedProviders", testRemoved},
		{"Traits", testTraits},
		{"Inventories", testInventories},
		{"Allocations", testAllocations},
		{"TypesOfConsumersStay", testTypes},
		{"NamesAreEscaped", testNames},
	} {
		t.Run(tc.name, func(t *testing.T) {
			p := newPlacement(t, service.url)
			defer tidy(t, p)
			tc.test(t, service, p)
		})
	}
}

// tidy takes away what a test made.
func tidy(t *testing.T, p network.Placement) {
	ctx := t.Context()
	a, err := p.Allocations(ctx, serverID)
	must(t, "Allocations", err)
	if a.Providers != nil {
		a.Providers = nil
		must(t, "SetAllocations of nothing", p.SetAllocations(ctx, serverID, a))
	}
	for _, uuid := range []string{otherID, deviceID, agentID, rootID} {
		must(t, "RemoveProvider", p.RemoveProvider(ctx, uuid))
	}
}

func testProviders(t *testing.T, _ *proxy, p network.Placement) {
	ctx := t.Context()
	_, err := p.ProviderNamed(ctx, "host one")
	wantIs(t, "ProviderNamed before", err, network.ErrNoProvider)
	_, err = p.ProvidersBelow(ctx, rootID)
	wantIs(t, "ProvidersBelow before", err, network.ErrNoProvider)
	newTree(t, p)

	got, err := p.ProviderNamed(ctx, "host one")
	must(t, "ProviderNamed", err)
	if diff := cmp.Diff(network.Provider{UUID: rootID, Name: "host one"}, got); diff != "" {
		t.Errorf("ProviderNamed (-want +got):\n%s", diff)
	}
	must(t, "EnsureProvider again", p.EnsureProvider(ctx, network.Provider{UUID: agentID, Name: "host one:agent", Parent: rootID}))
	must(t, "EnsureProvider of the device below the root", p.EnsureProvider(ctx, network.Provider{UUID: deviceID, Name: "host one:agent:br-int", Parent: rootID}))
	tree, err := p.ProvidersBelow(ctx, deviceID)
	must(t, "ProvidersBelow", err)
	slices.SortFunc(tree, func(a, b network.Provider) int { return strings.Compare(a.UUID, b.UUID) })
	want := []network.Provider{
		{UUID: rootID, Name: "host one"},
		{UUID: agentID, Name: "host one:agent", Parent: rootID},
		{UUID: deviceID, Name: "host one:agent:br-int", Parent: rootID},
	}
	if diff := cmp.Diff(want, tree, cmpopts.IgnoreFields(network.Provider{}, "Generation")); diff != "" {
		t.Errorf("ProvidersBelow (-want +got):\n%s", diff)
	}

	err = p.EnsureProvider(ctx, network.Provider{UUID: otherID, Name: "host one", Parent: ""})
	wantKind(t, "EnsureProvider with a name that is taken", err, fault.Conflict)
	err = p.EnsureProvider(ctx, network.Provider{UUID: otherID, Name: "other", Parent: noneID})
	wantKind(t, "EnsureProvider below nothing", err, fault.Invalid)
}

// testMadeOnce has somebody else make the provider between update and creation.
func testMadeOnce(t *testing.T, service *proxy, p network.Placement) {
	newTree(t, p)
	late := newPlacement(t, service.url)
	want := network.Provider{UUID: otherID, Name: "host one:agent:br-new", Parent: agentID}
	service.intercept(func(_ http.ResponseWriter, r *http.Request) bool {
		if r.Method == http.MethodPost {
			service.intercept(nil)
			must(t, "the other's EnsureProvider", late.EnsureProvider(t.Context(), want))
		}
		return false
	})
	must(t, "EnsureProvider", p.EnsureProvider(t.Context(), want))
	got, err := p.ProviderNamed(t.Context(), want.Name)
	if err != nil || got.UUID != otherID || got.Parent != agentID {
		t.Errorf("ProviderNamed = %+v, %v", got, err)
	}
}

func testRemoved(t *testing.T, _ *proxy, p network.Placement) {
	ctx := t.Context()
	newTree(t, p)
	must(t, "RemoveProvider of none", p.RemoveProvider(ctx, noneID))
	wantIs(t, "RemoveProvider of a parent", p.RemoveProvider(ctx, agentID), network.ErrInUse)
	must(t, "SetAllocations", p.SetAllocations(ctx, serverID, held(10)))
	err := p.RemoveProvider(ctx, deviceID)
	wantIs(t, "RemoveProvider of what is allocated", err, network.ErrInUse)
	wantKind(t, "RemoveProvider of what is allocated", err, fault.Conflict)
	a, err := p.Allocations(ctx, serverID)
	must(t, "Allocations", err)
	a.Providers = nil
	must(t, "SetAllocations of nothing", p.SetAllocations(ctx, serverID, a))
	must(t, "RemoveProvider", p.RemoveProvider(ctx, deviceID))
	must(t, "RemoveProvider of what was a parent", p.RemoveProvider(ctx, agentID))
}

func testTraits(t *testing.T, service *proxy, p network.Placement) {
	ctx := t.Context()
	newTree(t, p)
	wantKind(t, "SetTraits of one that is not there", p.SetTraits(ctx, deviceID, []string{"CUSTOM_B"}), fault.Invalid)
	for _, name := range []string{"CUSTOM_A", "CUSTOM_B", "CUSTOM_A"} {
		must(t, "EnsureTrait", p.EnsureTrait(ctx, name))
	}
	wantKind(t, "EnsureTrait of a bad name", p.EnsureTrait(ctx, "bad name"), fault.Invalid)
	wantIs(t, "SetTraits of no provider", p.SetTraits(ctx, noneID, nil), network.ErrNoProvider)

	for _, traits := range [][]string{{"CUSTOM_B", "CUSTOM_A", "CUSTOM_B"}, {"CUSTOM_A"}, nil} {
		service.calls()
		must(t, "SetTraits", p.SetTraits(ctx, deviceID, traits))
		must(t, "SetTraits again", p.SetTraits(ctx, deviceID, traits))
		if n := count(service.calls(), "PUT"); n != 1 {
			t.Errorf("SetTraits(%q) twice made %d requests to write, want 1", traits, n)
		}
	}
}

func testInventories(t *testing.T, service *proxy, p network.Placement) {
	ctx := t.Context()
	newTree(t, p)
	one, ten, ratio := int64(1), int64(10), 1.5
	wantIs(t, "SetInventories of no provider", p.SetInventories(ctx, noneID, nil), network.ErrNoProvider)
	for _, tc := range []struct {
		inventories map[string]network.Inventory
		writes      int
	}{
		{map[string]network.Inventory{egress: {Total: 1000}}, 0}, // as it is
		{map[string]network.Inventory{egress: {Total: 1000, MinUnit: &one}}, 0},
		{map[string]network.Inventory{egress: {Total: 2000}, ingress: {Total: 500, AllocationRatio: &ratio, MinUnit: &ten, MaxUnit: &ten, StepSize: &ten, Reserved: &one}}, 1},
		{map[string]network.Inventory{egress: {Total: 2000}}, 1},
		{nil, 1},
		{nil, 0},
		{map[string]network.Inventory{egress: {Total: 1000}}, 1},
	} {
		service.calls()
		must(t, "SetInventories", p.SetInventories(ctx, deviceID, tc.inventories))
		if n := count(service.calls(), "PUT"); n != tc.writes {
			t.Errorf("SetInventories(%v) made %d requests to write, want %d", tc.inventories, n, tc.writes)
		}
	}
	must(t, "SetAllocations", p.SetAllocations(ctx, serverID, held(10)))
	err := p.SetInventories(ctx, deviceID, nil)
	wantIs(t, "SetInventories without what is allocated", err, network.ErrInUse)
	wantKind(t, "SetInventories of a class that is not there",
		p.SetInventories(ctx, deviceID, map[string]network.Inventory{egress: {Total: 1000}, "CUSTOM_NONE": {Total: 1}}), fault.Invalid)
}

func testAllocations(t *testing.T, _ *proxy, p network.Placement) {
	ctx := t.Context()
	newTree(t, p)
	got, err := p.Allocations(ctx, serverID)
	must(t, "Allocations of a new consumer", err)
	if diff := cmp.Diff(network.Allocations{}, got); diff != "" {
		t.Errorf("Allocations of a new consumer (-want +got):\n%s", diff)
	}
	must(t, "SetAllocations", p.SetAllocations(ctx, serverID, held(400)))
	got, err = p.Allocations(ctx, serverID)
	must(t, "Allocations", err)
	if diff := cmp.Diff(held(400), got, cmpopts.IgnoreFields(network.Allocations{}, "Generation")); diff != "" {
		t.Errorf("Allocations (-want +got):\n%s", diff)
	}
	if got.Generation == nil {
		t.Fatal("Allocations has no generation")
	}

	wantIs(t, "SetAllocations as of a new consumer", p.SetAllocations(ctx, serverID, held(500)), network.ErrGeneration)
	more := held(1001)
	more.Generation = got.Generation
	err = p.SetAllocations(ctx, serverID, more)
	wantIs(t, "SetAllocations of too much", err, network.ErrCapacity)
	wantKind(t, "SetAllocations of too much", err, fault.Conflict)
	more = held(1000)
	more.Generation = got.Generation
	must(t, "SetAllocations of all", p.SetAllocations(ctx, serverID, more))
	wantIs(t, "SetAllocations as of before", p.SetAllocations(ctx, serverID, more), network.ErrGeneration)
}

func testTypes(t *testing.T, _ *proxy, p network.Placement) {
	ctx := t.Context()
	newTree(t, p)
	first := held(1)
	first.Type = "INSTANCE"
	must(t, "SetAllocations", p.SetAllocations(ctx, serverID, first))
	for amount, kind := range map[int64]string{2: "INSTANCE", 3: ""} {
		got, err := p.Allocations(ctx, serverID)
		must(t, "Allocations", err)
		if got.Type != "INSTANCE" {
			t.Errorf("type = %q, want INSTANCE", got.Type)
		}
		got.Providers[deviceID][egress], got.Type = amount, kind
		must(t, "SetAllocations", p.SetAllocations(ctx, serverID, got))
	}
}

func testNames(t *testing.T, _ *proxy, p network.Placement) {
	ctx := t.Context()
	name := "höst & co=1?#%2F/+;:Open vSwitch agent"
	must(t, "EnsureProvider", p.EnsureProvider(ctx, network.Provider{UUID: rootID, Name: name}))
	got, err := p.ProviderNamed(ctx, name)
	must(t, "ProviderNamed", err)
	if got.Name != name {
		t.Errorf("name = %q, want %q", got.Name, name)
	}
	wantKind(t, "EnsureTrait of a path", p.EnsureTrait(ctx, "../resource_classes/CUSTOM_X"), fault.NotFound)
	if err := p.RemoveProvider(ctx, "../traits/CUSTOM_A"); err != nil {
		t.Errorf("RemoveProvider of a path = %v", err)
	}
}
