package client_test

import (
	"context"
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
	"github.com/berthcloud/berth/httpapi"
	"github.com/berthcloud/berth/httpapi/placementapi"
	"github.com/berthcloud/berth/identity/policy"
	"github.com/berthcloud/berth/microversion"
	"github.com/berthcloud/berth/network"
	"github.com/berthcloud/berth/placement"
	"github.com/berthcloud/berth/sqlstore"
)

// berth returns Berth's placement API on a new store in memory.
func berth(t testing.TB) http.Handler {
	t.Helper()
	ctx := context.Background()
	store, err := sqlstore.Open(ctx, sqlstore.Options{Path: sqlstore.Memory})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if err := store.Close(); err != nil {
			t.Errorf("closing the store: %v", err)
		}
	})
	service, err := placement.NewService(ctx, store, placement.DefaultSettings())
	if err != nil {
		t.Fatal(err)
	}
	rules, err := policy.New(policy.Options{
		Defaults: placementapi.PolicyDefaults(), EnforceScope: true, EnforceNewDefaults: true,
	})
	if err != nil {
		t.Fatal(err)
	}
	api := &placementapi.API{Placement: service, Policy: rules, Now: time.Now}
	return httpapi.New(httpapi.Config{
		Service: "placement", History: microversion.Placement, Routes: api.Routes(), Authenticate: httpapi.NoAuth,
		CodeSince: 23, UndefinedCode: placement.CodeUndefined, MaxBody: 1 << 20,
	})
}

// A seen is a request that a proxy saw.
type seen struct{ call, version, token, id, body string }

// A proxy stands in front of a service. It notes what is asked, and may answer in
// its place.
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
	body, _ := io.ReadAll(r.Body) // what was cut off is empty
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

// forward returns a handler that hands requests on to another server, each on a
// connection of its own: uWSGI ends connections without a word.
func forward(to string) http.Handler {
	u, err := url.Parse(to)
	if err != nil {
		panic(err)
	}
	p := httputil.NewSingleHostReverseProxy(u)
	p.Transport = &http.Transport{DisableKeepAlives: true}
	return p
}

// intercept sets what answers first; nil takes it away.
func (p *proxy) intercept(before func(http.ResponseWriter, *http.Request) bool) {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.before = before
}

// calls returns what was asked since the last time.
func (p *proxy) calls() []seen {
	p.mu.Lock()
	defer p.mu.Unlock()
	all := p.seen
	p.seen = nil
	return all
}

// count returns how many of the calls begin like this.
func count(all []seen, prefix string) int {
	n := 0
	for _, s := range all {
		if strings.HasPrefix(s.call, prefix) {
			n++
		}
	}
	return n
}

// at returns options to ask a service without Keystone.
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
	rootID   = "00000000-0000-4000-8000-000000000001"
	agentID  = "00000000-0000-4000-8000-000000000002"
	deviceID = "00000000-0000-4000-8000-000000000003"
	otherID  = "00000000-0000-4000-8000-000000000004"
	noneID   = "00000000-0000-4000-8000-00000000000f"
	serverID = "00000000-0000-4000-8000-0000000000aa"
)

const (
	egress  = "NET_BW_EGR_KILOBIT_PER_SEC"
	ingress = "NET_BW_IGR_KILOBIT_PER_SEC"
)

// newTree makes a host with an agent and a device that offers 1000 kbit/s.
func newTree(t testing.TB, p network.Placement) {
	t.Helper()
	ctx := context.Background()
	for _, provider := range []network.Provider{
		{UUID: rootID, Name: "host one"},
		{UUID: agentID, Name: "host one:agent", Parent: rootID},
		{UUID: deviceID, Name: "host one:agent:br-ex", Parent: agentID},
	} {
		must(t, "EnsureProvider of "+provider.Name, p.EnsureProvider(ctx, provider))
	}
	must(t, "SetInventories", p.SetInventories(ctx, deviceID, map[string]network.Inventory{egress: {Total: 1000}}))
}

func held(amount int64) network.Allocations {
	return network.Allocations{
		Providers: map[string]map[string]int64{deviceID: {egress: amount}},
		Project:   "project", User: "user",
	}
}
