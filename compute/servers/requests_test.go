package servers_test

import (
	"net/http"
	"strings"
	"sync"
	"testing"

	"github.com/google/go-cmp/cmp"
)

// TestRequestsOfABoot counts the requests of a boot with two ports to the peer services, so that a
// port is not read more often than it has to be.
func TestRequestsOfABoot(t *testing.T) {
	w := newFixture(t, 4000, "cn1", "cn2")
	var mu sync.Mutex
	counts := map[string]int{}
	for _, b := range []*breakable{w.paths.placement, w.paths.network} {
		inner := b.handler
		b.handler = http.HandlerFunc(func(rw http.ResponseWriter, r *http.Request) {
			path := strings.Split(strings.TrimPrefix(r.URL.Path, "/v2.0"), "/")
			kind := r.Method + " " + path[1]
			if len(path) > 2 {
				kind += "/…"
			}
			mu.Lock()
			counts[kind]++
			mu.Unlock()
			inner.ServeHTTP(rw, r)
		})
	}
	server := w.boot("s", w.port(1000), w.port(1000))
	w.work(w.cloudService, nil)
	if state := w.state(server); state != "active" {
		t.Fatalf("the server is %s", state)
	}
	want := map[string]int{
		"GET ":                      1, // the versions of placement
		"GET ports":                 2, // when the server is requested, and scheduled
		"GET networks":              2,
		"GET subnets":               1, // prefixes do not change
		"PUT ports/…":               2,
		"GET allocation_candidates": 1,
		"GET allocations/…":         1,
		"PUT allocations/…":         1,
	}
	if diff := cmp.Diff(want, counts); diff != "" {
		t.Errorf("requests (-want +got):\n%s", diff)
	}
}
