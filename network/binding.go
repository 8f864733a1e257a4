package network

import (
	"cmp"
	"context"
	"encoding/json"
	"slices"

	"github.com/berthcloud/berth/guarantee"
	"github.com/berthcloud/berth/network/binding"
)

// bind binds a port to the host that its active binding names, and reports whether it tried: it
// does not without a host or on a network without segments. The first driver that can bind the port
// does so. When compute names the providers that serve the port, only the driver that these
// providers belong to is tried. It returns errors of the store only: a port that cannot be bound
// has the VIF type binding_failed. The caller writes the row of the port.
func (c *change) bind(p *Port) (tried bool, err error) {
	row := p.Binding
	if row.Host == "" || len(p.Network.Segments) == 0 {
		return false, nil
	}
	agents, err := c.agentsOn(row.Host)
	if err != nil {
		return false, err
	}
	plug, err := c.plugIn(p, agents)
	if err != nil {
		c.warn("a port cannot be bound", "port", p.ID, "host", row.Host, "network", p.Network.ID, "vnic_type", row.VNIC, "reason", err)
		plug = binding.Plug{VIF: VIFFailed, Details: map[string]any{}}
	}
	row.VIF, row.Driver, row.Segment = plug.VIF, plug.Driver, ID(plug.Segment)
	if row.Details, err = json.Marshal(plug.Details); err != nil {
		return false, err
	}
	p.Binding, p.Status = row, PortDown
	if plug.Active {
		p.Status = PortActive
	}
	if row.Active && row.VNIC == binding.DirectPhysical {
		p.MAC = c.deviceMAC(row)
	}
	return true, c.Replace(&row)
}

// deviceMAC is the MAC address of a port that is a whole device: the device's, or
// another than the port had, which may have been of a device.
func (c *change) deviceMAC(row BindingRow) string {
	var profile struct {
		MAC string `json:"device_mac_address"`
	}
	_ = json.Unmarshal(row.Profile, &profile) // of another form: it does not say
	return cmp.Or(profile.MAC, c.settings.MACBase+randomOctets())
}

// WhyUnbound returns why a port cannot be bound to a host, "" for the one that its active binding
// names: which agent or host lacks what. It is empty when the port is bound there, when there is nothing
// to bind, and when the port could be bound by what agents report at the time of the call. For a host
// that the port has no binding to, allocations are not looked at. Faults: PortNotFound.
func (s *Service) WhyUnbound(ctx context.Context, port ID, host string) (reason string, err error) {
	err = s.store.View(ctx, func(r Reader) error {
		all, err := ports(r, Where(ByID, port))
		if err != nil {
			return err
		}
		if len(all) == 0 {
			return NotFound("port", port)
		}
		p := all[0]
		if host != "" && host != p.Binding.Host {
			if slices.ContainsFunc(p.Inactive, func(b BindingRow) bool { return b.Host == host }) {
				return nil
			}
			p.Binding = BindingRow{Host: host, VNIC: p.Binding.VNIC, VIF: VIFFailed, Profile: orEmpty(nil)}
		}
		if p.Binding.VIF != VIFFailed {
			return nil
		}
		agents, err := Rows[AgentRow](r, Where(ByHost, p.Binding.Host))
		if err != nil {
			return err
		}
		if _, why := s.plugIn(&p, agents); why != nil {
			reason = why.Error()
		}
		return nil
	})
	return reason, err
}

// plugIn returns how a port is plugged in on its host. Its error says, for administrators, what each
// driver that could bind the port lacks there.
func (rs *rules) plugIn(p *Port, agents []AgentRow) (binding.Plug, error) {
	port := binding.Port{
		ID: string(p.ID), Host: p.Binding.Host, VNIC: p.Binding.VNIC, Profile: p.Binding.Profile,
		Segments: make([]binding.Segment, len(p.Network.Segments)),
	}
	if p.Trunk != nil {
		port.Trunk = string(p.Trunk.ID)
	}
	for i, s := range p.Network.Segments {
		port.Segments[i] = segmentToBind(s)
	}
	all := make([]binding.Agent, len(agents))
	for i, a := range agents {
		all[i] = rs.agentToBind(a)
	}
	return binding.Settings{Drivers: rs.settings.Drivers, OVNSockets: rs.settings.OVNSockets}.Plug(port, all)
}

func segmentToBind(s SegmentRow) binding.Segment {
	return binding.Segment{ID: string(s.ID), Type: s.Type, PhysicalNetwork: s.PhysicalNetwork, Number: s.SegmentationID}
}

func (rs *rules) agentToBind(a AgentRow) binding.Agent {
	return binding.Agent{
		Type: a.Type, Host: a.Host, Configurations: a.Configurations,
		AdminStateUp: a.AdminStateUp, Alive: rs.alive(a), HeartbeatAt: a.HeartbeatAt,
	}
}

// allocation returns which providers serve the port.
func (p *Port) allocation() (guarantee.ProfileAllocation, error) { return p.Binding.allocation() }

// allocation returns which providers serve the port there.
func (b *BindingRow) allocation() (guarantee.ProfileAllocation, error) {
	return binding.Allocation(b.Profile)
}
