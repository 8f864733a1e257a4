package placementapi_test

import (
	"context"
	"encoding/json"
	"fmt"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"
	"time"

	"github.com/berthcloud/berth/httpapi/placementapi/placementapitest"
	"github.com/berthcloud/berth/placement/service"
)

// The explanation of a query names what is missing, whatever the request's version, and is guarded as the candidates are.
func TestExplain(t *testing.T) {
	api := placementapitest.New(t, service.DefaultSettings())
	ask := func(method, target, token, body string) *httptest.ResponseRecorder {
		r := httptest.NewRequest(method, target, strings.NewReader(body))
		r.Header.Set("X-Auth-Token", token)
		r.Header.Set("Content-Type", "application/json")
		w := httptest.NewRecorder()
		api.ServeHTTP(w, r)
		return w
	}
	const host = "6f1b1a5e-0000-4000-8000-000000000001"
	ask(http.MethodPost, "/resource_providers", "admin", `{"name": "cn1", "uuid": "`+host+`"}`)
	ask(http.MethodPut, "/resource_providers/"+host+"/inventories", "admin",
		`{"resource_provider_generation": 0, "inventories": {"VCPU": {"total": 4}}}`)
	for _, c := range []struct {
		target, token string
		status        int
		want          []string // parts of the body
	}{
		{"?resources=VCPU:6", "admin", 200, []string{`"fitting_hosts":0`, `"constraint":"capacity"`, `1 host would fit if 2 VCPU less were asked for`, `"to":4`, `"name":"cn1"`}},
		{"?resources=VCPU:1", "admin", 200, []string{`"fitting_hosts":1`, `"summary":"1 host fits now"`, `"near":[]`}},
		{"/cn1?resources=VCPU:6&required=HW_CPU_X86_VMX", "admin", 200, []string{`"provider":"cn1","asked":6,"available":4,"total":4`}},
		{"/" + host + "?resources=VCPU:1", "admin", 200, []string{`"name":"cn1","uuid":"` + host + `","misses":[]`}},
		{"/cn2?resources=VCPU:6", "admin", 404, []string{`There is no provider with the name or UUID \"cn2\".`}},
		{"?resources=VCPU:1&required=CUSTOM_NONE", "admin", 200, []string{`"refused":"No such trait(s): CUSTOM_NONE."`, `if CUSTOM_NONE were not asked for`}},
		{"?resources=VCPU", "admin", 400, nil},
		{"?resources=VCPU:1&color=red", "admin", 400, nil},
		{"?resources=VCPU:1", "user", 403, nil},
	} {
		w := ask(http.MethodGet, "/berth/v1/explain"+c.target, c.token, "")
		if w.Code != c.status || c.status == 200 && !json.Valid(w.Body.Bytes()) {
			t.Errorf("%s is answered with %d: %s", c.target, w.Code, w.Body)
		}
		for _, part := range c.want {
			if !strings.Contains(w.Body.String(), part) {
				t.Errorf("%s is answered without %s: %s", c.target, part, w.Body)
			}
		}
	}
}

// An explanation whose time is up is answered with 503, also while it waits for another one.
func TestExplainTakesTooLong(t *testing.T) {
	api := placementapitest.New(t, service.DefaultSettings())
	ctx, cancel := context.WithDeadline(t.Context(), time.Now())
	defer cancel()
	for i := range 20 { // of which some find the turn free, and have to read what is new, and some do not look
		made := httptest.NewRequest(http.MethodPost, "/resource_providers", strings.NewReader(fmt.Sprintf(`{"name": "cn%d"}`, i)))
		made.Header.Set("X-Auth-Token", "admin")
		made.Header.Set("Content-Type", "application/json")
		api.ServeHTTP(httptest.NewRecorder(), made)
		r := httptest.NewRequestWithContext(ctx, http.MethodGet, "/berth/v1/explain?resources=VCPU:1", nil)
		r.Header.Set("X-Auth-Token", "admin")
		w := httptest.NewRecorder()
		api.ServeHTTP(w, r)
		if w.Code != http.StatusServiceUnavailable || !strings.Contains(w.Body.String(), "The explanation was given up: context deadline exceeded. Try again later.") {
			t.Fatalf("it is answered with %d: %s", w.Code, w.Body)
		}
	}
}
