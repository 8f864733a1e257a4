package cloudapi_test

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"maps"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/berthcloud/berth/httpapi/placementapi/placementapitest"
	"github.com/berthcloud/berth/internal/golden"
	"github.com/berthcloud/berth/ops/cloud"
	"github.com/berthcloud/berth/ops/cloudapi"
	"github.com/berthcloud/berth/placement/service"
)

// atOnce waits for nothing.
func atOnce(context.Context, time.Duration) error { return nil }

// A placementWith is a placement service with the cloud of the tests, before which a handler may
// answer some requests: it reports whether it has.
func placementWith(t *testing.T, instead func(w http.ResponseWriter, r *http.Request) bool) string {
	t.Helper()
	api := placementapitest.New(t, service.DefaultSettings())
	var ready atomic.Bool
	s := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if !ready.Load() || !instead(w, r) {
			api.ServeHTTP(w, r)
		}
	}))
	t.Cleanup(s.Close)
	makeCloud(t, s.URL)
	ready.Store(true)
	return s.URL
}

const (
	cn1  = "/resource_providers/00000000-0000-4000-8000-000000000002"
	eth0 = "/resource_providers/00000000-0000-4000-8000-000000000003"
)

var everything = cloud.Parts{Need: cloud.PlacementPart | cloud.ConsumersPart}

// A provider that is removed while providers are read is omitted, and those below it.
func TestVanishedProvider(t *testing.T) {
	for _, path := range []string{cn1 + "/inventories", cn1 + "/allocations"} {
		url := placementWith(t, func(w http.ResponseWriter, r *http.Request) bool {
			if r.URL.Path == path {
				http.Error(w, `{"errors": [{"detail": "No resource provider found"}]}`, http.StatusNotFound)
			}
			return r.URL.Path == path
		})
		c, err := readAlone(t, url, everything)
		if err != nil {
			t.Fatal(err)
		}
		if n := len(c.Placement.Providers); n != 1 || c.Placement.Providers[0].Name != "shared" {
			t.Errorf("without %s: %d providers", path, n)
		}
		if _, err := c.Snapshot(); err != nil {
			t.Error(err)
		}
	}
}

// For one tree only its providers are listed and read.
func TestReadOneTree(t *testing.T) {
	var requests, listed atomic.Int64
	url := placementWith(t, func(_ http.ResponseWriter, r *http.Request) bool {
		switch {
		case strings.HasSuffix(r.URL.Path, "/inventories"):
			requests.Add(1)
		case r.URL.Path == "/resource_providers" && r.URL.RawQuery == "":
			listed.Add(1)
		}
		return false
	})
	for host, want := range map[string]int{
		"cn1": 2, "cn1:eth0": 2, "shared": 1, "cn9": 0, "00000000-0000-4000-8000-00000000000f": 0,
		"00000000-0000-4000-8000-000000000001": 1,
	} {
		requests.Store(0)
		c, err := readAlone(t, url, cloud.Parts{Need: cloud.ConsumersPart, Tree: host})
		if err != nil {
			t.Fatal(err)
		}
		if n := len(c.Placement.Providers); n != want || int(requests.Load()) != want {
			t.Errorf("the tree of %s has %d providers, and %d were read; want %d", host, n, requests.Load(), want)
		}
		if listed.Load() > 0 {
			t.Errorf("for the tree of %s all providers were listed", host)
		}
	}
}

// A provider that changes while it is read is read again, and one that never rests is named.
func TestRestlessProvider(t *testing.T) {
	for _, changes := range []int64{1, 1000} {
		var requests atomic.Int64
		url := placementWith(t, func(w http.ResponseWriter, r *http.Request) bool {
			if r.URL.Path != eth0+"/traits" || requests.Add(1) > changes {
				return false
			}
			fmt.Fprintf(w, `{"traits": ["CUSTOM_GOLD"], "resource_provider_generation": %d}`, 1000+requests.Load())
			return true
		})
		c, err := readAlone(t, url, everything)
		if err != nil {
			t.Fatal(err)
		}
		traits := c.Placement.Provider("00000000-0000-4000-8000-000000000003").Traits
		if changes == 1 && (requests.Load() != 2 || len(traits) != 0 || c.Unread != nil) {
			t.Errorf("read %d times, with the traits %q; %q", requests.Load(), traits, c.Unread)
		}
		if changes > 1 && (requests.Load() != 4 || len(c.Unread) != 1) {
			t.Errorf("read %d times; %q", requests.Load(), c.Unread)
		}
	}
}

