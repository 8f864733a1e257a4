package networkapi_test

import (
	"net/http"
	"strings"
	"testing"
)

// TestPortOfTheNetworkInNoGroup wants a port that becomes the network's own to be refused
// groups that do not exist, as any other.
func TestPortOfTheNetworkInNoGroup(t *testing.T) {
	c := newCloud(t)
	net := c.made("admin", "networks", "network", `{}`)["id"].(string)
	c.made("admin", "subnets", "subnet", `{"network_id": "`+net+`", "ip_version": 4, "cidr": "10.0.0.0/24"}`)
	port := c.made("admin", "ports", "port", `{"network_id": "`+net+`"}`)["id"].(string)
	group := c.made("admin", "security-groups", "security_group", `{"name": "own"}`)["id"].(string)
	for _, tc := range []struct {
		body string
		want int
	}{
		{
			`{"device_owner": "network:dhcp", "security_groups": ["00000000-0000-4000-8000-000000000001"]}`, http.StatusNotFound,
		},
		{`{"device_owner": "network:dhcp", "security_groups": ["` + group + `"]}`, http.StatusOK},
		{`{"security_groups": ["00000000-0000-4000-8000-000000000001"]}`, http.StatusNotFound},
		{`{"security_groups": []}`, http.StatusOK},
	} {
		if status, answer := c.request("admin", "PUT", "/v2.0/ports/"+port, `{"port": `+tc.body+`}`); status != tc.want {
			t.Errorf("%s: %d %s, want %d", tc.body, status, answer, tc.want)
		}
	}
}

// TestLimitsOfPacketRatesHaveNoAliases wants the one type of rules that Neutron has no
// alias of to have none.
func TestLimitsOfPacketRatesHaveNoAliases(t *testing.T) {
	c := newCloud(t)
	policy := c.made("admin", "qos/policies", "policy", `{"name": "p"}`)["id"].(string)
	rule := c.made("admin", "qos/policies/"+policy+"/packet_rate_limit_rules", "packet_rate_limit_rule",
		`{"max_kpps": 10}`)["id"].(string)
	for _, method := range []string{"GET", "PUT", "DELETE"} {
		body := map[string]string{"PUT": `{"alias_packet_rate_limit_rule": {"max_kpps": 11}}`}[method]
		status, answer := c.request("admin", method, "/v2.0/qos/alias_packet_rate_limit_rules/"+rule, body)
		if status != http.StatusNotFound || !strings.Contains(answer, "The resource could not be found.") {
			t.Errorf("%s: %d %s", method, status, answer)
		}
	}
}

// TestNumbersThatAreNotFinite wants objects that are kept as they are to be JSON when they
// are shown again.
func TestNumbersThatAreNotFinite(t *testing.T) {
	c := newCloud(t)
	net := c.made("admin", "networks", "network", `{}`)["id"].(string)
	port := c.made("admin", "ports", "port", `{"network_id": "`+net+`"}`)["id"].(string)
	const odd = `{"a": [{"b": NaN}]}`
	for _, tc := range []struct{ method, path, body string }{
		{"POST", "/v2.0/ports", `{"port": {"network_id": "` + net + `", "binding:profile": ` + odd + `}}`},
		{"PUT", "/v2.0/ports/" + port, `{"port": {"binding:profile": {"a": 1e999}}}`},
		{
			"POST", "/berth/v1/heartbeats",
			`{"agent": {"agent_type": "a", "binary": "b", "host": "h", "configurations": {"a": -Infinity}}}`,
		},
		{
			"POST", "/berth/v1/heartbeats",
			`{"agent": {"agent_type": "a", "binary": "b", "host": "h", "resource_versions": ` + odd + `}}`,
		},
	} {
		if status, answer := c.request("admin", tc.method, tc.path, tc.body); status != http.StatusBadRequest ||
			!strings.Contains(answer, "not finite") {
			t.Errorf("%s %s %s: %d %s", tc.method, tc.path, tc.body, status, answer)
		}
	}
}
