package placementapi_test

import (
	"fmt"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"

	"github.com/berthcloud/berth/httpapi/placementapi/placementapitest"
	"github.com/berthcloud/berth/internal/growthtest"
	"github.com/berthcloud/berth/placement"
)

// Requests with long lists take time in proportion to their length, whether they are
// answered or refused.
func TestLongLists(t *testing.T) {
	api := placementapitest.New(t, placement.DefaultSettings())
	ask := func(method, path, body string) {
		r := httptest.NewRequest(method, path, strings.NewReader(body))
		r.Header.Set("X-Auth-Token", "admin")
		r.Header.Set("OpenStack-API-Version", "placement 1.39")
		r.Header.Set("Content-Type", "application/json")
		w := httptest.NewRecorder()
		if api.ServeHTTP(w, r); w.Code >= http.StatusInternalServerError {
			panic(fmt.Sprintf("%s %.60s = %d %.200s", method, path, w.Code, w.Body))
		}
	}
	const host = "6f1b1a5e-0000-4000-8000-000000000001"
	ask("POST", "/resource_providers", `{"name": "h", "uuid": "`+host+`"}`)
	list := func(n int, form, between string) string {
		var b strings.Builder
		for i := range n {
			if i > 0 {
				b.WriteString(between)
			}
			fmt.Fprintf(&b, form, i)
		}
		return b.String()
	}
	for name, one := range map[string]func(n int) (method, path, body string){
		"Traits": func(n int) (string, string, string) {
			return "PUT", "/resource_providers/" + host + "/traits", `{"resource_provider_generation": 0, "traits": [` + list(n, `"CUSTOM_%d"`, ",") + `]}`
		},
		"RepeatedRequired": func(n int) (string, string, string) {
			return "GET", "/allocation_candidates?resources=VCPU:1&" + list(n, "required=CUSTOM_%d", "&"), ""
		},
		"RepeatedForbidden": func(n int) (string, string, string) {
			return "GET", "/allocation_candidates?resources=VCPU:1&" + list(n, "required=!CUSTOM_%d", "&"), ""
		},
		"AnyOf": func(n int) (string, string, string) {
			return "GET", "/allocation_candidates?resources=VCPU:1&required=in:" + list(n, "CUSTOM_%d", ","), ""
		},
		"Resources": func(n int) (string, string, string) {
			return "GET", "/allocation_candidates?resources=" + list(n, "CUSTOM_%d:1", ","), ""
		},
		"Groups": func(n int) (string, string, string) {
			return "GET", "/allocation_candidates?group_policy=none&" + list(n, "resources%d=CUSTOM_X:1", "&"), ""
		},
		"Subtree": func(n int) (string, string, string) {
			return "GET", "/allocation_candidates?resources=VCPU:1&same_subtree=" + list(n, "_%d", ","), ""
		},
		"ProvidersRequired": func(n int) (string, string, string) {
			return "GET", "/resource_providers?" + list(n, "required=CUSTOM_%d", "&"), ""
		},
		"TraitNames": func(n int) (string, string, string) { return "GET", "/traits?name=in:" + list(n, "CUSTOM_%d", ","), "" },
	} {
		t.Run(name, func(t *testing.T) {
			growthtest.NearLinear(t, 4000, func(n int) { ask(one(n)) })
		})
	}
}
