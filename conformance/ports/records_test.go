package ports

import (
	"github.com/google/go-cmp/cmp"

	"github.com/berthcloud/berth/internal/records"
	"github.com/berthcloud/berth/internal/rest"
)

// A port is a port in the API.
type port struct{ records.Port }

// amount is a part of the resources that a port requests.
func (p *port) amounts(percent int) rest.Resources {
	sum := rest.Resources{}
	for _, g := range p.Request.Groups {
		addTo(sum, g.Resources, percent)
	}
	return sum
}

func addTo(sum, more rest.Resources, percent int) {
	for class, n := range more {
		sum[class] += n * percent / 100
	}
}

func (c *cloud) port(id string) port {
	c.Helper()
	var one struct{ Port port }
	c.requests[0].Read(c, "/v2.0/ports/"+id, &one)
	return one.Port
}

func (c *cloud) ports() []port {
	c.Helper()
	var all struct{ Ports []port }
	c.requests[0].Read(c, "/v2.0/ports", &all)
	return all.Ports
}

// newPort creates a port with a policy, "" for none of its own.
func (c *cloud) newPort(policy string) port {
	c.Helper()
	spec := rest.Object{"network_id": c.network}
	if policy != "" {
		spec["qos_policy_id"] = policy
	}
	return c.port(c.make("port", spec))
}

// A claim is a server's allocation on a host for a port.
type claim struct {
	server, port string
	host         host
	given        rest.Resources
}

// claim allocates a part of a port's request to a server, as compute does.
func (c *cloud) claim(server string, p port, on host, percent int) {
	c.Helper()
	c.claims = append(c.claims, claim{server, p.ID, on, p.amounts(percent)})
	var body struct {
		Generation any `json:"consumer_generation"`
	}
	c.places.Read(c, "/allocations/"+server, &body)
	allocated := c.allocated(server)
	addTo(allocated.On(on.bridge), p.amounts(percent), 100)
	allocated.On(on.root)["VCPU"] = 1
	c.places.Must(c, 204, "PUT", "/allocations/"+server, rest.Allocations(body.Generation, allocated))
}

// binding is compute's request to bind a port to a server.
func (p *port) binding(server string, on host) request {
	allocation := rest.Object{}
	for _, g := range p.Request.Groups {
		allocation[g.ID] = on.bridge
	}
	return request{"PUT", "/v2.0/ports/" + p.ID, rest.Object{"port": rest.Object{
		"device_id": server, "device_owner": "compute:nova", "binding:host_id": on.name,
		"binding:profile": rest.Object{"allocation": allocation},
	}}}
}

// bound creates a port that is bound to a server.
func (c *cloud) bound(server, policy string) port {
	c.Helper()
	p := c.newPort(policy)
	c.claim(server, p, c.hosts[0], 100)
	c.must(p.binding(server, c.hosts[0]))
	return c.port(p.ID)
}

func (c *cloud) allocated(server string) records.Allocations {
	c.Helper()
	var allocated records.Consumer
	c.places.Read(c, "/allocations/"+server, &allocated)
	return allocated.ByProvider()
}

// agrees waits until no change is pending, and then checks that each server's allocations are the
// guarantees of its ports, and the claims for ports that it has not got; and that nothing else is
// in use.
func (c *cloud) agrees() {
	c.Helper()
	c.settles()
	want, inUse := c.promised(), records.Allocations{}
	for server, owner := range want {
		if diff := cmp.Diff(owner, c.allocated(server)); diff != "" {
			c.Errorf("what server %s holds (-want +got):\n%s", server, diff)
		}
		for provider, amounts := range owner {
			addTo(inUse.On(provider), amounts, 100)
		}
	}
	for _, h := range c.hosts {
		for class, n := range c.places.Usages(c, h.bridge) {
			if n != inUse[h.bridge][class] {
				c.Errorf("on the bridge of %s %d of %s is in use, and %d promised", h.name, n, class, inUse[h.bridge][class])
			}
		}
	}
}

// promised are the expected allocations of servers.
func (c *cloud) promised() map[string]records.Allocations {
	c.Helper()
	ports := map[string]port{}
	for _, p := range c.ports() {
		ports[p.ID] = p
	}
	want := map[string]records.Allocations{}
	for _, claim := range c.claims {
		if want[claim.server] == nil {
			want[claim.server] = records.Allocations{}
		}
		owner := want[claim.server]
		owner.On(claim.host.root)["VCPU"] = 1
		p, found := ports[claim.port]
		switch {
		case !found || p.Device == claim.server && len(p.Request.Groups) == 0:
		case p.Device == claim.server:
			c.isBound(p, claim.host)
			addTo(owner.On(claim.host.bridge), p.amounts(100), 100)
		default:
			addTo(owner.On(claim.host.bridge), claim.given, 100)
		}
	}
	return want
}

// isBound checks that a port is bound on a host, according to the claim there.
func (c *cloud) isBound(p port, on host) {
	c.Helper()
	for _, g := range p.Request.Groups {
		if p.Profile.Allocation[g.ID] != on.bridge || p.Host != on.name || p.VIF != "ovs" {
			c.Errorf("port %s is bound to %s as %q, requests the group %s, and its profile has %v", p.ID, p.Host, p.VIF, g.ID,
				p.Profile.Allocation)
		}
	}
}

// clear removes all ports and servers' allocations, and the network's policy.
func (c *cloud) clear() {
	c.Helper()
	for _, p := range c.ports() {
		c.must(request{"DELETE", "/v2.0/ports/" + p.ID, nil})
	}
	c.must(request{"PUT", "/v2.0/networks/" + c.network, rest.Object{"network": rest.Object{"qos_policy_id": nil}}})
	for server := range c.promised() {
		c.places.Must(c, 204, "DELETE", "/allocations/"+server, nil)
	}
	c.claims = nil
}
