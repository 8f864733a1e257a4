package networkapi_test

import (
	"net/http"
	"net/http/httptest"
	"regexp"
	"strings"
	"testing"

	"github.com/berthcloud/berth/httpapi"
	"github.com/berthcloud/berth/httpapi/networkapi"
	"github.com/berthcloud/berth/identity"
	"github.com/berthcloud/berth/identity/policy"
)

// The body of a caller whom no rule of a route lets through is not read: 403, or 404 about what
// such a caller does not see, or 413 where there is no rule. The rules of subnets and ports are
// about the owner of the network, which the body names.
func TestBodiesAreNotReadBeforeThePolicy(t *testing.T) {
	c := newCloud(t)
	rules, err := policy.New(policy.Options{
		Defaults: networkapi.PolicyDefaults(), Networking: true, EnforceNewDefaults: true,
	})
	if err != nil {
		t.Fatal(err)
	}
	c.api.Policy = rules
	h := handlerOf(c.api, httpapi.Agents{Others: func(*http.Request) (identity.Caller, error) {
		return identity.Caller{UserID: "u", ProjectID: "p"}, nil
	}})
	segment, checked := regexp.MustCompile(`\{\w+\}`), 0
	for _, r := range c.api.Routes() {
		if r.Method != http.MethodPost && r.Method != http.MethodPut || strings.HasPrefix(r.Pattern, "/v2.0/subnets") ||
			r.Pattern == "/v2.0/ports" {
			continue
		}
		checked++
		req := httptest.NewRequest(r.Method, segment.ReplaceAllString(r.Pattern, "33333333-0000-4000-8000-000000000001"),
			unread{t})
		req.ContentLength = 14 << 20
		req.Header.Set("Content-Type", "application/json")
		w := httptest.NewRecorder()
		h.ServeHTTP(w, req)
		if w.Code != http.StatusForbidden && w.Code != http.StatusNotFound && w.Code != http.StatusRequestEntityTooLarge {
			t.Errorf("%s %s is answered %d %s, want 403", r.Method, r.Pattern, w.Code, w.Body)
		}
	}
	if checked < 30 {
		t.Errorf("%d routes were checked", checked)
	}
}
