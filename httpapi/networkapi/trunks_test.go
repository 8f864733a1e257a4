package networkapi_test

import (
	"encoding/json"
	"net/http"
	"testing"
)

// An agent that reports the parent of a trunk reads the subports as ports of its host from then on.
func TestSubportsOverHTTP(t *testing.T) {
	c := newCloud(t)
	send := func(method, path, body string, want int) []byte {
		t.Helper()
		status, answer := c.request("admin", method, path, body)
		if status != want {
			t.Fatalf("%s %s: %d %s, want %d", method, path, status, answer, want)
		}
		return []byte(answer)
	}
	send("POST", "/berth/v1/heartbeats", `{"agent": {"agent_type": "Open vSwitch agent", "binary": "b", "host": "h",
		"configurations": {"bridge_mappings": {"physnet0": "br0"}, "integration_bridge": "br-int"}}}`, http.StatusOK)
	net := c.id("/v2.0/networks", `{"network": {"provider:network_type": "vlan", `+
		`"provider:physical_network": "physnet0", "provider:segmentation_id": 100}}`)
	parent := c.id("/v2.0/ports", `{"port": {"network_id": "`+net+`"}}`)
	subport := c.id("/v2.0/ports", `{"port": {"network_id": "`+net+`"}}`)
	trunk := c.id("/v2.0/trunks", `{"trunk": {"port_id": "`+parent+`",
		"sub_ports": [{"port_id": "`+subport+`", "segmentation_type": "vlan", "segmentation_id": 42}]}}`)
	send("PUT", "/v2.0/ports/"+parent, `{"port": {"binding:host_id": "h", "device_owner": "compute:nova"}}`, http.StatusOK)
	if all := c.hostPorts(""); len(all.Ports) != 1 {
		t.Errorf("before the parent is plugged in the host has %d ports, want the parent", len(all.Ports))
	}
	send("POST", "/berth/v1/hosts/h/ports", `{"ports": {"`+parent+`": "ACTIVE"}}`, http.StatusNoContent)
	if all := c.hostPorts(""); len(all.Ports) != 2 {
		t.Errorf("the host has %d ports, want the parent and the subport", len(all.Ports))
	}
	for path, want := range map[string]map[string]string{
		"port " + subport: {
			"binding:host_id": "h", "binding:vif_type": "ovs", "device_owner": "trunk:subport", "status": "ACTIVE",
		},
		"trunk " + trunk: {"status": "ACTIVE"},
	} {
		kind, id := path[:len(path)-37], path[len(path)-36:]
		var got map[string]map[string]any
		if err := json.Unmarshal(send("GET", "/v2.0/"+kind+"s/"+id, "", http.StatusOK), &got); err != nil {
			t.Fatal(err)
		}
		for key, value := range want {
			if got[kind][key] != value {
				t.Errorf("%s of the %s is %v, want %s", key, kind, got[kind][key], value)
			}
		}
	}
}
