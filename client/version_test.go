package client_test

import (
	"context"
	"errors"
	"fmt"
	"net/http"
	"net/http/httptest"
	"slices"
	"strings"
	"sync"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/berthcloud/berth/client"
	"github.com/berthcloud/berth/fault"
	"github.com/berthcloud/berth/identity/keystone"
	"github.com/berthcloud/berth/network"
	"github.com/berthcloud/berth/network/networktest"
)

// speak has the service return a range of versions, and refuse newer ones.
func speak(p *proxy, low, high string, minor int) {
	p.intercept(func(w http.ResponseWriter, r *http.Request) bool {
		var asked int
		switch _, err := fmt.Sscanf(r.Header.Get("OpenStack-API-Version"), "placement 1.%d", &asked); {
		case r.URL.Path == "/":
			fmt.Fprintf(w, `{"versions": [{"id": "v1.0", "min_version": %q, "max_version": %q}]}`, low, high)
		case err != nil || asked > minor:
			w.WriteHeader(http.StatusNotAcceptable)
		default:
			return false
		}
		return true
	})
}

func TestVersions(t *testing.T) {
	service := newProxy(t, berth(t))
	for _, tc := range []struct {
		name, low, high string
		minor           int
		want            string // version of the request, or a part of the error
	}{
		{"Newest", "1.0", "1.39", 39, "placement 1.37"},
		{"Older", "1.0", "1.36", 36, "placement 1.36"},
		{"Oldest", "1.0", "1.29", 29, "placement 1.29"},
		{"TooOld", "1.0", "1.28", 28, "1.0 to 1.28 of its API, and one from 1.29"},
		{"Unreadable", "one", "two", 39, "cannot be read"},
		{"FarFuture", "1.40", "1.90", 90, "1.40 to 1.90"},
	} {
		t.Run(tc.name, func(t *testing.T) {
			service.calls()
			speak(service, tc.low, tc.high, tc.minor)
			p := newPlacement(t, service.url)
			for range 2 {
				if err := p.EnsureTrait(t.Context(), "CUSTOM_A"); err != nil {
					wantKind(t, "EnsureTrait", err, fault.Unavailable)
					if !strings.Contains(err.Error(), tc.want) {
						t.Errorf("EnsureTrait = %v, want %q", err, tc.want)
					}
					return
				}
			}
			calls := service.calls()
			if n := count(calls, "GET /"); n != 1 {
				t.Errorf("the versions were asked for %d times, want once", n)
			}
			if got := calls[len(calls)-1].version; got != tc.want {
				t.Errorf("version = %q, want %q", got, tc.want)
			}
		})
	}
}

// TestAnotherReleaseAnswers that is older than the one before.
func TestAnotherReleaseAnswers(t *testing.T) {
	service := newProxy(t, berth(t))
	p := newPlacement(t, service.url)
	must(t, "EnsureTrait", p.EnsureTrait(t.Context(), "CUSTOM_A"))
	speak(service, "1.0", "1.30", 30)
	must(t, "EnsureTrait after the downgrade", p.EnsureTrait(t.Context(), "CUSTOM_A"))
	calls := service.calls()
	if got := calls[len(calls)-1].version; got != "placement 1.30" {
		t.Errorf("version = %q", got)
	}
}

// TestMovingNeedsANewerPlacement expects an error with the missing version.
func TestMovingNeedsANewerPlacement(t *testing.T) {
	service := newProxy(t, berth(t))
	p := newPlacement(t, service.url)
	networktest.MakeTree(t, p)
	speak(service, "1.0", "1.36", 36)
	old := newPlacement(t, service.url)
	moved := network.Provider{UUID: deviceID, Name: "host one:agent:br-ex", Parent: rootID}
	err := old.EnsureProvider(t.Context(), moved)
	wantKind(t, "EnsureProvider with another parent", err, fault.Invalid)
	if err == nil || !strings.Contains(err.Error(), "needs version 1.37") || !strings.Contains(err.Error(), "has 1.36") {
		t.Errorf("error = %v, want what is needed and what is there", err)
	}
	moved.Parent = agentID
	must(t, "EnsureProvider as it is", old.EnsureProvider(t.Context(), moved))
}

