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

// The explanation of a query names what is missing, whatever the request's version, and is guarded
// as the candidates are.
func TestExplain(t *testing.T) {
	api := placementapitest.New(t, service.DefaultSettings())
	query := func(method, target, token, body string) *httptest.ResponseRecorder {
		r := httptest.NewRequest(method, target, strings.NewReader(body))
		r.Header.Set("X-Auth-Token", token)
		r.Header.Set("Content-Type", "application/json")
		w := httptest.NewRecorder()
		api.ServeHTTP(w, r)
		return w
	}
	const host = "6f1b1a5e-0000-4000-8000-000000000001"
	query(http.MethodPost, "/resource_providers", "admin", `{"name": "cn1", "uuid": "`+host+`"}`)
	query(http.MethodPut, "/resource_providers/"+host+"/inventories", "admin",
		`{"resource_provider_generation": 0, "inventories": {"VCPU": {"total": 4}}}`)
	for _, c := range []struct {
		target, token string
		status        int
		want          []string // parts of the body
	}{
		{"?resources=VCPU:6", "admin", 200, []string{
			`"fitting_hosts":0`, `"constraint":"capacity"`, `1 host would fit if 2 VCPU less were requested`, `"to":4`,
			`"name":"cn1"`,
		}},
		{"?resources=VCPU:1", "admin", 200, []string{`"fitting_hosts":1`, `"summary":"1 host fits now"`, `"near":[]`}},
		{
			"/cn1?resources=VCPU:6&required=HW_CPU_X86_VMX", "admin", 200,
			[]string{`"provider":"cn1","asked":6,"available":4,"total":4`},
		},
		{"/" + host + "?resources=VCPU:1", "admin", 200, []string{`"name":"cn1","uuid":"` + host + `","misses":[]`}},
		{"/cn2?resources=VCPU:6", "admin", 404, []string{`There is no provider with the name or UUID \"cn2\".`}},
		{
			"?resources=VCPU:1&required=CUSTOM_NONE", "admin", 200,
			[]string{`"refused":"No such trait(s): CUSTOM_NONE."`, `if CUSTOM_NONE were not requested`},
		},
		{"?resources=VCPU", "admin", 400, nil},
		{"?resources=VCPU:1&color=red", "admin", 400, nil},
		{"?resources=VCPU:1", "user", 403, nil},
	} {
		w := query(http.MethodGet, "/berth/v1/explain"+c.target, c.token, "")
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
		made := httptest.NewRequest(http.MethodPost, "/resource_providers",
			strings.NewReader(fmt.Sprintf(`{"name": "cn%d"}`, i)))
		made.Header.Set("X-Auth-Token", "admin")
		made.Header.Set("Content-Type", "application/json")
		api.ServeHTTP(httptest.NewRecorder(), made)
		r := httptest.NewRequestWithContext(ctx, http.MethodGet, "/berth/v1/explain?resources=VCPU:1", nil)
		r.Header.Set("X-Auth-Token", "admin")
		w := httptest.NewRecorder()
		api.ServeHTTP(w, r)
		if w.Code != http.StatusServiceUnavailable ||
			!strings.Contains(w.Body.String(), "The explanation was given up: context deadline exceeded. Try again later.") {
			t.Fatalf("it is answered with %d: %s", w.Code, w.Body)
		}
	}
}

