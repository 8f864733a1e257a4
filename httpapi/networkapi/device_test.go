package networkapi_test

import (
	"encoding/json"
	"net/http"
	"strings"
	"testing"

	"github.com/berthcloud/berth/allocations"
	"github.com/berthcloud/berth/guarantee"
	"github.com/berthcloud/berth/internal/dialogue/neutron"
	"github.com/berthcloud/berth/network"
)

// A member cannot give back what another project's server has allocated by naming that
// server as the device of a port of its own. Compute says whose allocation a port has.
func TestDeviceOfAllocatedPortIsKept(t *testing.T) {
	const mine, theirs = "5e57b85f-b017-419a-8745-9c406e149f9e", "0b4e54e7-0f2d-4bd5-a372-6a2b4b2a2c9b"
	for _, body := range []string{
		`{"device_id": "` + theirs + `"}`,
		`{"device_id": ""}`,
		`{"device_owner": "network:x"}`,
		`{"device_id": "` + theirs + `", "device_owner": "compute:other"}`,
	} {
		t.Run(body, func(t *testing.T) {
			s := newSide(t)
			s.Reset(t)
			c := &cloud{t: t, url: s.URL()}
			port := c.allocated(s, mine, theirs)
			status, answer := c.request("member", "PUT", port, `{"port": `+body+`}`)
			if status != http.StatusConflict || !strings.Contains(answer, "PortInUse") {
				t.Errorf("the owner is answered %d %s, want 409", status, answer)
			}
			for _, change := range []struct{ user, body string }{
				{"member", `{"name": "n", "device_id": "` + mine + `", "device_owner": "compute:nova"}`}, // as they are
				{"admin", `{"device_id": "` + mine + `", "device_owner": "compute:zone"}`},
			} {
				if status, answer := c.request(change.user, "PUT", port, `{"port": `+change.body+`}`); status != http.StatusOK {
					t.Errorf("%s: PUT %s is answered %d %s", change.user, change.body, status, answer)
				}
			}
			if status, answer := c.request("member", "DELETE", port, ""); status != http.StatusNoContent {
				t.Errorf("DELETE is answered %d %s", status, answer)
			}
			for server, want := range map[string]int64{mine: 0, theirs: 1000} {
				names, err := s.places.Allocations(t.Context(), server)
				if err != nil {
					t.Fatal(err)
				}
				var got int64
				for _, classes := range names.Amounts {
					got += classes[guarantee.EgressBandwidth]
				}
				if got != want {
					t.Errorf("server %s holds %d, want %d", server, got, want)
				}
			}
		})
	}
}

// Compute changes the device of a port that has an allocation, and its owner changes that of
// one that has none.
func TestDeviceOfOtherPortsIsChanged(t *testing.T) {
	const mine, theirs = "5e57b85f-b017-419a-8745-9c406e149f9e", "0b4e54e7-0f2d-4bd5-a372-6a2b4b2a2c9b"
	s := newSide(t)
	s.Reset(t)
	c := &cloud{t: t, url: s.URL()}
	port := c.allocated(s, mine, theirs)
	for _, change := range []struct{ user, body string }{
		{"admin", `{"device_id": "` + theirs + `"}`},
		{"admin", `{"device_id": "", "device_owner": "", "binding:host_id": "", "binding:profile": {}}`},
		{"member", `{"device_id": "` + mine + `", "device_owner": "compute:nova"}`},
		{"member", `{"device_id": "", "device_owner": ""}`},
		{"admin", `{"device_id": "` + mine + `", "device_owner": "compute:nova", "binding:host_id": "h"}`},
		{"member", `{"device_id": "` + theirs + `"}`}, // bound, without an allocation
	} {
		if status, answer := c.request(change.user, "PUT", port, `{"port": `+change.body+`}`); status != http.StatusOK {
			t.Errorf("%s: PUT %s is answered %d %s", change.user, change.body, status, answer)
		}
	}
}

// allocated makes a member's port with a guarantee of 1000, which is bound for the first of
// two servers, and returns its path. Both servers hold that much.
func (c *cloud) allocated(s *side, servers ...string) string {
	c.t.Helper()
	places := &cloud{t: c.t, url: s.PlacementURL()}
	status, answer := places.request("admin", "POST", "/resource_providers", `{"name": "h"}`)
	if status != http.StatusCreated {
		c.t.Fatal(status, answer)
	}
	s.Heartbeat(c.t, neutron.Agent{Kind: neutron.OVS, Host: "h", Start: true, Configurations: map[string]any{
		"bridge_mappings":               map[string]any{"physnet0": "br0"},
		"integration_bridge":            "br-int",
		"resource_provider_bandwidths":  map[string]any{"br0": map[string]any{"egress": 5000, "ingress": 5000}},
		"resource_provider_hypervisors": map[string]any{"br0": "h"},
		"resource_provider_inventory_defaults": map[string]any{
			"allocation_ratio": 1.0, "min_unit": 1, "step_size": 1, "reserved": 0,
		},
	}})
	net := c.made("admin", "networks", "network", `{"shared": true, "provider:network_type": "vlan", `+
		`"provider:physical_network": "physnet0", "provider:segmentation_id": 3100}`)["id"].(string)
	policy := c.made("admin", "qos/policies", "policy", `{"name": "p", "shared": true}`)["id"].(string)
	c.made("admin", "qos/policies/"+policy+"/minimum_bandwidth_rules", "minimum_bandwidth_rule", `{"min_kbps": 1000}`)
	port := c.made("member", "ports", "port", `{"network_id": "`+net+`", "qos_policy_id": "`+policy+`"}`)["id"].(string)
	all, err := s.service.Ports(c.t.Context(), network.Where(network.ByID, network.ID(port)))
	if err != nil {
		c.t.Fatal(err)
	}
	provider := c.deviceProvider(places)
	for _, server := range servers {
		if err := s.places.SetAllocations(c.t.Context(), server, allocations.Consumer{
			Amounts: allocations.Amounts{provider: {guarantee.EgressBandwidth: 1000}}, Project: "p", User: "u", Type: "INSTANCE",
		}); err != nil {
			c.t.Fatal(err)
		}
	}
	group := s.service.Request(&all[0]).Groups[0].ID.String()
	path := "/v2.0/ports/" + port
	if status, answer := c.request("admin", "PUT", path, `{"port": {"device_id": "`+servers[0]+`", "device_owner": "compute:nova", "binding:host_id": "h",
		"binding:profile": {"allocation": {"`+group+`": "`+provider+`"}}}}`); status != http.StatusOK || !strings.Contains(answer, `"binding:vif_type": "ovs"`) {
		c.t.Fatalf("the port is not bound: %d %s", status, answer)
	}
	return path
}

// deviceProvider is the provider of the device of the only agent.
func (c *cloud) deviceProvider(places *cloud) string {
	c.t.Helper()
	_, answer := places.request("admin", "GET", "/resource_providers", "")
	var list struct {
		Providers []struct{ UUID, Name string } `json:"resource_providers"`
	}
	if err := json.Unmarshal([]byte(answer), &list); err != nil {
		c.t.Fatal(answer, err)
	}
	for _, p := range list.Providers {
		if strings.HasSuffix(p.Name, ":br0") {
			return p.UUID
		}
	}
	c.t.Fatalf("placement has no device: %v", list)
	return ""
}
