package networkapi_test

import (
	"fmt"
	"net/http"
	"net/http/httptest"
	"slices"
	"strings"
	"testing"

	"github.com/berthcloud/berth/httpapi"
)

// With a bound on lists every list is a page, which links to the next one.
func TestListsAreBounded(t *testing.T) {
	c := newCloud(t)
	for i := range 5 {
		c.made("admin", "networks", "network", fmt.Sprintf(`{"name": "n%d"}`, i))
	}
	api := newAPI(t, c.service)
	api.MaxLimit = 2
	s := httptest.NewServer(handler(api, httpapi.NoAuth))
	defer s.Close()
	c.url = s.URL
	for query, want := range map[string]int{"": 2, "limit=0": 2, "limit=1": 1, "limit=2": 2, "limit=9": 2} {
		status, answer := c.request("admin", "GET", "/v2.0/networks?"+query, "")
		if status != http.StatusOK || strings.Count(answer, `"name"`) != want || !strings.Contains(answer, `"rel": "next"`) {
			t.Errorf("GET networks?%s = %d %s, want %d and a link to the next ones", query, status, answer, want)
		}
	}
}

// Links begin with what the operator says, for clients behind a proxy that says nothing.
func TestLinksHaveTheirPrefix(t *testing.T) {
	c := newCloud(t)
	c.made("admin", "networks", "network", `{"name": "net0"}`)
	for _, prefix := range []string{"https://cloud.example/net", "https://cloud.example/net/"} {
		api := newAPI(t, c.service)
		api.LinkPrefix = prefix
		s := httptest.NewServer(handler(api, httpapi.NoAuth))
		c.url = s.URL
		for path, want := range map[string]string{
			"/":                      `"href": "https://cloud.example/net/v2.0"`,
			"/v2.0/":                 `"href": "https://cloud.example/net/v2.0/ports"`,
			"/v2.0/networks?limit=1": `"href": "https://cloud.example/net/v2.0/networks?limit=1&marker=`,
		} {
			if _, answer := c.request("admin", "GET", path, ""); !strings.Contains(answer, want) {
				t.Errorf("with %s, GET %s = %s, want %s", prefix, path, answer, want)
			}
		}
		s.Close()
	}
}

// TestListsOfOneProjectAreBounded: every list of a resource is among the requests that are bounded
// for each project.
func TestListsOfOneProjectAreBounded(t *testing.T) {
	few := []string{"/", "/v2.0/", "/v2.0/extensions", "/v2.0/quotas", "/v2.0/qos/rule-types", "/v2.0/availability_zones"}
	for _, r := range newAPI(t, newCloud(t).service).Routes() {
		lists := r.Method == http.MethodGet && !strings.Contains(r.Pattern, "{") && !slices.Contains(few, r.Pattern)
		if lists && !r.Lists {
			t.Errorf("requests for %s are not bounded", r.Pattern)
		}
	}
}
