package servers

import (
	"context"
	"net/http"
	"net/http/httputil"
	"sync"
	"testing"
)

// A front leads to one of several services at a time.
type front struct {
	url     string
	proxies map[string]*httputil.ReverseProxy // by address

	mu  sync.Mutex // guards what follows
	to  string
	ctx context.Context // of the requests to it
	end context.CancelFunc
}

// newFront creates one that leads to the first of some services until the end of the test.
func newFront(t testing.TB, to ...string) *front {
	t.Helper()
	f := &front{proxies: map[string]*httputil.ReverseProxy{}}
	for _, at := range to {
		f.proxies[at] = proxy(t, at)
	}
	f.lead(to[0])
	f.url = serve(t, f)
	t.Cleanup(func() { f.lead(to[0]) })
	return f
}

// lead makes it lead to another service. Requests to the one before get no answer.
func (f *front) lead(to string) {
	f.mu.Lock()
	defer f.mu.Unlock()
	if f.end != nil {
		f.end()
	}
	f.to = to
	f.ctx, f.end = context.WithCancel(context.Background())
}

// ServeHTTP passes a request on.
func (f *front) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	f.mu.Lock()
	to, until := f.proxies[f.to], f.ctx
	f.mu.Unlock()
	ctx, end := context.WithCancel(r.Context())
	defer end()
	defer context.AfterFunc(until, end)()
	to.ServeHTTP(w, r.WithContext(ctx))
}
