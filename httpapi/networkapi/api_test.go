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
	"github.com/berthcloud/berth/internal/logtest"
	"github.com/berthcloud/berth/network"
	"github.com/berthcloud/berth/network/service"
	"github.com/berthcloud/berth/sqlstore"
	"github.com/berthcloud/berth/sqlstore/rowtable"
)

// A cloud is the API on an empty database.
type cloud struct {
	t       *testing.T
	url     string
	service *service.Service
	api     *networkapi.API
}

func newCloud(t *testing.T) *cloud {
	t.Helper()
	settings := network.DefaultSettings()
	settings.ProjectTypes = []string{network.VXLAN}
	settings.VLANs = map[string][]network.Range{"physnet0": {{Low: 1, High: 4000}}}
	settings.Tunnels = map[string][]network.Range{network.VXLAN: {{Low: 1, High: 1000}}}
	service := service.New(newStore(t), settings, service.Peers{Log: logtest.Logger()})
	api := newAPI(t, service)
	s := httptest.NewServer(handler(api, httpapi.NoAuth))
	t.Cleanup(s.Close)
	return &cloud{t, s.URL, service, api}
}

// newStore returns an empty database, which ends with the test.
func newStore(t testing.TB) network.Store {
	t.Helper()
	store, err := rowtable.OpenNetwork(context.Background(), sqlstore.Options{Path: sqlstore.Memory})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = store.Close() })
	return store
}

// newAPI returns the API of a service with the policy of the program.
func newAPI(t testing.TB, service *service.Service) *networkapi.API {
	t.Helper()
	return &networkapi.API{Network: service, Policy: newPolicy(t, "")}
}

// newPolicy returns the rules of the program, with those of a file before them.
func newPolicy(t testing.TB, file string) *policy.Enforcer {
	t.Helper()
	rules, err := policy.New(policy.Options{Defaults: networkapi.PolicyDefaults(), Networking: true, File: file})
	if err != nil {
		t.Fatal(err)
	}
	return rules
}

// handler serves an API as the program does.
func handler(api *networkapi.API, who httpapi.Authenticator) http.Handler {
	return handlerOf(api, httpapi.Agents{TokensForAll: true, Others: who})
}

// handlerOf serves an API to callers that are authenticated with the rules about hosts.
func handlerOf(api *networkapi.API, who httpapi.Agents) http.Handler {
	return networkapi.Handler(httpapi.New(httpapi.Config{
		Service: "network", Routes: api.Routes(), Authenticate: who.Authenticate, Public: networkapi.Public,
		Problem: networkapi.Problem,
	}))
}

// request sends a request as a user, "admin" or one whose project is called as they
// are, and returns what it was answered.
func (c *cloud) request(user, method, path, body string) (status int, answer string) {
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
	status, answer := c.request(user, "POST", "/v2.0/"+path, `{"`+name+`": `+body+`}`)
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
	c.made("admin", "subnets", "subnet",
		`{"name": "subnet0", "network_id": "`+id+`", "ip_version": 4, "cidr": "10.0.4.0/24"}`)
	policy := c.made("admin", "qos/policies", "policy", `{"name": "policy0"}`)["id"].(string)
	for _, direction := range []string{"egress", "ingress"} {
		c.made("admin", "qos/policies/"+policy+"/minimum_bandwidth_rules", "minimum_bandwidth_rule",
			`{"min_kbps": 1000000, "direction": "`+direction+`"}`)
	}
	port := c.made("admin", "ports", "port",
		`{"name": "port-normal-qos", "network_id": "`+id+`", "qos_policy_id": "`+policy+`"}`)
	want := `"required":["CUSTOM_PHYSNET_PHYSNET0","CUSTOM_VNIC_TYPE_NORMAL"],` +
		`"resources":{"NET_BW_EGR_KILOBIT_PER_SEC":1000000,"NET_BW_IGR_KILOBIT_PER_SEC":1000000}`
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
