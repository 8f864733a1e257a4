package placementclient_test

import (
	"net/http"
	"testing"

	"github.com/berthcloud/berth/client"
	"github.com/berthcloud/berth/client/clienttest"
	"github.com/berthcloud/berth/client/placementclient"
	"github.com/berthcloud/berth/conformance/server"
	"github.com/berthcloud/berth/fault"
	"github.com/berthcloud/berth/network"
	"github.com/berthcloud/berth/network/networktest"
)

func TestPlacementOfBerth(t *testing.T) {
	service := clienttest.NewProxy(t, clienttest.Berth(t))
	testPlacement(t, service)
	t.Run("Concurrency", func(t *testing.T) { networktest.TestPlacementConcurrency(t, newPlacement(t, service.URL)) })
}

// TestPlacementOfUpstream runs the same test with the distribution's service.
func TestPlacementOfUpstream(t *testing.T) {
	if testing.Short() {
		t.Skip("starts the distribution's Placement: not under -short")
	}
	url := server.StartUpstream(t, server.Options{}).URL()
	testPlacement(t, clienttest.NewProxy(t, clienttest.Forward(url)))
	t.Run("ConnectionsThatEndWithoutAWord", func(t *testing.T) {
		p := newPlacement(t, url, func(o *client.Options) { o.Retries = 0 })
		for range 5 {
			networktest.MakeTree(t, p)
			clienttest.Must(t, "SetAllocations", p.SetAllocations(t.Context(), clienttest.ServerID, networktest.Allocation(1)))
			networktest.Tidy(t, p)
		}
	})
}

// testPlacement tests the contract of a Placement against a service.
func testPlacement(t *testing.T, service *clienttest.Proxy) {
	p := newPlacement(t, service.URL)
	networktest.TestPlacement(t, p)
	for _, tc := range []struct {
		name string
		test func(*testing.T, *clienttest.Proxy, network.Placement)
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
func testMadeOnce(t *testing.T, service *clienttest.Proxy, p network.Placement) {
	networktest.MakeTree(t, p)
	late := newPlacement(t, service.URL)
	want := network.Provider{UUID: clienttest.OtherID, Name: "host one:agent:br-new", Parent: clienttest.AgentID}
	service.Intercept(func(_ http.ResponseWriter, r *http.Request) bool {
		if r.Method == http.MethodPost {
			service.Intercept(nil)
			clienttest.Must(t, "the other's EnsureProvider", late.EnsureProvider(t.Context(), want))
		}
		return false
	})
	clienttest.Must(t, "EnsureProvider", p.EnsureProvider(t.Context(), want))
	got, err := p.ProviderNamed(t.Context(), want.Name)
	if err != nil || got.UUID != clienttest.OtherID || got.Parent != clienttest.AgentID {
		t.Errorf("ProviderNamed = %+v, %v", got, err)
	}
}

// testUnwritten counts the requests that write.
func testUnwritten(t *testing.T, service *clienttest.Proxy, p network.Placement) {
	ctx := t.Context()
	networktest.MakeTree(t, p)
	clienttest.Must(t, "EnsureTrait", p.EnsureTrait(ctx, "CUSTOM_A"))
	for what, write := range map[string]func() error{
		"SetTraits":      func() error { return p.SetTraits(ctx, clienttest.DeviceID, []string{"CUSTOM_A"}) },
		"SetInventories": func() error { return p.SetInventories(ctx, clienttest.DeviceID, networktest.Offering(2000)) },
	} {
		service.Requests()
		clienttest.Must(t, what, write())
		clienttest.Must(t, what+" again", write())
		if n := clienttest.Count(service.Requests(), "PUT"); n != 1 {
			t.Errorf("%s twice made %d requests to write, want 1", what, n)
		}
	}
}

func testPaths(t *testing.T, _ *clienttest.Proxy, p network.Placement) {
	clienttest.WantKind(t, "EnsureTrait of a path", p.EnsureTrait(t.Context(), "../resource_classes/CUSTOM_X"), fault.NotFound)
	clienttest.Must(t, "RemoveProvider of a path", p.RemoveProvider(t.Context(), "../traits/CUSTOM_A"))
}

func newPlacement(t testing.TB, url string, change ...func(*client.Options)) *placementclient.Client {
	t.Helper()
	p := placementclient.New(clienttest.Options(t, url, change...))
	t.Cleanup(p.Close)
	return p
}
