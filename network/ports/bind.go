package ports

import (
	"cmp"
	"context"
	"crypto/rand"
	"encoding/json"
	"fmt"
	"slices"

	"github.com/berthcloud/berth/network"
	"github.com/berthcloud/berth/network/agents"
	"github.com/berthcloud/berth/network/binding"
)

// bindPort binds a port to the host that its active binding names, and reports whether it tried: it
// does not without a host or on a network without segments. The first driver that can bind the port
// does so. When compute names the providers that serve the port, only the driver that these
// providers belong to is tried. It returns errors of the store only: a port that cannot be bound
// has the VIF type binding_failed. The caller writes the row of the port.
func bindPort(tx *network.Tx, p *network.Port) (tried bool, err error) {
	row := p.Binding
	if row.Host == "" || len(p.Network.Segments) == 0 {
		return false, nil
	}
	agents, err := agents.On(tx, row.Host)
	if err != nil {
		return false, err
	}
	plug, err := attach(tx.Rules, p, agents)
	if err != nil {
		tx.Warn("a port cannot be bound", "port", p.ID, "host", row.Host, "network", p.Network.ID,
			"vnic_type", row.VNIC, "reason", err)
		plug = binding.Attachment{VIF: network.VIFFailed, Details: map[string]any{}}
	}
	row.VIF, row.Driver, row.Segment = plug.VIF, plug.Driver, network.ID(plug.Segment)
	if row.Details, err = json.Marshal(plug.Details); err != nil {
		return false, err
	}
	p.Binding, p.Status = row, network.PortDown
	if plug.Active {
		p.Status = network.PortActive
	}
	if row.Active && row.VNIC == binding.DirectPhysical {
		p.MAC = deviceMAC(tx, row)
	}
	return true, tx.Replace(&row)
}

// deviceMAC is the MAC address of a port that is a whole device: the device's, or
// another than the port had, which may have been of a device.
func deviceMAC(tx *network.Tx, row network.BindingRow) string {
	var profile struct {
		MAC string `json:"device_mac_address"`
	}
	_ = json.Unmarshal(row.Profile, &profile) // of another form: it has none
	return cmp.Or(profile.MAC, tx.Settings.MACBase+randomOctets())
}

// WhyUnbound returns why a port cannot be bound to a host, "" for the one that its active binding
// names: which agent or host lacks what. It is empty when the port is bound there, when there is
// nothing to bind, and when the port could be bound by what agents report at the time of the call.
// For a host that the port has no binding to, allocations are not checked. Faults: PortNotFound.
func (s *Service) WhyUnbound(ctx context.Context, port network.ID, host string) (reason string, err error) {
	err = s.db.View(ctx, func(r network.Reader) error {
		all, err := network.Ports(r, network.Where(network.ByID, port))
		if err != nil {
			return err
		}
		if len(all) == 0 {
			return network.NotFound("port", port)
		}
		p := all[0]
		if host != "" && host != p.Binding.Host {
			if slices.ContainsFunc(p.Inactive, func(b network.BindingRow) bool { return b.Host == host }) {
				return nil
			}
			p.Binding = network.BindingRow{
				Host: host, VNIC: p.Binding.VNIC, VIF: network.VIFFailed,
				Profile: network.JSONObject(nil),
			}
		}
		if p.Binding.VIF != network.VIFFailed {
			return nil
		}
		agents, err := agents.On(r, p.Binding.Host)
		if err != nil {
			return err
		}
		if _, why := attach(s.db.Rules, &p, agents); why != nil {
			reason = why.Error()
		}
		return nil
	})
	return reason, err
}

// attach returns how a port is plugged in on its host. Its error lists, for administrators, what
// each driver that could bind the port lacks there.
func attach(rules network.Rules, p *network.Port, agents []network.AgentRow) (binding.Attachment, error) {
	port := binding.Port{
		ID: string(p.ID), Host: p.Binding.Host, VNIC: p.Binding.VNIC, Profile: p.Binding.Profile,
		Segments: make([]binding.Segment, len(p.Network.Segments)),
	}
	if p.Trunk != nil {
		port.Trunk = string(p.Trunk.ID)
	}
	for i, s := range p.Network.Segments {
		port.Segments[i] = network.BindingSegment(s)
	}
	all := make([]binding.Agent, len(agents))
	for i, a := range agents {
		all[i] = rules.BindingAgent(a)
	}
	return binding.Settings{Drivers: rules.Settings.Drivers, OVNSockets: rules.Settings.OVNSockets}.Attach(port, all)
}

func randomOctets() string {
	var b [3]byte
	_, _ = rand.Read(b[:]) // it does not fail
	return fmt.Sprintf("%02x:%02x:%02x", b[0], b[1], b[2])
}
