package nova

import (
	"bytes"
	"encoding/json"
	"maps"
	"net/http"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/berthcloud/berth/internal/dialogue/neutron"
	"github.com/berthcloud/berth/internal/keystonetest"
	"github.com/berthcloud/berth/internal/rest"
	"github.com/berthcloud/berth/internal/server"
	"github.com/berthcloud/berth/internal/servertest"
)

// Hosts are the hosts of clouds, with the UUIDs of their providers. Each has ten processors, 8 GiB
// of memory, and a bridge to physnet0 with Bandwidth.
func Hosts() map[string]string {
	return map[string]string{"h1": "99999999-0000-4000-8000-000000000001", "h2": "99999999-0000-4000-8000-000000000002"}
}

// Bandwidth is that of a host in each direction, in kbit/s.
const Bandwidth = 10_000

// users are the personas of the people of dialogues.
var users = map[string]string{
	"admin": "project-admin", "member": "project-member", "reader": "project-reader", "other": "other-member",
	"service": "nova",
}

// A Cloud is the distribution's Nova with all its services, and Berth's placement and network
// services, with the Hosts. It is a side of dialogues.
type Cloud struct {
	nova     *servertest.Server
	keystone *keystonetest.Keystone
	tokens   map[string]string
	// Addresses of its peer services.
	placement, network string
}

var _ neutron.Cloud = (*Cloud)(nil)

// StartCloud starts a cloud on loopback. It is stopped at the end of the test, which fails when
// Nova is not installed, or is skipped with BERTH_TEST_NO_UPSTREAM=1.
func StartCloud(t testing.TB) *Cloud {
	t.Helper()
	k := keystonetest.Start(t, keystonetest.Options{})
	c := &Cloud{keystone: k, tokens: make(map[string]string)}
	c.placement = server.StartBerth(t, server.Options{Config: neutron.PlacementAt(k).Config}).URL()
	c.network = server.StartNetworkByFiles(t, server.Render(map[string]map[string]string{
		"DEFAULT":            {"auth_strategy": "keystone", "service_plugins": "qos,placement", "agent_down_time": "7200"},
		"ml2":                {"mechanism_drivers": "openvswitch", "extension_drivers": "qos,port_security"},
		"ml2_type_vlan":      {"network_vlan_ranges": "physnet0:1:4000"},
		"placement":          server.Login(k),
		"berth":              {"host_identity": "token"}, // Nova's drivers plug in with a token
		"keystone_authtoken": server.Login(k),
	})).URL()
	images := StartImages(t)
	k.Service("placement", "placement", c.placement)
	k.Service("network", "neutron", c.network)
	k.Service("image", "glance", images)
	c.nova = StartWhole(t, Peers{Keystone: k, Placement: c.placement, Network: c.network, Image: images}, Hosts())
	c.control(t, "plugging", map[string]any{"network": c.network, "token": c.Token(t, "service")})
	for _, host := range slices.Sorted(maps.Keys(Hosts())) {
		c.beat(t, host)
	}
	return c
}

// beat has the network agent of a host report, until its bridge is in placement.
func (c *Cloud) beat(t testing.TB, host string) {
	t.Helper()
	nets := rest.New(c.network, "").As(c.Token(t, "service"))
	defer nets.Close()
	rate := rest.Object{"egress": Bandwidth, "ingress": Bandwidth}
	for end := time.Now().Add(time.Minute); ; time.Sleep(20 * time.Millisecond) {
		a := nets.Must(t, http.StatusOK, "POST", "/berth/v1/heartbeats", rest.Object{"agent": rest.Object{
			"agent_type": neutron.OVS.Type(), "binary": neutron.OVS.Binary(), "host": host,
			"configurations": rest.Object{
				"bridge_mappings": rest.Object{"physnet0": "br-physnet0"}, "integration_bridge": "br-int",
				"resource_provider_bandwidths":  rest.Object{"br-physnet0": rate},
				"resource_provider_hypervisors": rest.Object{"br-physnet0": host},
			},
		}})
		var said struct {
			Agent struct {
				Synced *bool `json:"resources_synced"`
			}
		}
		if err := json.Unmarshal(a.Body, &said); err != nil {
			t.Fatal(err)
		}
		if said.Agent.Synced != nil && *said.Agent.Synced {
			return
		}
		if time.Now().After(end) {
			t.Fatalf("the bridge of %s does not come into placement: %s", host, a.Body)
		}
	}
}

// URL returns the address of Nova.
func (c *Cloud) URL() string { return c.nova.URL() }

// NetworkURL returns the address of Berth's network service.
func (c *Cloud) NetworkURL() string { return c.network }

