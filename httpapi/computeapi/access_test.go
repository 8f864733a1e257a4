package computeapi_test

import (
	"cmp"
	"fmt"
	"net/http"
	"net/http/httptest"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/berthcloud/berth/compute"
	"github.com/berthcloud/berth/compute/computetest"
	"github.com/berthcloud/berth/compute/extraspecs"
	"github.com/berthcloud/berth/httpapi/computeapi"
	"github.com/berthcloud/berth/identity/policy"
	"github.com/berthcloud/berth/internal/dialogue/neutron"
	"github.com/berthcloud/berth/internal/dialogue/nova"
	"github.com/berthcloud/berth/internal/sweep"
)

// personas are the callers, in the order of the columns of the table: a member of the project that
// the objects belong to, a reader of it, a member of another project, administrators of either, and
// a service.
var personas = []string{"member", "reader", "other", "admin", "root", "service"}

// An access is a request and its status for each of the personas: Nova's, as its default policies
// say where the deprecated defaults are not enforced.
type access struct {
	route   string // method and pattern, with the action in parentheses
	path    string // of what the request is about
	version int    // minor, 0 for 72
	body    string
	want    string
}

// What the requests are about. All of it belongs to the project demo, and to its member.
const (
	ownServer  = "/v2.1/servers/33333333-0000-4000-8000-000000000001"
	ownGroup   = "44444444-0000-4000-8000-000000000001"
	ownRequest = "req-11111111-0000-4000-8000-000000000002"
	goneServer = "/v2.1/servers/33333333-0000-4000-8000-000000000009"
)

// The outcomes that most routes share.
const (
	readers    = "200 200 404 200 200 404" // an object of a project: others do not know that it exists
	adminsOnly = "403 403 403 200 200 403"
	// serviceEvents are services' since Nova 32, with new defaults.
	serviceEvents = "403 403 403 200 200 200"
	everybody     = "200 200 200 200 200 200"
	projects      = "200 200 200 200 200 403" // each their own project's list
)

// changes are the outcomes of a change of an object, which readers may not make.
func changes(status int) string { return fmt.Sprintf("%[1]d 403 404 %[1]d %[1]d 404", status) }

// admins are the outcomes of what administrators alone may do.
func admins(status int) string { return fmt.Sprintf("403 403 403 %[1]d %[1]d 403", status) }

