package networkapi_test

import (
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"

	"github.com/berthcloud/berth/httpapi"
	"github.com/berthcloud/berth/identity/hostkey"
	"github.com/berthcloud/berth/network"
)

// An agent reads the ports of its own host and reports for it only, however it is identified; a
// token identifies no host. What is refused changes nothing, and its body is not read.
func TestAgentsActForTheirHost(t *testing.T) {
	c := newCloud(t)
	keys := hostkey.New("the secret of this service")
	beat := func(host, hypervisor string) string {
		return fmt.Sprintf(`{"agent": {"agent_type": "Open vSwitch agent", "binary": "b", "host": %q, "start_flag": true, "configurations": {
			"bridge_mappings": {"p0": "br0"}, "resource_provider_hypervisors": {"br0": %q}, "resource_provider_bandwidths": {"br0": {"egress": 9999}}}}}`, host, hypervisor)
	}
	with := func(tokensForAll bool) http.Handler {
		return handlerOf(c.api, httpapi.Agents{Keys: keys, TokensForAll: tokensForAll, Others: authenticate})
	}
	h2 := keys.Key("h2")
	for _, tc := range []struct {
		name           string
		handler        http.Handler
		token, key     string
		line, body     string
		status         int
		want           string
		mayReadTheBody bool
	}{
		{"OwnHeartbeat", with(false), "", h2, "POST /berth/v1/heartbeats", beat("h2", "h2"), 200, "resources_synced", true},
		{
			"HeartbeatOfAnother", with(false), "", keys.Key("h1"), "POST /berth/v1/heartbeats", beat("h2", "h2"), 403,
			"is of the host h1, and not of h2", true,
		},
		{
			"HypervisorOfAnother", with(false), "", keys.Key("h1"), "POST /berth/v1/heartbeats", beat("h1", "h2"), 403,
			"The hypervisor h2 is that of the host h2", true,
		},
		{
			"HypervisorOfTheDomain", with(false), "", keys.Key("h1"), "POST /berth/v1/heartbeats", beat("h1", "h1.example.org"),
			200, "", true,
		},
		{
			"HypervisorOfAnotherAgent", with(false), "", h2, "POST /berth/v1/heartbeats", beat("h2", "h1.example.org"), 403,
			"is that of the host h1", true,
		},
		{
			"HeartbeatWithToken", with(false), "service", "", "POST /berth/v1/heartbeats", beat("h2", "h2"), 403,
			"A token does not identify a host", false,
		},
		{
			"HeartbeatOfAnAdmin", with(false), "admin", "", "POST /berth/v1/heartbeats", beat("h2", "h2"), 403,
			"A token does not identify a host", false,
		},
		{
			"HeartbeatOfAMember", with(true), "member", "", "POST /berth/v1/heartbeats", beat("h2", "h2"), 403,
			"report_agent_state", false,
		},
		{
			"WrongKey", with(true), "admin", h2[:len(h2)-1] + "x", "POST /berth/v1/heartbeats", beat("h2", "h2"), 403,
			"is of no secret", false,
		},
		{"TokensForAll", with(true), "service", "", "POST /berth/v1/heartbeats", beat("h3", "h2"), 200, "", true},
		{"OwnPorts", with(false), "", h2, "GET /berth/v1/hosts/h2/ports", "", 200, "revision", true},
		{"PortsOfAnother", with(false), "", h2, "GET /berth/v1/hosts/h1/ports", "", 403, "", false},
		{"WaitForPortsOfAnother", with(false), "", h2, "GET /berth/v1/hosts/h1/ports?wait=60&revision=x", "", 403, "", false},
		{"PortsWithToken", with(false), "service", "", "GET /berth/v1/hosts/h1/ports", "", 403, "", false},
		{"OwnReport", with(false), "", h2, "POST /berth/v1/hosts/h2/ports", `{"ports": {}}`, 204, "", true},
		{"ReportOfAnother", with(false), "", h2, "POST /berth/v1/hosts/h1/ports", `{"ports": {}}`, 403, "", false},
		{"ReportWithToken", with(false), "service", "", "POST /berth/v1/hosts/h1/ports", `{"ports": {}}`, 403, "", false},
		{"OtherRoutes", with(false), "", h2, "GET /v2.0/agents", "", 401, "", false},
		{"OtherRoutesOfBerth", with(false), "", h2, "POST /berth/v1/servers/s/settle", "", 401, "", false},
	} {
		t.Run(tc.name, func(t *testing.T) {
			method, path, _ := strings.Cut(tc.line, " ")
			r := httptest.NewRequest(method, path, strings.NewReader(tc.body))
			if !tc.mayReadTheBody {
				r = httptest.NewRequest(method, path, unread{t})
				r.ContentLength = 14 << 20
			}
			r.Header.Set("X-Auth-Token", tc.token)
			r.Header.Set(hostkey.Header, tc.key)
			w := httptest.NewRecorder()
			tc.handler.ServeHTTP(w, r)
			if w.Code != tc.status || !strings.Contains(w.Body.String(), tc.want) {
				t.Errorf("answered %d %s, want %d with %q", w.Code, w.Body, tc.status, tc.want)
			}
		})
	}
	agents, err := c.service.Agents(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	for _, a := range agents {
		if a.Host == "h1" && strings.Contains(string(a.Configurations), `"h2"`) {
			t.Errorf("the agent on h1 has %s", a.Configurations)
		}
	}
}

// An agent whose devices could not be synced gets that in answers until they are, as the list of
// agents does.
func TestFailedSyncsAreNotUnknown(t *testing.T) {
	c := newCloud(t)
	const beat = `{"agent": {"agent_type": "Open vSwitch agent", "binary": "b", "host": "h", "start_flag": true, "configurations": {
		"bridge_mappings": {"p0": "br0"}, "resource_provider_hypervisors": {"br0": "h"}, "resource_provider_bandwidths": {"br0": {"egress": 1}}}}}`
	answered := func(method, path, body string) string {
		t.Helper()
		status, answer := c.request("admin", method, path, body)
		if status != http.StatusOK {
			t.Fatalf("%s %s: %d %s", method, path, status, answer)
		}
		return answer
	}
	answer := answered("POST", "/berth/v1/heartbeats", beat)
	if !strings.Contains(answer, `"resources_synced": null, "sync_error": null`) {
		t.Errorf("the first heartbeat is answered %s", answer)
	}
	agents, err := c.service.Agents(t.Context())
	if err != nil || len(agents) != 1 {
		t.Fatal(agents, err)
	}
	state, err := c.service.State(agents[0].AgentRow)
	if err != nil {
		t.Fatal(err)
	}
	if err := c.service.RecordSync(t.Context(), agents[0].ID, network.SyncResult{
		State: state, Failure: "placement is away",
	}); err != nil {
		t.Fatal(err)
	}
	const want = `"resources_synced": false`
	answer = answered("POST", "/berth/v1/heartbeats", beat)
	if !strings.Contains(answer, want+`, "sync_error": "placement is away"`) {
		t.Errorf("a heartbeat after the failure is answered %s", answer)
	}
	if answer := answered("GET", "/v2.0/agents", ""); !strings.Contains(answer, want) {
		t.Errorf("the list has %s", answer)
	}
}

// An unread body fails the test when it is read.
type unread struct{ testing.TB }

func (u unread) Read([]byte) (int, error) {
	u.Helper()
	u.Error("the body is read")
	return 0, io.EOF
}

func TestHeartbeats(t *testing.T) {
	c := newCloud(t)
	const good = `{"agent": {"agent_type": "Open vSwitch agent", "binary": "b", "host": "h", ` +
		`"configurations": {"a": 1}, "start_flag": true}}`
	for _, tc := range []struct {
		name, user, body string
		status           int
		want             string
	}{
		{"Member", "someone", good, http.StatusForbidden, "PolicyNotAuthorized"},
		{"Nothing", "admin", "", http.StatusBadRequest, "Resource body required"},
		{"NoJSON", "admin", "{", http.StatusBadRequest, "Cannot understand JSON"},
		{"NoObject", "admin", `{"agent": 1}`, http.StatusBadRequest, "Object 'agent' contains invalid data"},
		{"NoHost", "admin", `{"agent": {"agent_type": "t", "binary": "b"}}`, http.StatusBadRequest, "'host' not specified"},
		{
			"EmptyHost", "admin", `{"agent": {"agent_type": "t", "binary": "b", "host": ""}}`, http.StatusBadRequest,
			"needs a host",
		},
		{
			"LongHost", "admin", strings.Replace(good, `"h"`, `"`+strings.Repeat("h", 256)+`"`, 1), http.StatusBadRequest,
			"exceeds maximum length of 255",
		},
		{"Unknown", "admin", `{"agent": {"pony": 1}}`, http.StatusBadRequest, "Unrecognized attribute(s) 'pony'"},
		{
			"NoConfigurations", "admin", strings.Replace(good, `{"a": 1}`, `[]`, 1), http.StatusBadRequest,
			"is not a dictionary",
		},
		{"Good", "admin", good, http.StatusOK, `"resources_synced": null, "sync_error": null`},
		{
			"NoSense", "admin",
			strings.NewReplacer(`"h"`, `"h2"`, `{"a": 1}`, `{"resource_provider_traits": {"br0": ["gold"]}}`).Replace(good),
			http.StatusOK,
			`"resources_synced": false, "sync_error": "configurations: \"resource_provider_traits.br0\" must be a trait of ` +
				`CUSTOM_`,
		},
	} {
		t.Run(tc.name, func(t *testing.T) {
			status, answer := c.request(tc.user, "POST", "/berth/v1/heartbeats", tc.body)
			if status != tc.status || !strings.Contains(answer, tc.want) {
				t.Errorf("answered %d %s, want %d with %q", status, answer, tc.status, tc.want)
			}
		})
	}
	if _, answer := c.request("admin", "GET", "/v2.0/agents", ""); strings.Count(answer, `"agent_type"`) != 2 ||
		!strings.Contains(answer, `"configurations": {"a": 1}`) {
		t.Errorf("the agents are %s, want those that were taken", answer)
	}
}

// What is odd about an agent's devices is in its record: what is left out, names that
// placement cannot distinguish, and what other agents report too.
func TestOddReportsAreInTheRecords(t *testing.T) {
	c := newCloud(t)
	beat := func(kind, host, configurations string) {
		t.Helper()
		body := `{"agent": {"agent_type": "` + kind + `", "binary": "b", "host": "` + host + `", "configurations": ` +
			configurations + `, "start_flag": true}}`
		if status, answer := c.request("admin", "POST", "/berth/v1/heartbeats", body); status != http.StatusOK {
			t.Fatalf("answered %d %s", status, answer)
		}
	}
	const ovs, sriov = "Open vSwitch agent", "NIC Switch agent"
	beat(ovs, "one", `{"bridge_mappings": {"p0": "br0"}, "resource_provider_hypervisors": {"br0": "one", "br1": "one"},
		"resource_provider_bandwidths": {"br0": {"egress": 1}, "br1": {"egress": 1}}}`)
	beat(ovs, "two", `{"bridge_mappings": {"p0": "br0"}, "resource_provider_hypervisors": {"br0": "one"}, `+
		`"resource_provider_bandwidths": {"br0": {"egress": 1}}}`)
	beat(ovs, "same", `{"bridge_mappings": {"p0": "ens5"}, "resource_provider_hypervisors": {"ens5": "same"}, `+
		`"resource_provider_bandwidths": {"ens5": {"egress": 1}}}`)
	beat(sriov, "same", `{"device_mappings": {"p0": ["ens5"], "P0": ["ens6"]}, "resource_provider_hypervisors": {"ens5": "same", "ens6": "same"},
		"resource_provider_bandwidths": {"ens5": {"egress": 1}}}`)
	beat(ovs, "fine", `{"bridge_mappings": {"p0": "br0"}, "resource_provider_hypervisors": {"br0": "fine"}, `+
		`"resource_provider_bandwidths": {"br0": {"egress": 1}}}`)
	for query, want := range map[string]string{
		"host=one": `["\"br1\" is left out: no physical network is mapped to it", ` +
			`"\"br0\" of one is reported by the Open vSwitch agent on two too: its bandwidth must be divided among them"]`,
		"host=two": `["\"br0\" of one is reported by the Open vSwitch agent on one too: ` +
			`its bandwidth must be divided among them"]`,
		"host=same&agent_type=NIC+Switch+agent": `["the physical networks [\"P0\" \"p0\"] are one for placement, ` +
			`CUSTOM_PHYSNET_P0", "\"ens5\" of same is reported by the Open vSwitch agent on same too: ` +
			`its bandwidth must be divided among them"]`,
		"host=fine": "",
	} {
		_, answer := c.request("admin", "GET", "/v2.0/agents?"+query, "")
		if want == "" == strings.Contains(answer, "berth:warnings") || !strings.Contains(answer, want) {
			t.Errorf("%s: the record is %s, want the warnings %s", query, answer, want)
		}
	}
}
