package network

import (
	"cmp"
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

// bind plugs a port in on the host that its active binding names, and reports whether
// that was tried: it is not without a host, nor on a network without segments. The
// first driver that can does so; but when compute says which providers serve the port,
// only the one that these providers belong to. It returns errors of the store only: a
// port that cannot be bound says so in its VIF type. The row of the port is left to
// the caller.
func (c *change) bind(p *Port) (tried bool, err error) {
	row := p.Binding
	if row.Host == "" || len(p.Network.Segments) == 0 {
		return false, nil
	}
	agents, err := c.agentsOn(row.Host)
	if err != nil {
		return false, err
	}
	found, ok := c.plugIn(p, agents)
	if !ok {
		found = plug{vif: VIFFailed, details: map[string]any{}}
	}
	row.VIF, row.Driver, row.Segment = found.vif, found.driver, found.segment
	if row.Details, err = json.Marshal(found.details); err != nil {
		return false, err
	}
	p.Binding, p.Status = row, PortDown
	if found.active {
		p.Status = PortActive
	}
	if row.Active && row.VNIC == vnicDirectPhysical {
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

// plugIn looks for a driver and a segment.
func (c *change) plugIn(p *Port, agents []AgentRow) (plug, bool) {
	drivers, there := c.settings.Drivers, *p
	allocation, err := p.allocation()
	if err != nil {
		return plug{}, false
	}
	if !allocation.Empty() {
		states := c.states(agents)
		name, err := guarantee.Responsible(allocation, states)
		if err != nil {
			return plug{}, false
		}
		there.Network.Segments = servedBy(p.Network.Segments, allocation.Providers(), states)
		drivers = slices.DeleteFunc(slices.Clone(drivers), func(d guarantee.Driver) bool { return d.Name != name })
	}
	for _, d := range drivers {
		if !slices.Contains(d.VNICTypes, p.Binding.VNIC) || !p.suits(d) {
			continue
		}
		if found, ok := c.plugWith(d, &there, agents); ok {
			return found, true
		}
	}
	return plug{}, false
}

// servedBy leaves the segments that the devices among some providers are on: a port's
// bandwidth is where it was allocated. Without a device all stay.
func servedBy(all []SegmentRow, providers []guarantee.UUID, states []guarantee.State) []SegmentRow {
	traits, device := map[string]bool{}, false
	for _, state := range states {
		for _, id := range providers {
			if p, ok := state.Provider(id); ok && p.Device != "" {
				device = true
				for _, t := range p.Traits {
					traits[t] = true
				}
			}
		}
	}
	return slices.DeleteFunc(slices.Clone(all), func(s SegmentRow) bool {
		trait := guarantee.TunnelTrait
		if s.PhysicalNetwork != "" {
			trait = guarantee.PhysicalNetworkTrait(s.PhysicalNetwork)
		}
		return device && !traits[trait]
	})
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
				vif, details := c.onSwitch(p, reach)
				return plug{driver: d.Name, segment: s.ID, vif: vif, details: p.onBridge(d, details)}, true
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

// allocation returns which providers serve the port. What is no allocation keeps a port
// from being bound, unless it is nothing in some form.
func (p *Port) allocation() (a guarantee.ProfileAllocation, err error) {
	var profile struct{ Allocation json.RawMessage }
	if err := json.Unmarshal(p.Binding.Profile, &profile); err != nil {
		return a, err
	}
	switch string(profile.Allocation) {
	case "", "null", "{}", "[]", `""`, "0", "false":
		return a, nil
	}
	err = json.Unmarshal(profile.Allocation, &a)
	return a, err
}

// A reach is what an agent is connected to.
type reach struct {
	guarantee.Report
	ovn        bool
	tunnels    []string
	bridge     string
	hybridPlug *bool
	datapath
}

// A datapath is what a virtual switch forwards packets with.
type datapath struct {
	kind       string // "system": the kernel's; "netdev": that of DPDK; "" when the agent does not say
	interfaces []string
	sockets    *string // the directory of its sockets; nil when the agent does not say
}

func newReach(a AgentRow) reach {
	var more struct {
		TunnelTypes  []string `json:"tunnel_types"`
		Bridge       string   `json:"integration_bridge"`
		Datapath     string   `json:"datapath_type"`
		HybridPlug   *bool    `json:"ovs_hybrid_plug"` // older agents do not say
		Sockets      *string  `json:"vhostuser_socket_dir"`
		Capabilities struct {
			Interfaces []string `json:"iface_types"`
		} `json:"ovs_capabilities"`
	}
	_ = json.Unmarshal(a.Configurations, &more) // what it does not say it does not have
	report, _ := guarantee.ParseReport(a.Configurations)
	return reach{
		Report: report, ovn: a.Type == guarantee.OVN.AgentType, tunnels: more.TunnelTypes, bridge: more.Bridge,
		hybridPlug: more.HybridPlug, datapath: datapath{more.Datapath, more.Capabilities.Interfaces, more.Sockets},
	}
}

// segment reports whether the agent is connected to a segment. OVN has its own tunnels
// between all chassis, of which agents say nothing.
func (r reach) segment(s SegmentRow) bool {
	switch s.Type {
	case Local:
		return true
	case VLAN, Flat:
		_, bridge := r.BridgeMappings[s.PhysicalNetwork]
		_, device := r.DeviceMappings[s.PhysicalNetwork]
		return bridge || device
	}
	return r.ovn || slices.Contains(r.tunnels, s.Type)
}

// states are what placement should have of the agents of a host, but for those that
// are turned off, which Neutron does not count as responsible for anything.
func (c *change) states(agents []AgentRow) []guarantee.State {
	var all []guarantee.State
	for _, a := range agents {
		if state, err := c.State(a); err == nil && a.AdminStateUp {
			all = append(all, state)
		}
	}
	return all
}