// A service that is busy, or whose answer is lost, is queried again, with pauses; one that remains
// so, that refuses or that answers nonsense is an error that says which.
func TestMisbehavingPlacement(t *testing.T) {
	for name, tc := range map[string]struct {
		answers  []string // of the first requests for the inventories of cn1
		requests int
		want     string // part of the error, "" for none
		pauses   []time.Duration
	}{
		"BusyOnce": {[]string{"503", "429 2"}, 3, "", []time.Duration{500 * time.Millisecond, 2 * time.Second}},
		"BusyAlways": {
			[]string{"503", "503", "503", "503", "503", "503", "503"},
			6,
			"the placement service answers GET " + cn1 + "/inventories with 503 Service Unavailable: why",
			[]time.Duration{500 * time.Millisecond, time.Second, 2 * time.Second, 4 * time.Second, 8 * time.Second},
		},
		"Denied": {[]string{"403"}, 1, "with 403 Forbidden: why; take a user that may, such as an administrator", nil},
		"Old": {
			[]string{"406"}, 1, "406 Not Acceptable: why; it is older than this program works with (OpenStack Zed)", nil,
		},
		"Broken":  {[]string{"500"}, 1, "with 500 Internal Server Error: why", nil},
		"Garbage": {[]string{"200 <html>"}, 1, "the answer of the placement service is not what its API has", nil},
		"WrongType": {
			[]string{`200 {"inventories": []}`}, 1, "the answer of the placement service is not what its API has", nil,
		},
		"LostOnce": {[]string{`200 {"inventories": {`, "504"}, 3, "", []time.Duration{500 * time.Millisecond, time.Second}},
		"LostAlways": {
			[]string{"cut", "cut", "cut"}, 3, "unexpected EOF", []time.Duration{500 * time.Millisecond, time.Second},
		},
		"NoGateway": {
			[]string{"502", "502", "502"}, 3, "with 502 Bad Gateway: why", []time.Duration{500 * time.Millisecond, time.Second},
		},
	} {
		t.Run(name, func(t *testing.T) {
			var requests atomic.Int64
			url := placementWith(t, func(w http.ResponseWriter, r *http.Request) bool {
				if r.URL.Path != cn1+"/inventories" {
					return false
				}
				n := int(requests.Add(1))
				if n > len(tc.answers) {
					return false
				}
				status, body := 0, ""
				code, rest, _ := strings.Cut(tc.answers[n-1], " ")
				_, _ = fmt.Sscan(code, &status)
				switch {
				case code == "cut":
					w.Header().Set("Content-Length", "1000")
					status = 200
				case status == 200:
					body = rest
				case rest != "":
					w.Header().Set("Retry-After", rest)
				}
				if status != 200 {
					body = `{"errors": [{"status": 1, "title": "no", "detail": "why"}]}`
				}
				w.WriteHeader(status)
				fmt.Fprint(w, body)
				return true
			})
			var pauses []time.Duration
			client, err := cloudapi.Connect(t.Context(), cloudapi.Options{
				Environ: alone(url), Wait: func(_ context.Context, d time.Duration) error {
					pauses = append(pauses, d)
					return nil
				},
			})
			if err != nil {
				t.Fatal(err)
			}
			_, err = client.Read(t.Context(), everything, nil)
			if (err == nil) != (tc.want == "") || err != nil && !strings.Contains(err.Error(), tc.want) {
				t.Errorf("Read: %v, want %q", err, tc.want)
			}
			if diff := cmp.Diff(tc.pauses, pauses); diff != "" || int(requests.Load()) != tc.requests {
				t.Errorf("%d requests, want %d; pauses (-want +got):\n%s", requests.Load(), tc.requests, diff)
			}
		})
	}
}

