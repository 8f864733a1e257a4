package placementapi_test

import (
	"encoding/json"
	"fmt"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"
)

// A target is an API with something in it for fuzzing to hit upon.
type target struct {
	h     http.Handler
	names dialogue
}

// seeds are what a target holds: a host with a card, and a server on it.
var seeds = []struct{ method, path, body string }{
	{"POST", "/resource_providers", `{"name": "cn1", "uuid": "@cn1"}`},
	{"POST", "/resource_providers", `{"name": "card", "uuid": "@card", "parent_provider_uuid": "@cn1"}`},
	{
		"PUT", "/resource_providers/@cn1/inventories",
		`{"resource_provider_generation": 0, "inventories": {"VCPU": {"total": 8}}}`,
	},
	{
		"PUT", "/resource_providers/@card/inventories",
		`{"resource_provider_generation": 0, "inventories": {"SRIOV_NET_VF": {"total": 4}}}`,
	},
	{"PUT", "/resource_providers/@cn1/traits", `{"resource_provider_generation": 1, "traits": ["COMPUTE_NODE"]}`},
	{"PUT", "/resource_providers/@cn1/aggregates", `{"resource_provider_generation": 2, "aggregates": ["@rack"]}`},
	{"PUT", "/allocations/@s1", `{"allocations": {"@cn1": {"resources": {"VCPU": 1}}}, "project_id": "p", "user_id": "u",
		"consumer_generation": null, "consumer_type": "INSTANCE"}`},
	{"PUT", "/resource_classes/CUSTOM_A", ""},
	{"PUT", "/traits/CUSTOM_A", ""},
}

func newTarget(f *testing.F) *target {
	f.Helper()
	tg := &target{h: newAPI(f), names: dialogue{names: make(map[string]string)}}
	for _, s := range seeds {
		w := tg.send(tg.request(s.method, s.path, s.body, "1.39"))
		if w.Code >= http.StatusBadRequest {
			f.Fatalf("%s %s: %d %s", s.method, s.path, w.Code, w.Body)
		}
	}
	return tg
}

func (tg *target) request(method, path, body, version string) *http.Request {
	r := httptest.NewRequest(method, tg.names.resolve(path), strings.NewReader(tg.names.resolve(body)))
	r.Header.Set("X-Auth-Token", "admin")
	r.Header.Set("X-Roles", "admin,service")
	r.Header.Set("OpenStack-API-Version", "placement "+version)
	if body != "" {
		r.Header.Set("Content-Type", "application/json")
	}
	return r
}

func (tg *target) send(r *http.Request) *httptest.ResponseRecorder {
	w := httptest.NewRecorder()
	tg.h.ServeHTTP(w, r)
	return w
}

// check says what no answer may be like.
func check(t *testing.T, r *http.Request, w *httptest.ResponseRecorder) {
	t.Helper()
	media, body := w.Header().Get("Content-Type"), w.Body.Bytes()
	fail := func(why string) {
		t.Errorf("%s %s %v is answered with %d %s, which %s:\n%.500s", r.Method, r.URL, r.Header, w.Code, media, why, body)
	}
	switch {
	case w.Code >= http.StatusInternalServerError:
		fail("is our own failure")
	case len(body) == 0:
		if w.Code == http.StatusOK {
			fail("has no body")
		}
	case media == "application/json":
		if !json.Valid(body) {
			fail("is no JSON")
		}
	case w.Code < http.StatusBadRequest || media != "text/html; charset=UTF-8" && media != "text/plain; charset=UTF-8":
		fail("has a wrong media type")
	}
}

// getRoutes are the routes that get any query string.
var getRoutes = []string{
	"/allocation_candidates", "/resource_providers", "/traits", "/usages", "/", "/resource_classes",
	"/resource_classes/VCPU", "/resource_providers/@cn1", "/resource_providers/@cn1/inventories",
	"/resource_providers/@cn1/inventories/VCPU", "/resource_providers/@cn1/usages", "/resource_providers/@cn1/aggregates",
	"/resource_providers/@cn1/traits", "/resource_providers/@cn1/allocations", "/allocations/@s1", "/traits/COMPUTE_NODE",
}

// pick takes an element of a list by any number.
func pick[T any](list []T, i uint8) T { return list[int(i)%len(list)] }

