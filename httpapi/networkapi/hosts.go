package networkapi

import (
	"cmp"
	"context"
	"encoding/json"
	"net/http"
	"slices"
	"time"

	"github.com/berthcloud/berth/guarantee"
	"github.com/berthcloud/berth/httpapi"
	"github.com/berthcloud/berth/httpapi/pyjson"
	"github.com/berthcloud/berth/httpapi/resource"
	"github.com/berthcloud/berth/network"
	"github.com/berthcloud/berth/network/portlist"
)

// hostRoutes are the routes by which agents read the ports that are bound to their host and report
// which are plugged in, and by which compute reads why one is not bound and settles allocations.
// They are Berth's own (decision 20).
func (a *API) hostRoutes() []httpapi.Route {
	const path = "/berth/v1/hosts/{host}/ports"
	return []httpapi.Route{
		{Method: http.MethodGet, Pattern: path, Handle: a.hostPorts},
		{Method: http.MethodPost, Pattern: path, Handle: a.wireHostPorts},
		{Method: http.MethodGet, Pattern: "/berth/v1/ports/{id}/binding", Handle: a.getPortBinding},
		{Method: http.MethodPost, Pattern: "/berth/v1/servers/{server}/settle", Handle: a.settle},
	}
}

// settle completes what is under way with the allocations of a server, for compute, which is about
// to replace them.
func (a *API) settle(w http.ResponseWriter, r *http.Request) error {
	err := a.access().Allow(r.Context(), "update_port:binding:profile", resource.Target{})
	if err == nil {
		err = a.Network.Settle(r.Context(), httpapi.Param(r, "server"))
	}
	if err == nil {
		w.WriteHeader(http.StatusNoContent)
	}
	return err
}

// getPortBinding returns why a port could not be bound to the host that it should be on, or to the
// one in the query, to callers who may see the details of its binding. Neutron has that in its log
// only, so its attributes have no place for it.
func (a *API) getPortBinding(w http.ResponseWriter, r *http.Request) error {
	ctx, res := r.Context(), a.ports()
	p, err := res.Visible(r)
	if err != nil {
		return err
	}
	if err := a.access().Allow(ctx, "get_port:binding:vif_details", res.Target(&p)); err != nil {
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
		j.Value(pyjson.NewObject(pyjson.M("host", host), pyjson.M("vif_type", resource.TextOrNull(vif)),
			pyjson.M("reason", resource.TextOrNull(reason))))
	})
}

// hostPorts answers with the ports of a host, as soon as their revision is not the
// one that the agent has, or after the requested wait.
func (a *API) hostPorts(w http.ResponseWriter, r *http.Request) error {
	ctx, host := r.Context(), httpapi.Param(r, "host")
	err := cmp.Or(a.access().Allow(ctx, "report_agent_state", resource.Target{}), httpapi.CheckHost(ctx, host))
	if err != nil {
		return err
	}
	drivers := r.URL.Query()["driver"]
	return a.HostPoll.Serve(w, r, "ports", func(
		ctx context.Context, known string, wait time.Duration, revision func([]byte) string,
	) error {
		var text []byte
		var failed error
		_, err := a.Network.AwaitHostPorts(ctx, host, wait, func(all []network.Port) bool {
			text, failed = hostPortList(all, drivers)
			return revision(text) != known
		})
		return cmp.Or(err, failed)
	})
}

// hostPortList is the list of the ports that one of the drivers has bound; without drivers, of all.
func hostPortList(all []network.Port, drivers []string) ([]byte, error) {
	ports := []portlist.Port{}
	for i := range all {
		if len(drivers) == 0 || slices.Contains(drivers, all[i].Binding.Driver) {
			ports = append(ports, listed(&all[i]))
		}
	}
	return json.Marshal(ports)
}

// listed returns a port as agents know it.
func listed(p *network.Port) portlist.Port {
	var profile struct {
		PCISlot    string `json:"pci_slot"`
		Allocation guarantee.ProfileAllocation
	}
	_ = json.Unmarshal(p.Binding.Profile, &profile) // one in another form has neither
	segment := segmentOf(p)
	l := portlist.Port{
		ID: string(p.ID), Network: string(p.Network.ID), MAC: p.MAC, AdminStateUp: p.AdminStateUp, Status: p.Status,
		Device: p.DeviceID, DeviceOwner: p.DeviceOwner, Driver: p.Binding.Driver, VIF: p.Binding.VIF, VNIC: p.Binding.VNIC,
		PCISlot: profile.PCISlot, NetworkType: segment.Type, PhysicalNetwork: segment.PhysicalNetwork,
	}
	if segment.SegmentationID >= 0 {
		l.SegmentationID = &segment.SegmentationID
	}
	for _, provider := range profile.Allocation.Providers() {
		l.Providers = append(l.Providers, provider.String())
	}
	for _, r := range p.Rules {
		l.Rules = append(l.Rules, portlist.Rule{Type: string(r.Type), Direction: r.Direction, Rate: r.Rate, Burst: r.Burst})
	}
	return l
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

// wireHostPorts records which ports an agent has plugged in on its host, and which it has not.
func (a *API) wireHostPorts(w http.ResponseWriter, r *http.Request) error {
	ctx, host := r.Context(), httpapi.Param(r, "host")
	err := cmp.Or(a.access().Allow(ctx, "report_agent_state", resource.Target{}), httpapi.CheckHost(ctx, host))
	if err != nil {
		return err
	}
	v, err := resource.ReadObject(r)
	if err != nil {
		return err
	}
	states := resource.Member(v, "ports")
	if states.Kind() != pyjson.Object {
		return resource.BadRequest("Unable to find 'ports' in request body")
	}
	var up, down []network.ID
	for _, m := range states.Members() {
		switch m.Value.Str() {
		case portlist.Active:
			up = append(up, network.ID(m.Key))
		case portlist.Down:
			down = append(down, network.ID(m.Key))
		default:
			return resource.BadRequest("Port %s: want ACTIVE or DOWN, not '%s'", m.Key, pyjson.Str(m.Value))
		}
	}
	for _, report := range []struct {
		ids []network.ID
		up  bool
	}{{up, true}, {down, false}} {
		if len(report.ids) == 0 {
			continue
		}
		if err := a.Network.SetPortsUp(ctx, host, report.ids, report.up); err != nil {
			return err
		}
	}
	w.WriteHeader(http.StatusNoContent)
	return nil
}