// Reading ends at once when it is interrupted, while a service does not answer and while it waits
// to try again.
func TestInterrupted(t *testing.T) {
	for _, status := range []int{0, http.StatusServiceUnavailable} {
		ctx, cancel := context.WithCancel(t.Context())
		url := placementWith(t, func(w http.ResponseWriter, r *http.Request) bool {
			if r.URL.Path != cn1+"/traits" {
				return false
			}
			if status == 0 {
				cancel()
				<-r.Context().Done()
				return true
			}
			w.Header().Set("Retry-After", "30")
			w.WriteHeader(status)
			return true
		})
		client, err := cloudapi.Connect(ctx, cloudapi.Options{
			Environ: alone(url), Wait: func(ctx context.Context, d time.Duration) error {
				cancel()
				<-ctx.Done()
				return ctx.Err()
			},
		})
		if err != nil {
			t.Fatal(err)
		}
		if _, err := client.Read(ctx, everything, nil); !errors.Is(err, context.Canceled) {
			t.Errorf("after an interrupt: %v", err)
		}
	}
}

// A stack is a Keystone with a catalog, and services that answer as a table says: a body by method
// and path, "" for 403.
func stack(t *testing.T, answers map[string]string) (url string) {
	t.Helper()
	return stackWith(t, answers, func(http.ResponseWriter, *http.Request) bool { return false })
}

// stackWith is a stack before which a handler may answer some requests: it reports whether it has.
func stackWith(
	t *testing.T, answers map[string]string, instead func(w http.ResponseWriter, r *http.Request) bool,
) (url string) {
	t.Helper()
	placement := placementWith(t, func(http.ResponseWriter, *http.Request) bool { return false })
	var s *httptest.Server
	s = httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		service := func(kind, url string) string {
			return fmt.Sprintf(`{"type": %q, "endpoints": [{"interface": "public", "region_id": "one", "region": "one", `+
				`"url": %q}, {"interface": "internal", "region": "one", "region_id": "one", "url": "http://127.0.0.1:1"}]}`, kind,
				url)
		}
		switch r.URL.Path {
		case "/v3/auth/tokens":
			var login struct {
				Auth struct {
					Identity struct {
						Password struct{ User struct{ Password string } }
					}
					Scope struct{ System map[string]bool }
				}
			}
			if err := json.NewDecoder(r.Body).Decode(&login); err != nil ||
				login.Auth.Identity.Password.User.Password != "s3cret" {
				http.Error(w, `{"error": {"code": 401, "message": "The request you have made requires `+
					`authentication."}}`, http.StatusUnauthorized)
				return
			}
			token := "admin"
			if len(login.Auth.Scope.System) > 0 {
				if token = answers["token of the system"]; token == "" {
					http.Error(w,
						`{"error": {"code": 401, "message": "The user has no role on the system."}}`, http.StatusUnauthorized)
					return
				}
			}
			w.Header().Set("X-Subject-Token", token)
			w.WriteHeader(http.StatusCreated)
			catalog := []string{service("placement", placement), service("network", s.URL)}
			if answers != nil {
				catalog = append(catalog, service("compute", s.URL+"/v2.1"), service("image", s.URL))
			}
			if answers["/v3/projects"] != "" {
				catalog = append(catalog, service("identity", s.URL+"/v3"))
			}
			fmt.Fprintf(w,
				`{"token": {"expires_at": "2099-01-01T00:00:00.000000Z", "project": {"id": "p1"}, "catalog": [%s]%s}}`,
				strings.Join(catalog, ", "), answers["more of the token"])
			return
		}
		text, ok := answers[r.URL.RequestURI()]
		version := "compute 2.69"
		if strings.HasPrefix(r.URL.Path, "/v2.1/servers/vm") { // which names its group
			version = "compute 2.71"
		}
		if r.URL.Path == "/v2.1/servers/detail" && answers["old"] == "" {
			version = "compute 2.96"
		}
		switch {
		case instead(w, r):
		case r.Header.Get("OpenStack-API-Version") == "compute 2.96" && version != "compute 2.96":
			http.Error(w, `{"computeFault": {"message": "Version 2.96 is not supported by the API."}}`, http.StatusNotAcceptable)
		case !ok:
			http.Error(w, `{"NeutronError": {"message": "no such thing"}}`, http.StatusNotFound)
		case text == "":
			http.Error(w, `{"forbidden": {"message": "Policy doesn't allow it.", "code": 403}}`, http.StatusForbidden)
		case strings.HasPrefix(r.URL.Path, "/v2.1") && r.Header.Get("OpenStack-API-Version") != version:
			http.Error(w, `{"badRequest": {"message": "the version"}}`, http.StatusBadRequest)
		default:
			fmt.Fprint(w, text)
		}
	}))
	t.Cleanup(s.Close)
	return s.URL
}

