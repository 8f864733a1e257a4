package networkapi_test

import (
	"context"
	"encoding/json"
	"io"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"

	"github.com/berthcloud/berth/httpapi"
	"github.com/berthcloud/berth/httpapi/networkapi"
	"github.com/berthcloud/berth/identity/policy"
	"github.com/berthcloud/berth/network"
	"github.com/berthcloud/berth/sqlstore"
)

// A cloud is the API on an empty database.
type cloud struct {
	t       *testing.T
	url     string
	service *network.Service
}

func newCloud(t *testing.T) *cloud {
	t.Helper()
	store, err := sqlstore.OpenNetwork(context.Background(), sqlstore.Options{Path: sqlstore.Memory})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = store.Close() })
	rules, err := policy.New(policy.Options{Defaults: networkapi.PolicyDefaults(), Networking: true})
	if err != nil {
		t.Fatal(err)
	}
	settings := network.DefaultSettings()
	settings.ProjectTypes = []string{network.VXLAN}
	settings.VLANs = map[string][]network.Range{"physnet0": {{Low: 1, High: 4000}}}
	settings.Tunnels = map[string][]network.Range{network.VXLAN: {{Low: 1, High: 1000}}}
	service := network.NewService(store, settings, network.Neighbours{})
	api := &networkapi.API{Network: service, Policy: rules}
	s := httptest.NewServer(httpapi.New(httpapi.Config{
		Service: "network", Routes: api.Routes(), Authenticate: httpapi.NoAuth, Public: networkapi.Public, Problem: networkapi.Problem,
	}))
	t.Cleanup(s.Close)
	return &cloud{t, s.URL, service}
}

// ask sends a request as a user, "admin" or one whose project is called as they
// are, and returns what it was answered.
func (c *cloud) ask(user, method, path, body string) (status int, answer string) {
	c.t.Helper()
	r, err := http.NewRequestWithContext(context.Background(), method, c.url+path, strings.NewReader(body))
	if err != nil {
		c.t.Fatal(err)
	}
	r.Header.Set("X-Auth-Token", user)
	r.Header.Set("Content-Type", "application/json")
	res, err := http.DefaultClient.Do(r)
	if err != nil {
		c.t.Fatal(err)
	}
	defer res.Body.Close()
	b, err := io.ReadAll(res.Body)
	if err != nil {
		c.t.Fatal(err)
	}
	return res.StatusCode, string(b)
}

// made makes an object and returns what it looks like.
func (c *cloud) made(user, path, name, body string) map[string]any {
	c.t.Helper()
	status, answer := c.ask(user, "POST", "/v2.0/"+path, `{"`+name+`": `+body+`}`)
	var all map[string]map[string]any
	if err := json.Unmarshal([]byte(answer), &all); err != nil || status != http.StatusCreated {
		c.t.Fatalf("POST %s %s: %d %s, %v", path, body, status, answer, err)
	}
	return all[name]
}

// The guide's way from a network to a port that promises bandwidth.
func TestGuaranteeBecomesRequest(t *testing.T) {
	c := newCloud(t)
	net := c.made("admin", "networks", "network", `{"name": "net0", "admin_state_up": true,
		"provider:network_type": "vlan", "provider:physical_network": "physnet0", "provider:segmentation_id": 100}`)
	id := net["id"].(string)
	c.made("admin", "subnets", "subnet", `{"name": "subnet0", "network_id": "`+id+`", "ip_version": 4, "cidr": "10.0.4.0/24"}`)
	policy := c.made("admin", "qos/policies", "policy", `{"name": "policy0"}`)["id"].(string)
	for _, direction := range []string{"egress", "ingress"} {
		c.made("admin", "qos/policies/"+policy+"/minimum_bandwidth_rules", "minimum_bandwidth_rule",
			`{"min_kbps": 1000000, "direction": "`+direction+`"}`)
	}
	port := c.made("admin", "ports", "port", `{"name": "port-normal-qos", "network_id": "`+id+`", "qos_policy_id": "`+policy+`"}`)
	want := `"required":["CUSTOM_PHYSNET_PHYSNET0","CUSTOM_VNIC_TYPE_NORMAL"],"resources":{"NET_BW_EGR_KILOBIT_PER_SEC":1000000,"NET_BW_IGR_KILOBIT_PER_SEC":1000000}`
	if got, _ := json.Marshal(port["resource_request"]); !strings.Contains(string(got), want) {
		t.Errorf("resource_request is %s, want %s in it", got, want)
	}
	if got, _ := json.Marshal(port["fixed_ips"]); !strings.Contains(string(got), `"ip_address":"10.0.4.2"`) {
		t.Errorf("fixed_ips are %s", got)
	}
	if port["status"] != "DOWN" || port["binding:vif_type"] != "unbound" {
		t.Errorf("the port is %v, %v", port["status"], port["binding:vif_type"])
	}
}

// What a plugin brings is not there without it.
func TestPluginsCanBeOff(t *testing.T) {
	c := newCloud(t)
	for plugin, path := range map[string]string{
		networkapi.PluginQoS: "/v2.0/qos/policies", networkapi.PluginTrunk: "/v2.0/trunks", networkapi.PluginSegments: "/v2.0/segments",
	} {
		if status, _ := c.ask("admin", "GET", path, ""); status != http.StatusOK {
			t.Errorf("with %s GET %s = %d", plugin, path, status)
		}
		routes := (&networkapi.API{Network: c.service, Without: []string{plugin}}).Routes()
		for _, r := range routes {
			if strings.HasPrefix(r.Pattern, path) {
				t.Errorf("without %s there is %s %s", plugin, r.Method, r.Pattern)
			}
		}
		off := httptest.NewServer(httpapi.New(httpapi.Config{
			Service: "network", Routes: routes, Authenticate: httpapi.NoAuth, Problem: networkapi.Problem,
		}))
		was := c.url
		c.url = off.URL
		status, _ := c.ask("admin", "GET", path, "")
		_, listed := c.ask("admin", "GET", "/v2.0/extensions", "")
		c.url = was
		off.Close()
		if alias := strings.TrimSuffix(plugin, "s"); status != http.StatusNotFound || strings.Contains(listed, `"alias": "`+alias+`"`) {
			t.Errorf("without %s GET %s = %d, and the extensions are %s", plugin, path, status, listed)
		}
	}
}
