package neutron

import (
	"encoding/json"
	"net/http"
	"net/http/httptest"
	"net/http/httputil"
	"net/url"
	"testing"

	"github.com/berthcloud/berth/internal/keystonetest"
	"github.com/berthcloud/berth/internal/server"
	"github.com/berthcloud/berth/internal/servertest"
)

// PlacementAt are the options of a Placement that checks tokens with a Keystone, with upstream's
// current policy, by which services need not be administrators.
func PlacementAt(k *keystonetest.Keystone) server.Options {
	return server.Options{Policy: server.MasterPolicy(), Config: map[string]map[string]string{
		"api": {"auth_strategy": "keystone"}, "keystone_authtoken": server.Login(k),
	}}
}

// StartPlacement starts the distribution's Placement and returns its address. There is a proxy
// before it, because its server closes connections without announcing it, which its clients report
// as a failure.
func StartPlacement(t testing.TB, opts server.Options) string {
	t.Helper()
	service, err := url.Parse(server.StartUpstream(t, opts).URL())
	if err != nil {
		t.Fatal(err)
	}
	proxy := httputil.NewSingleHostReverseProxy(service)
	proxy.Transport = &http.Transport{DisableKeepAlives: true}
	front := &httptest.Server{Listener: servertest.Listen(t), Config: &http.Server{Handler: proxy}}
	front.Start()
	t.Cleanup(front.Close)
	return front.URL
}

// emptyPlacement removes all providers of a side's placement service and their allocations.
func emptyPlacement(t testing.TB, s Side) {
	t.Helper()
	for {
		var list struct {
			Providers []struct{ UUID string } `json:"resource_providers"`
		}
		queryPlacement(t, s, "GET", "/resource_providers", &list)
		removed := 0
		for _, p := range list.Providers {
			removed += removeProvider(t, s, p.UUID)
		}
		if len(list.Providers) == 0 {
			return
		}
		if removed == 0 {
			t.Fatalf("no provider of %d can be removed from placement", len(list.Providers))
		}
	}
}

// removeProvider removes a provider, if it has no children, and returns how many
// it has removed.
func removeProvider(t testing.TB, s Side, uuid string) int {
	t.Helper()
	var allocated struct{ Allocations map[string]any }
	queryPlacement(t, s, "GET", "/resource_providers/"+uuid+"/allocations", &allocated)
	for consumer := range allocated.Allocations {
		queryPlacement(t, s, "DELETE", "/allocations/"+consumer, nil)
	}
	if queryPlacement(t, s, "DELETE", "/resource_providers/"+uuid, nil) == http.StatusNoContent {
		return 1
	}
	return 0
}

func queryPlacement(t testing.TB, s Side, method, path string, into any) (status int) {
	t.Helper()
	r, err := http.NewRequest(method, s.PlacementURL()+path, http.NoBody)
	if err != nil {
		t.Fatal(err)
	}
	r.Header.Set("X-Auth-Token", s.PlacementToken())
	r.Header.Set("OpenStack-API-Version", "placement 1.37")
	r.Close = true // upstream's server closes connections without announcing it
	res, err := http.DefaultClient.Do(r)
	if err != nil {
		t.Fatal(err)
	}
	defer res.Body.Close()
	if into != nil {
		if err := json.NewDecoder(res.Body).Decode(into); err != nil {
			t.Fatalf("%s %s: %v", method, path, err)
		}
	}
	return res.StatusCode
}
