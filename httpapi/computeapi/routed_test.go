package computeapi_test

import (
	"bytes"
	"encoding/json"
	"fmt"
	"io"
	"net/http"
	"testing"
	"time"

	"github.com/berthcloud/berth/internal/dialogue/nova"
	"github.com/berthcloud/berth/internal/fakehosts"
)

// call sends a request of an administrator to one of the services, and reads the answer.
func (c *cloud) call(t *testing.T, method, url, body string, answer any) {
	t.Helper()
	r, err := http.NewRequestWithContext(t.Context(), method, url, bytes.NewReader([]byte(body)))
	if err != nil {
		t.Fatal(err)
	}
	for name, value := range map[string]string{
		"X-Auth-Token": "admin", "Content-Type": "application/json", "OpenStack-API-Version": "compute 2.90",
	} {
		r.Header.Set(name, value)
	}
	a, err := http.DefaultClient.Do(r)
	if err != nil {
		t.Fatal(err)
	}
	defer a.Body.Close()
	text, err := io.ReadAll(a.Body)
	if err != nil || a.StatusCode > 299 {
		t.Fatalf("%s %s = %d, %s, %v", method, url, a.StatusCode, text, err)
	}
	if answer != nil {
		if err := json.Unmarshal(text, answer); err != nil {
			t.Fatalf("%s %s: %v", method, url, err)
		}
	}
}

// A routedServer is what is shown of a server.
type routedServer struct {
	ID     string
	Status string
	Host   string `json:"OS-EXT-SRV-ATTR:host"`
	Fault  struct{ Message string }
}

// TestRoutedNetworks has the network service bring the segments of a routed network into placement
// and into aggregates of compute, and compute schedule servers by them: each goes to the host that
// reaches the segment of its port.
func TestRoutedNetworks(t *testing.T) {
	c := &cloud{
		compute: newStandIn(t), network: newStandIn(t), placement: newStandIn(t), routed: true,
		bridges: map[string]map[string]int{"h2": {"physnet1": nova.Bandwidth}},
	}
	c.Reset(t)
	var net struct{ Network struct{ ID string } }
	c.call(t, "POST", c.network.URL+"/v2.0/networks", `{"network": {"segments": [
		{"provider:network_type": "vlan", "provider:physical_network": "physnet0", "provider:segmentation_id": 300},
		{"provider:network_type": "vlan", "provider:physical_network": "physnet1", "provider:segmentation_id": 301}]}}`, &net)
	var all struct {
		Segments []struct {
			ID       string
			Physical string `json:"physical_network"`
		}
	}
	c.call(t, "GET", c.network.URL+"/v2.0/segments?network_id="+net.Network.ID, "", &all)
	subnets := map[string]string{} // by physical network
	for i, s := range all.Segments {
		var made struct{ Subnet struct{ ID string } }
		c.call(t, "POST", c.network.URL+"/v2.0/subnets", fmt.Sprintf(
			`{"subnet": {"network_id": %q, "segment_id": %q, "ip_version": 4, "cidr": "10.9.%d.0/24"}}`,
			net.Network.ID, s.ID, i), &made)
		subnets[s.Physical] = made.Subnet.ID
	}
	c.call(t, "POST", c.compute.URL+"/v2.1/flavors",
		`{"flavor": {"name": "f", "id": "f", "vcpus": 1, "ram": 64, "disk": 1}}`, nil)
	boot := func(physical string) routedServer {
		t.Helper()
		var port struct{ Port struct{ ID string } }
		c.call(t, "POST", c.network.URL+"/v2.0/ports", fmt.Sprintf(
			`{"port": {"network_id": %q, "fixed_ips": [{"subnet_id": %q}]}}`, net.Network.ID, subnets[physical]), &port)
		var server struct{ Server routedServer }
		c.call(t, "POST", c.compute.URL+"/v2.1/servers", fmt.Sprintf(
			`{"server": {"name": "s", "flavorRef": "f", "imageRef": %q, "networks": [{"port": %q}]}}`,
			fakehosts.Image, port.Port.ID), &server)
		url := c.compute.URL + "/v2.1/servers/" + server.Server.ID
		for end := time.Now().Add(time.Minute); ; {
			c.call(t, "GET", url, "", &server)
			if s := server.Server.Status; s == "ACTIVE" || s == "ERROR" {
				return server.Server
			}
			if time.Now().After(end) {
				t.Fatalf("the server is %s", server.Server.Status)
			}
		}
	}
	if s := boot("physnet0"); s.Status != "ERROR" {
		t.Errorf("before the segments are synced a server is %s on %s", s.Status, s.Host)
	}
	if err := c.networks.SyncSegments(t.Context()); err != nil {
		t.Fatal(err)
	}
	for physical, host := range map[string]string{"physnet0": "h1", "physnet1": "h2"} {
		for range 3 {
			if s := boot(physical); s.Status != "ACTIVE" || s.Host != host {
				t.Errorf("a server on the segment of %s is %s on %q (%s), want %s", physical, s.Status, s.Host, s.Fault.Message,
					host)
			}
		}
	}
}