// variables are those of an openrc file.
func variables(url string, more map[string]string) []string {
	all := map[string]string{
		"OS_AUTH_URL": url + "/v3", "OS_USERNAME": "reader", "OS_PASSWORD": "s3cret", "OS_PROJECT_NAME": "admin",
		"OS_USER_DOMAIN_NAME":  "Default",
		"OS_PROJECT_DOMAIN_ID": "default", "OS_REGION_NAME": "one",
	}
	maps.Copy(all, more)
	var environ []string
	for name, value := range all {
		environ = append(environ, name+"="+value)
	}
	return environ
}

// healthy are answers of a compute and a network service.
func healthy() map[string]string {
	const page = "limit=1000"
	return map[string]string{
		"/v2.1/os-services": `{"services": [{"id": "s1", "binary": "nova-compute", "host": "cn1", ` +
			`"zone": "nova", "status": "disabled", "state": "up", "forced_down": false, "disabled_reason": null}]}`,
		"/v2.1/os-aggregates": `{"aggregates": [{"id": 1, "uuid": "a1", "name": "ssd", ` +
			`"availability_zone": null, "hosts": ["cn1"], "metadata": {"k": "v"}}]}`,
		"/v2.1/os-hypervisors/detail?" + page: `{"hypervisors": [{"id": "h1", "hypervisor_hostname": "cn1.example", ` +
			`"service": {"id": "s1", "host": "cn1"}, "cpu_info": {}}]}`,
		"/v2.1/servers/detail?all_tenants=1&" + page + "&soft_deleted=true": `{"servers": [{"id": "vm1", "name": "vm", "status": "ACTIVE", "OS-EXT-STS:task_state": null, "OS-EXT-SRV-ATTR:host": "cn1", "OS-EXT-SRV-ATTR:hypervisor_hostname": "cn1.example",
			"OS-EXT-AZ:availability_zone": "nova", "pinned_availability_zone": "az1", "tenant_id": "p1", "user_id": "u1", "created": "2026-01-02T03:04:05Z", "image": {"id": "i1"},
			"flavor": {"vcpus": 2, "ram": 512, "disk": 1, "ephemeral": 0, "swap": 0, "original_name": "m1", "extra_specs": {"trait:HW": "required"}}}], "servers_links": [{"rel": "next", "href": "http://elsewhere"}]}`,
		"/v2.1/servers/detail?all_tenants=1&" + page + "&marker=vm1&soft_deleted=true": `{"servers": [{"id": "vm2", "status": "ERROR", "created": "2026-01-02T03:04:05Z", "image": "", "OS-EXT-SRV-ATTR:host": null, "fault": {"message": "No valid host"},
			"flavor": {"vcpus": 2, "ram": 512, "disk": 1, "ephemeral": 0, "swap": 0, "original_name": "m1", "extra_specs": {}}}]}`,
		"/v2.1/os-migrations?" + page: `{"migrations": [{"id": 1, "uuid": "m1", "instance_uuid": "vm1", "status": "finished", "migration_type": "resize", "source_compute": "cn1", "source_node": "cn1.example", "dest_compute": "cn2", "dest_node": "cn2.example"},
			{"id": 2, "uuid": "m2", "status": "confirmed"}, {"id": 3, "uuid": "00000000-0000-4000-8000-0000000000c2", "instance_uuid": "vm1", "status": "confirmed"}]}`,
		"/v2.1/os-server-groups?all_projects=True&" + page + "&offset=0": `{"server_groups": [{"id": "gr1", "name": "apart", "policy": "anti-affinity", "rules": {"max_server_per_host": 2}, "members": ["vm1", "vm2"], "project_id": "p1"},
			{"id": "gr2", "name": "together", "policy": "affinity", "rules": {}, "members": []}]}`,
		"/v2.1/os-server-groups?all_projects=True&" + page + "&offset=2": `{"server_groups": [{"id": "gr3", ` +
			`"name": "more", "policy": "soft-affinity", "rules": {}, "members": ["vm3"]}]}`,
		"/v2.1/os-server-groups?all_projects=True&" + page + "&offset=3": `{"server_groups": []}`,
		"/v2.0/agents?" + page: `{"agents": [{"id": "ag1", "agent_type": "Open vSwitch agent", ` +
			`"binary": "neutron-openvswitch-agent", "host": "cn1", "alive": true, "admin_state_up": true, ` +
			`"heartbeat_timestamp": "2026-01-02 03:04:05", "resources_synced": true, "configurations": {"x": 1}}]}`,
		"/v2.0/ports?" + page: `{"ports": [{"id": "p1", "network_id": "n1", "device_id": "vm1", "device_owner": "compute:nova", "binding:host_id": "cn1", "binding:vnic_type": "normal", "binding:vif_type": "ovs", "binding:profile": {"allocation": {"g1": "rp1"}, "pci_slot": "0000:81:02.1"}, "revision_number": 7,
			"resource_request": {"request_groups": [{"id": "g1", "required": ["CUSTOM_PHYSNET_0"], "resources": {"NET_BW_EGR_KILOBIT_PER_SEC": 5}}], "same_subtree": ["g1"]}},
			{"id": "p2", "device_id": "vm2", "binding:host_id": "", "binding:profile": {"allocation": "rp2"}, "resource_request": {"required": ["CUSTOM_PHYSNET_0"], "resources": {"NET_BW_EGR_KILOBIT_PER_SEC": 6}}},
			{"id": "p3", "device_id": "vm2", "binding:host_id": "", "binding:profile": {}, "resource_request": null},
			{"id": "p4", "name": "tagged", "device_id": "", "binding:host_id": "", "qos_policy_id": "q1"}, {"id": "p5", "device_id": "", "binding:host_id": "", "qos_network_policy_id": "q1"},
			{"id": "p6", "device_id": "", "binding:host_id": "", "binding:profile": {"allocation": {"g1": "rp3"}}}]}`,
		"/v2.0/trunks?" + page: `{"trunks": [{"id": "t1", "name": "lines", "port_id": "p1", "status": "ACTIVE", "sub_ports": [{"port_id": "p4", "segmentation_id": 101, "segmentation_type": "vlan"}, {"port_id": "p9", "segmentation_id": 102, "segmentation_type": "vlan"}]},
			{"id": "t2", "name": "", "port_id": "p5", "sub_ports": []}]}`,
		"/v2.0/networks?" + page: `{"networks": [{"id": "n1", "name": "net", "provider:network_type": "vlan", "provider:physical_network": "physnet0", "qos_policy_id": null},
			{"id": "n2", "name": "many", "segments": [{"provider:physical_network": "a"}, {"provider:physical_network": null}]}]}`,
		"/v2.0/qos/policies?" + page: `{"policies": [{"id": "q1", "name": "gold", "rules": [{"id": "r1", ` +
			`"type": "minimum_bandwidth", "direction": "egress", "min_kbps": 5}, {"id": "r2", "type": "bandwidth_limit", ` +
			`"max_kbps": 7}]}]}`,
	}
}

