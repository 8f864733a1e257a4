package placementclient_test

import (
	"net/http"
	"testing"

	"github.com/google/go-cmp/cmp"
	"github.com/google/go-cmp/cmp/cmpopts"

	"github.com/berthcloud/berth/client"
	"github.com/berthcloud/berth/client/clienttest"
	"github.com/berthcloud/berth/client/placementclient"
	"github.com/berthcloud/berth/fault"
	"github.com/berthcloud/berth/internal/server"
	"github.com/berthcloud/berth/placement/providertree"
	"github.com/berthcloud/berth/placement/providertree/providertreetest"
)

func TestPlacementOfBerth(t *testing.T) {
	service := clienttest.NewProxy(t, clienttest.Berth(t))
	testPlacement(t, service)
	t.Run("Concurrency", func(t *testing.T) { providertreetest.TestPlacementConcurrency(t, newPlacement(t, service.URL)) })
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
			providertreetest.MakeTree(t, p)
			clienttest.Must(t, "SetAllocations",
				p.SetAllocations(t.Context(), clienttest.ServerID, providertreetest.Allocation(1)))
			providertreetest.Tidy(t, p)
		}
	})
}

// testPlacement tests the contract of a Placement against a service.
func testPlacement(t *testing.T, service *clienttest.Proxy) {
	p := newPlacement(t, service.URL)
	providertreetest.TestPlacement(t, p)
	for _, tc := range []struct {
		name string
		test func(*testing.T, *clienttest.Proxy, providertreetest.Placement)
	}{
		{"ProvidersAreMadeOnce", testMadeOnce},
		{"ProvidersOfAnotherTreeAreMoved", testElsewhere},
		{"WhatIsSoIsNotWritten", testUnwritten},
		{"PathsAreEscaped", testPaths},
	} {
		t.Run(tc.name, func(t *testing.T) {
			defer providertreetest.Tidy(t, p)
			tc.test(t, service, p)
		})
	}
}

// testMadeOnce has another client create the provider before the creation arrives.
func testMadeOnce(t *testing.T, service *clienttest.Proxy, p providertreetest.Placement) {
	providertreetest.MakeTree(t, p)
	late := newPlacement(t, service.URL)
	want := providertree.Provider{
		ID: clienttest.OtherID, Name: "host one:agent:br-new", Parent: clienttest.AgentID,
		Inventories: providertreetest.Offering(5),
	}
	service.Intercept(func(_ http.ResponseWriter, r *http.Request) bool {
		if r.Method == http.MethodPost {
			service.Intercept(nil)
			clienttest.Must(t, "the other's Set", providertreetest.Set(t.Context(), late, want))
		}
		return false
	})
	clienttest.Must(t, "Set", providertreetest.Set(t.Context(), p, want))
	got, err := p.Named(t.Context(), want.Name)
	if err != nil || got.ID != clienttest.OtherID || got.Parent != clienttest.AgentID {
		t.Errorf("Named = %+v, %v", got, err)
	}
}

// testElsewhere: a provider that is in another tree is moved, with what it has.
func testElsewhere(t *testing.T, _ *clienttest.Proxy, p providertreetest.Placement) {
	providertreetest.MakeTree(t, p)
	other := providertree.Provider{
		ID: clienttest.OtherID, Name: "other", Inventories: providertreetest.Offering(5), Traits: []string{"CUSTOM_A"},
	}
	clienttest.Must(t, "Set", providertreetest.Set(t.Context(), p, other))
	other.Name, other.Parent, other.Traits = "host one:agent:br-new", clienttest.AgentID, nil
	result, err := providertree.Sync(t.Context(), p, providertree.Spec{
		Root: clienttest.RootID, Plan: func(actual providertree.Tree) (providertree.Plan, error) {
			return providertree.Compare(actual, []providertree.Provider{other}, nil), nil
		},
	})
	clienttest.Must(t, "Sync", err)
	clienttest.Must(t, "Sync", result.Err())
	tree, err := p.Tree(t.Context(), clienttest.RootID, nil)
	clienttest.Must(t, "Tree", err)
	got, _ := tree.Find(clienttest.OtherID)
	got.Generation = 0
	if diff := cmp.Diff(other, got, cmpopts.EquateEmpty()); diff != "" {
		t.Errorf("it is (-want +got):\n%s", diff)
	}
}

// testUnwritten counts the requests that write.
func testUnwritten(t *testing.T, service *clienttest.Proxy, p providertreetest.Placement) {
	ctx := t.Context()
	providertreetest.MakeTree(t, p)
	for what, change := range map[string]func(*providertree.Provider){
		"traits":      func(p *providertree.Provider) { p.Traits = []string{"HW_NIC_SRIOV"} },
		"inventories": func(p *providertree.Provider) { p.Inventories = providertreetest.Offering(2000) },
	} {
		service.Requests()
		clienttest.Must(t, what, providertreetest.Change(ctx, p, clienttest.DeviceID, change))
		clienttest.Must(t, what+" again", providertreetest.Change(ctx, p, clienttest.DeviceID, change))
		if n := clienttest.Count(service.Requests(), "PUT"); n != 1 {
			t.Errorf("%s twice made %d requests to write, want 1", what, n)
		}
	}
}

func testPaths(t *testing.T, _ *clienttest.Proxy, p providertreetest.Placement) {
	clienttest.WantKind(t, "EnsureTrait of a path", p.EnsureTrait(t.Context(), "../resource_classes/CUSTOM_X"),
		fault.NotFound)
	clienttest.Must(t, "Remove of a path", p.Remove(t.Context(), "../traits/CUSTOM_A"))
}

func newPlacement(t testing.TB, url string, change ...func(*client.Options)) *placementclient.Client {
	t.Helper()
	p := placementclient.New(clienttest.Options(t, url, change...))
	t.Cleanup(p.Close)
	return p
}
