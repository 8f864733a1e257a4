package placementapi_test

import (
	"context"
	"encoding/json"
	"fmt"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/berthcloud/berth/httpapi"
	"github.com/berthcloud/berth/httpapi/placementapi"
	"github.com/berthcloud/berth/identity/policy"
	"github.com/berthcloud/berth/microversion"
	"github.com/berthcloud/berth/placement"
	"github.com/berthcloud/berth/placement/service"
)

// withRules returns the API with a policy file; "" for none.
func withRules(t *testing.T, file string) http.Handler {
	t.Helper()
	s, err := service.New(context.Background(), inMemory(t), service.DefaultSettings())
	if err != nil {
		t.Fatal(err)
	}
	options := policy.Options{Defaults: placementapi.PolicyDefaults(), EnforceScope: true, EnforceNewDefaults: true}
	if file != "" {
		options.File = filepath.Join(t.TempDir(), "policy.yaml")
		if err := os.WriteFile(options.File, []byte(file), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	rules, err := policy.New(options)
	if err != nil {
		t.Fatal(err)
	}
	api := &placementapi.API{Placement: s, Policy: rules, Now: time.Now}
	return httpapi.New(httpapi.Config{
		Service: "placement", History: microversion.Placement, Routes: api.Routes(), Authenticate: httpapi.NoAuth,
		CodeSince: 23, UndefinedCode: placement.CodeUndefined, MaxBody: 1 << 20,
	})
}

// Users are answered yes or no, and what to change, once the operator allows it: without names,
// UUIDs and numbers of hosts.
func TestExplainOwn(t *testing.T) {
	const host = "6f1b1a5e-0000-4000-8000-000000000001"
	send := func(api http.Handler, method, target, token, body string) *httptest.ResponseRecorder {
		r := httptest.NewRequest(method, target, strings.NewReader(body))
		r.Header.Set("X-Auth-Token", token)
		r.Header.Set("Content-Type", "application/json")
		w := httptest.NewRecorder()
		api.ServeHTTP(w, r)
		return w
	}
	for _, rules := range []string{"", `"berth:placement:explain:own": "@"` + "\n"} {
		api := withRules(t, rules)
		send(api, http.MethodPost, "/resource_providers", "admin", `{"name": "cn1", "uuid": "`+host+`"}`)
		send(api, http.MethodPut, "/resource_providers/"+host+"/inventories", "admin",
			`{"resource_provider_generation": 0, "inventories": {"VCPU": {"total": 77}, "MEMORY_MB": {"total": 7777}}}`)
		for _, c := range []struct {
			query  string
			status int
			want   string
		}{
			{"resources=VCPU:1", 200, `{"summary":"a host can serve the request now","fits":true,"changes":[]}`},
			{
				"resources=VCPU:99,MEMORY_MB:1", 200,
				`{"summary":"no host can serve the request now; one could if less VCPU were requested","fits":false,"changes":[` +
					`{"kind":"amount","group":"","name":"VCPU"},{"kind":"class","group":"","name":"VCPU"}]}`,
			},
			{
				"resources=VCPU:1&required=CUSTOM_NONE", 200,
				`{"summary":"no host can serve the request now; one could if CUSTOM_NONE were not requested","fits":false,` +
					`"changes":[{"kind":"required","group":"","name":"CUSTOM_NONE"}]}`,
			},
			{
				"resources=VCPU:1&root_required=HW_CPU_X86_VMX", 200,
				`{"summary":"no host can serve the request now, and no single change of it helps","fits":false,"changes":[]}`,
			},
			{"resources=VCPU:1&in_tree=" + host, 400, "in_tree or member_of"},
			{"resources=VCPU:1&member_of=" + host, 400, "in_tree or member_of"},
			{"resources=VCPU", 400, ""},
		} {
			status, want := c.status, c.want
			if rules == "" {
				status, want = http.StatusForbidden, "berth:placement:explain:own" // before the query is decoded
			}
			w := send(api, http.MethodGet, "/berth/v1/own/explain?"+c.query, "user", "")
			if w.Code != status || !strings.Contains(w.Body.String(), want) {
				t.Errorf("with the rules %q %s is answered with %d, want %d with %s: %s",
					rules, c.query, w.Code, status, want, w.Body)
			}
			for _, secret := range []string{"cn1", host, "77"} {
				if w.Code == http.StatusOK && strings.Contains(w.Body.String(), secret) {
					t.Errorf("%s is answered with %s: %s", c.query, secret, w.Body)
				}
			}
			if w.Code == http.StatusOK && !json.Valid(w.Body.Bytes()) {
				t.Errorf("%s is answered with %s", c.query, w.Body)
			}
		}
		w := send(api, http.MethodGet, "/berth/v1/explain?resources=VCPU:1", "user", "")
		if w.Code != http.StatusForbidden {
			t.Errorf("with the rules %q the explanation for administrators is answered with %d: %s", rules, w.Code, w.Body)
		}
	}
	query := "group_policy=none"
	for i := range 300 {
		query += fmt.Sprintf("&resources_%d=VCPU:1", i)
	}
	allowed := withRules(t, `"berth:placement:explain:own": "@"`)
	w := send(allowed, http.MethodGet, "/berth/v1/own/explain?"+query, "user", "")
	if w.Code != http.StatusBadRequest || !strings.Contains(w.Body.String(), "at most 256") {
		t.Errorf("300 groups are answered with %d: %s", w.Code, w.Body)
	}
}
