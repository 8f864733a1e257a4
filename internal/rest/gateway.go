package rest

import (
	"fmt"
	"math/rand/v2"
	"net"
	"net/http"
	"net/http/httputil"
	"net/url"
	"sync"
	"testing"
)

// gateway serves target on another port until the test ends. Upstream's application server closes
// the connection after an answer without announcing it, which a client with persistent connections
// reports as a failure; in production a web server is in front of it, here the gateway. Requests
// are serialized: on SQLite upstream's threads lock each other out, and answer 500.
func gateway(t testing.TB, target string) string {
	t.Helper()
	to, err := url.Parse(target)
	if err != nil {
		t.Fatal(err)
	}
	proxy := &httputil.ReverseProxy{
		Transport: &http.Transport{DisableKeepAlives: true},
		Rewrite: func(r *httputil.ProxyRequest) {
			r.SetURL(to)
			r.Out.Host = r.In.Host // so that absolute links lead to the gateway
		},
	}
	l := listen(t)
	var turn sync.Mutex // locked while target handles a request
	srv := &http.Server{Handler: http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		turn.Lock()
		defer turn.Unlock()
		proxy.ServeHTTP(w, r)
	})}
	done := make(chan struct{})
	go func() {
		_ = srv.Serve(l) // ends with Close
		close(done)
	}()
	t.Cleanup(func() {
		if err := srv.Close(); err != nil {
			t.Logf("closing the gateway: %v", err)
		}
		<-done
	})
	return "http://" + l.Addr().String()
}

// listen opens a loopback port outside the kernel's ephemeral ports.
func listen(t testing.TB) net.Listener {
	t.Helper()
	for range 100 {
		l, err := net.Listen("tcp", fmt.Sprintf("127.0.0.1:%d", 20000+rand.IntN(12000)))
		if err == nil {
			return l
		}
	}
	t.Fatal("no free port between 20000 and 32000")
	return nil
}
