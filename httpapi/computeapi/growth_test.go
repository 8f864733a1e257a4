package computeapi_test

import (
	"encoding/json"
	"fmt"
	"maps"
	"net/http"
	"net/http/httptest"
	"slices"
	"strings"
	"testing"

	"github.com/berthcloud/berth/identity/policy"
	"github.com/berthcloud/berth/internal/growthtest"
	"github.com/berthcloud/berth/internal/racetest"
)

// A list is something of which a request can carry many.
type list struct {
	name, method, path string
	request            func(n int) (query, body string)
}

// many is n items of a list, each made with its number: as it is, or with eight digits.
func many(n int, format string) string {
	var b strings.Builder
	for i := range n {
		if i > 0 {
			b.WriteString(", ")
		}
		b.WriteString(strings.NewReplacer("%", fmt.Sprint(i), "@", fmt.Sprintf("%08d", i)).Replace(format))
	}
	return b.String()
}

// bodies are the lists that bodies carry, each in a request that is in order but for their length.
func bodies() (all []list) {
	const id = "@-0000-4000-8000-000000000001"
	server := func(member string) string {
		return `{"server": {"name": "n", "imageRef": "` + string(image) + `", "flavorRef": "c1", "networks": "none", ` +
			member + `}}`
	}
	networked := func(network string) string {
		return strings.Replace(server(`"tags": []`), `"networks": "none"`, `"networks": [`+network+`]`, 1)
	}
	hinted := func(hint string) string {
		return strings.TrimSuffix(server(`"tags": []`), "}") + `, "os:scheduler_hints": {` + hint + `}}`
	}
	report := func(node, inventory string) string {
		return `{"host": {"host": "cn1", "version": 66, "node": {"id": "` + ownGroup + `", "name": "cn1", "type": "fake"` + node + `},
			"inventory": {"vcpu": {"total": 1, "initial_allocation_ratio": 1}, "pcpu": {"total": 0, "initial_allocation_ratio": 1},
			"memory_mb": {"total": 1, "initial_allocation_ratio": 1}, "disk_gb": {"total": 1, "initial_allocation_ratio": 1}` + inventory + `}}}`
	}
	for _, l := range []struct{ name, method, path, body, item string }{
		{"ports", "POST", "/v2.1/servers", networked("*"), `{"port": "` + id + `"}`},
		{"one port", "POST", "/v2.1/servers", networked("*"), `{"port": "` + ownGroup + `", "tag": "t%"}`},
		{"networks", "POST", "/v2.1/servers", networked("*"), `{"uuid": "` + id + `"}`},
		{"networks that are none", "POST", "/v2.1/servers", networked("*"), `{"uuid": "x%"}`},
		{"addresses", "POST", "/v2.1/servers", networked("*"), `{"uuid": "` + id + `", "fixed_ip": "10.0.0.1"}`},
		{"security groups", "POST", "/v2.1/servers", server(`"security_groups": [*]`), `{"name": "g%"}`},
		{"devices", "POST", "/v2.1/servers", server(`"block_device_mapping": [*]`), `{"device_name": "vd%"}`},
		{
			"devices of the second form", "POST", "/v2.1/servers", server(`"block_device_mapping_v2": [*]`),
			`{"source_type": "image", "destination_type": "local", "uuid": "u%", "boot_index": "%"}`,
		},
		{"metadata", "POST", "/v2.1/servers", server(`"metadata": {*}`), `"k%": "v"`},
		{"tags", "POST", "/v2.1/servers", server(`"tags": [*]`), `"t%"`},
		{"files", "POST", "/v2.1/servers", server(`"personality": [*]`), `{"path": "/f%", "contents": "YQ=="}`},
		{"certificates", "POST", "/v2.1/servers", server(`"trusted_image_certificates": [*]`), `"c%"`},
		{"hosts of servers", "POST", "/v2.1/servers", hinted(`"same_host": [*]`), `"` + id + `"`},
		{"hosts of other servers", "POST", "/v2.1/servers", hinted(`"different_host": [*]`), `"` + id + `"`},
		{"cells", "POST", "/v2.1/servers", hinted(`"different_cell": [*]`), `"c%"`},
		{"hints", "POST", "/v2.1/servers", hinted(`*`), `"h%": "v"`},

		{
			"fixed addresses", "POST", ownServer + "/os-interface",
			`{"interfaceAttachment": {"net_id": "` + ownGroup + `", "fixed_ips": [*]}}`, `{"ip_address": "10.0.0.1"}`,
		},
		{"metadata", "POST", ownServer + "/metadata", `{"metadata": {*}}`, `"k%": "v"`},
		{"metadata", "PUT", ownServer + "/metadata", `{"metadata": {*}}`, `"k%": "v"`},
		{"metadata", "PUT", ownServer + "/metadata/k", `{"meta": {*}}`, `"k%": "v"`},
		{"tags", "PUT", ownServer + "/tags", `{"tags": [*]}`, `"t%"`},
		{"extra specs", "POST", "/v2.1/flavors/c1/os-extra_specs", `{"extra_specs": {*}}`, `"s%": "v"`},
		{"extra specs", "PUT", "/v2.1/flavors/c1/os-extra_specs/s", `{*}`, `"s%": "v"`},
		{"metadata", "POST", "/v2.1/os-aggregates/1/action", `{"set_metadata": {"metadata": {*}}}`, `"k%": "v"`},
		{"policies", "POST", "/v2.1/os-server-groups", `{"server_group": {"name": "g", "policies": [*]}}`, `"affinity"`},
		{
			"events of one server", "POST", "/v2.1/os-server-external-events", `{"events": [*]}`,
			`{"server_uuid": "33333333-0000-4000-8000-000000000001", "name": "network-changed", "tag": "t%"}`,
		},
		{
			"events of servers", "POST", "/v2.1/os-server-external-events", `{"events": [*]}`,
			`{"server_uuid": "` + id + `", "name": "network-changed"}`,
		},

		{
			"results", "POST", "/berth/v1/hosts/cn1/servers", `{"results": [*]}`,
			`{"server": "` + id + `", "event": "` + id + `"}`,
		},
		{"devices of a node", "POST", "/berth/v1/heartbeats", report(`, "devices": [*]`, ""), `{"slot": "s%"}`},
		{"what a CPU is", "POST", "/berth/v1/heartbeats", report(`, "cpu_info": {*}`, ""), `"k%": "v"`},
		{"traits", "POST", "/berth/v1/heartbeats", report("", `, "traits": [*]`), `"CUSTOM_%"`},
		{
			"devices", "POST", "/berth/v1/heartbeats", report("", `, "devices": [*]`),
			`{"name": "d%", "resource_class": "VGPU", "total": 1}`,
		},
		{
			"traits of a device", "POST", "/berth/v1/heartbeats",
			report("", `, "devices": [{"name": "d", "resource_class": "VGPU", "total": 1, "traits": [*]}]`), `"CUSTOM_%"`,
		},
		{"providers", "POST", "/berth/v1/heartbeats", report("", `, "additional": [*]`), `{"name": "p%", "file": "f"}`},
		{
			"inventories of a provider", "POST", "/berth/v1/heartbeats",
			report("", `, "additional": [{"name": "p", "file": "f", "inventories": {*}}]`), `"CUSTOM_%": {"total": 1}`,
		},
		{
			"traits of a provider", "POST", "/berth/v1/heartbeats",
			report("", `, "additional": [{"name": "p", "file": "f", "traits": [*]}]`), `"CUSTOM_%"`,
		},
	} {
		all = append(all, list{l.name, l.method, l.path, func(n int) (string, string) {
			return "", strings.Replace(l.body, "*", many(n, l.item), 1)
		}})
	}
	return all
}

