package rest

import (
	"net/http"
	"net/http/httptest"
	"net/http/httputil"
	"net/url"
	"sync/atomic"
	"testing"
)

// balancer distributes requests over the targets round-robin, one by one, and returns its URL.
func balancer(t testing.TB, targets []string) string {
	t.Helper()
	var parsed []*url.URL
	for _, target := range targets {
		u, err := url.Parse(target)
		if err != nil {
			t.Fatal(err)
		}
		parsed = append(parsed, u)
	}
	var turn atomic.Int64
	s := httptest.NewServer(&httputil.ReverseProxy{
		Transport: &http.Transport{MaxIdleConnsPerHost: 32, DisableCompression: true},
		Rewrite: func(r *httputil.ProxyRequest) {
			r.SetURL(parsed[int(turn.Add(1))%len(parsed)])
			r.Out.Host = r.In.Host
		},
	})
	t.Cleanup(s.Close)
	return s.URL
}
