package computeapi_test

import (
	"encoding/json"
	"fmt"
	"net/http"
	"regexp"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/berthcloud/berth/compute"
	"github.com/berthcloud/berth/compute/computetest"
	"github.com/berthcloud/berth/httpapi/computeapi"
	"github.com/berthcloud/berth/internal/dialogue/neutron"
)

// newRecentSide is the API with a server on host cn1, which is in zone "a", from an image with
// properties and with scheduler hints.
func newRecentSide(t *testing.T) *side {
	t.Helper()
	s := newSide(t)
	s.options = computetest.Options{Network: somePorts()}
	s.Reset(t)
	s.Heartbeat(t, neutron.Agent{Host: "cn1"})
	for _, r := range []said{
		{"admin", "POST", "/v2.1/flavors", "", `{"flavor": {"name": "c1", "id": "c1", "ram": 256, "vcpus": 1, "disk": 1}}`},
		{
			"admin", "POST", "/v2.1/flavors", "",
			`{"flavor": {"name": "m2.big", "id": "m2", "ram": 512, "vcpus": 1, "disk": 1}}`,
		},
		{"admin", "POST", "/v2.1/os-aggregates", "", `{"aggregate": {"name": "g", "availability_zone": "a"}}`},
		{"admin", "POST", "/v2.1/os-aggregates/1/action", "", `{"add_host": {"host": "cn1"}}`},
	} {
		if status, answer := s.say(t, r); status != http.StatusOK {
			t.Fatalf("%v: %d %s", r, status, answer)
		}
	}
	s.Heartbeat(t, neutron.Agent{Kind: "server", Host: "vm0", Configurations: map[string]any{
		"id": someID, "flavor": "c1", "image": image, "host": "cn1",
	}})
	s.change(t, func(row *compute.ServerRow) {
		row.Zone = "a"
		row.Hints = []byte(`{"same_host": ["x"], "anything": "y"}`)
		row.ImageMeta = []byte(`{"ID": "i", "Properties": {"hw_disk_bus": "scsi", "trait:CUSTOM_GOLD": "required", ` +
			`"os_type": "linux"}}`)
	})
	return s
}

// change changes the server in the database.
func (s *side) change(t *testing.T, fn func(*compute.ServerRow)) {
	t.Helper()
	row := computetest.Read[compute.ServerRow](t, s.store)[0]
	fn(&row)
	err := s.store.Update(t.Context(), row.UpdatedAt, func(w compute.Writer) error { return w.Replace(&row) })
	if err != nil {
		t.Fatal(err)
	}
}

// shown returns some members of what a request shows of the server.
func (s *side) shown(t *testing.T, r said, members ...string) map[string]any {
	t.Helper()
	status, answer := s.say(t, r)
	var body struct{ Server map[string]any }
	if err := json.Unmarshal([]byte(answer), &body); err != nil || status != http.StatusOK {
		t.Fatalf("%v: %d %s", r, status, answer)
	}
	some := map[string]any{}
	for _, name := range members {
		if v, ok := body.Server[name]; ok {
			some[name] = v
		}
	}
	return some
}

var pathName = regexp.MustCompile(`\{[^}]*\}`)

const serverPath = "/v2.1/servers/" + someID

// What versions after 2.93 show of servers (Nova's rest_api_version_history.rst).
func TestRecentVersionsShowMore(t *testing.T) {
	s := newRecentSide(t)
	properties := map[string]any{"hw_disk_bus": "scsi", "os_type": "linux"}
	hints := map[string]any{"same_host": []any{"x"}, "anything": []any{"y"}}
	for _, tc := range []struct {
		version string
		zone    any
		image   any // its properties
		hints   any
	}{
		{"compute 2.95", nil, nil, nil},
		{"compute 2.96", "a", nil, nil},
		{"compute 2.97", "a", nil, nil},
		{"compute 2.98", "a", properties, nil},
		{"compute 2.100", "a", properties, hints},
		{"compute 2.104", "a", properties, hints},
	} {
		for _, r := range []said{
			{"member", "GET", serverPath, tc.version, ""},
			{"member", "PUT", serverPath, tc.version, `{"server": {"name": "vm0"}}`},
		} {
			got := s.shown(t, r, "pinned_availability_zone", "image", "scheduler_hints")
			shown, _ := got["image"].(map[string]any)
			if diff := cmp.Diff([]any{tc.zone, tc.image, tc.hints}, []any{
				got["pinned_availability_zone"], shown["properties"], got["scheduler_hints"],
			}); diff != "" {
				t.Errorf("%s with %s (-want +got):\n%s", r.method, tc.version, diff)
			}
		}
		_, list := s.say(t, said{"member", "GET", "/v2.1/servers/detail", tc.version, ""})
		for part, want := range map[string]any{
			`"pinned_availability_zone"`: tc.zone, `"hw_disk_bus"`: tc.image, `"scheduler_hints"`: tc.hints,
		} {
			if strings.Contains(list, part) != (want != nil) {
				t.Errorf("the list with %s has %s: %v", tc.version, part, want == nil)
			}
		}
	}
	s.change(t, func(row *compute.ServerRow) { row.Zone, row.Hints, row.ImageMeta = "", nil, nil })
	got := s.shown(t, said{"member", "GET", serverPath, "compute 2.104", ""}, "pinned_availability_zone",
		"scheduler_hints")
	diff := cmp.Diff(map[string]any{"pinned_availability_zone": nil, "scheduler_hints": map[string]any{}}, got)
	if diff != "" {
		t.Errorf("a server without them (-want +got):\n%s", diff)
	}
}