func FuzzQuery(f *testing.F) {
	for i, q := range []string{
		"resources=VCPU:1&limit=1", "resources1=VCPU:1&resources2=SRIOV_NET_VF:1&group_policy=none&same_subtree=1,2",
		"resources=VCPU:1&required=in:COMPUTE_NODE,HW_CPU_X86_VMX&required=!CUSTOM_A&member_of=!in:@rack,@row",
		"resources_A=VCPU:1%20&root_required=!CUSTOM_A&in_tree_A=@card&in_tree=x", "name=startswith:CUSTOM_&associated=true",
		"project_id=p&user_id=u&consumer_type=all", "&&=&a=%zz&b=%ff;c", "name=in:A,,B&uuid=@cn1",
		"limit=٣&resources=VCPU:1_0,:,,",
	} {
		f.Add(uint8(i), uint8(39-i), q)
		f.Add(uint8(0), uint8(39), q)
	}
	tg := newTarget(f)
	f.Fuzz(func(t *testing.T, route, minor uint8, q string) {
		r := tg.request("GET", pick(getRoutes, route), "", fmt.Sprintf("1.%d", minor%40))
		r.URL.RawQuery = tg.names.resolve(q)
		check(t, r, tg.send(r))
	})
}

// writeRoutes are the routes that are sent any body.
var writeRoutes = []string{
	"POST /resource_providers", "PUT /resource_providers/@cn1", "POST /resource_providers/@cn1/inventories",
	"PUT /resource_providers/@cn1/inventories", "PUT /resource_providers/@cn1/inventories/VCPU",
	"PUT /resource_providers/@cn1/aggregates", "PUT /resource_providers/@cn1/traits", "PUT /allocations/@s1",
	"POST /allocations", "POST /reshaper", "POST /resource_classes", "PUT /resource_classes/CUSTOM_A",
	"PUT /traits/CUSTOM_A",
}

func FuzzBody(f *testing.F) {
	for i, s := range seeds {
		for route := range writeRoutes {
			f.Add(uint8(route), uint8(39-i), s.body)
		}
	}
	for _, body := range []string{
		`{"inventories": {"@cn1": {"resource_provider_generation": 3, "inventories": {"VCPU": {"total": 4}}}}, ` +
			`"allocations": {}}`,
		`{"@s1": {"allocations": {"@cn1": {"resources": {"VCPU": 2}}}, "project_id": "p", "user_id": "u", ` +
			`"consumer_generation": 1, "consumer_type": "X"}}`,
		`{"allocations": [{"resource_provider": {"uuid": "@cn1"}, "resources": {"VCPU": 1e0}}], "project_id": "p", ` +
			`"user_id": "u"}`,
		`{"resource_class": "VCPU", "total": 1e400, "allocation_ratio": NaN}`, `["@rack", "@row"]`, "\xff",
		`{"name": "\ud800"}`, "[[[[[[", `"`,
	} {
		f.Add(uint8(8), uint8(39), body)
		f.Add(uint8(9), uint8(39), body)
	}
	tg := newTarget(f)
	f.Fuzz(func(t *testing.T, route, minor uint8, body string) {
		method, path, _ := strings.Cut(pick(writeRoutes, route), " ")
		r := tg.request(method, path, body, fmt.Sprintf("1.%d", minor%40))
		check(t, r, tg.send(r))
	})
}

func FuzzHeaders(f *testing.F) {
	f.Add(uint8(0), "placement 1.39", "*/*", "application/json")
	f.Add(uint8(1), "placement latest, compute 2.1", "text/html;q=0.9, text/plain", "text/plain; charset=x")
	f.Add(uint8(2), "placement 1.", "application/json;q=0", "application/json;;")
	f.Add(uint8(3), "placement", "a/b;c=\"", "")
	f.Add(uint8(4), "1.99999999999999999999", ",,;", "APPLICATION/JSON")
	f.Add(uint8(5), "placement -1.+5", "text/*, */*;q=1e9", "\x00")
	tg := newTarget(f)
	routes := append([]string{"HEAD /traits", "OPTIONS /", "DELETE /nowhere"}, writeRoutes...)
	for _, path := range getRoutes {
		routes = append(routes, "GET "+path)
	}
	f.Fuzz(func(t *testing.T, route uint8, version, accept, content string) {
		method, path, _ := strings.Cut(pick(routes, route), " ")
		r := tg.request(method, path, "{}", version)
		r.Header.Set("OpenStack-API-Version", version)
		r.Header.Set("Accept", accept)
		r.Header.Set("Content-Type", content)
		check(t, r, tg.send(r))
	})
}
