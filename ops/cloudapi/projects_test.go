package cloudapi_test

import (
	"fmt"
	"net/http"
	"strings"
	"sync/atomic"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/berthcloud/berth/ops/cloud"
	"github.com/berthcloud/berth/ops/cloudapi"
)

// limited are answers of services with projects: p1 and p3 have servers, p2 and p4 have none, and
// p3 was deleted.
func limited() map[string]string {
	answers := healthy()
	for i := range 2 {
		answers[fmt.Sprintf("/v2.1/os-quota-sets/p%d", 2*i+2)] = `{"quota_set": {"id": "x", "instances": 10, "cores": 20, ` +
			`"ram": 51200, "key_pairs": 100}}`
	}
	answers["/v2.1/os-quota-sets/p1"] = `{"quota_set": {"instances": -1, "cores": 8, "ram": 4096}}`
	answers["/v3/projects"] = `{"projects": [{"id": "p1", "name": "shop", "domain_id": "default"}, {"id": "p2", ` +
		`"name": "idle", "domain_id": "d2"}, {"id": "p4", "name": "idle", "domain_id": "default"}], "links": {}}`
	answers["/v3/registered_limits"] = `{"registered_limits": [{"resource_name": "class:VCPU", "default_limit": 10, "region_id": null}, {"resource_name": "servers", "default_limit": 10},
		{"resource_name": "class:DISK_GB", "default_limit": -1, "region_id": "one"}, {"resource_name": "class:VGPU", "default_limit": 0, "region_id": "two"}]}`
	answers["/v3/limits"] = `{"limits": [{"resource_name": "class:VCPU", "resource_limit": 64, "project_id": "p1", "region_id": null}, {"resource_name": "servers", "resource_limit": 5, "project_id": "p2"},
		{"resource_name": "class:VCPU", "resource_limit": 1000, "project_id": null, "domain_id": "d2"}, {"resource_name": "class:VGPU", "resource_limit": 3, "project_id": "p1", "region_id": "two"}]}`
	return answers
}

// servers are records of servers in projects.
func serversOf(projects ...string) *cloud.Cloud {
	c := &cloud.Cloud{Compute: &cloud.Compute{}}
	for _, p := range projects {
		c.Compute.Servers = append(c.Compute.Servers, cloud.Server{Project: p})
	}
	return c
}

// projectsAt logs in to a stack, and returns a reader of its projects.
func projectsAt(
	t *testing.T, answers map[string]string, most int, instead func(w http.ResponseWriter, r *http.Request) bool,
) (*cloudapi.Client, *cloudapi.ProjectReader) {
	t.Helper()
	client, err := cloudapi.Connect(t.Context(), cloudapi.Options{
		Environ: variables(stackWith(t, answers, instead), nil), Wait: atOnce,
	})
	if err != nil {
		t.Fatal(err)
	}
	return client, client.ProjectReader(most)
}

// Projects have their names, Nova's quotas and Keystone's limits: their own, or the defaults of the
// region.
func TestProjects(t *testing.T) {
	answers := limited()
	answers["token of the system"] = "system"
	_, reader := projectsAt(t, answers, 10, func(w http.ResponseWriter, r *http.Request) bool {
		want := map[bool]string{true: "system", false: "admin"}[r.URL.Path == "/v3/limits"]
		if got := r.Header.Get("X-Auth-Token"); got != want {
			t.Errorf("%s is requested with the token %s", r.URL.Path, got)
		}
		return false
	})
	for range 2 {
		got, failed := reader.Read(t.Context(), serversOf("p1", "p3", "p3"))
		if diff := cmp.Diff(map[string]error{"identity": nil, "quotas": nil, "limits": nil}, failed); diff != "" {
			t.Errorf("what fails (-want +got):\n%s", diff)
		}
		usual := map[string]int64{"instances": 10, "cores": 20, "ram": 51200}
		defaults := map[string]int64{"VCPU": 10, "DISK_GB": -1}
		want := &cloud.Projects{List: []cloud.Project{
			{
				UUID: "p1", Name: "shop", Domain: "default", Quotas: map[string]int64{"instances": -1, "cores": 8, "ram": 4096},
				Limits: map[string]int64{"VCPU": 64, "DISK_GB": -1},
			},
			{UUID: "p2", Name: "idle", Domain: "d2", Quotas: usual, Limits: defaults},
			{UUID: "p3", Limits: defaults},
			{UUID: "p4", Name: "idle", Domain: "default", Quotas: usual, Limits: defaults},
		}}
		if diff := cmp.Diff(want, got); diff != "" {
			t.Errorf("projects (-want +got):\n%s", diff)
		}
	}
}

