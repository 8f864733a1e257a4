package client_test

import (
	"errors"
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
	"github.com/berthcloud/berth/network/networktest"
	"github.com/berthcloud/berth/placement/service"
)

// berth returns Berth's placement API on a new store in memory.
func berth(t testing.TB) http.Handler {
	t.Helper()
	return placementapitest.New(t, service.DefaultSettings())
}

// A seen is a request that a proxy has received.
type seen struct{ call, version, token, id, body string }

// A proxy forwards requests to a service. It records them, and may answer in its place.
type proxy struct {
	http.Handler
	url string

	mu     sync.Mutex // guards what follows
	seen   []seen
	before func(w http.ResponseWriter, r *http.Request) (answered bool)
}

// newProxy serves h, which may be nil when everything is answered before.
func newProxy(t testing.TB, h http.Handler) *proxy {
	t.Helper()
	p := &proxy{Handler: h}
	server := httptest.NewServer(p)
	t.Cleanup(server.Close)
	p.url = server.URL
	return p
}

func (p *proxy) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	body, _ := io.ReadAll(r.Body) // a truncated body is empty
	r.Body = io.NopCloser(strings.NewReader(string(body)))
	p.mu.Lock()
	p.seen = append(p.seen, seen{
		r.Method + " " + r.URL.RequestURI(), r.Header.Get("OpenStack-API-Version"),
		r.Header.Get("X-Auth-Token"), r.Header.Get("X-Openstack-Request-Id"), string(body),
	})
	before := p.before
	p.mu.Unlock()
	if before == nil || !before(w, r) {
		p.Handler.ServeHTTP(w, r)
	}
}

// forward returns a handler that forwards requests to another server, each on a connection of its
// own: uWSGI closes connections without notice.
func forward(to string) http.Handler {
	u, err := url.Parse(to)
	if err != nil {
		panic(err)
	}
	p := httputil.NewSingleHostReverseProxy(u)
	p.Transport = &http.Transport{DisableKeepAlives: true}
	return p
}

// intercept sets the handler that answers first; nil removes it.
func (p *proxy) intercept(before func(http.ResponseWriter, *http.Request) bool) {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.before = before
}

// calls returns the requests since the last call.
func (p *proxy) calls() []seen {
	p.mu.Lock()
	defer p.mu.Unlock()
	all := p.seen
	p.seen = nil
	return all
}

// count returns the number of calls that begin with prefix.
func count(all []seen, prefix string) int {
	n := 0
	for _, s := range all {
		if strings.HasPrefix(s.call, prefix) {
			n++
		}
	}
	return n
}

// at returns options for a service without Keystone.
func at(t testing.TB, url string, change ...func(*client.Options)) client.Options {
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

func newPlacement(t testing.TB, url string, change ...func(*client.Options)) *client.Placement {
	t.Helper()
	p := client.NewPlacement(at(t, url, change...))
	t.Cleanup(p.Close)
	return p
}

func must(t testing.TB, what string, err error) {
	t.Helper()
	if err != nil {
		t.Fatalf("%s = %v", what, err)
	}
}

// wantIs fails the test unless err is the error, and a fault.
func wantIs(t testing.TB, what string, err, want error) {
	t.Helper()
	if !errors.Is(err, want) {
		t.Errorf("%s = %v, want %v", what, err, want)
	}
}

func wantKind(t testing.TB, what string, err error, want fault.Kind) {
	t.Helper()
	if kind, _ := fault.Of(err); err == nil || kind != want {
		t.Errorf("%s = %v, of kind %v; want kind %v", what, err, kind, want)
	}
}

// UUIDs of the tests.
const (
	rootID   = networktest.RootProvider
	agentID  = networktest.AgentProvider
	deviceID = networktest.DeviceProvider
	otherID  = networktest.OtherProvider
	noneID   = networktest.Nobody
	serverID = networktest.Consumer
)
