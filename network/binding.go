package network

import (
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"maps"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/berthcloud/berth/guarantee"
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
	active  bool // at once, rather than when the agent reports the port
}

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
	found, err := c.plugIn(p, agents)
	if err != nil {
		c.warn("a port cannot be bound", "port", p.ID, "host", row.Host, "network", p.Network.ID, "vnic_type", row.VNIC, "reason", err)
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

// plugIn looks for a driver and a segment. Its error says, for administrators, what each driver
// that could bind the port lacks on its host.
func (rs *rules) plugIn(p *Port, agents []AgentRow) (plug, error) {
	drivers, there := rs.settings.Drivers, *p
	allocation, err := p.allocation()
	if err != nil {
		return plug{}, fmt.Errorf("the allocation in binding:profile is of an unknown form: %w", err)
	}
	if !allocation.Empty() {
		states := rs.states(agents)
		name, err := guarantee.Responsible(allocation, states)
		if err != nil {
			return plug{}, err
		}
		there.Network.Segments = servedBy(p.Network.Segments, allocation.Providers(), states)
		drivers = slices.DeleteFunc(slices.Clone(drivers), func(d guarantee.Driver) bool { return d.Name != name })
	}
	var reasons []string
	for _, d := range drivers {
		if !slices.Contains(d.VNICTypes, p.Binding.VNIC) {
			continue
		}
		err := p.suits(d)
		if err == nil {
			var found plug
			if found, err = rs.plugWith(d, &there, agents); err == nil {
				return found, nil
			}
		}
		reasons = append(reasons, "driver "+d.Name+": "+err.Error())
	}
	if len(reasons) == 0 {
		names := make([]string, len(drivers))
		for i, d := range drivers {
			names[i] = d.Name
		}
		reasons = []string{fmt.Sprintf("none of the drivers (%s) binds ports of VNIC type %s", strings.Join(names, ", "), p.Binding.VNIC)}
	}
	return plug{}, errors.New(strings.Join(reasons, "; "))
}

// servedBy returns the segments that the devices among some providers are on: bandwidth is
// allocated on a device, so the port must use its segment. All segments are returned when no device
// is among the providers.
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

// suits distinguishes OVS from SR-IOV for NICs that both can serve: OVS serves those in switchdev
// mode.
func (p *Port) suits(d guarantee.Driver) error {
	if p.Binding.VNIC != vnicDirect {
		return nil
	}
	var profile struct{ Capabilities []string }
	_ = json.Unmarshal(p.Binding.Profile, &profile) // of another form: without capabilities
	switch switchdev := slices.Contains(profile.Capabilities, "switchdev"); {
	case switchdev && d.Name == guarantee.SRIOV.Name:
		return errors.New("the port asks for a NIC in switchdev mode, which the driver does not serve")
	case !switchdev && d.Name != guarantee.SRIOV.Name:
		return errors.New("it binds direct ports with the capability switchdev only")
	}
	return nil
}

// plugWith looks for an agent of a driver that reaches a segment of the network.
func (rs *rules) plugWith(d guarantee.Driver, p *Port, agents []AgentRow) (plug, error) {
	if d.Name == guarantee.SRIOV.Name && p.Binding.VNIC == vnicDirectPhysical {
		// No agent has a hand in it.
		if found, ok := rs.plugSRIOV(p, func(SegmentRow) bool { return true }); ok {
			return found, nil
		}
		return plug{}, fmt.Errorf("the network is %s, and NICs reach vlan and flat networks only", segmentsText(p.Network.Segments))
	}
	err := fmt.Errorf("host %s has no %s", p.Binding.Host, d.AgentType)
	for _, a := range agents {
		if a.Type != d.AgentType {
			continue
		}
		if !rs.alive(a) {
			err = fmt.Errorf("the %s of host %s has not reported since %s", a.Type, a.Host, a.HeartbeatAt.UTC().Format(time.RFC3339))
			continue
		}
		reach := newReach(a)
		if d.Name == guarantee.SRIOV.Name {
			if found, ok := rs.plugSRIOV(p, reach.segment); ok {
				return found, nil
			}
		} else {
			for _, segment := range p.Network.Segments {
				if reach.segment(segment) {
					vif, details := rs.onSwitch(p, reach)
					return plug{driver: d.Name, segment: segment.ID, vif: vif, details: p.onBridge(d, details)}, nil
				}
			}
		}
		err = fmt.Errorf("the network is %s, and the %s of host %s reaches %s", segmentsText(p.Network.Segments), a.Type, a.Host, reach)
	}
	return plug{}, err
}

// segmentsText names the types of segments, with their physical networks.
func segmentsText(all []SegmentRow) string {
	if len(all) == 0 {
		return "on no segment of the devices that serve the port"
	}
	names := make([]string, len(all))
	for i, s := range all {
		if names[i] = s.Type; s.PhysicalNetwork != "" {
			names[i] += " on " + s.PhysicalNetwork
		}
	}
	return strings.Join(slices.Compact(names), ", ")
}

// plugSRIOV plugs a port into a NIC, which only VLANs and flat networks reach.
func (rs *rules) plugSRIOV(p *Port, reaches func(SegmentRow) bool) (plug, bool) {
	for _, segment := range p.Network.Segments {
		if segment.Type != VLAN && segment.Type != Flat || !reaches(segment) {
			continue
		}
		vif, whole := "hw_veb", p.Binding.VNIC == vnicDirectPhysical
		if whole {
			vif = "hostdev_physical"
		}
		return plug{
			driver: guarantee.SRIOV.Name, segment: segment.ID, vif: vif, active: whole,
			details: map[string]any{
				"port_filter": false, "connectivity": "l2", "vlan": strconv.Itoa(max(segment.SegmentationID, 0)),
			},
		}, true
	}
	return plug{}, false
}

// allocation returns which providers serve the port.
func (p *Port) allocation() (guarantee.ProfileAllocation, error) { return p.Binding.allocation() }

// allocation returns which providers serve the port there. What is no allocation keeps a port
// from being bound, unless it is nothing in some form.
func (b *BindingRow) allocation() (a guarantee.ProfileAllocation, err error) {
	var profile struct{ Allocation json.RawMessage }
	if err := json.Unmarshal(b.Profile, &profile); err != nil {
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
	_ = json.Unmarshal(a.Configurations, &more)          // what it does not say it does not have
	report, _ := guarantee.ParseReport(a.Configurations) // one that is wrong reaches nothing
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

// String says what the agent reports that it is connected to.
func (r reach) String() string {
	physical := slices.Sorted(maps.Keys(r.BridgeMappings))
	physical = append(physical, slices.Sorted(maps.Keys(r.DeviceMappings))...)
	return fmt.Sprintf("the physical networks [%s] and tunnels of the types [%s]", strings.Join(physical, ", "), strings.Join(r.tunnels, ", "))
}

// states returns the desired providers of the agents of a host, without disabled agents: Neutron
// does not count those as responsible for anything.
func (rs *rules) states(agents []AgentRow) []guarantee.State {
	var all []guarantee.State
	for _, a := range agents {
		if state, err := rs.State(a); err == nil && a.AdminStateUp {
			all = append(all, state)
		}
	}
	return all
}