// hardCloud is a host with 20 NICs on which it is very hard to say whether the 21 ports of the
// query fit.
func hardCloud(t *testing.T, api http.Handler) (query string) {
	t.Helper()
	send := func(method, path, body string) {
		r := httptest.NewRequest(method, path, strings.NewReader(body))
		r.Header.Set("X-Auth-Token", "admin")
		r.Header.Set("Content-Type", "application/json")
		r.Header.Set("OpenStack-API-Version", "placement 1.36")
		w := httptest.NewRecorder()
		if api.ServeHTTP(w, r); w.Code != http.StatusOK {
			t.Fatalf("%s %s is answered with %d: %s", method, path, w.Code, w.Body)
		}
	}
	const host = "6f1b1a5e-0000-4000-8000-000000000001"
	send(http.MethodPost, "/resource_providers", `{"name": "cn1", "uuid": "`+host+`"}`)
	for i := range 20 {
		nic := fmt.Sprintf("6f1b1a5e-0000-4000-8000-0000000001%02d", i)
		send(http.MethodPost, "/resource_providers",
			fmt.Sprintf(`{"name": "nic%d", "uuid": %q, "parent_provider_uuid": %q}`, i, nic, host))
		send(http.MethodPut, "/resource_providers/"+nic+"/inventories",
			`{"resource_provider_generation": 0, "inventories": {"NET_BW_EGR_KILOBIT_PER_SEC": {"total": 100}, `+
				`"NET_BW_IGR_KILOBIT_PER_SEC": {"total": 100}}}`)
	}
	query = "group_policy=none"
	for i := range 21 {
		query += fmt.Sprintf("&resources_%d=NET_BW_EGR_KILOBIT_PER_SEC:%d,NET_BW_IGR_KILOBIT_PER_SEC:%d", i, 45+15*(i%2),
			60-15*(i%2))
	}
	return query
}

// While one project's explanation takes long, its other callers wait, and those of other projects
// do not. An explanation ends when its client has disconnected, and so does a search for
// candidates.
func TestExplanationsOfProjects(t *testing.T) {
	api := placementapitest.New(t, service.DefaultSettings())
	hard := hardCloud(t, api)
	send := func(ctx context.Context, path, token string) int {
		r := httptest.NewRequestWithContext(ctx, http.MethodGet, path, nil)
		r.Header.Set("X-Auth-Token", token)
		r.Header.Set("OpenStack-API-Version", "placement 1.36")
		w := httptest.NewRecorder()
		api.ServeHTTP(w, r)
		return w.Code
	}
	clients, disconnect := context.WithCancel(t.Context())
	defer disconnect()
	ended := make(chan string, 4)
	for _, path := range []string{
		"/berth/v1/explain?" + hard, "/berth/v1/explain/cn1?" + hard, "/berth/v1/explain?" + hard,
		"/allocation_candidates?" + hard,
	} {
		go func() {
			defer func() {
				// An answer that has begun ends with its connection.
				if cut := recover(); cut != nil && cut != http.ErrAbortHandler {
					panic(cut)
				}
				ended <- path
			}()
			send(clients, path, "admin:one")
		}()
	}
	begun := time.Now()
	for status := 0; status != http.StatusServiceUnavailable; { // 200 before the first one has begun
		if time.Since(begun) > 20*time.Second {
			t.Fatalf("the project's own next explanation is answered with %d", status)
		}
		waiting, giveUp := context.WithTimeout(t.Context(), 20*time.Millisecond)
		status = send(waiting, "/berth/v1/explain?resources=VCPU:1", "admin:one")
		giveUp()
	}
	if status := send(t.Context(), "/berth/v1/explain?resources=VCPU:1", "admin:two"); status != http.StatusOK {
		t.Errorf("another project's explanation is answered with %d", status)
	}
	disconnect()
	for range cap(ended) {
		select {
		case <-ended:
		case <-time.After(20 * time.Second):
			t.Fatal("the work goes on after its client has disconnected")
		}
	}
	if status := send(t.Context(), "/berth/v1/explain?resources=VCPU:1", "admin:one"); status != http.StatusOK {
		t.Errorf("the project's next explanation is answered with %d", status)
	}
}

// A query with too many groups is refused by their number.
func TestExplainManyGroups(t *testing.T) {
	api := placementapitest.New(t, service.DefaultSettings())
	query := "group_policy=none"
	for i := range 900 {
		query += fmt.Sprintf("&resources_%d=VCPU:%d", i, i+1)
	}
	r := httptest.NewRequest(http.MethodGet, "/berth/v1/explain?"+query, nil)
	r.Header.Set("X-Auth-Token", "admin")
	w := httptest.NewRecorder()
	if api.ServeHTTP(w, r); w.Code != http.StatusBadRequest ||
		!strings.Contains(w.Body.String(), "The query has 900 request groups; one with at most 256 can be explained.") {
		t.Errorf("it is answered with %d: %s", w.Code, w.Body)
	}
}
