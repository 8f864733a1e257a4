package networkapi_test

import (
	"encoding/json"
	"net/http"
	"strings"
	"testing"
	"time"
)

// hostPorts is the answer about a host's ports.
type hostPorts struct {
	Revision string
	Ports    []map[string]any
}

func (c *cloud) hostPorts(query string) (found hostPorts) {
	c.t.Helper()
	status, body := c.request("admin", "GET", "/berth/v1/hosts/h/ports"+query, "")
	if err := json.Unmarshal([]byte(body), &found); status != http.StatusOK || err != nil {
		c.t.Fatalf("answered %d %s", status, body)
	}
	return found
}

// id makes something and returns its id.
func (c *cloud) id(path, body string) string {
	c.t.Helper()
	status, answer := c.request("admin", "POST", path, body)
	var made map[string]struct{ ID string }
	if err := json.Unmarshal([]byte(answer), &made); status != http.StatusCreated || err != nil {
		c.t.Fatalf("POST %s: %d %s", path, status, answer)
	}
	for _, one := range made {
		return one.ID
	}
	return ""
}

func TestHostPorts(t *testing.T) {
	c := newCloud(t)
	if status, body := c.request("someone", "GET", "/berth/v1/hosts/h/ports", ""); status != http.StatusForbidden {
		t.Errorf("a member is answered %d %s, want 403", status, body)
	}
	status, body := c.request("admin", "GET", "/berth/v1/hosts/h/ports?wait=soon", "")
	if status != http.StatusBadRequest || !strings.Contains(body, "want seconds") {
		t.Errorf("nonsense is answered %d %s, want 400", status, body)
	}
	none := c.hostPorts("")
	if len(none.Ports) != 0 || none.Revision == "" {
		t.Fatalf("a host without ports has %+v", none)
	}
	if status, body := c.request("admin", "POST", "/berth/v1/heartbeats", `{"agent": {"agent_type": "Open vSwitch agent", "binary": "b", "host": "h",
		"configurations": {"bridge_mappings": {"physnet0": "br0"}, "integration_bridge": "br-int"}}}`); status != http.StatusOK {
		t.Fatal(body)
	}
	net := c.id("/v2.0/networks", `{"network": {"provider:network_type": "vlan", `+
		`"provider:physical_network": "physnet0", "provider:segmentation_id": 100}}`)
	policy := c.id("/v2.0/qos/policies", `{"policy": {"name": "p"}}`)
	c.id("/v2.0/qos/policies/"+policy+"/bandwidth_limit_rules", `{"bandwidth_limit_rule": {"max_kbps": 3000}}`)
	start := time.Now()
	got := make(chan hostPorts)
	go func() { got <- c.hostPorts("?wait=60&revision=" + none.Revision) }()
	port := c.id("/v2.0/ports", `{"port": {"network_id": "`+net+
		`", "binding:host_id": "h", "device_owner": "compute:nova", "qos_policy_id": "`+policy+`"}}`)
	one := <-got
	if len(one.Ports) != 1 || time.Since(start) > 30*time.Second {
		t.Fatalf("after %v there is %+v, want the port at once", time.Since(start), one)
	}
	p := one.Ports[0]
	for key, want := range map[string]any{
		"id": port, "network_id": net, "driver": "openvswitch", "vif_type": "ovs", "physical_network": "physnet0",
		"segmentation_id": 100.0, "pci_slot": nil,
	} {
		if p[key] != want {
			t.Errorf("%s is %v, want %v", key, p[key], want)
		}
	}
	rule, _ := json.Marshal(p["rules"])
	if want := `[{"direction":"egress","max_burst_kbps":0,"max_kbps":3000,` +
		`"type":"bandwidth_limit"}]`; string(rule) != want {
		t.Errorf("the rules are %s, want %s", rule, want)
	}
	if n := len(c.hostPorts("?driver=sriovnicswitch").Ports); n != 0 {
		t.Errorf("another driver has %d ports, want none", n)
	}

	for _, step := range []struct {
		body   string
		status int
		want   string // the status of the port
	}{
		{`{"ports": {"` + port + `": "ACTIVE"}}`, http.StatusNoContent, "ACTIVE"},
		{`{"ports": {"` + port + `": "BUILD"}}`, http.StatusBadRequest, "ACTIVE"},
		{`{"ports": {"` + port + `": 1}}`, http.StatusBadRequest, "ACTIVE"},
		{`{"ports": []}`, http.StatusBadRequest, "ACTIVE"},
		{`{`, http.StatusBadRequest, "ACTIVE"},
		{`{"ports": {"nothing": "DOWN"}}`, http.StatusNoContent, "ACTIVE"},
		{`{"ports": {"` + port + `": "DOWN"}}`, http.StatusNoContent, "DOWN"},
	} {
		if status, body := c.request("admin", "POST", "/berth/v1/hosts/h/ports", step.body); status != step.status {
			t.Errorf("%s is answered %d %s, want %d", step.body, status, body, step.status)
		}
		if _, body := c.request("admin", "GET", "/v2.0/ports/"+port+
			"?fields=status", ""); !strings.Contains(body, step.want) {
			t.Errorf("after %s the port is %s, want %s", step.body, body, step.want)
		}
	}
	if now := c.hostPorts(""); now.Revision != one.Revision || now.Ports[0]["status"] != "DOWN" {
		t.Errorf("when all is as before the answer is %+v", now)
	}
	status, body = c.request("someone", "POST", "/berth/v1/hosts/h/ports", `{"ports": {}}`)
	if status != http.StatusForbidden {
		t.Errorf("a member is answered %d %s, want 403", status, body)
	}
	for caller, want := range map[string]int{"someone": http.StatusForbidden, "admin": http.StatusNoContent} {
		if status, body := c.request(caller, "POST", "/berth/v1/servers/"+port+"/settle", ""); status != want {
			t.Errorf("the request of %s to settle is answered %d %s, want %d", caller, status, body, want)
		}
	}
}

// Of two who would wait only one may.
func TestWaitsAreBounded(t *testing.T) {
	c := newCloud(t)
	c.api.HostPoll.Max = 1
	known := c.hostPorts("").Revision
	answers := make(chan hostPorts)
	for range 2 {
		go func() { answers <- c.hostPorts("?wait=60&revision=" + known) }()
	}
	select {
	case got := <-answers:
		if got.Revision != known {
			t.Errorf("who may not wait is answered %+v, want what there is", got)
		}
	case <-time.After(20 * time.Second):
		t.Error("both wait")
	}
	c.service.EndWatches()
	if got := <-answers; got.Revision != known {
		t.Errorf("who waited is answered %+v at the end, want what there is", got)
	}
}