// TestHeaders checks the headers of each request.
func TestHeaders(t *testing.T) {
	type key struct{}
	service := newProxy(t, berth(t))
	p := newPlacement(t, service.url, func(o *client.Options) {
		o.RequestID = func(ctx context.Context) string { id, _ := ctx.Value(key{}).(string); return id }
	})
	ctx := context.WithValue(t.Context(), key{}, "req-1")
	must(t, "EnsureTrait", p.EnsureTrait(ctx, "CUSTOM_A"))
	must(t, "EnsureTrait without a request", p.EnsureTrait(t.Context(), "CUSTOM_A"))
	want := []seen{
		{"GET /", "", "admin", "req-1", ""},
		{"PUT /traits/CUSTOM_A", "placement 1.37", "admin", "req-1", ""},
		{"PUT /traits/CUSTOM_A", "placement 1.37", "admin", "", ""},
	}
	if diff := cmp.Diff(want, service.calls(), cmp.AllowUnexported(seen{})); diff != "" {
		t.Errorf("requests (-want +got):\n%s", diff)
	}
}

var _ client.Access = (*keystone.Session)(nil)

// An account issues tokens, the first of which are no longer valid.
type account struct {
	endpoint string

	mu     sync.Mutex // guards what follows
	tokens []string
	err    error
}

func (a *account) Access(context.Context) (endpoint, token string, err error) {
	a.mu.Lock()
	defer a.mu.Unlock()
	return a.endpoint, a.tokens[0], a.err
}

func (a *account) Discard(token string) {
	a.mu.Lock()
	defer a.mu.Unlock()
	a.tokens = slices.DeleteFunc(a.tokens, func(t string) bool { return t == token })
}

// TestTokens that are not taken are replaced, once.
func TestTokens(t *testing.T) {
	service := newProxy(t, berth(t))
	service.intercept(func(w http.ResponseWriter, r *http.Request) bool {
		if r.Header.Get("X-Auth-Token") != "admin" {
			w.WriteHeader(http.StatusUnauthorized)
			return true
		}
		return false
	})
	a := &account{endpoint: service.url, tokens: []string{"revoked", "admin"}}
	use := func(o *client.Options) { o.Access = a }
	must(t, "EnsureTrait", newPlacement(t, "http://elsewhere.test", use).EnsureTrait(t.Context(), "CUSTOM_A"))

	a.tokens = []string{"one", "two", "admin"}
	service.calls()
	err := newPlacement(t, "http://elsewhere.test", use).EnsureTrait(t.Context(), "CUSTOM_A")
	wantKind(t, "EnsureTrait with tokens that are no good", err, fault.Unavailable)
	if text := fmt.Sprint(err); !strings.Contains(text, "[placement]") || strings.Contains(text, "two") {
		t.Errorf("error = %q: want the group of settings to mend, and no token", text)
	}
	if n := len(service.calls()); n != 2 {
		t.Errorf("%d attempts, want 2", n)
	}

	a.err = fault.New(fault.Unavailable, "", "Keystone is away")
	err = newPlacement(t, "http://elsewhere.test", use).EnsureTrait(t.Context(), "CUSTOM_A")
	if !errors.Is(err, a.err) {
		t.Errorf("EnsureTrait = %v, want that Keystone is away", err)
	}
	if n := len(service.calls()); n != 0 {
		t.Errorf("%d attempts without a token", n)
	}
}

func TestFixed(t *testing.T) {
	for _, bad := range []string{"", "placement", "ftp://here", "http://", "://"} {
		if _, err := client.Fixed(bad, client.NoAuth); err == nil || !strings.Contains(err.Error(), "endpoint_override") {
			t.Errorf("Fixed(%q) = %v", bad, err)
		}
	}
}

// The token is sent to the service only, whatever its version document links to and wherever it redirects.
func TestTokensStayWithTheService(t *testing.T) {
	stranger := httptest.NewServer(http.HandlerFunc(func(_ http.ResponseWriter, r *http.Request) {
		t.Errorf("%s %s is sent to a server that is not configured", r.Method, r.URL)
	}))
	defer stranger.Close()
	service := newProxy(t, berth(t))
	for _, redirected := range []string{"", "/", "/traits/CUSTOM_A"} {
		service.calls()
		service.intercept(func(w http.ResponseWriter, r *http.Request) bool {
			switch r.URL.Path {
			case redirected:
				http.Redirect(w, r, stranger.URL+r.URL.Path, http.StatusTemporaryRedirect)
			case "/":
				fmt.Fprintf(w, `{"versions": [{"id": "v1.0", "min_version": "1.0", "max_version": "1.39", "links": [{"rel": "self", "href": %q}]}]}`, stranger.URL)
			default:
				return false
			}
			return true
		})
		err := newPlacement(t, service.url).EnsureTrait(t.Context(), "CUSTOM_A")
		if (err == nil) != (redirected == "") {
			t.Errorf("EnsureTrait where %q is redirected: %v", redirected, err)
		}
	}
}
