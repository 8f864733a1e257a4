package client_test

import (
	"net/http"
	"testing"

	"github.com/berthcloud/berth/client"
	"github.com/berthcloud/berth/conformance/server"
	"github.com/berthcloud/berth/fault"
	"github.com/berthcloud/berth/network"
	"github.com/berthcloud/berth/network/networktest"
)

func TestPlacementOfBerth(t *testing.T) {
	service := newProxy(t, berth(t))
	testPlacement(t, service)
	t.Run("Concurrency", func(t *testing.T) { networktest.TestPlacementConcurrency(t, newPlacement(t, service.url)) })
}

// TestPlacementOfUpstream runs the same test with the distribution's service.
func TestPlacementOfUpstream(t *testing.T) {
	if testing.Short() {
		t.Skip("starts the distribution's Placement: not under -short")
	}
	url := server.StartUpstream(t, server.Options{}).URL()
	testPlacement(t, newProxy(t, forward(url)))
	t.Run("ConnectionsThatEndWithoutAWord", func(t *testing.T) {
		p := newPlacement(t, url, func(o *client.Options) { o.Retries = 0 })
		for range 5 {
			networktest.MakeTree(t, p)
			must(t, "SetAllocations", p.SetAllocations(t.Context(), serverID, networktest.Allocation(1)))
			networktest.Tidy(t, p)
		}
	})
}

// testPlacement tests the contract of a Placement against a service.
func testPlacement(t *testing.T, service *proxy) {
	p := newPlacement(t, service.url)
	networktest.TestPlacement(t, p)
	for _, tc := range []struct {
		name string
		test func(*testing.T, *proxy, network.Placement)
	}{
		{"ProvidersAreMadeOnce", testMadeOnce},
		{"WhatIsSoIsNotWritten", testUnwritten},
		{"PathsAreEscaped", testPaths},
	} {
		t.Run(tc.name, func(t *testing.T) {
			defer networktest.Tidy(t, p)
			tc.test(t, service, p)
		})
	}
}

// testMadeOnce has another client create the provider between update and creation.
func testMadeOnce(t *testing.T, service *proxy, p network.Placement) {
	networktest.MakeTree(t, p)
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

// testUnwritten counts the requests that write.
func testUnwritten(t *testing.T, service *proxy, p network.Placement) {
	ctx := t.Context()
	networktest.MakeTree(t, p)
	must(t, "EnsureTrait", p.EnsureTrait(ctx, "CUSTOM_A"))
	for what, write := range map[string]func() error{
		"SetTraits":      func() error { return p.SetTraits(ctx, deviceID, []string{"CUSTOM_A"}) },
		"SetInventories": func() error { return p.SetInventories(ctx, deviceID, networktest.Offering(2000)) },
	} {
		service.calls()
		must(t, what, write())
		must(t, what+" again", write())
		if n := count(service.calls(), "PUT"); n != 1 {
			t.Errorf("%s twice made %d requests to write, want 1", what, n)
		}
	}
}

func testPaths(t *testing.T, _ *proxy, p network.Placement) {
	wantKind(t, "EnsureTrait of a path", p.EnsureTrait(t.Context(), "../resource_classes/CUSTOM_X"), fault.NotFound)
	must(t, "RemoveProvider of a path", p.RemoveProvider(t.Context(), "../traits/CUSTOM_A"))
}
