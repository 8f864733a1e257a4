package networkapi

import (
	"cmp"
	"context"
	"encoding/json"
	"net/http"
	"time"

	"github.com/berthcloud/berth/guarantee"
	"github.com/berthcloud/berth/httpapi"
	"github.com/berthcloud/berth/httpapi/pyjson"
	"github.com/berthcloud/berth/network"
)

// hostRoutes are the routes by which agents read the ports that are bound to their host and report
// which are plugged in, and by which compute reads why one is not bound and settles allocations. They are Berth's own
// (decision 20).
func (a *API) hostRoutes() []httpapi.Route {
	const path = "/berth/v1/hosts/{host}/ports"
	return []httpapi.Route{
		{Method: http.MethodGet, Pattern: path, Handle: a.hostPorts},
		{Method: http.MethodPost, Pattern: path, Handle: a.wireHostPorts},
		{Method: http.MethodGet, Pattern: "/berth/v1/ports/{id}/binding", Handle: a.getPortBinding},
		{Method: http.MethodPost, Pattern: "/berth/v1/servers/{server}/settle", Handle: a.settle},
	}
}

// settle completes what is under way with the allocations of a server, for compute, which is about to replace them.
func (a *API) settle(w http.ResponseWriter, r *http.Request) error {
	err := a.allow(r.Context(), "update_port:binding:profile", target{})
	if err == nil {
		err = a.Network.Settle(r.Context(), httpapi.Param(r, "server"))
	}
	if err == nil {
		w.WriteHeader(http.StatusNoContent)
	}
	return err
}

// getPortBinding returns why a port could not be bound to the host that it should be on, or to the one
// in the query, to callers who may see the details of its
// binding. Neutron has that in its log only, so its attributes have no place for it.
func (a *API) getPortBinding(w http.ResponseWriter, r *http.Request) error {
	ctx, res := r.Context(), a.ports()
	p, err := res.visible(r)
	if err != nil {
		return err
	}
	if err := a.allow(ctx, "get_port:binding:vif_details", res.about(&p)); err != nil {
		return err
	}
	host := cmp.Or(r.URL.Query().Get("host"), p.Binding.Host)
	reason, err := a.Network.WhyUnbound(ctx, p.ID, host)
	if err != nil {
		return err
	}
	vif := ""
	for _, b := range append([]network.BindingRow{p.Binding}, p.Inactive...) {
		if b.Host == host {
			vif = b.VIF
		}
	}
	return httpapi.Respond(w, http.StatusOK, func(j *httpapi.JSON) {
		j.Value(object("host", host, "vif_type", orNone(vif), "reason", orNone(reason)))
	})
}

// hostPorts answers with the ports of a host, as soon as their revision is not the
// one that the agent has, or after the requested wait.
func (a *API) hostPorts(w http.ResponseWriter, r *http.Request) error {
	ctx, host := r.Context(), httpapi.Param(r, "host")
	if err := cmp.Or(a.allow(ctx, "report_agent_state", target{}), httpapi.CheckHost(ctx, host)); err != nil {
		return err
	}
	drivers := setOf(r.URL.Query()["driver"])
	return a.HostPoll.Serve(w, r, "ports", func(ctx context.Context, wait time.Duration, changed func([]byte) bool) error {
		_, err := a.Network.AwaitHostPorts(ctx, host, wait, func(all []network.Port) bool {
			return changed(hostPortList(all, drivers))
		})
		return err
	})
}

// hostPortList is the list of the ports that one of the drivers has bound; without drivers, of all.
func hostPortList(all []network.Port, drivers map[string]bool) []byte {
	var ports []pyjson.Value
	for i := range all {
		if len(drivers) == 0 || drivers[all[i].Binding.Driver] {
			ports = append(ports, hostPort(&all[i]))
		}
	}
	return httpapi.JSONText(func(j *httpapi.JSON) { j.Value(pyjson.NewArray(ports...)) })
}

// hostPort is what an agent has to know of a port. Its status is in it so that the agent
// says again what did not arrive.
func hostPort(p *network.Port) pyjson.Value {
	var profile struct {
		PCISlot    string `json:"pci_slot"`
		Allocation guarantee.ProfileAllocation
	}
	_ = json.Unmarshal(p.Binding.Profile, &profile) // of another form: without both
	segment := segmentOf(p)
	return object(
		"id", string(p.ID), "network_id", string(p.Network.ID), "mac_address", p.MAC, "admin_state_up", p.AdminStateUp, "status", p.Status,
		"device_id", p.DeviceID, "device_owner", p.DeviceOwner,
		"driver", p.Binding.Driver, "vif_type", p.Binding.VIF, "vnic_type", p.Binding.VNIC,
		"pci_slot", orNone(profile.PCISlot), "providers", array(profile.Allocation.Providers(), func(u guarantee.UUID) pyjson.Value { return valueOf(u.String()) }),
		"network_type", orNone(segment.Type), "physical_network", orNone(segment.PhysicalNetwork), "segmentation_id", numberOrNone(segment.SegmentationID),
		"rules", array(p.Rules, hostRule),
	)
}

// segmentOf is the segment that a port is bound to, a zero one for none.
func segmentOf(p *network.Port) network.SegmentRow {
	for _, s := range p.Network.Segments {
		if s.ID == p.Binding.Segment {
			return s
		}
	}
	return network.SegmentRow{SegmentationID: -1}
}

// hostRule is a rule with its type, and the attributes that it has in its policy.
func hostRule(r network.RuleRow) pyjson.Value {
	shown := []any{"type", string(r.Type)}
	for _, attr := range kindOf(r.Type).table {
		if attr.name != "id" {
			shown = append(shown, attr.name, attr.show(&rule{RuleRow: r}))
		}
	}
	return object(shown...)
}

// wireHostPorts notes which ports an agent has found plugged in on its host, and which
// it finds no more.
func (a *API) wireHostPorts(w http.ResponseWriter, r *http.Request) error {
	ctx := r.Context()
	if err := cmp.Or(a.allow(ctx, "report_agent_state", target{}), httpapi.CheckHost(ctx, httpapi.Param(r, "host"))); err != nil {
		return err
	}
	v, err := readObject(r, "ports")
	if err != nil {
		return err
	}
	said := part(v, "ports")
	if said.Kind() != pyjson.Object {
		return badRequest("Unable to find 'ports' in request body")
	}
	var up, down []network.ID
	for _, m := range said.Members() {
		switch m.Value.Str() {
		case network.PortActive:
			up = append(up, network.ID(m.Key))
		case network.PortDown:
			down = append(down, network.ID(m.Key))
		default:
			return badRequest("Port %s: want ACTIVE or DOWN, not '%s'", m.Key, pyjson.Str(m.Value))
		}
	}
	host := httpapi.Param(r, "host")
	for _, one := range []struct {
		ids []network.ID
		up  bool
	}{{up, true}, {down, false}} {
		if len(one.ids) == 0 {
			continue
		}
		if err := a.Network.Wired(ctx, host, one.ids, one.up); err != nil {
			return err
		}
	}
	w.WriteHeader(http.StatusNoContent)
	return nil
}
