package cloudapi_test

import (
	"encoding/json"
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"

	"github.com/berthcloud/berth/ops/cloud"
	"github.com/berthcloud/berth/ops/cloudapi"
)

// The password is sent to the server of auth_url, whatever its version document links to, and to
// the path that the document has.
func TestLoginStaysOnTheServer(t *testing.T) {
	stranger := httptest.NewServer(http.HandlerFunc(func(_ http.ResponseWriter, r *http.Request) {
		t.Errorf("%s %s is sent to a server that is not configured", r.Method, r.URL)
	}))
	defer stranger.Close()
	for name, tc := range map[string]struct {
		path   string // of auth_url
		status int
		href   string // in the document, where HERE is the server's URL
		want   string // path that the password is sent to; empty for an error
	}{
		"Root":        {"", 300, "HERE/v3/", "/v3/auth/tokens"},
		"OtherHost":   {"/", 300, stranger.URL + "/v3/", "/v3/auth/tokens"},
		"OtherPath":   {"/identity", 300, stranger.URL + "/keystone/v3/", "/identity/v3/auth/tokens"},
		"OtherScheme": {"/identity/", 300, "https://keystone.invalid/v3/", "/identity/v3/auth/tokens"},
		"Relative":    {"/identity", 200, "v3", "/identity/v3/auth/tokens"},
		"VersionInPath": {
			"/srv2.example/keystone", 300, "HERE/srv2.example/keystone/v3/", "/srv2.example/keystone/v3/auth/tokens",
		},
		"VersionInPath3": {"/srv2.example/keystone/v3", 404, "", "/srv2.example/keystone/v3/auth/tokens"},
		"WithVersion":    {"/v3/", 200, stranger.URL + "/v3/", "/v3/auth/tokens"},
		"NoLink":         {"/", 300, "", ""},
		"NoDocument":     {"/", 404, "", ""},
		"Version2":       {"/v2.0", 404, "", ""},
	} {
		t.Run(name, func(t *testing.T) {
			var sent []string
			var s *httptest.Server
			s = httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
				body, err := io.ReadAll(r.Body)
				if err != nil {
					t.Error(err)
				}
				if strings.Contains(string(body), "s3cret") {
					sent = append(sent, r.URL.Path)
					w.Header().Set("X-Subject-Token", "t")
					w.WriteHeader(http.StatusCreated)
					fmt.Fprint(w, `{"token": {"expires_at": "2099-01-01T00:00:00.000000Z", "catalog": []}}`)
					return
				}
				if strings.TrimRight(r.URL.Path, "/") != strings.TrimRight(tc.path, "/") {
					http.NotFound(w, r)
					return
				}
				version := map[string]any{
					"id": "v3.14", "status": "stable",
					"links": []map[string]string{{"rel": "self", "href": strings.ReplaceAll(tc.href, "HERE", s.URL)}},
				}
				w.WriteHeader(tc.status)
				if err := json.NewEncoder(w).Encode(map[string]any{
					"versions": map[string]any{"values": []any{version}},
				}); err != nil {
					t.Error(err)
				}
			}))
			defer s.Close()
			_, err := cloudapi.Connect(t.Context(), cloudapi.Options{
				Environ: variables("", map[string]string{"OS_AUTH_URL": s.URL + tc.path}), Wait: atOnce,
			})
			if got := strings.Join(sent, " "); (err == nil) != (tc.want != "") || got != tc.want {
				t.Errorf("Connect: %v, after logging in at %q; want %q", err, got, tc.want)
			}
		})
	}
}

// Neither a password nor a token follows a redirect to another server, and the error says where to.
func TestRedirectsToOtherServers(t *testing.T) {
	for _, path := range []string{"/", "/v3/auth/tokens", "/resource_classes"} {
		for _, status := range []int{301, 302, 303, 307, 308} {
			stranger := httptest.NewServer(http.HandlerFunc(func(_ http.ResponseWriter, r *http.Request) {
				t.Errorf("%s %s is sent to a server that is not configured", r.Method, r.URL)
			}))
			defer stranger.Close()
			var s *httptest.Server
			s = httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
				switch r.URL.Path {
				case path:
					http.Redirect(w, r, stranger.URL+path, status)
				case "/":
					fmt.Fprint(w, `{"versions": {"values": [{"id": "v3.14", "links": [{"rel": "self", "href": "/v3"}]}]}}`)
				case "/v3/auth/tokens":
					w.Header().Set("X-Subject-Token", "t")
					w.WriteHeader(http.StatusCreated)
					fmt.Fprintf(w, `{"token": {"expires_at": "2099-01-01T00:00:00.000000Z",
						"catalog": [{"type": "placement", "endpoints": [{"interface": "public", "region": "one", "region_id": "one", "url": %q}]}]}}`, s.URL)
				default:
					fmt.Fprint(w, `{}`)
				}
			}))
			defer s.Close()
			client, err := cloudapi.Connect(t.Context(), cloudapi.Options{
				Environ: variables("", map[string]string{"OS_AUTH_URL": s.URL}), Wait: atOnce,
			})
			if err == nil {
				_, err = client.Read(t.Context(), cloud.Parts{Need: cloud.PlacementPart}, nil)
			}
			if want := "it redirects to " + stranger.URL; err == nil || !strings.Contains(err.Error(), want) {
				t.Errorf("%s, %d: the error %v does not say that %s", path, status, err, want)
			}
		}
	}
}