// PlacementURL returns the address of Berth's placement service.
func (c *Cloud) PlacementURL() string { return c.placement }

// PlacementToken returns a token of a service.
func (c *Cloud) PlacementToken() string {
	return c.keystone.Token(keystonetest.Find(keystonetest.Placement))
}

// Token returns the token of a person.
func (c *Cloud) Token(t testing.TB, who string) string {
	t.Helper()
	if persona, ok := users[who]; ok && c.tokens[who] == "" {
		c.tokens[who] = c.keystone.Token(keystonetest.Find(persona))
	}
	return c.tokens[who]
}

// Projects returns the ids of the projects, and those of the users as "admin_user" and so on.
func (c *Cloud) Projects() map[string]string {
	all := map[string]string{
		"demo": c.keystone.ProjectID(keystonetest.Demo), "other": c.keystone.ProjectID(keystonetest.Other),
	}
	for who, persona := range users {
		all[who+"_user"] = c.keystone.UserID(persona)
	}
	return all
}

// Hold has the hypervisor of a host begin nothing more.
func (c *Cloud) Hold(t testing.TB, host string) {
	t.Helper()
	c.control(t, "hold", map[string]any{"host": host})
}

// Release ends Hold.
func (c *Cloud) Release(t testing.TB, host string) {
	t.Helper()
	c.control(t, "release", map[string]any{"host": host})
}

// Heartbeat is not supported: the hosts report by themselves.
func (c *Cloud) Heartbeat(t testing.TB, _ neutron.Agent) { t.Fatal("the hosts report by themselves") }

// Silence is not supported.
func (c *Cloud) Silence(t testing.TB, _ neutron.Kind, _ string) { t.Fatal("no host is silent") }

// Wired is not supported: the hosts report what they plug in.
func (c *Cloud) Wired(t testing.TB, _, _ string) { t.Fatal("the hosts report what they plug in") }

// Reset removes what dialogues have made: servers and their records, flavors and the like, ports,
// networks and policies.
func (c *Cloud) Reset(t testing.TB) {
	t.Helper()
	requests := rest.New(c.URL()+"/v2.1", "compute 2.52").As(c.Token(t, "admin"))
	defer requests.Close()
	for host := range Hosts() {
		c.Release(t, host)
	}
	servers := func() []string { return ids(t, requests, "/servers?all_tenants=1", "servers") }
	for _, id := range servers() {
		requests.Must(t, http.StatusNoContent, "DELETE", "/servers/"+id, nil)
	}
	for end := time.Now().Add(time.Minute); len(servers()) > 0; time.Sleep(20 * time.Millisecond) {
		if time.Now().After(end) {
			t.Fatal("the servers do not go")
		}
	}
	c.control(t, "reset", map[string]any{})
	for host := range Hosts() { // without the records of evacuations, which keep them down
		service := rest.Object{"host": host, "binary": "nova-compute"}
		requests.Must(t, http.StatusOK, "PUT", "/os-services/enable", service)
		service["forced_down"] = false
		requests.Must(t, http.StatusOK, "PUT", "/os-services/force-down", service)
	}
	nets := rest.New(c.network+"/v2.0", "").As(c.Token(t, "admin"))
	defer nets.Close()
	for _, path := range []string{"/ports", "/networks", "/qos/policies"} {
		for _, id := range ids(t, nets, path, path[strings.LastIndex(path, "/")+1:]) {
			nets.Must(t, http.StatusNoContent, "DELETE", path+"/"+id, nil)
		}
	}
}

// ids returns the ids of the objects in a list.
func ids(t testing.TB, at *rest.Client, path, key string) (all []string) {
	t.Helper()
	var list map[string]json.RawMessage
	at.Read(t, path, &list)
	var objects []struct{ ID string }
	if err := json.Unmarshal(list[key], &objects); err != nil {
		t.Fatal(err)
	}
	for _, o := range objects {
		all = append(all, o.ID)
	}
	return all
}

// control calls a function that whole.py adds to Nova.
func (c *Cloud) control(t testing.TB, what string, arguments map[string]any) {
	t.Helper()
	body, err := json.Marshal(arguments)
	if err != nil {
		t.Fatal(err)
	}
	res, err := http.Post(c.URL()+"/-/"+what, "application/json", bytes.NewReader(body))
	if err != nil {
		t.Fatal(err)
	}
	_ = res.Body.Close() // only the status matters
	if res.StatusCode != http.StatusNoContent {
		t.Fatalf("%s: status %d; Nova's log says why", what, res.StatusCode)
	}
}