// Compute's and the network's records have what the services say, in all the forms of their
// releases.
func TestReadComputeAndNetwork(t *testing.T) {
	c := readStack(t, healthy(), cloud.All)
	text, _ := json.MarshalIndent(struct {
		*cloud.Compute
		*cloud.Network
	}{c.Compute, c.Network}, "", " ")
	golden.Compare(t, filepath.Join("testdata", "records.json"), string(text)+"\n")
	if c.Unread != nil {
		t.Errorf("unread: %q", c.Unread)
	}
}

// A service that is older than 2.96 does not say which zones servers are bound to, and all else is
// read. A user whom it does not show server groups has none of them among the records, and a
// service that repeats their first page ends the reading.
func TestReadLessOfCompute(t *testing.T) {
	old, single := healthy(), healthy()
	old["old"] = "yes"
	const servers = "/v2.1/servers/detail?all_tenants=1&limit=1000&soft_deleted=true"
	old[servers] = strings.Replace(old[servers], `"pinned_availability_zone": "az1", `, "", 1)
	single["/v2.1/os-server-groups?all_projects=True&limit=1000&offset=0"] = ""
	whole, older, less := readStack(t, healthy(), cloud.All), readStack(t, old, cloud.All), readStack(t, single, cloud.All)
	if !whole.Compute.ZonesKnown || older.Compute.ZonesKnown || older.Unread != nil {
		t.Errorf("zones are known: %v, and by an old service: %v; unread %q", whole.Compute.ZonesKnown,
			older.Compute.ZonesKnown, older.Unread)
	}
	older.Compute.ZonesKnown, older.Compute.Servers[0].Pinned = true, "az1"
	if diff := cmp.Diff(whole.Compute, older.Compute); diff != "" {
		t.Errorf("records (-2.96 +2.69):\n%s", diff)
	}
	less.Compute.Groups = whole.Compute.Groups
	if diff := cmp.Diff(whole.Compute, less.Compute); diff != "" {
		t.Errorf("records (-with groups +without):\n%s", diff)
	}
	same := healthy()
	const groups = "/v2.1/os-server-groups?all_projects=True&limit=1000"
	same[groups+"&offset=2"] = same[groups+"&offset=0"]
	client, err := cloudapi.Connect(t.Context(), cloudapi.Options{Environ: variables(stack(t, same), nil)})
	if err != nil {
		t.Fatal(err)
	}
	if _, err := client.Read(t.Context(), cloud.All, nil); err == nil ||
		!strings.Contains(err.Error(), "the same page again") {
		t.Errorf("groups without end: %v", err)
	}
}

