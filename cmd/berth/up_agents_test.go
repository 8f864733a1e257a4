package main

import (
	"fmt"
	"net/http"
	"strings"
	"testing"
	"time"
)

// boot boots a server in a network on a host.
func (u *upRun) boot(net, host string) string {
	u.t.Helper()
	return u.made(u.compute+"/servers", "server", map[string]any{
		"name": "on-" + host, "flavorRef": "c1", "imageRef": upImage, "availability_zone": "nova:" + host,
		"networks": []map[string]any{{"uuid": net}},
	})
}

// A builtServer is a server once it is built, or cannot be.
type builtServer struct {
	Status string
	Host   string `json:"OS-EXT-SRV-ATTR:host"`
	Fault  struct{ Message, Details string }
}

// built waits until a server is built, or cannot be.
func (u *upRun) built(id string) builtServer {
	u.t.Helper()
	var answer struct{ Server builtServer }
	for end := time.Now().Add(hangTime); answer.Server.Status != "ACTIVE" &&
		answer.Server.Status != "ERROR"; time.Sleep(20 * time.Millisecond) {
		if time.Now().After(end) {
			u.t.Fatalf("the server is %+v", answer.Server)
		}
		u.request(http.MethodGet, u.compute+"/servers/"+id, nil, &answer)
	}
	return answer.Server
}

// A network that is created with its name only is available to servers on all hosts.
func TestUpBootsOnEveryHost(t *testing.T) {
	u := startUp(t, t.TempDir())
	net := u.made(u.network+"/networks", "network", map[string]any{"name": "n"})
	u.made(u.network+"/subnets", "subnet", map[string]any{"network_id": net, "ip_version": 4, "cidr": "192.0.2.0/24"})
	for n := range 3 {
		host := fmt.Sprintf("devstack%d", n)
		if s := u.built(u.boot(net, host)); s.Status != "ACTIVE" || s.Host != host {
			t.Errorf("on %s the server is %+v", host, s)
		}
	}
	u.stop()
}

// The fault of a server whose port cannot be bound has what the host lacks for administrators, and
// so does the log.
func TestUpSaysWhyAPortIsNotBound(t *testing.T) {
	u := startUp(t, t.TempDir())
	net := u.made(u.network+"/networks", "network", map[string]any{
		"name": "n", "provider:network_type": "vlan", "provider:physical_network": "physnet0",
	})
	u.made(u.network+"/subnets", "subnet", map[string]any{"network_id": net, "ip_version": 4, "cidr": "192.0.2.0/24"})
	f := u.built(u.boot(net, "devstack1")).Fault
	for _, want := range []string{"devstack1", "Open vSwitch agent", "vlan", "physnet0"} {
		if !strings.Contains(f.Details, want) {
			t.Errorf("the details of the fault do not say %s: %+v", want, f)
		}
	}
	if !strings.Contains(f.Message, "Binding failed for port") || strings.Contains(f.Message, "devstack1") {
		t.Errorf("users get %q, want that a port could not be bound, without the host's name", f.Message)
	}
	u.logged(`a port cannot be bound.*host=devstack1.*(physnet0)`)
	u.logged(`a build failed on a host.*host=devstack1.*(physnet0)`)
	u.stop()
}