func accesses() []access {
	node := string(computetest.ID("cn1"))
	newServer := `{"server": {"name": "n", "imageRef": "` + string(image) + `", "flavorRef": "c1", "networks": "none"}}`
	return []access{
		{"GET /", "/", 0, "", everybody},
		{"GET /v2.1", "/v2.1", 0, "", everybody},
		{"GET /v2.1/", "/v2.1/", 0, "", everybody},

		{"GET /v2.1/flavors", "/v2.1/flavors", 0, "", everybody},
		{"POST /v2.1/flavors", "/v2.1/flavors", 0, `{"flavor": {"name": "x", "ram": 1, "vcpus": 1, "disk": 1}}`, adminsOnly},
		{"GET /v2.1/flavors/detail", "/v2.1/flavors/detail", 0, "", everybody},
		{"GET /v2.1/flavors/{flavor}", "/v2.1/flavors/c1", 0, "", everybody},
		{"GET /v2.1/flavors/{flavor}", "/v2.1/flavors/private", 0, "", readers},
		{"PUT /v2.1/flavors/{flavor}", "/v2.1/flavors/private", 0, `{"flavor": {"description": "x"}}`, adminsOnly},
		{"DELETE /v2.1/flavors/{flavor}", "/v2.1/flavors/private", 0, "", admins(202)},
		{
			"GET /v2.1/flavors/{flavor}/os-extra_specs", "/v2.1/flavors/private/os-extra_specs", 0, "",
			"200 200 404 200 200 403",
		},
		{
			"POST /v2.1/flavors/{flavor}/os-extra_specs", "/v2.1/flavors/private/os-extra_specs", 0,
			`{"extra_specs": {"s": "v"}}`, adminsOnly,
		},
		{
			"GET /v2.1/flavors/{flavor}/os-extra_specs/{key}", "/v2.1/flavors/private/os-extra_specs/s", 0, "",
			"200 200 404 200 200 403",
		},
		{
			"PUT /v2.1/flavors/{flavor}/os-extra_specs/{key}", "/v2.1/flavors/private/os-extra_specs/s", 0, `{"s": "v"}`,
			adminsOnly,
		},
		{"DELETE /v2.1/flavors/{flavor}/os-extra_specs/{key}", "/v2.1/flavors/private/os-extra_specs/s", 0, "", adminsOnly},
		{"GET /v2.1/flavors/{flavor}/os-flavor-access", "/v2.1/flavors/private/os-flavor-access", 0, "", adminsOnly},
		{
			"POST /v2.1/flavors/{flavor}/action (addTenantAccess)", "/v2.1/flavors/private/action", 0,
			`{"addTenantAccess": {"tenant": "x"}}`, adminsOnly,
		},
		{
			"POST /v2.1/flavors/{flavor}/action (removeTenantAccess)", "/v2.1/flavors/private/action", 0,
			`{"removeTenantAccess": {"tenant": "@demo"}}`, adminsOnly,
		},

		{"GET /v2.1/os-keypairs", "/v2.1/os-keypairs", 0, "", everybody},
		{"GET /v2.1/os-keypairs", "/v2.1/os-keypairs?user_id=member", 0, "", "200 403 403 200 200 403"},
		{
			"POST /v2.1/os-keypairs", "/v2.1/os-keypairs", 0, `{"keypair": {"name": "x", "user_id": "member"}}`,
			"201 403 403 201 201 403",
		},
		{"GET /v2.1/os-keypairs/{name}", "/v2.1/os-keypairs/k", 0, "", "200 404 404 404 404 404"},
		{"GET /v2.1/os-keypairs/{name}", "/v2.1/os-keypairs/k?user_id=member", 0, "", "200 403 403 200 200 403"},
		{"DELETE /v2.1/os-keypairs/{name}", "/v2.1/os-keypairs/k", 0, "", "204 404 404 404 404 404"},
		{"DELETE /v2.1/os-keypairs/{name}", "/v2.1/os-keypairs/k?user_id=member", 0, "", "204 403 403 204 204 403"},

		{"GET /v2.1/os-aggregates", "/v2.1/os-aggregates", 0, "", adminsOnly},
		{"POST /v2.1/os-aggregates", "/v2.1/os-aggregates", 0, `{"aggregate": {"name": "b"}}`, adminsOnly},
		{"GET /v2.1/os-aggregates/{id}", "/v2.1/os-aggregates/1", 0, "", adminsOnly},
		{"PUT /v2.1/os-aggregates/{id}", "/v2.1/os-aggregates/1", 0, `{"aggregate": {"name": "b"}}`, adminsOnly},
		{"DELETE /v2.1/os-aggregates/{id}", "/v2.1/os-aggregates/1", 0, "", adminsOnly},
		{
			"POST /v2.1/os-aggregates/{id}/action (add_host)", "/v2.1/os-aggregates/1/action", 0,
			`{"add_host": {"host": "cn1"}}`, adminsOnly,
		},
		{
			"POST /v2.1/os-aggregates/{id}/action (remove_host)", "/v2.1/os-aggregates/2/action", 0,
			`{"remove_host": {"host": "cn1"}}`, adminsOnly,
		},
		{
			"POST /v2.1/os-aggregates/{id}/action (set_metadata)", "/v2.1/os-aggregates/1/action", 0,
			`{"set_metadata": {"metadata": {"a": "b"}}}`, adminsOnly,
		},

		{"GET /v2.1/os-availability-zone", "/v2.1/os-availability-zone", 0, "", everybody},
		{"GET /v2.1/os-availability-zone/detail", "/v2.1/os-availability-zone/detail", 0, "", adminsOnly},
		{"GET /v2.1/os-services", "/v2.1/os-services", 0, "", adminsOnly},
		{
			"PUT /v2.1/os-services/{id}", "/v2.1/os-services/disable", 52, `{"host": "cn1", "binary": "nova-compute"}`,
			adminsOnly,
		},
		{"PUT /v2.1/os-services/{id}", "/v2.1/os-services/@service", 0, `{"status": "disabled"}`, adminsOnly},
		{"DELETE /v2.1/os-services/{id}", "/v2.1/os-services/@spare", 0, "", admins(204)},
		{"GET /v2.1/os-hypervisors", "/v2.1/os-hypervisors", 0, "", adminsOnly},
		{"GET /v2.1/os-hypervisors/detail", "/v2.1/os-hypervisors/detail", 0, "", adminsOnly},
		{"GET /v2.1/os-hypervisors/statistics", "/v2.1/os-hypervisors/statistics", 0, "", adminsOnly},
		{"GET /v2.1/os-hypervisors/{id}", "/v2.1/os-hypervisors/" + node, 0, "", adminsOnly},
		{"GET /v2.1/os-hypervisors/{id}/uptime", "/v2.1/os-hypervisors/" + node + "/uptime", 0, "", admins(501)},
		{"GET /v2.1/os-hypervisors/{id}/search", "/v2.1/os-hypervisors/cn1/search", 52, "", adminsOnly},
		{"GET /v2.1/os-hypervisors/{id}/servers", "/v2.1/os-hypervisors/cn1/servers", 52, "", adminsOnly},

		{"GET /v2.1/os-server-groups", "/v2.1/os-server-groups", 0, "", projects},
		{
			"POST /v2.1/os-server-groups", "/v2.1/os-server-groups", 0, `{"server_group": {"name": "x", "policy": "affinity"}}`,
			"200 403 200 200 200 403",
		},
		{"GET /v2.1/os-server-groups/{id}", "/v2.1/os-server-groups/" + ownGroup, 0, "", readers},
		{"DELETE /v2.1/os-server-groups/{id}", "/v2.1/os-server-groups/" + ownGroup, 0, "", changes(204)},

		{"GET /v2.1/os-quota-sets/{project}", "/v2.1/os-quota-sets/@demo", 0, "", "200 200 403 200 200 403"},
		{"PUT /v2.1/os-quota-sets/{project}", "/v2.1/os-quota-sets/@demo", 0, `{"quota_set": {"ram": 1000}}`, adminsOnly},
		{"DELETE /v2.1/os-quota-sets/{project}", "/v2.1/os-quota-sets/@demo", 0, "", admins(202)},
		{"GET /v2.1/os-quota-sets/{project}/detail", "/v2.1/os-quota-sets/@demo/detail", 0, "", "200 200 403 200 200 403"},
		{"GET /v2.1/os-quota-sets/{project}/defaults", "/v2.1/os-quota-sets/@demo/defaults", 0, "", everybody},
		{"GET /v2.1/os-quota-class-sets/{class}", "/v2.1/os-quota-class-sets/default", 0, "", adminsOnly},
		{
			"PUT /v2.1/os-quota-class-sets/{class}", "/v2.1/os-quota-class-sets/default", 0, `{"quota_class_set": {"ram": 1}}`,
			adminsOnly,
		},
		{"GET /v2.1/limits", "/v2.1/limits", 0, "", everybody},
		{"GET /v2.1/limits", "/v2.1/limits?tenant_id=x", 0, "", adminsOnly},
		{"GET /v2.1/os-simple-tenant-usage", "/v2.1/os-simple-tenant-usage", 0, "", adminsOnly},
		{
			"GET /v2.1/os-simple-tenant-usage/{project}", "/v2.1/os-simple-tenant-usage/@demo", 0, "", "200 200 403 200 200 403",
		},

		{"GET /v2.1/servers", "/v2.1/servers", 0, "", projects},
		{"GET /v2.1/servers", "/v2.1/servers?all_tenants=1", 0, "", adminsOnly},
		{"GET /v2.1/servers", "/v2.1/servers?marker=33333333-0000-4000-8000-000000000001", 0, "", "200 200 400 200 200 403"},
		{"POST /v2.1/servers", "/v2.1/servers", 0, newServer, "202 403 202 202 202 403"},
		{
			"POST /v2.1/servers", "/v2.1/servers", 74, strings.Replace(newServer, `"none"`, `"none", "host": "cn1"`, 1),
			admins(202),
		},
		{"GET /v2.1/servers/detail", "/v2.1/servers/detail", 0, "", projects},
		{"GET /v2.1/servers/detail", "/v2.1/servers/detail?all_tenants=1", 0, "", adminsOnly},
		{"GET /v2.1/servers/{server}", ownServer, 0, "", readers},
		{"GET /v2.1/servers/{server}/migrations", ownServer + "/migrations", 80, "", "403 403 404 200 200 404"},
		{"GET /v2.1/servers/{server}/migrations/{migration}", ownServer + "/migrations/1", 80, "", "403 403 404 404 404 404"},
		{"GET /v2.1/servers/{server}/topology", ownServer + "/topology", 78, "", readers},
		{"PUT /v2.1/servers/{server}", ownServer, 0, `{"server": {"name": "x"}}`, changes(200)},
		{"DELETE /v2.1/servers/{server}", ownServer, 0, "", changes(204)},
		{"POST /v2.1/servers/{server}/action (os-start)", ownServer + "/action", 0, `{"os-start": null}`, changes(409)},
		{"POST /v2.1/servers/{server}/action (os-stop)", ownServer + "/action", 0, `{"os-stop": null}`, changes(202)},
		{
			"POST /v2.1/servers/{server}/action (reboot)", ownServer + "/action", 0, `{"reboot": {"type": "SOFT"}}`,
			changes(202),
		},
		{"POST /v2.1/servers/{server}/action (pause)", ownServer + "/action", 0, `{"pause": null}`, changes(202)},
		{"POST /v2.1/servers/{server}/action (unpause)", ownServer + "/action", 0, `{"unpause": null}`, changes(409)},
		{"POST /v2.1/servers/{server}/action (suspend)", ownServer + "/action", 0, `{"suspend": null}`, changes(202)},
		{"POST /v2.1/servers/{server}/action (resume)", ownServer + "/action", 0, `{"resume": null}`, changes(409)},
		{
			"POST /v2.1/servers/{server}/action (rebuild)", ownServer + "/action", 0,
			`{"rebuild": {"imageRef": "` + string(image) + `"}}`, changes(202),
		},
		{
			"POST /v2.1/servers/{server}/action (rebuild)", ownServer + "/action", 63,
			`{"rebuild": {"imageRef": "` + string(image) + `", "trusted_image_certificates": null}}`, changes(202),
		},
		{"POST /v2.1/servers/{server}/action (shelve)", ownServer + "/action", 0, `{"shelve": null}`, changes(202)},
		{
			"POST /v2.1/servers/{server}/action (shelveOffload)", ownServer + "/action", 0, `{"shelveOffload": null}`,
			"403 403 404 409 409 404",
		},
		{"POST /v2.1/servers/{server}/action (unshelve)", ownServer + "/action", 0, `{"unshelve": null}`, changes(409)},
		{"POST /v2.1/servers/{server}/action (lock)", ownServer + "/action", 0, `{"lock": null}`, changes(202)},
		{"POST /v2.1/servers/{server}/action (unlock)", ownServer + "/action", 0, `{"unlock": null}`, changes(202)},
		{
			"POST /v2.1/servers/{server}/action (resize)", ownServer + "/action", 0, `{"resize": {"flavorRef": "c1"}}`,
			changes(400),
		},
		{
			"POST /v2.1/servers/{server}/action (migrate)", ownServer + "/action", 0, `{"migrate": null}`,
			"403 403 404 202 202 404",
		},
		{
			"POST /v2.1/servers/{server}/action (confirmResize)", ownServer + "/action", 0, `{"confirmResize": null}`,
			changes(409),
		},
		{
			"POST /v2.1/servers/{server}/action (revertResize)", ownServer + "/action", 0, `{"revertResize": null}`,
			changes(409),
		},
		{
			"POST /v2.1/servers/{server}/action (os-migrateLive)", ownServer + "/action", 0,
			`{"os-migrateLive": {"host": "nowhere", "block_migration": "auto"}}`, "403 403 404 400 400 404",
		},
		{
			"POST /v2.1/servers/{server}/action (evacuate)", ownServer + "/action", 0, `{"evacuate": {"host": "nowhere"}}`,
			"403 403 404 404 404 404",
		},
		{
			"POST /v2.1/servers/{server}/migrations/{migration}/action (force_complete)", ownServer + "/migrations/1/action", 0,
			`{"force_complete": null}`, "403 403 404 409 409 404",
		},
		{
			"DELETE /v2.1/servers/{server}/migrations/{migration}", ownServer + "/migrations/1", 0, "",
			"403 403 404 409 409 404",
		},
		{
			"POST /v2.1/servers/{server}/action (os-resetState)", ownServer + "/action", 0,
			`{"os-resetState": {"state": "active"}}`, "403 403 404 202 202 404",
		},
		{"GET /v2.1/servers/{server}/metadata", ownServer + "/metadata", 0, "", readers},
		{"POST /v2.1/servers/{server}/metadata", ownServer + "/metadata", 0, `{"metadata": {"k": "v"}}`, changes(200)},
		{"PUT /v2.1/servers/{server}/metadata", ownServer + "/metadata", 0, `{"metadata": {"k": "v"}}`, changes(200)},
		{"GET /v2.1/servers/{server}/metadata/{key}", ownServer + "/metadata/k", 0, "", readers},
		{"PUT /v2.1/servers/{server}/metadata/{key}", ownServer + "/metadata/k", 0, `{"meta": {"k": "v"}}`, changes(200)},
		{"DELETE /v2.1/servers/{server}/metadata/{key}", ownServer + "/metadata/k", 0, "", changes(204)},
		{"GET /v2.1/servers/{server}/tags", ownServer + "/tags", 0, "", readers},
		{"PUT /v2.1/servers/{server}/tags", ownServer + "/tags", 0, `{"tags": ["t"]}`, changes(200)},
		{"DELETE /v2.1/servers/{server}/tags", ownServer + "/tags", 0, "", changes(204)},
		{"GET /v2.1/servers/{server}/tags/{tag}", ownServer + "/tags/t", 0, "", "204 204 404 204 204 404"},
		{"PUT /v2.1/servers/{server}/tags/{tag}", ownServer + "/tags/u", 0, "", changes(201)},
		{"DELETE /v2.1/servers/{server}/tags/{tag}", ownServer + "/tags/t", 0, "", changes(204)},
		{"GET /v2.1/servers/{server}/os-interface", ownServer + "/os-interface", 0, "", readers},
		// What is attached would be waited for: this is refused behind the policy.
		{
			"POST /v2.1/servers/{server}/os-interface", ownServer + "/os-interface", 0,
			`{"interfaceAttachment": {"net_id": "` + ownGroup + `", "port_id": "` + ownGroup + `"}}`, changes(400),
		},
		{"GET /v2.1/servers/{server}/os-interface/{port}", ownServer + "/os-interface/" + string(used), 0, "", readers},
		{
			"DELETE /v2.1/servers/{server}/os-interface/{port}", ownServer + "/os-interface/" + string(used), 0, "",
			changes(202),
		},
		{"GET /v2.1/servers/{server}/ips", ownServer + "/ips", 0, "", readers},
		{"GET /v2.1/servers/{server}/ips/{network}", ownServer + "/ips/net0", 0, "", readers},
		{"GET /v2.1/servers/{server}/os-instance-actions", ownServer + "/os-instance-actions", 0, "", readers},
		{
			"GET /v2.1/servers/{server}/os-instance-actions/{request}", ownServer + "/os-instance-actions/" + ownRequest, 0, "",
			readers,
		},
		// A server that an administrator of another project has deleted.
		{"GET /v2.1/servers/{server}/os-instance-actions", goneServer + "/os-instance-actions", 0, "", readers},
		{
			"GET /v2.1/servers/{server}/os-instance-actions/{request}", goneServer + "/os-instance-actions/req-delete", 0, "",
			readers,
		},
		{"GET /v2.1/os-migrations", "/v2.1/os-migrations", 0, "", adminsOnly},
		{
			"POST /v2.1/os-server-external-events", "/v2.1/os-server-external-events", 0,
			`{"events": [{"server_uuid": "33333333-0000-4000-8000-000000000001", "name": "network-changed"}]}`, serviceEvents,
		},

		{
			"POST /berth/v1/heartbeats", "/berth/v1/heartbeats", 0,
			`{"host": {"host": "cn1", "version": 66, "node": {"id": "` + node +
				`", "name": "cn1", "type": "fake"}}}`, "403 403 403 200 200 403",
		},
		{"GET /berth/v1/operations", "/berth/v1/operations", 0, "", adminsOnly},
		{"GET /berth/v1/hosts/{host}/servers", "/berth/v1/hosts/cn1/servers", 0, "", "403 403 403 200 200 403"},
		{
			"POST /berth/v1/hosts/{host}/servers", "/berth/v1/hosts/cn1/servers", 0, `{"results": []}`,
			"403 403 403 204 204 403",
		},
	}
}

