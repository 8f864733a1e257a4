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
	"github.com/berthcloud/berth/client/clienttest"
	"github.com/berthcloud/berth/fault"
	"github.com/berthcloud/berth/identity/keystone"
)

// TestHeaders checks the headers of each request.
func TestHeaders(t *testing.T) {
	type key struct{}
	service := clienttest.NewProxy(t, clienttest.Berth(t))
	p := newPlacement(t, service.URL, func(o *client.Options) {
		o.RequestID = func(ctx context.Context) string { id, _ := ctx.Value(key{}).(string); return id }
	})
	ctx := context.WithValue(t.Context(), key{}, "req-1")
	clienttest.Must(t, "EnsureTrait", p.EnsureTrait(ctx, "CUSTOM_A"))
	clienttest.Must(t, "EnsureTrait without a request", p.EnsureTrait(t.Context(), "CUSTOM_A"))
	want := []clienttest.Request{
		{Call: "GET /", Token: "admin", ID: "req-1"},
		{Call: "PUT /traits/CUSTOM_A", Version: "placement 1.37", Token: "admin", ID: "req-1"},
		{Call: "PUT /traits/CUSTOM_A", Version: "placement 1.37", Token: "admin"},
	}
	if diff := cmp.Diff(want, service.Requests()); diff != "" {
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
	service := clienttest.NewProxy(t, clienttest.Berth(t))
	service.Intercept(func(w http.ResponseWriter, r *http.Request) bool {
		if r.Header.Get("X-Auth-Token") != "admin" {
			w.WriteHeader(http.StatusUnauthorized)
			return true
		}
		return false
	})
	a := &account{endpoint: service.URL, tokens: []string{"revoked", "admin"}}
	use := func(o *client.Options) { o.Access = a }
	clienttest.Must(t, "EnsureTrait", newPlacement(t, "http://elsewhere.test", use).EnsureTrait(t.Context(), "CUSTOM_A"))

	a.tokens = []string{"one", "two", "admin"}
	service.Requests()
	err := newPlacement(t, "http://elsewhere.test", use).EnsureTrait(t.Context(), "CUSTOM_A")
	clienttest.WantKind(t, "EnsureTrait with tokens that are no good", err, fault.Unavailable)
	if text := fmt.Sprint(err); !strings.Contains(text, "[placement]") || strings.Contains(text, "two") {
		t.Errorf("error = %q: want the group of settings to correct, and no token", text)
	}
	if n := len(service.Requests()); n != 2 {
		t.Errorf("%d attempts, want 2", n)
	}

	a.err = fault.New(fault.Unavailable, "", "Keystone is away")
	err = newPlacement(t, "http://elsewhere.test", use).EnsureTrait(t.Context(), "CUSTOM_A")
	if !errors.Is(err, a.err) {
		t.Errorf("EnsureTrait = %v, want that Keystone is away", err)
	}
	if n := len(service.Requests()); n != 0 {
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

// The token is sent to the service only, whatever its version document links to and wherever it
// redirects.
func TestTokensStayWithTheService(t *testing.T) {
	stranger := httptest.NewServer(http.HandlerFunc(func(_ http.ResponseWriter, r *http.Request) {
		t.Errorf("%s %s is sent to a server that is not configured", r.Method, r.URL)
	}))
	defer stranger.Close()
	service := clienttest.NewProxy(t, clienttest.Berth(t))
	for _, redirected := range []string{"", "/", "/traits/CUSTOM_A"} {
		service.Requests()
		service.Intercept(func(w http.ResponseWriter, r *http.Request) bool {
			switch r.URL.Path {
			case redirected:
				http.Redirect(w, r, stranger.URL+r.URL.Path, http.StatusTemporaryRedirect)
			case "/":
				fmt.Fprintf(w, `{"versions": [{"id": "v1.0", "min_version": "1.0", "max_version": "1.39", `+
					`"links": [{"rel": "self", "href": %q}]}]}`, stranger.URL)
			default:
				return false
			}
			return true
		})
		err := newPlacement(t, service.URL).EnsureTrait(t.Context(), "CUSTOM_A")
		if (err == nil) != (redirected == "") {
			t.Errorf("EnsureTrait where %q is redirected: %v", redirected, err)
		}
	}
}