func readStack(t *testing.T, answers map[string]string, parts cloud.Parts) *cloud.Cloud {
	t.Helper()
	client, err := cloudapi.Connect(t.Context(), cloudapi.Options{Environ: variables(stack(t, answers), nil)})
	if err != nil {
		t.Fatal(err)
	}
	c, err := client.Read(t.Context(), parts, nil)
	if err != nil {
		t.Fatal(err)
	}
	return c
}

// What a user may not read, and what the cloud does not have, is said in a sentence. Extensions
// that the network service does not have are empty lists.
func TestUnread(t *testing.T) {
	denied, few, broken, part := healthy(), healthy(), healthy(), healthy()
	none, untrunked, single := healthy(), healthy(), healthy()
	single["/v2.1/os-server-groups?all_projects=True&limit=1000&offset=0"] = ""
	for _, without := range []map[string]string{part, none} {
		without["/v2.0/agents?limit=1000"], without["/v2.0/ports?limit=1000"] = `{"agents": []}`, `{"ports": []}`
	}
	part["more of the token"] = `, "roles": [{"name": "reader"}, {"name": "member"}]`
	none["more of the token"] = `, "roles": [{"name": "admin"}]`
	broken["/v2.1/os-services"] = `{"services": [{"id": "s1", "binary": "nova-compute", "host": "cn1", ` +
		`"status": "enabled"}, {"binary": "nova-compute", "host": "cn2", "status": "UNKNOWN"}]}`
	denied["/v2.1/os-services"] = ""
	denied["/v2.0/ports?limit=1000"] = `{"ports": [{"id": "p1", "device_id": "vm1"}]}`
	delete(few, "/v2.0/agents?limit=1000")
	delete(few, "/v2.0/qos/policies?limit=1000")
	delete(few, "/v2.0/trunks?limit=1000")
	untrunked["/v2.0/trunks?limit=1000"] = ""
	few["/v2.1/servers/detail?all_tenants=1&limit=1000&soft_deleted=true"] = `{"servers": [{"id": "vm1", ` +
		`"created": "2026-01-02T03:04:05Z", "image": "", "flavor": {"original_name": "m1"}}]}`
	for _, tc := range []struct {
		answers map[string]string
		want    []string
	}{
		{denied, []string{
			"The compute service answers GET /v2.1/os-services with 403 Forbidden: Policy doesn't allow it; " +
				"take a user that may, such as an administrator.",
			"The network service does not show this user where ports are bound; take an administrator.",
		}},
		{
			single,
			[]string{
				"Server groups: the compute service answers GET /v2.1/os-server-groups?all_projects=True&limit=1000&offset=0 " +
					"with 403 Forbidden: Policy doesn't allow it; take a user that may, such as an administrator.",
			},
		},
		{
			part,
			[]string{
				"The compute service shows this user, who is no administrator, the server groups of one project at most.",
				"The network service shows this user no agents, and maybe the ports and networks of one project only; take an " +
					"administrator.",
			},
		},
		{none, nil},
		{untrunked, []string{"The network service answers GET /v2.0/trunks?limit=1000 with 403 Forbidden: " +
			"Policy doesn't allow it; take a user that may, such as an administrator."}},
		{broken, []string{
			"The compute service does not reach the cell of the host cn2, and leaves out its servers; try again when it does.",
		}},
		{few, []string{"The compute service does not show this user the extra specs of the flavors of 1 servers."}},
		{nil, []string{
			"The catalog of the cloud at URL/v3 has no public endpoint of the compute service in the region one.",
			"The network service answers GET /v2.0/ports?limit=1000 with 404 Not Found: no such thing.",
		}},
	} {
		c := readStack(t, tc.answers, cloud.All)
		for i := range c.Unread {
			_, rest, match := strings.Cut(c.Unread[i], "http://")
			if host, _, _ := strings.Cut(rest, "/"); match {
				c.Unread[i] = strings.Replace(c.Unread[i], "http://"+host, "URL", 1)
			}
		}
		if diff := cmp.Diff(tc.want, c.Unread); diff != "" {
			t.Errorf("unread (-want +got):\n%s", diff)
		}
	}
	if trunks := readStack(t, few, cloud.All).Network.Trunks; trunks == nil || len(trunks) > 0 {
		t.Errorf("without the extension the trunks are %#v", trunks)
	}
	if trunks := readStack(t, untrunked, cloud.All).Network.Trunks; trunks != nil {
		t.Errorf("to a user who may not read them the trunks are %#v", trunks)
	}
	client, err := cloudapi.Connect(t.Context(), cloudapi.Options{Environ: variables(stack(t, denied), nil)})
	if err != nil {
		t.Fatal(err)
	}
	if _, err := client.Read(t.Context(), cloud.Parts{Need: cloud.ComputePart}, nil); err == nil ||
		!strings.Contains(err.Error(), "403 Forbidden") {
		t.Errorf("what is needed and denied: %v", err)
	}
}