// The host name of a server may have a domain since 2.94.
func TestHostnameHasDomain(t *testing.T) {
	s := newRecentSide(t)
	const change = `{"server": {"hostname": "vm0.example.org"}}`
	status, answer := s.say(t, said{"member", "PUT", serverPath, "compute 2.93", change})
	if status != http.StatusBadRequest {
		t.Errorf("with 2.93: %d %s", status, answer)
	}
	got := s.shown(t, said{"member", "PUT", serverPath, "compute 2.94", change}, "OS-EXT-SRV-ATTR:hostname")
	if got["OS-EXT-SRV-ATTR:hostname"] != "vm0.example.org" {
		t.Errorf("the host name is %v", got)
	}
}

// Since 2.104 a server can be unpinned, and pinned to the zone that it is in.
func TestServersAreUnpinned(t *testing.T) {
	s := newRecentSide(t)
	pin := func(zone string) (status int, answer string) {
		return s.say(t, said{
			"member", "PUT", serverPath, "compute 2.104", `{"server": {"pinned_availability_zone": ` + zone + `}}`,
		})
	}
	for _, step := range []struct {
		zone   string
		status int
		text   string // in the answer
	}{
		{`"a"`, 200, `"pinned_availability_zone": "a"`},
		{`"b"`, 409, "Unpin first"},
		{`null`, 200, `"pinned_availability_zone": null`},
		{`null`, 200, `"pinned_availability_zone": null`},
		{`"b"`, 409, "only be pinned to its current availability zone 'a', but 'b' was requested"},
		{`"a"`, 200, `"pinned_availability_zone": "a"`},
		{`""`, 400, "pinned_availability_zone"},
	} {
		if status, answer := pin(step.zone); status != step.status || !strings.Contains(answer, step.text) {
			t.Errorf("pinned to %s: %d %s, want %d %s", step.zone, status, answer, step.status, step.text)
		}
	}
	if status, answer := s.say(t, said{
		"member", "PUT", serverPath, "compute 2.103", `{"server": {"pinned_availability_zone": null}}`,
	}); status != http.StatusBadRequest {
		t.Errorf("with 2.103: %d %s", status, answer)
	}
}

// Since 2.102 flavors are found by their names, and have less.
func TestFlavorsByName(t *testing.T) {
	s := newRecentSide(t)
	for _, tc := range []struct {
		version, method, path, body string
		status                      int
		has, hasNot                 string
	}{
		{"compute 2.101", "GET", "/v2.1/flavors/c1", "", 200, "rxtx_factor", "nothing"},
		{"compute 2.101", "GET", "/v2.1/flavors/c1", "", 200, "OS-FLV-DISABLED:disabled", "nothing"},
		{"compute 2.102", "GET", "/v2.1/flavors/c1", "", 200, `"ram"`, "rxtx_factor"},
		{"compute 2.102", "GET", "/v2.1/flavors/detail", "", 200, `"ram"`, "OS-FLV-DISABLED:disabled"},
		{"compute 2.101", "GET", "/v2.1/flavors?name=big", "", 400, "name", "flavors"},
		{"compute 2.102", "GET", "/v2.1/flavors?name=big", "", 200, "m2.big", "c1"},
		{"compute 2.102", "GET", "/v2.1/flavors/detail?name=%5Ec", "", 200, `"c1"`, "m2.big"},
		{"compute 2.102", "GET", "/v2.1/flavors?name=%5B", "", 400, "Invalid name filter", "flavors"},
		{"compute 2.101", "GET", "/v2.1/flavors?sort_key=rxtx_factor", "", 200, "c1", "nothing"},
		{"compute 2.102", "GET", "/v2.1/flavors?sort_key=rxtx_factor", "", 400, "sort_key", "nothing"},
		{
			"compute 2.102", "POST", "/v2.1/flavors",
			`{"flavor": {"name": "x", "ram": 1, "vcpus": 1, "disk": 0, "rxtx_factor": 1}}`, 400, "rxtx_factor", "nothing",
		},
		{
			"compute 2.102", "POST", "/v2.1/flavors", `{"flavor": {"name": "x", "ram": 1, "vcpus": 1, "disk": 0}}`, 200, `"x"`,
			"rxtx_factor",
		},
	} {
		status, answer := s.say(t, said{"admin", tc.method, tc.path, tc.version, tc.body})
		if status != tc.status || !strings.Contains(answer, tc.has) || strings.Contains(answer, tc.hasNot) {
			t.Errorf("%s %s %s: %d %s, want %d with %q and without %q", tc.version, tc.method, tc.path, status, answer,
				tc.status, tc.has, tc.hasNot)
		}
	}
}

// Since 2.102 no query has a parameter that is unknown, whatever it reads.
func TestQueriesHaveNoUnknownParameters(t *testing.T) {
	s := newRecentSide(t)
	queries := 0
	for _, r := range (&computeapi.API{}).Routes() {
		path, ok := strings.CutPrefix(r.Pattern, "/v2.1/")
		if r.Method != http.MethodGet || !ok || path == "" || r.Until > 0 {
			continue
		}
		queries++
		status, answer := s.say(t, said{
			"admin", "GET", "/v2.1/" + pathName.ReplaceAllString(path, someID) + "?unknown=1", "compute 2.102", "",
		})
		if status != http.StatusBadRequest || !strings.Contains(answer, "unknown") {
			t.Errorf("%s: %d %s", r.Pattern, status, fmt.Sprintf("%.200s", answer))
		}
	}
	if queries < 30 {
		t.Errorf("only %d routes were tried", queries)
	}
}
