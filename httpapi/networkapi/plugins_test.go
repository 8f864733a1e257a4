package networkapi_test

import (
	"net/http"
	"net/http/httptest"
	"slices"
	"strings"
	"testing"

	"github.com/berthcloud/berth/httpapi"
	"github.com/berthcloud/berth/httpapi/networkapi"
)

// without serves a cloud's API without plugins until fn returns.
func (c *cloud) without(plugins []string, fn func()) {
	api := newAPI(c.t, c.service)
	api.Without = plugins
	off := httptest.NewServer(handler(api, httpapi.NoAuth))
	defer off.Close()
	was := c.url
	c.url = off.URL
	fn()
	c.url = was
}

// What a plugin brings is not there without it: its paths, its extensions, and its
// attributes, which are not known then.
func TestPluginsCanBeOff(t *testing.T) {
	c := newCloud(t)
	made := c.made("admin", "networks", "network", `{"name": "n"}`)
	id := made["id"].(string)
	for _, tc := range []struct {
		plugin, path, alias string
		collection          string   // that has attributes of the plugin's
		attributes          []string // of which the first one can be set
		value               string
	}{
		{
			networkapi.PluginQoS, "/v2.0/qos/policies", "qos", "ports",
			[]string{"qos_policy_id", "qos_network_policy_id", "resource_request"},
			"null",
		},
		{
			networkapi.PluginQoS, "/v2.0/qos/rule-types", "port-resource-request", "networks", []string{"qos_policy_id"}, "null",
		},
		{networkapi.PluginTrunk, "/v2.0/trunks", "trunk", "", nil, ""},
		{networkapi.PluginSegments, "/v2.0/segments", "segment", "subnets", []string{"segment_id"}, "null"},
		{networkapi.PluginSegments, "/v2.0/segments", "l2_adjacency", "networks", []string{"l2_adjacency"}, "true"},
		{networkapi.PluginSegments, "/v2.0/segments", "ip_allocation", "ports", []string{"ip_allocation"}, `"deferred"`},
		{networkapi.DriverPortSecurity, "", "port-security", "networks", []string{"port_security_enabled"}, "true"},
		{networkapi.DriverPortSecurity, "", "port-security", "ports", []string{"port_security_enabled"}, "true"},
	} {
		c.without(nil, func() { c.checkPlugin(tc.plugin, tc.path, tc.alias, true) })
		c.without([]string{tc.plugin}, func() {
			c.checkPlugin(tc.plugin, tc.path, tc.alias, false)
			if tc.collection == "" {
				return
			}
			kind := strings.TrimSuffix(tc.collection, "s")
			body := `{"` + kind + `": {"network_id": "` + id + `", "ip_version": 4, "cidr": "10.0.0.0/24", "` +
				tc.attributes[0] + `": ` + tc.value + `}}`
			if kind == "network" {
				body = `{"network": {"` + tc.attributes[0] + `": ` + tc.value + `}}`
			}
			if _, answer := c.request("admin", "POST", "/v2.0/"+
				tc.collection, body); !strings.Contains(answer, "Unrecognized attribute(s) '") || !strings.Contains(
				answer, tc.attributes[0]) {
				t.Errorf("without %s POST %s = %s", tc.plugin, body, answer)
			}
			_, answer := c.request("admin", "GET", "/v2.0/"+tc.collection, "")
			if slices.ContainsFunc(tc.attributes, func(a string) bool { return strings.Contains(answer, `"`+a+`"`) }) {
				t.Errorf("without %s %s are %s", tc.plugin, tc.collection, answer)
			}
		})
	}
}

// checkPlugin checks whether a path and an extension are there.
func (c *cloud) checkPlugin(plugin, path, alias string, enabled bool) {
	c.t.Helper()
	if status, _ := c.request("admin", "GET", path, ""); path != "" && (status == http.StatusOK) != enabled {
		c.t.Errorf("with %s (%v) GET %s = %d", plugin, enabled, path, status)
	}
	if status, _ := c.request("admin", "GET", "/v2.0/extensions/"+alias, ""); (status == http.StatusOK) != enabled {
		c.t.Errorf("with %s (%v) the extension %s answers %d", plugin, enabled, alias, status)
	}
}