// Clouds are found by clouds.yaml with secure.yaml, and by the variables; errors name what is wrong
// and no password.
func TestConnect(t *testing.T) {
	url := stack(t, healthy())
	dir := t.TempDir()
	for name, text := range map[string]string{
		"clouds.yaml": "clouds:\n  prod:\n    region_name: one\n    auth: {auth_url: " + url +
			"/v3, username: reader, project_name: admin}\n  wrong:\n    auth: {auth_url: " + url +
			", username: reader, project_name: admin, password: wr0ng}\n  empty: {}\n",
		"secure.yaml": "clouds:\n  prod:\n    auth: {password: s3cret}\n",
		"bad.yaml":    "clouds:\n  prod:\n    auth: s3cret\n",
	} {
		if err := os.WriteFile(filepath.Join(dir, name), []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	with := func(name, file string) map[string]string {
		return map[string]string{
			"OS_CLIENT_CONFIG_FILE": filepath.Join(dir, file), "OS_CLIENT_SECURE_FILE": filepath.Join(dir, "secure.yaml"),
			"OS_CLOUD": name, "OS_USERNAME": "", "OS_PASSWORD": "",
		}
	}
	for name, tc := range map[string]struct {
		o    cloudapi.Options
		more map[string]string
		want string // part of the error
	}{
		"Variables": {},
		"Cloud":     {more: with("prod", "clouds.yaml")},
		"Flag":      {o: cloudapi.Options{Cloud: "prod"}, more: with("wrong", "clouds.yaml")},
		"WrongPassword": {
			more: map[string]string{"OS_PASSWORD": "wr0ng"},
			want: "logging in to the cloud at " + url + "/v3: Keystone answers POST /v3/auth/tokens with 401 Unauthorized: " +
				"The request you have made requires authentication",
		},
		"NoSuchCloud": {
			more: with("test", "clouds.yaml"), want: "clouds.yaml: there is no cloud test; it has empty, prod, wrong",
		},
		"NoURL": {
			more: map[string]string{
				"OS_CLIENT_CONFIG_FILE": filepath.Join(dir, "clouds.yaml"), "OS_CLOUD": "empty", "OS_AUTH_URL": "",
			},
			want: "clouds.yaml: the cloud empty: auth_type password: there is no auth_url",
		},
		"BadFile": {
			more: with("prod", "bad.yaml"), want: "secure.yaml has a mapping at auth, where clouds.yaml has none",
		},
		"NoFile":  {more: with("test", "nowhere.yaml"), want: "secure.yaml: there is no cloud test; it has prod"},
		"Nothing": {more: map[string]string{"OS_AUTH_URL": ""}, want: "no cloud is named"},
		"NoEndpoint": {more: map[string]string{
			"OS_AUTH_TYPE": "none", "OS_PROJECT_NAME": "", "OS_PROJECT_DOMAIN_ID": "", "OS_USER_DOMAIN_NAME": "",
		}, want: "OS_ENDPOINT"},
		"NoServer": {more: map[string]string{"OS_AUTH_URL": "http://127.0.0.1:1/v3"}, want: "connection refused"},
	} {
		t.Run(name, func(t *testing.T) {
			tc.o.Environ = variables(url, tc.more)
			client, err := cloudapi.Connect(t.Context(), tc.o)
			if (err == nil) != (tc.want == "") || err != nil && !strings.Contains(err.Error(), tc.want) {
				t.Errorf("Connect: %v, want %q", err, tc.want)
			}
			if err != nil && (strings.Contains(err.Error(), "s3cret") || strings.Contains(err.Error(), "wr0ng")) {
				t.Errorf("a password shows: %v", err)
			}
			if err == nil {
				if _, err := client.Read(t.Context(), everything, nil); err != nil {
					t.Error(err)
				}
			}
		})
	}
	for _, tc := range []struct{ region, face, want string }{
		{"two", "", "no public endpoint of the placement service in the region two, but in one"},
		{"", "internal", "refused"},
	} {
		client, err := cloudapi.Connect(t.Context(), cloudapi.Options{
			Region: tc.region, Interface: tc.face, Environ: variables(url, nil),
		})
		if err != nil {
			t.Fatal(err)
		}
		if _, err := client.Read(t.Context(), everything, nil); err == nil || !strings.Contains(err.Error(), tc.want) {
			t.Errorf("Read: %v, want %q", err, tc.want)
		}
	}
}

// From 2.98 on servers have the properties of their images, and from 2.100 on their scheduler
// hints.
func TestReadMoreOfServers(t *testing.T) {
	const servers = "/v2.1/servers/detail?all_tenants=1&limit=1000&soft_deleted=true"
	for _, tc := range []struct {
		newest, version          string
		zones, images, withHints bool
	}{
		{"2.93", "2.69", false, false, false},
		{"2.96", "2.96", true, false, false},
		{"2.99", "2.98", true, true, false},
		{"2.100", "2.100", true, true, true},
		{"2.104", "2.100", true, true, true},
	} {
		answers, sent := healthy(), ""
		answers["/v2.1/"] = `{"version": {"id": "v2.1", "version": "` + tc.newest + `", "min_version": "2.1"}}`
		url := stackWith(t, answers, func(w http.ResponseWriter, r *http.Request) bool {
			switch {
			case r.URL.Path == "/v2.1/":
				fmt.Fprint(w, answers["/v2.1/"])
			case r.URL.RequestURI() == servers:
				sent = strings.TrimPrefix(r.Header.Get("OpenStack-API-Version"), "compute ")
				fmt.Fprint(w, `{"servers": [{"id": "vm1", "image": {"id": "i1", "properties": {"hw_cpu_policy": "dedicated"}}, "pinned_availability_zone": "az1",
					"flavor": {"extra_specs": {}}, "scheduler_hints": {"group": "g1", "different_host": ["vm2", "vm3"], "query": "[]"}}]}`)
			default:
				return false
			}
			return true
		})
		c, err := cloudapi.Connect(t.Context(), cloudapi.Options{Environ: variables(url, nil)})
		if err != nil {
			t.Fatal(err)
		}
		records, err := c.Read(t.Context(), cloud.Parts{Need: cloud.ComputePart}, nil)
		if err != nil {
			t.Fatal(err)
		}
		got := records.Compute
		if sent != tc.version || got.Version != tc.newest || got.ZonesKnown != tc.zones || got.ImagesKnown != tc.images ||
			got.HintsKnown != tc.withHints {
			t.Errorf("of a service with %s servers were read at %s: %+v", tc.newest, sent, got)
		}
		want := map[string][]string{"group": {"g1"}, "different_host": {"vm2", "vm3"}}
		if diff := cmp.Diff(want, got.Servers[0].Hints); diff != "" ||
			got.Servers[0].ImageProperties["hw_cpu_policy"] != "dedicated" {
			t.Errorf("with %s: %+v\n%s", tc.newest, got.Servers[0], diff)
		}
	}
}
