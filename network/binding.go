package network

import (
	"encoding/json"
	"slices"
	"strconv"

	"github.com/berthcloud/berth/network/guarantee"
)

// The types of VNICs that are bound in a way of their own.
const (
	vnicDirect         = "direct"
	vnicDirectPhysical = "direct-physical"
)

// A plug is how a port is plugged in on a host.
type plug struct {
	driver  string
	segment ID
	vif     string
	details map[string]any
	active  bool // at once, rather than when the agent says so
}

// bind plugs a port in on the host that its active binding names. The first driver
// that can does so; but when compute says which providers serve the port, only the
// one that these providers belong to. It returns errors of the store only: a port
// that cannot be bound says so in its VIF type.
func (c *change) bind(p *Port) error {
	row := p.Binding
	if row.Host == "" {
		return nil
	}
	agents, err := c.agentsOn(row.Host)
	if err != nil {
		return err
	}
	found, ok := c.plugIn(p, agents)
	if !ok {
		found = plug{vif: VIFFailed, details: map[string]any{}}
	}
	row.VIF, row.Driver, row.Segment = found.vif, found.driver, found.segment
	if row.Details, err = json.Marshal(found.details); err != nil {
		return err
	}
	p.Binding, p.Status = row, PortDown
	if found.active {
		p.Status = PortActive
	}
	return c.Replace(&row)
}

// plugIn looks for a driver and a segment.
func (c *change) plugIn(p *Port, agents []AgentRow) (plug, bool) {
	drivers := c.settings.Drivers
	allocation, err := p.allocation()
	if err != nil {
		return plug{}, false
	}
	if !allocation.Empty() {
		name, err := guarantee.Responsible(allocation, c.states(agents))
		if err != nil {
			return plug{}, false
		}
		drivers = slices.DeleteFunc(slices.Clone(drivers), func(d guarantee.Driver) bool { return d.Name != name })
	}
	for _, d := range drivers {
		if !slices.Contains(d.VNICTypes, p.Binding.VNIC) || !p.suits(d) {
			continue
		}
		if found, ok := c.plugWith(d, p, agents); ok {
			return found, true
		}
	}
	return plug{}, false
}

// suits tells OVS and SR-IOV apart for NICs that both can hand out: those in
// switchdev mode are of OVS.
func (p *Port) suits(d guarantee.Driver) bool {
	if p.Binding.VNIC != vnicDirect {
		return true
	}
	var profile struct{ Capabilities []string }
	_ = json.Unmarshal(p.Binding.Profile, &profile) // of another form: without capabilities
	switchdev := slices.Contains(profile.Capabilities, "switchdev")
	return switchdev == (d.Name != guarantee.SRIOV.Name)
}

// plugWith looks for an agent of a driver that reaches a segment of the network.
func (c *change) plugWith(d guarantee.Driver, p *Port, agents []AgentRow) (plug, bool) {
	if d.Name == guarantee.SRIOV.Name && p.Binding.VNIC == vnicDirectPhysical {
		// No agent has a hand in it.
		return c.plugSRIOV(p, func(SegmentRow) bool { return true })
	}
	for _, a := range agents {
		if a.Type != d.AgentType || !c.alive(a) {
			continue
		}
		reach := newReach(a)
		if d.Name == guarantee.SRIOV.Name {
			if found, ok := c.plugSRIOV(p, reach.segment); ok {
				return found, true
			}
			continue
		}
		for _, s := range p.Network.Segments {
			if reach.segment(s) {
				return plug{driver: d.Name, segment: s.ID, vif: "ovs", details: reach.details()}, true
			}
		}
	}
	return plug{}, false
}

// plugSRIOV plugs a port into a NIC, which only VLANs and flat networks reach.
func (c *change) plugSRIOV(p *Port, reaches func(SegmentRow) bool) (plug, bool) {
	for _, s := range p.Network.Segments {
		if s.Type != VLAN && s.Type != Flat || !reaches(s) {
			continue
		}
		vif, whole := "hw_veb", p.Binding.VNIC == vnicDirectPhysical
		if whole {
			vif = "hostdev_physical"
		}
		return plug{
			driver: guarantee.SRIOV.Name, segment: s.ID, vif: vif, active: whole,
			details: map[string]any{
				"port_filter": false, "connectivity": "l2", "vlan": strconv.Itoa(max(s.SegmentationID, 0)),
			},
		}, true
	}
	return plug{}, false
}

// allocation returns which providers serve the port.
func (p *Port) allocation() (guarantee.ProfileAllocation, error) {
	var profile struct{ Allocation guarantee.ProfileAllocation }
	err := json.Unmarshal(p.Binding.Profile, &profile)
	return profile.Allocation, err
}

// A reach is what an agent is connected to.
type reach struct {
	guarantee.Report
	tunnels    []string
	bridge     string
	datapath   string
	hybridPlug *bool
}

func newReach(a AgentRow) reach {
	var more struct {
		TunnelTypes []string `json:"tunnel_types"`
		Bridge      string   `json:"integration_bridge"`
		Datapath    string   `json:"datapath_type"`
		HybridPlug  *bool    `json:"ovs_hybrid_plug"` // older agents do not say
	}
	_ = json.Unmarshal(a.Configurations, &more) // what it does not say it does not have
	report, _ := guarantee.ParseReport(a.Configurations)
	return reach{report, more.TunnelTypes, more.Bridge, more.Datapath, more.HybridPlug}
}

// segment reports whether the agent is connected to a segment.
func (r reach) segment(s SegmentRow) bool {
	switch s.Type {
	case Local:
		return true
	case VLAN, Flat:
		_, bridge := r.BridgeMappings[s.PhysicalNetwork]
		_, device := r.DeviceMappings[s.PhysicalNetwork]
		return bridge || device
	}
	return slices.Contains(r.tunnels, s.Type)
}

// details are binding:vif_details of a port on a virtual switch.
func (r reach) details() map[string]any {
	details := map[string]any{
		"connectivity": "l2", "port_filter": true, "ovs_hybrid_plug": r.hybridPlug, "datapath_type": "system",
	}
	if r.datapath != "" {
		details["datapath_type"] = r.datapath
	}
	if r.bridge != "" {
		details["bridge_name"] = r.bridge
	}
	return details
}

// states are what placement should have of the agents of a host.
func (c *change) states(agents []AgentRow) []guarantee.State {
	var all []guarantee.State
	for _, a := range agents {
		if state, ok := c.State(a); ok {
			all = append(all, state)
		}
	}
	return all
}
