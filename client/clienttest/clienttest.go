// Package clienttest has what the tests of the clients share: a proxy that records requests and
// answers instead of the service, and the checks of errors.
package clienttest

import (
	"errors"
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"net/http/httputil"
	"net/url"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/berthcloud/berth/client"
	"github.com/berthcloud/berth/fault"
	"github.com/berthcloud/berth/httpapi/placementapi/placementapitest"
	"github.com/berthcloud/berth/placement/providertree/providertreetest"
	"github.com/berthcloud/berth/placement/service"
)

// Berth returns Berth's placement API on a new store in memory.
func Berth(t testing.TB) http.Handler {
	t.Helper()
	return placementapitest.New(t, service.DefaultSettings())
}

// A Request is one that a proxy has received.
type Request struct{ Call, Version, Token, ID, Body string }

// A Proxy forwards requests to a service. It records them, and may answer in its place.
type Proxy struct {
	http.Handler
	URL string

	mu       sync.Mutex // guards what follows
	requests []Request
	before   func(w http.ResponseWriter, r *http.Request) (answered bool)
}

// NewProxy serves h, which may be nil when everything is answered before.
func NewProxy(t testing.TB, h http.Handler) *Proxy {
	t.Helper()
	p := &Proxy{Handler: h}
	server := httptest.NewServer(p)
	t.Cleanup(server.Close)
	p.URL = server.URL
	return p
}

// ServeHTTP gives the caller the role of a service too, which the token of an administrator does
// not have and the reshaper needs.
func (p *Proxy) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	if r.Header.Get("X-Roles") == "" && r.Header.Get("X-Auth-Token") == client.NoAuth {
		r.Header.Set("X-Roles", "admin,service")
	}
	body, _ := io.ReadAll(r.Body) // a truncated body is empty
	r.Body = io.NopCloser(strings.NewReader(string(body)))
	p.mu.Lock()
	p.requests = append(p.requests, Request{
		r.Method + " " + r.URL.RequestURI(), r.Header.Get("OpenStack-API-Version"),
		r.Header.Get("X-Auth-Token"), r.Header.Get("X-Openstack-Request-Id"), string(body),
	})
	before := p.before
	p.mu.Unlock()
	if before == nil || !before(w, r) {
		p.Handler.ServeHTTP(w, r)
	}
}

// Forward returns a handler that forwards requests to another server, each on a connection of its
// own: uWSGI closes connections without notice.
func Forward(to string) http.Handler {
	u, err := url.Parse(to)
	if err != nil {
		panic(err)
	}
	p := httputil.NewSingleHostReverseProxy(u)
	p.Transport = &http.Transport{DisableKeepAlives: true}
	return p
}

// Intercept sets the handler that answers first; nil removes it.
func (p *Proxy) Intercept(before func(http.ResponseWriter, *http.Request) bool) {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.before = before
}

// Requests returns the requests since the last call.
func (p *Proxy) Requests() []Request {
	p.mu.Lock()
	defer p.mu.Unlock()
	all := p.requests
	p.requests = nil
	return all
}

// Count returns the number of requests that begin with prefix.
func Count(all []Request, prefix string) int {
	n := 0
	for _, s := range all {
		if strings.HasPrefix(s.Call, prefix) {
			n++
		}
	}
	return n
}

// Options returns options for a service without Keystone.
func Options(t testing.TB, url string, change ...func(*client.Options)) client.Options {
	t.Helper()
	access, err := client.Fixed(url+"/", client.NoAuth)
	if err != nil {
		t.Fatal(err)
	}
	o := client.Options{Access: access, Retries: 2, Timeout: 5 * time.Second}
	for _, c := range change {
		c(&o)
	}
	return o
}

// Must fails the test at once when there is an error.
func Must(t testing.TB, what string, err error) {
	t.Helper()
	if err != nil {
		t.Fatalf("%s = %v", what, err)
	}
}

// WantIs fails the test unless err is the error.
func WantIs(t testing.TB, what string, err, want error) {
	t.Helper()
	if !errors.Is(err, want) {
		t.Errorf("%s = %v, want %v", what, err, want)
	}
}

// WantKind fails the test unless err is a fault of the kind.
func WantKind(t testing.TB, what string, err error, want fault.Kind) {
	t.Helper()
	if kind, _ := fault.Of(err); err == nil || kind != want {
		t.Errorf("%s = %v, of kind %v; want kind %v", what, err, kind, want)
	}
}

// Concurrent is placement's refusal of a write with an old generation.
const Concurrent = `{"errors": [{"status": 409, "title": "Conflict", "code": "placement.concurrent_update", ` +
	`"detail": "There was a conflict when trying to complete your request.\n\n generation is <stale>\n  now  "}]}`

// Answer answers the next requests of a method with a status and body, as often as times, and then
// forwards again.
func (p *Proxy) Answer(method string, times, status int, body string) {
	p.Intercept(func(w http.ResponseWriter, r *http.Request) bool {
		if r.Method != method || r.URL.Path == "/" || times == 0 {
			return false
		}
		times--
		w.WriteHeader(status)
		fmt.Fprint(w, body)
		return true
	})
}

// Cut closes the connection of the next requests of a method.
func (p *Proxy) Cut(method string, times int) {
	p.Intercept(func(_ http.ResponseWriter, r *http.Request) bool {
		if r.Method != method || times == 0 {
			return false
		}
		times--
		panic(http.ErrAbortHandler)
	})
}

// UUIDs of the tests.
const (
	RootID   = providertreetest.RootProvider
	AgentID  = providertreetest.AgentProvider
	DeviceID = providertreetest.DeviceProvider
	OtherID  = providertreetest.OtherProvider
	NoneID   = providertreetest.Nobody
	ServerID = providertreetest.Consumer
)
