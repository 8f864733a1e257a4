package client_test

import (
	"net/http"
	"net/http/httptest"
	"sync"
	"testing"

	"github.com/berthcloud/berth/allocations"
	"github.com/berthcloud/berth/client"
	"github.com/berthcloud/berth/client/placementclient"
)

// TestConnections: requests share a connection, except those that must be sent once, each of which
// has one of its own; none requests compression.
func TestConnections(t *testing.T) {
	var mu sync.Mutex
	by := map[string][]string{} // the addresses of the client, by method
	s := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		mu.Lock()
		defer mu.Unlock()
		by[r.Method] = append(by[r.Method], r.RemoteAddr)
		if r.Header.Get("Accept-Encoding") != "" {
			t.Errorf("%s %s accepts %q", r.Method, r.URL, r.Header.Get("Accept-Encoding"))
		}
		switch {
		case r.Method == http.MethodPut:
			w.WriteHeader(http.StatusNoContent)
		case r.URL.Path == "/":
			_, _ = w.Write([]byte(`{"versions": [{"id": "v1.0", "min_version": "1.0", "max_version": "1.39"}]}`))
		default:
			_, _ = w.Write([]byte(`{"allocations": {}}`))
		}
	}))
	defer s.Close()
	access, err := client.Fixed(s.URL, client.NoAuth)
	if err != nil {
		t.Fatal(err)
	}
	p := placementclient.New(client.Options{Access: access})
	defer p.Close()
	const consumer = "c0ffee00-0000-4000-8000-000000000001"
	for range 3 {
		if _, err := p.Allocations(t.Context(), consumer); err != nil {
			t.Fatal(err)
		}
		if err := p.SetAllocations(t.Context(), consumer, allocations.Consumer{}); err != nil {
			t.Fatal(err)
		}
	}
	seen := map[string]bool{}
	for _, address := range by[http.MethodPut] {
		if seen[address] || address == by[http.MethodGet][0] {
			t.Errorf("a write used the connection of another request: %v", by)
		}
		seen[address] = true
	}
	for _, address := range by[http.MethodGet] {
		if address != by[http.MethodGet][0] {
			t.Errorf("reads used several connections: %v", by)
		}
	}
}
