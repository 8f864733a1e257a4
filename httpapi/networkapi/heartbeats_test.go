package networkapi_test

import (
	"net/http"
	"strings"
	"testing"
)

func TestHeartbeats(t *testing.T) {
	c := newCloud(t)
	const good = `{"agent": {"agent_type": "Open vSwitch agent", "binary": "b", "host": "h", "configurations": {"a": 1}, "start_flag": true}}`
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
		{"EmptyHost", "admin", `{"agent": {"agent_type": "t", "binary": "b", "host": ""}}`, http.StatusBadRequest, "needs a host"},
		{"LongHost", "admin", strings.Replace(good, `"h"`, `"`+strings.Repeat("h", 256)+`"`, 1), http.StatusBadRequest, "exceeds maximum length of 255"},
		{"Unknown", "admin", `{"agent": {"pony": 1}}`, http.StatusBadRequest, "Unrecognized attribute(s) 'pony'"},
		{"NoConfigurations", "admin", strings.Replace(good, `{"a": 1}`, `[]`, 1), http.StatusBadRequest, "is not a dictionary"},
		{"Good", "admin", good, http.StatusOK, `"resources_synced": null, "sync_error": null`},
		{
			"NoSense", "admin", strings.NewReplacer(`"h"`, `"h2"`, `{"a": 1}`, `{"resource_provider_traits": {"br0": ["gold"]}}`).Replace(good), http.StatusOK,
			`"resources_synced": false, "sync_error": "configurations: \"resource_provider_traits.br0\" must be a trait of CUSTOM_`,
		},
	} {
		t.Run(tc.name, func(t *testing.T) {
			status, answer := c.ask(tc.user, "POST", "/berth/v1/heartbeats", tc.body)
			if status != tc.status || !strings.Contains(answer, tc.want) {
				t.Errorf("answered %d %s, want %d with %q", status, answer, tc.status, tc.want)
			}
		})
	}
	if _, answer := c.ask("admin", "GET", "/v2.0/agents", ""); strings.Count(answer, `"agent_type"`) != 2 || !strings.Contains(answer, `"configurations": {"a": 1}`) {
		t.Errorf("the agents are %s, want those that were taken", answer)
	}
}

// What is odd about an agent's devices is in its record: what is left out, names that
// placement cannot tell apart, and what other agents report too.
func TestOddReportsAreInTheRecords(t *testing.T) {
	c := newCloud(t)
	beat := func(kind, host, configurations string) {
		t.Helper()
		body := `{"agent": {"agent_type": "` + kind + `", "binary": "b", "host": "` + host + `", "configurations": ` + configurations + `, "start_flag": true}}`
		if status, answer := c.ask("admin", "POST", "/berth/v1/heartbeats", body); status != http.StatusOK {
			t.Fatalf("answered %d %s", status, answer)
		}
	}
	const ovs, sriov = "Open vSwitch agent", "NIC Switch agent"
	beat(ovs, "one", `{"bridge_mappings": {"p0": "br0"}, "resource_provider_hypervisors": {"br0": "one", "br1": "one"},
		"resource_provider_bandwidths": {"br0": {"egress": 1}, "br1": {"egress": 1}}}`)
	beat(ovs, "two", `{"bridge_mappings": {"p0": "br0"}, "resource_provider_hypervisors": {"br0": "one"}, "resource_provider_bandwidths": {"br0": {"egress": 1}}}`)
	beat(ovs, "same", `{"bridge_mappings": {"p0": "ens5"}, "resource_provider_hypervisors": {"ens5": "same"}, "resource_provider_bandwidths": {"ens5": {"egress": 1}}}`)
	beat(sriov, "same", `{"device_mappings": {"p0": ["ens5"], "P0": ["ens6"]}, "resource_provider_hypervisors": {"ens5": "same", "ens6": "same"},
		"resource_provider_bandwidths": {"ens5": {"egress": 1}}}`)
	beat(ovs, "fine", `{"bridge_mappings": {"p0": "br0"}, "resource_provider_hypervisors": {"br0": "fine"}, "resource_provider_bandwidths": {"br0": {"egress": 1}}}`)
	for query, want := range map[string]string{
		"host=one":                              `["\"br1\" is left out: no physical network is mapped to it", "\"br0\" of one is reported by the Open vSwitch agent on two too: its bandwidth must be divided among them"]`,
		"host=two":                              `["\"br0\" of one is reported by the Open vSwitch agent on one too: its bandwidth must be divided among them"]`,
		"host=same&agent_type=NIC+Switch+agent": `["the physical networks [\"P0\" \"p0\"] are one for placement, CUSTOM_PHYSNET_P0", "\"ens5\" of same is reported by the Open vSwitch agent on same too: its bandwidth must be divided among them"]`,
		"host=fine":                             "",
	} {
		_, answer := c.ask("admin", "GET", "/v2.0/agents?"+query, "")
		if want == "" == strings.Contains(answer, "berth:warnings") || !strings.Contains(answer, want) {
			t.Errorf("%s: the record is %s, want the warnings %s", query, answer, want)
		}
	}
}