// unknowns are, for each object in the body of each request of the table of who may do what, the
// same body with many members there that nothing knows, and for each list many items like its
// first.
func unknowns(t *testing.T) (all []list) {
	for _, row := range accesses() {
		var v any
		if row.body == "" || json.Unmarshal([]byte(row.body), &v) != nil {
			continue
		}
		method, _, _ := strings.Cut(row.route, " ")
		var walk func(v any, put func(any) any)
		walk = func(v any, put func(any) any) { // put is the whole body with something else in this place
			add := func(name string, make func(n int) any) {
				all = append(all, list{name, method, row.path, func(n int) (string, string) {
					text, err := json.Marshal(put(make(n)))
					if err != nil {
						t.Error(err)
					}
					return "", string(text)
				}})
			}
			switch v := v.(type) {
			case map[string]any:
				add("unknown members", func(n int) any {
					more := maps.Clone(v)
					for i := range n {
						more[fmt.Sprint("x", i)] = 1
					}
					return more
				})
				for key, inner := range v {
					walk(inner, func(other any) any {
						more := maps.Clone(v)
						more[key] = other
						return put(more)
					})
				}
			case []any:
				if len(v) > 0 {
					add("items", func(n int) any { return slices.Repeat(v[:1], n) })
				}
			case string:
				add("a list for a text", func(n int) any { return slices.Repeat([]any{v}, n) })
			}
		}
		walk(v, func(v any) any { return v })
	}
	return all
}