// A trusted virtual function is an attribute for administrators, which the profile of the binding
// shows and no change of the profile removes; without the driver there is none.
func TestTrustedPorts(t *testing.T) {
	c := newCloud(t)
	id := c.made("admin", "networks", "network", `{"name": "n", "shared": true}`)["id"].(string)
	plain := c.made("admin", "ports", "port", `{"network_id": "`+id+`"}`)
	if v, shown := plain["trusted"]; !shown || v != nil {
		t.Errorf("a port of which nobody said so is shown as trusted: %v, %t", v, shown)
	}
	port := c.made("admin", "ports", "port", `{"network_id": "`+id+`", "trusted": "yes", "binding:profile": {"a": 1}}`)
	path := "/v2.0/ports/" + port["id"].(string)
	for _, step := range []struct {
		body string
		want []string
	}{
		{`{}`, []string{`"trusted": true`, `"binding:profile": {"a": 1, "trusted": true}`}},
		{`{"binding:profile": {}}`, []string{`"binding:profile": {"trusted": true}`}},
		{`{"trusted": false}`, []string{`"trusted": false`, `"binding:profile": {"trusted": false}`}},
		{`{"binding:profile": {"trusted": true}}`, []string{`"binding:profile": {"trusted": false}`}},
	} {
		status, answer := c.request("admin", "PUT", path, `{"port": `+step.body+`}`)
		for _, want := range step.want {
			if status != http.StatusOK || !strings.Contains(answer, want) {
				t.Errorf("PUT %s: %d without %s: %s", step.body, status, want, answer)
			}
		}
	}
	if status, answer := c.request("admin", "PUT", path, `{"port": {"trusted": null}}`); status != http.StatusBadRequest {
		t.Errorf("trusted: null is answered %d %s", status, answer)
	}
	for method, at := range map[string]string{"POST": "/v2.0/ports", "PUT": path} {
		body := `{"port": {"network_id": "` + id + `", "trusted": true}}`
		if method == "PUT" {
			body = `{"port": {"trusted": true}}`
		}
		if status, answer := c.request("member", method, at, body); status == http.StatusOK || status == http.StatusCreated {
			t.Errorf("a member's %s is answered %d %s", method, status, answer)
		}
	}
	c.without([]string{networkapi.DriverTrusted}, func() {
		if _, answer := c.request("admin", "GET", path, ""); strings.Contains(answer, `"trusted": false`) {
			t.Errorf("without its driver trusted is shown: %s", answer)
		}
		body := `{"port": {"trusted": true}}`
		if status, answer := c.request("admin", "PUT", path, body); status != http.StatusBadRequest {
			t.Errorf("without its driver PUT %s is answered %d %s", body, status, answer)
		}
	})
}

// The NUMA policy socket needs the driver of its extension.
func TestSocketPolicy(t *testing.T) {
	c := newCloud(t)
	id := c.made("admin", "networks", "network", `{"name": "n"}`)["id"].(string)
	body := `{"network_id": "` + id + `", "numa_affinity_policy": "socket"}`
	if made := c.made("admin", "ports", "port", body); made["numa_affinity_policy"] != "socket" {
		t.Errorf("the port is %v", made)
	}
	c.without([]string{networkapi.DriverNUMASocket}, func() {
		status, answer := c.request("admin", "POST", "/v2.0/ports", `{"port": `+body+`}`)
		if status != http.StatusBadRequest || !strings.Contains(answer, "socket is not in valid_values") {
			t.Errorf("without its driver POST is answered %d %s", status, answer)
		}
	})
}

// Attributes of some drivers are taken without them, and not shown.
func TestDriversShowTheirAttributes(t *testing.T) {
	c := newCloud(t)
	id := c.made("admin", "networks", "network", `{"name": "n"}`)["id"].(string)
	port := `{"network_id": "` + id + `", "numa_affinity_policy": "preferred", "device_profile": "smartnic"}`
	made := c.made("admin", "ports", "port", port)
	if made["numa_affinity_policy"] != "preferred" || made["device_profile"] != "smartnic" {
		t.Errorf("with the drivers the port is %v", made)
	}
	c.without([]string{networkapi.DriverNUMA, networkapi.DriverDeviceProfile}, func() {
		made := c.made("admin", "ports", "port", port)
		for _, name := range []string{"numa_affinity_policy", "device_profile"} {
			if _, shown := made[name]; shown {
				t.Errorf("without its driver %s is shown: %v", name, made)
			}
		}
	})
}
