package servers

import (
	"net/http"
	"sync"
	"testing"

	"github.com/berthcloud/berth/internal/dialogue/neutron"
	"github.com/berthcloud/berth/internal/fakehosts"
	"github.com/berthcloud/berth/internal/rest"
	"github.com/berthcloud/berth/internal/server"
)

// TestUpstreamPlacement has the distribution's Placement with Berth's network and compute
// services.
func TestUpstreamPlacement(t *testing.T) {
	t.Parallel()
	lives(newCloudWith(t, 2, berthNetwork(t, inTurn(t, server.StartUpstream(t, server.Options{}).URL()))))
}

// inTurn serializes requests: on SQLite, the distribution's Placement refuses concurrent writes.
// Its server closes connections without announcing it.
func inTurn(t *testing.T, to string) string {
	t.Helper()
	front := proxy(t, to)
	front.Transport = &http.Transport{DisableKeepAlives: true}
	var mu sync.Mutex
	return serve(t, http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		mu.Lock()
		defer mu.Unlock()
		front.ServeHTTP(w, r)
	}))
}

// TestUpstreamNeutron has the distribution's Neutron and Placement with Berth's compute
// service. Neutron stores its rows in MariaDB: on SQLite it cannot do two things at a time.
func TestUpstreamNeutron(t *testing.T) {
	t.Parallel()
	r := neutron.StartReference(t, neutron.Options{Database: server.NewDatabase(t, server.MariaDB).Upstream})
	lives(newCloudWith(t, 2, peers{
		placement: inTurn(t, r.PlacementURL()), network: r.URL(), networkToken: r.Token(t, "admin"), ports: 2,
		beat: func(h *fakehosts.Host) {
			bridge := fakehosts.Bridge("physnet0")
			r.Heartbeat(t, neutron.Agent{Kind: neutron.OVS, Host: h.Name, Start: true, Configurations: rest.Object{
				"bridge_mappings":               rest.Object{"physnet0": bridge},
				"resource_provider_bandwidths":  rest.Object{bridge: rest.Object{"egress": room, "ingress": room}},
				"resource_provider_hypervisors": rest.Object{bridge: h.Name},
				"resource_provider_inventory_defaults": rest.Object{
					"allocation_ratio": 1.0, "min_unit": 1, "step_size": 1, "reserved": 0,
				},
			}})
		},
	}))
}

// lives takes a server from its boot to its deletion, with the records compared after each step.
func lives(c *cloud) {
	c.Helper()
	id := c.booted("", c.newPort(rate))
	c.agrees()
	for _, p := range []string{c.newPort(rate), ""} {
		what := rest.Object{"port_id": p}
		if p == "" {
			what = rest.Object{"net_id": c.network}
		}
		a := c.attach(id, what)
		same(c, "the status of an attachment: "+string(a.Body), http.StatusOK, a.Status)
		c.agrees()
		attached := decoded[struct {
			Interface struct {
				Port string `json:"port_id"`
			} `json:"interfaceAttachment"`
		}](c, a).Interface.Port
		c.has(id, 3)
		same(c, "the status of a detachment", http.StatusAccepted,
			c.send("DELETE", "/servers/"+id+"/os-interface/"+attached, nil).Status)
		c.rests()
		c.agrees()
		c.has(id, 2)
	}
	deleted := c.newPort(0)
	a := c.attach(id, rest.Object{"port_id": deleted})
	same(c, "the status of an attachment: "+string(a.Body), http.StatusOK, a.Status)
	c.nets.Must(c, 204, "DELETE", "/v2.0/ports/"+deleted, nil)
	c.agrees() // also with a network service that sends no events
	c.has(id, 2)
	full := c.newPort(2 * room)
	refused := c.attach(id, rest.Object{"port_id": full})
	same(c, "the status of an attachment beyond the bridge: "+string(refused.Body), http.StatusBadRequest, refused.Status)
	c.boot(1, full)
	c.rests()
	c.agrees()
	states := map[string]int{}
	for _, v := range c.vms() {
		states[v.Status]++
	}
	same(c, "the states of servers", map[string]int{"ACTIVE": 1, "ERROR": 1}, states)
	c.clear()
}