// params are what queries can have, of all routes.
var params = strings.Fields(`limit marker is_public minRam minDisk sort_key sort_dir user_id project_id tenant_id all_projects offset
	hypervisor_hostname_pattern with_servers start end detailed hidden host instance_uuid source_compute status migration_type changes-since
	changes-before launch_index image_ref image hostname key_name power_state vm_state task_state node flavor reservation_id availability_zone
	name description uuid config_drive all_tenants deleted ip ip6 tags tags-any not-tags not-tags-any binary revision wait unknown`)

// values are those that the schemas let through where they are picky.
var values = map[string]string{
	"limit": "1", "offset": "1", "sort_key": "created_at", "sort_dir": "asc", "changes-since": "2026-01-02",
	"changes-before": "2026-01-02", "wait": "0",
	"with_servers": "true", "all_tenants": "1", "deleted": "0", "config_drive": "1",
}

func queries() (all []list) {
	for _, row := range accesses() {
		method, path, _ := strings.Cut(row.route, " ")
		if method != http.MethodGet || strings.Contains(row.path, "?") || path == "/" {
			continue
		}
		add := func(name string, one func(i int) string) {
			all = append(all, list{name, method, row.path, func(n int) (string, string) {
				pairs := make([]string, n)
				for i := range pairs {
					pairs[i] = one(i)
				}
				return strings.Join(pairs, "&"), ""
			}})
		}
		add("names", func(i int) string { return fmt.Sprintf("x%d=1", i) })
		pair := func(name string, i int) string {
			if value, picky := values[name]; picky {
				return name + "=" + value
			}
			return fmt.Sprintf("%s=v%d", name, i)
		}
		add("all there are", func(i int) string { return pair(params[i%len(params)], i) })
		if !strings.HasPrefix(row.path, "/v2.1/servers") || strings.Contains(row.path, "3333") {
			continue
		}
		for _, name := range params {
			add(name, func(i int) string { return pair(name, i) })
		}
		for _, name := range []string{"tags", "tags-any", "not-tags", "not-tags-any"} {
			all = append(all, list{"words of " + name, method, row.path, func(n int) (string, string) {
				return name + "=" + strings.ReplaceAll(many(n, "t%"), " ", ""), ""
			}})
		}
	}
	return all
}

// Whatever list a body or a query carries, the work for it grows about as the list does.
func TestListsGrowNearLinear(t *testing.T) {
	racetest.Skip(t)
	s := newAccessSide(t, policy.Options{})
	for _, kind := range []struct {
		n       int
		changes bool // what there is, so that each list needs it again
		lists   []list
	}{{1000, true, bodies()}, {1000, false, unknowns(t)}, {500, false, queries()}} {
		for i, l := range kind.lists {
			if i == 0 || kind.changes {
				s.seedGrowth(t)
			}
			status := 0
			n := kind.n
			if strings.HasPrefix(l.path, "/berth") || strings.HasSuffix(l.path, "-events") {
				n = 512 // eight times as many are the most that there may be
			}
			made := map[int]func() int{} // what makes the requests is not measured
			for _, n := range []int{n, 8 * n} {
				made[n] = s.listing(l, n)
			}
			growthtest.NearLinear(t, n, func(n int) { status = made[n]() })
			if status >= 500 && status != http.StatusNotImplemented || t.Failed() {
				t.Fatalf("%s of %s %s: %d", l.name, l.method, l.path, status)
			}
		}
	}
}

// seedGrowth lets a server have any metadata, and has a request for servers do all its work but
// for the servers: those would be more each time.
func (s *accessSide) seedGrowth(t *testing.T) {
	t.Helper()
	s.seed(t)
	const quotas = `{"quota_class_set": {"instances": 0, "metadata_items": -1}}`
	status, answer := s.say(t, said{"admin", "PUT", "/v2.1/os-quota-class-sets/default", "", quotas})
	if status != http.StatusOK {
		t.Fatal(answer)
	}
}

// listing returns what sends a request with n of a list, and returns the status.
func (s *accessSide) listing(l list, n int) func() int {
	query, body := l.request(n)
	path := l.path
	for name, id := range s.ids {
		path = strings.ReplaceAll(path, name, id)
	}
	return func() int {
		req := httptest.NewRequest(l.method, path, strings.NewReader(body))
		req.URL.RawQuery = query
		req.Header.Set("X-Auth-Token", "admin")
		req.Header.Set("OpenStack-API-Version", "compute 2.72")
		w := httptest.NewRecorder()
		(*s.handler.Load()).ServeHTTP(w, req)
		return w.Code
	}
}