// No more projects are read than wanted, those with most servers first.
func TestProjectsAreBounded(t *testing.T) {
	_, reader := projectsAt(t, limited(), 2, func(http.ResponseWriter, *http.Request) bool { return false })
	got, _ := reader.Read(t.Context(), serversOf("p1", "p3", "p3"))
	if len(got.List) != 2 || got.List[0].UUID != "p1" || got.List[1].UUID != "p3" || got.Omitted != 2 {
		t.Errorf("projects: %+v", got)
	}
}

// Quotas are read when a project is new, and each 20th time.
func TestQuotasTakeFewRequests(t *testing.T) {
	var requests atomic.Int64
	var projects, uuids []string
	for i := range 40 {
		uuids = append(uuids, fmt.Sprintf("p%02d", i))
		projects = append(projects, fmt.Sprintf(`{"id": %q, "name": "n"}`, uuids[i]))
	}
	answers := limited()
	answers["/v3/projects"] = `{"projects": [` + strings.Join(projects, ",") + `]}`
	var cores atomic.Int64
	cores.Store(7)
	_, reader := projectsAt(t, answers, 100, func(w http.ResponseWriter, r *http.Request) bool {
		if !strings.HasPrefix(r.URL.Path, "/v2.1/os-quota-sets/") {
			return false
		}
		requests.Add(1)
		fmt.Fprintf(w, `{"quota_set": {"instances": 1, "cores": %d, "ram": 1}}`, cores.Load())
		return true
	})
	first, _ := reader.Read(t.Context(), serversOf(uuids...))
	if n := requests.Swap(0); n != 40 || first.List[39].Quotas["cores"] != 7 {
		t.Errorf("%d requests at first: %+v", n, first.List[39])
	}
	cores.Store(9)
	for range 20 {
		got, _ := reader.Read(t.Context(), serversOf(uuids...))
		if n := requests.Swap(0); n != 2 {
			t.Errorf("%d requests for quotas", n)
		}
		first = got
	}
	for _, p := range first.List {
		if p.Quotas["cores"] != 9 {
			t.Errorf("the quotas of %s are old: %v", p.UUID, p.Quotas)
		}
	}
}

// What cannot be read is absent and named, and the rest is there.
func TestProjectsInPart(t *testing.T) {
	for name, tc := range map[string]struct {
		change func(answers map[string]string)
		failed map[string]string // what each source says; "" when it was read
		names  bool
		quotas bool
		limits string // the projects whose limits are known
	}{
		"NoNames": {
			func(a map[string]string) { a["/v3/projects"] = `{"projects": 5}` },
			map[string]string{"identity": "not what its API has", "quotas": "", "limits": "no role on the system"},
			false, true,
			"p1",
		},
		"NoQuotas": {
			func(a map[string]string) { a["/v2.1/os-quota-sets/p1"] = "" },
			map[string]string{"identity": "", "quotas": "403 Forbidden", "limits": "no role on the system"},
			true, false, "p1",
		},
		"NoLimits": {
			func(a map[string]string) { delete(a, "/v3/registered_limits") },
			map[string]string{"identity": "", "quotas": ""},
			true, true, "",
		},
		"NoClasses": {func(a map[string]string) {
			a["/v3/registered_limits"] = `{"registered_limits": [{"resource_name": "servers", "default_limit": 10}]}`
		}, map[string]string{"identity": "", "quotas": ""}, true, true, ""},
	} {
		t.Run(name, func(t *testing.T) {
			answers := limited()
			tc.change(answers)
			_, reader := projectsAt(t, answers, 10, func(http.ResponseWriter, *http.Request) bool { return false })
			got, failed := reader.Read(t.Context(), serversOf("p1"))
			for source, text := range tc.failed {
				if err, ok := failed[source]; !ok || (err == nil) != (text == "") ||
					err != nil && !strings.Contains(err.Error(), text) {
					t.Errorf("%s: %v, want %q", source, err, text)
				}
			}
			if len(failed) != len(tc.failed) {
				t.Errorf("the sources are %v", failed)
			}
			var limits []string
			for _, p := range got.List {
				if p.Limits != nil {
					limits = append(limits, p.UUID)
				}
			}
			if p := got.List[0]; p.UUID != "p1" || (p.Name != "") != tc.names || (p.Quotas != nil) != tc.quotas ||
				strings.Join(limits, " ") != tc.limits {
				t.Errorf("projects: %+v", got.List)
			}
		})
	}
}