func newAccessSide(t *testing.T, rules policy.Options) *accessSide {
	s := &accessSide{side: newSide(t), rules: rules}
	s.options = computetest.Options{Network: somePorts(), Images: images{image: {
		Image: extraspecs.Image{ID: string(image), Name: "cirros", DiskFormat: "qcow2"}, Status: "active",
	}}}
	return s
}

// An accessSide is a side on which nothing has changed since it was seeded, if ids is not nil.
type accessSide struct {
	*side
	rules policy.Options
	ids   map[string]string // what stands for ids in requests
}

func (s *accessSide) seed(t *testing.T) {
	t.Helper()
	s.Reset(t)
	h := handlerWith(t, s.service, authenticate, s.rules)
	s.handler.Store(&h)
	demo, other := nova.Projects()["demo"], nova.Projects()["other"]
	now := time.Now().UTC()
	s.Heartbeat(t, neutron.Agent{Host: "cn1"})
	s.Heartbeat(t, neutron.Agent{Host: "spare"})
	for _, row := range []any{
		computetest.Flavor("c1", 1, 256, 1),
		&compute.FlavorRow{
			ID: "private", Name: "private", VCPUs: 1, MemoryMB: 256, RootGB: 1, RxTx: 1, Specs: map[string]string{"s": "v"},
			CreatedAt: now,
		},
		&compute.FlavorAccessRow{Flavor: "private", Project: demo},
		&compute.KeypairRow{
			User: "member", Name: "k", Number: 1, Type: compute.SSH, Fingerprint: "x", PublicKey: "x", CreatedAt: now,
		},
		&compute.GroupRow{ID: ownGroup, Project: demo, User: "member", Name: "g", Policy: "affinity", CreatedAt: now},
		&compute.AggregateRow{ID: computetest.ID("a1"), Number: 1, Name: "a1", CreatedAt: now},
		&compute.AggregateRow{ID: computetest.ID("a2"), Number: 2, Name: "a2", CreatedAt: now},
		&compute.MemberRow{Aggregate: computetest.ID("a2"), Host: "cn1"},
	} {
		computetest.Add(t, s.store, row)
	}
	s.makeServer(t, neutron.Agent{Kind: nova.Server, Host: "vm0", Configurations: map[string]any{
		"id": "33333333-0000-4000-8000-000000000001", "flavor": "c1", "image": image, "host": "cn1",
		"port": map[string]any{
			"id": used, "network": "net0", "network_id": "55555555-0000-4000-8000-000000000001", "ip": "10.0.4.2",
		},
	}})
	deleted := compute.ID("33333333-0000-4000-8000-000000000009")
	for _, row := range []any{
		&compute.ActionRow{
			ID: computetest.ID("act"), Server: "33333333-0000-4000-8000-000000000001", Sequence: 1, Action: "stop",
			Request: ownRequest,
			Project: demo, User: "member", StartedAt: now, UpdatedAt: now,
		},
		&compute.ActionRow{
			ID: computetest.ID("born"), Server: deleted, Action: "create", Request: "req-create", Project: demo, User: "member",
			StartedAt: now, UpdatedAt: now,
		},
		&compute.ActionRow{
			ID: computetest.ID("died"), Server: deleted, Sequence: 1, Action: "delete", Request: "req-delete", Project: other,
			User:      "root",
			StartedAt: now.Add(time.Second), UpdatedAt: now.Add(time.Second),
		},
	} {
		computetest.Add(t, s.store, row)
	}
	status, answer := s.say(t, said{"admin", "PUT", ownServer + "/metadata", "", `{"metadata": {"k": "v"}}`})
	if status != http.StatusOK {
		t.Fatal(answer)
	}
	if status, answer := s.say(t, said{
		"admin", "PUT", ownServer + "/tags", "compute 2.72", `{"tags": ["t"]}`,
	}); status != http.StatusOK {
		t.Fatal(answer)
	}
	s.ids = map[string]string{"@demo": demo}
	services, err := s.service.fleet.Services(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	for _, h := range services {
		s.ids[map[string]string{"cn1": "@service", "spare": "@spare"}[h.Host]] = string(h.ID)
	}
}

// Who may do what: each route of the API, for each of the personas, as Nova's default policies have
// it. A route or an action that has no row here fails the test.
func TestAccess(t *testing.T) {
	s := newAccessSide(t, policy.Options{EnforceNewDefaults: true})
	rows := accesses()
	t.Run("EveryRoute", func(t *testing.T) { everyRouteHasItsRow(t, rows) })
	for _, row := range sweep.Raced(t, rows, 8) {
		want := strings.Fields(row.want)
		for i, who := range personas {
			if got := s.accessed(t, row, who); got != want[i] {
				t.Errorf("%s %s: %s for %s, want %s", row.route, row.path, got, who, want[i])
			}
		}
	}
}

// Where the deprecated defaults count too, a reader of a project may do what a member may; no other
// caller may do more than without them.
func TestAccessByDeprecatedDefaults(t *testing.T) {
	s := newAccessSide(t, policy.Options{})
	for _, row := range sweep.Raced(t, accesses(), 8) {
		if strings.Contains(row.route, "os-keypairs") || strings.HasSuffix(row.route, "/os-flavor-access") {
			continue // those are the user's, and what the deprecated rule of access lets anybody read
		}
		want := strings.Fields(row.want)
		for i, who := range personas {
			if who == "reader" {
				want[i] = want[0]
			}
			if who == "service" && want[i] == "403" && want[2] != "403" {
				want[i] = want[2] // a project's own lists need no role
			}
			if who == "service" && row.want == serviceEvents {
				want[i] = "403"
			}
			if who == "service" && strings.Contains(row.route, "/berth/v1/h") {
				want[i] = want[3] // the role of hosts before they had one of their own
			}
			if got := s.accessed(t, row, who); got != want[i] {
				t.Errorf("%s %s: %s for %s, want %s", row.route, row.path, got, who, want[i])
			}
		}
	}
}

// With new defaults, managers of a project move its servers and list their moves, where they
// neither choose nor see a host; without them they may do what members may.
func TestManagers(t *testing.T) {
	const action = "POST /v2.1/servers/{server}/action"
	for _, row := range []struct {
		access
		asAdmin bool
	}{
		{access{action, ownServer + "/action", 0, `{"migrate": null}`, ""}, true},
		{access{action, ownServer + "/action", 0, `{"migrate": {"host": "spare"}}`, ""}, false},
		{access{action, ownServer + "/action", 0, `{"os-migrateLive": {"host": null, "block_migration": "auto"}}`, ""}, true},
		{
			access{action, ownServer + "/action", 0, `{"os-migrateLive": {"host": "spare", "block_migration": "auto"}}`, ""},
			false,
		},
		{access{action, ownServer + "/action", 0, `{"evacuate": {}}`, ""}, false},
		{access{"DELETE /v2.1/servers/{server}/migrations/{migration}", ownServer + "/migrations/1", 0, "", ""}, true},
		{access{"GET /v2.1/servers/{server}/migrations", ownServer + "/migrations", 0, "", ""}, true},
		{access{"GET /v2.1/os-migrations", "/v2.1/os-migrations?project_id=@demo", 80, "", ""}, true},
		{access{"GET /v2.1/os-migrations", "/v2.1/os-migrations", 80, "", ""}, false},
	} {
		for _, newest := range []bool{false, true} {
			s := newAccessSide(t, policy.Options{EnforceNewDefaults: newest})
			want := "403"
			if newest && row.asAdmin {
				want = s.accessed(t, row.access, "admin")
			}
			if got := s.accessed(t, row.access, "manager"); got != want || row.asAdmin && newest && want == "403" {
				t.Errorf("%s %s, new defaults %t: %s for a manager, want %s", row.path, row.body, newest, got, want)
			}
		}
	}
}

// A list of moves names their hosts to those only who may see them.
func TestManagersSeeNoHosts(t *testing.T) {
	s := newAccessSide(t, policy.Options{EnforceNewDefaults: true})
	list := access{"GET /v2.1/os-migrations", "/v2.1/os-migrations?project_id=@demo", 80, "", ""}
	s.accessed(t, list, "admin") // makes the server
	computetest.Add(t, s.store, &compute.MigrationRow{
		ID: computetest.ID("move"), Number: 7, Server: "33333333-0000-4000-8000-000000000001", Type: "migration",
		Status: "confirmed", Source: "cn1", Dest: "spare", Project: nova.Projects()["demo"], User: "member",
		CreatedAt: time.Now().UTC(), UpdatedAt: time.Now().UTC(),
	})
	for who, want := range map[string]string{"admin": `"dest_compute": "spare"`, "manager": `"dest_compute": null`} {
		status, answer := s.answered(t, list, who)
		if text := fmt.Sprint(answer); status != http.StatusOK || !strings.Contains(text, want) {
			t.Errorf("%s gets %d without %s: %s", who, status, want, text)
		}
	}
}

// accessed is the status of a request on rows that no other has changed.
func (s *accessSide) accessed(t *testing.T, row access, who string) string {
	t.Helper()
	status, answer := s.answered(t, row, who)
	if status >= 500 && status != http.StatusNotImplemented {
		t.Errorf("%s %s for %s: %d %s", row.route, row.path, who, status, answer)
	}
	return fmt.Sprint(status)
}

// answered is the answer to a request on rows that no other has changed.
func (s *accessSide) answered(t *testing.T, row access, who string) (status int, body string) {
	t.Helper()
	if s.ids == nil {
		s.seed(t)
	}
	swap := func(text string) string {
		for name, id := range s.ids {
			text = strings.ReplaceAll(text, name, id)
		}
		return text
	}
	method, _, _ := strings.Cut(row.route, " ")
	r := httptest.NewRequestWithContext(t.Context(), method, swap(row.path), strings.NewReader(swap(row.body)))
	r.Header.Set("X-Auth-Token", who)
	r.Header.Set("OpenStack-API-Version", fmt.Sprintf("compute 2.%d", cmp.Or(row.version, 72)))
	w := httptest.NewRecorder()
	(*s.handler.Load()).ServeHTTP(w, r)
	if method != http.MethodGet && w.Code < 300 {
		s.ids = nil
	}
	return w.Code, w.Body.String()
}

// everyRouteHasItsRow holds the table against the routes, and against the actions that policies
// name.
func everyRouteHasItsRow(t *testing.T, rows []access) {
	known := map[string]bool{}
	for _, row := range rows {
		known[row.route] = true
		route, _, _ := strings.Cut(row.route, " (")
		known[route] = true
	}
	for _, route := range (&computeapi.API{}).Routes() {
		if name := route.Method + " " + route.Pattern; !known[name] {
			t.Errorf("%s: it is not said who may", name)
		}
	}
	for _, rule := range computeapi.PolicyDefaults() {
		for _, o := range rule.Operations {
			_, action, cur := strings.Cut(o.Path, " (")
			if cur && !slices.ContainsFunc(rows, func(row access) bool { return strings.HasSuffix(row.route, " ("+action) }) {
				t.Errorf("%s (%s: it is not said who may", o.Method, action)
			}
		}
	}
}
