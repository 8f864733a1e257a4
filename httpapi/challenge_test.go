package httpapi_test

import (
	"errors"
	"net/http"
	"net/http/httptest"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/berthcloud/berth/fault"
	"github.com/berthcloud/berth/httpapi"
	"github.com/berthcloud/berth/identity"
	"github.com/berthcloud/berth/microversion"
)

// TestChallenge holds the answers to those of upstream's service behind
// Keystone's middleware.
func TestChallenge(t *testing.T) {
	refused := fault.New(fault.Unauthentic, "", "why is nobody's business")
	away := fault.New(fault.Unavailable, "", "why is nobody's business")
	const (
		unauthorized = `{"error": {"code": 401, "title": "Unauthorized", "message": "The request you have made requires ` +
			`authentication."}}`
		unavailable = `{"message": "The server is currently unavailable. ` +
			`Please try again at a later time.<br /><br />\nThe Keystone service is temporarily unavailable.\n\n", ` +
			`"code": "503 Service Unavailable", "title": "Service Unavailable"}`
		delayed = `{"message": "This server could not verify that you are authorized to access the document you ` +
			`requested. Either you supplied the wrong credentials (e.g., bad password), ` +
			`or your browser does not understand how to supply the credentials required.<br /><br />\n\n\n", ` +
			`"code": "401 Unauthorized", "title": "Unauthorized"}`
		unavailText = "503 Service Unavailable\n\nThe server is currently unavailable. " +
			"Please try again at a later time.\n\n The Keystone service is temporarily unavailable.  "
	)
	for _, tc := range []struct {
		name   string
		c      httpapi.Challenge
		accept string
		status int
		header http.Header
		body   string
	}{
		{
			"Refused",
			httpapi.Challenge{Err: refused, Keystone: "http://k"},
			"", 401,
			http.Header{"Content-Type": {"application/json"}, "Www-Authenticate": {`Keystone uri="http://k"`}},
			unauthorized,
		},
		{
			"RefusedForHTML",
			httpapi.Challenge{Err: refused, Keystone: "http://k"},
			"text/html", 401,
			http.Header{"Content-Type": {"application/json"}, "Www-Authenticate": {`Keystone uri="http://k"`}},
			unauthorized,
		},
		{
			"WithoutAddress",
			httpapi.Challenge{Err: refused},
			"", 401,
			http.Header{"Content-Type": {"application/json"}},
			unauthorized,
		},
		{
			"OfAnotherKind",
			httpapi.Challenge{Err: errors.New("odd")},
			"", 401,
			http.Header{"Content-Type": {"application/json"}},
			unauthorized,
		},
		{
			"Delayed",
			httpapi.Challenge{Err: refused, Keystone: "http://k", Delayed: true},
			"", 401,
			http.Header{"Content-Type": {"application/json"}, "Www-Authenticate": {`Keystone uri="http://k"`}},
			delayed,
		},
		{
			"Away",
			httpapi.Challenge{Err: away, Keystone: "http://k"},
			"", 503,
			http.Header{"Content-Type": {"application/json"}, "Retry-After": {"1"}},
			unavailable,
		},
		{
			"AwayForText",
			httpapi.Challenge{Err: away, Keystone: "http://k"},
			"text/plain", 503,
			http.Header{"Content-Type": {"text/plain; charset=UTF-8"}, "Retry-After": {"1"}},
			unavailText,
		},
	} {
		t.Run(tc.name, func(t *testing.T) {
			api := httpapi.New(httpapi.Config{
				Service: "placement", History: microversion.Placement,
				Authenticate: func(*http.Request) (identity.Caller, error) { return identity.Caller{}, &tc.c },
			})
			r, w := httptest.NewRequest(http.MethodGet, "/traits", http.NoBody), httptest.NewRecorder()
			if tc.accept != "" {
				r.Header.Set("Accept", tc.accept)
			}
			api.ServeHTTP(w, r)
			got := make(http.Header)
			for name, values := range w.Header() {
				if name != httpapi.RequestIDHeader && name != "Content-Length" {
					got[http.CanonicalHeaderKey(name)] = values
				}
			}
			if diff := cmp.Diff(tc.header, got); diff != "" || w.Code != tc.status {
				t.Errorf("status %d, want %d; headers (-want +got):\n%s", w.Code, tc.status, diff)
			}
			if diff := cmp.Diff(tc.body, w.Body.String()); diff != "" {
				t.Errorf("body (-want +got):\n%s", diff)
			}
		})
	}
}
