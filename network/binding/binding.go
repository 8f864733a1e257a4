// Package binding decides how a port is plugged in on a host: which driver binds it, to which
// segment of its network, and with which VIF type and details. It is a function of the port, what
// the agents of the host report, and the settings; it reads no rows and writes none.
package binding

import (
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

// Settings are what an operator decides about bindings.
type Settings struct {
	Drivers []guarantee.Driver // in order of preference
	// OVNSockets is the directory of the sockets of servers that share memory with OVN's switches.
	OVNSockets string
}

// A Port is a port that is to be plugged in.
type Port struct {
	ID       string
	Host     string
	VNIC     string // binding:vnic_type
	Profile  []byte // binding:profile, a JSON object
	Segments []Segment
	Trunk    string // that it is the parent of, "" for none
}

// A Segment is a segment of a network.
type Segment struct {
	ID, Type        string
	PhysicalNetwork string // "" for tunnels and local ones
	Number          int    // VLAN or tunnel number, -1 for none
}

// The types of segments that are reached in a way of their own; all others are tunnels.
const (
	local = "local"
	flat  = "flat"
	vlan  = "vlan"
)

// An Agent is an agent of a host.
type Agent struct {
	Type, Host     string
	Configurations []byte // a JSON object, as it last reported
	AdminStateUp   bool
	Alive          bool
	HeartbeatAt    time.Time
}

// An Attachment is how a port is plugged in on a host.
type Attachment struct {
	Driver  string
	Segment string // id
	VIF     string // binding:vif_type
	Details map[string]any
	Active  bool // at once, rather than when the agent reports the port
}

// The types of VNICs that are bound in a way of their own.
const (
	direct = "direct"
	// DirectPhysical ports are whole devices.
	DirectPhysical = "direct-physical"
)

// bridgeName is how long the name of a bridge may be.
const bridgeName = 14

// StateOf returns what placement should have of an agent, from what it last reported: nothing,
// without the name of a driver, when no driver belongs to it. The error is a *guarantee.ReportError
// of a report that makes no sense.
func StateOf(drivers []guarantee.Driver, agentType, host string, configurations []byte) (guarantee.State, error) {
	for _, d := range drivers {
		if d.AgentType != agentType {
			continue
		}
		report, err := guarantee.ParseReport(configurations)
		if err != nil {
			return guarantee.State{Driver: d.Name}, err
		}
		return d.State(host, report), nil
	}
	return guarantee.State{}, nil
}

// Attach returns how a port is plugged in on its host: by the first driver that can bind it, to the
// first segment of its network that an agent of the driver reaches. When the port has an
// allocation, only the driver that its providers belong to is tried, on their segment. The error
// says, for administrators, what each driver that could bind the port lacks on the host.
func (s Settings) Attach(p Port, agents []Agent) (Attachment, error) {
	drivers := s.Drivers
	allocation, err := Allocation(p.Profile)
	if err != nil {
		return Attachment{}, fmt.Errorf("the allocation in binding:profile is of an unknown form: %w", err)
	}
	if !allocation.Empty() {
		// Disabled agents are responsible for nothing, as in Neutron.
		var states []guarantee.State
		for _, a := range agents {
			if state, err := StateOf(s.Drivers, a.Type, a.Host, a.Configurations); err == nil && a.AdminStateUp {
				states = append(states, state)
			}
		}
		name, err := guarantee.Responsible(allocation, states)
		if err != nil {
			return Attachment{}, err
		}
		p.Segments = servedBy(p.Segments, allocation.Providers(), states)
		drivers = slices.DeleteFunc(slices.Clone(drivers), func(d guarantee.Driver) bool { return d.Name != name })
	}
	var reasons []string
	for _, d := range drivers {
		if !slices.Contains(d.VNICTypes, p.VNIC) {
			continue
		}
		err := p.checkCapabilities(d)
		if err == nil {
			var plug Attachment
			if plug, err = s.plugWith(d, p, agents); err == nil {
				return plug, nil
			}
		}
		reasons = append(reasons, "driver "+d.Name+": "+err.Error())
	}
	if len(reasons) == 0 {
		names := make([]string, len(drivers))
		for i, d := range drivers {
			names[i] = d.Name
		}
		reasons = []string{
			fmt.Sprintf("none of the drivers (%s) binds ports of VNIC type %s", strings.Join(names, ", "), p.VNIC),
		}
	}
	return Attachment{}, errors.New(strings.Join(reasons, "; "))
}

// servedBy returns the segments that the devices among some providers are on: bandwidth is
// allocated on a device, so the port must use its segment. All segments are returned when no device
// is among the providers.
func servedBy(all []Segment, providers []guarantee.UUID, states []guarantee.State) []Segment {
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
	return slices.DeleteFunc(slices.Clone(all), func(s Segment) bool {
		trait := guarantee.TunnelTrait
		if s.PhysicalNetwork != "" {
			trait = guarantee.PhysicalNetworkTrait(s.PhysicalNetwork)
		}
		return device && !traits[trait]
	})
}

// checkCapabilities distinguishes OVS from SR-IOV for NICs that both can serve: OVS serves those in
// switchdev mode.
func (p Port) checkCapabilities(d guarantee.Driver) error {
	if p.VNIC != direct {
		return nil
	}
	var profile struct{ Capabilities []string }
	_ = json.Unmarshal(p.Profile, &profile) // of another form: without capabilities
	switch switchdev := slices.Contains(profile.Capabilities, "switchdev"); {
	case switchdev && d.Name == guarantee.SRIOV.Name:
		return errors.New("the port needs a NIC in switchdev mode, which the driver does not serve")
	case !switchdev && d.Name != guarantee.SRIOV.Name:
		return errors.New("it binds direct ports with the capability switchdev only")
	}
	return nil
}

// plugWith looks for an agent of a driver that reaches a segment of the network.
func (s Settings) plugWith(d guarantee.Driver, p Port, agents []Agent) (Attachment, error) {
	if d.Name == guarantee.SRIOV.Name && p.VNIC == DirectPhysical {
		// No agent takes part.
		if plug, ok := plugSRIOV(p, func(Segment) bool { return true }); ok {
			return plug, nil
		}
		return Attachment{}, fmt.Errorf("the network is %s, and NICs reach vlan and flat networks only",
			segmentsText(p.Segments))
	}
	err := fmt.Errorf("host %s has no %s", p.Host, d.AgentType)
	for _, a := range agents {
		if a.Type != d.AgentType {
			continue
		}
		if !a.Alive {
			err = fmt.Errorf("the %s of host %s has not reported since %s", a.Type, a.Host,
				a.HeartbeatAt.UTC().Format(time.RFC3339))
			continue
		}
		connected := ConnectivityOf(a)
		if d.Name == guarantee.SRIOV.Name {
			if plug, ok := plugSRIOV(p, connected.Segment); ok {
				return plug, nil
			}
		} else {
			for _, segment := range p.Segments {
				if connected.Segment(segment) {
					vif, details := s.onSwitch(p, connected)
					if p.Trunk != "" && d.Name == guarantee.OpenVSwitch.Name {
						// The parent of a trunk is plugged into a bridge of the trunk's own.
						details["bridge_name"] = ("tbr-" + p.Trunk)[:bridgeName]
					}
					return Attachment{Driver: d.Name, Segment: segment.ID, VIF: vif, Details: details}, nil
				}
			}
		}
		err = fmt.Errorf("the network is %s, and the %s of host %s reaches %s", segmentsText(p.Segments), a.Type,
			a.Host, connected)
	}
	return Attachment{}, err
}

// segmentsText names the types of segments, with their physical networks.
func segmentsText(all []Segment) string {
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
func plugSRIOV(p Port, reaches func(Segment) bool) (Attachment, bool) {
	for _, segment := range p.Segments {
		if segment.Type != vlan && segment.Type != flat || !reaches(segment) {
			continue
		}
		vif, whole := "hw_veb", p.VNIC == DirectPhysical
		if whole {
			vif = "hostdev_physical"
		}
		return Attachment{
			Driver: guarantee.SRIOV.Name, Segment: segment.ID, VIF: vif, Active: whole,
			Details: map[string]any{
				"port_filter": false, "connectivity": "l2", "vlan": strconv.Itoa(max(segment.Number, 0)),
			},
		}, true
	}
	return Attachment{}, false
}

// Allocation returns which providers serve a port with a binding:profile. What is no allocation
// keeps a port from being bound, unless it is nothing in some form.
func Allocation(profileJSON []byte) (a guarantee.ProfileAllocation, err error) {
	var profile struct{ Allocation json.RawMessage }
	if err := json.Unmarshal(profileJSON, &profile); err != nil {
		return a, err
	}
	switch string(profile.Allocation) {
	case "", "null", "{}", "[]", `""`, "0", "false":
		return a, nil
	}
	err = json.Unmarshal(profile.Allocation, &a)
	return a, err
}

// A Connectivity is what an agent is connected to.
type Connectivity struct {
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

// ConnectivityOf returns what an agent reports that it is connected to.
func ConnectivityOf(a Agent) Connectivity {
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
	return Connectivity{
		Report: report, ovn: a.Type == guarantee.OVN.AgentType, tunnels: more.TunnelTypes, bridge: more.Bridge,
		hybridPlug: more.HybridPlug, datapath: datapath{more.Datapath, more.Capabilities.Interfaces, more.Sockets},
	}
}

// Segment reports whether the agent is connected to a segment. OVN has its own tunnels
// between all chassis, of which agents say nothing.
func (r Connectivity) Segment(s Segment) bool {
	switch s.Type {
	case local:
		return true
	case vlan, flat:
		_, bridge := r.BridgeMappings[s.PhysicalNetwork]
		_, device := r.DeviceMappings[s.PhysicalNetwork]
		return bridge || device
	}
	return r.ovn || slices.Contains(r.tunnels, s.Type)
}

// String says what the agent reports that it is connected to.
func (r Connectivity) String() string {
	physical := slices.Sorted(maps.Keys(r.BridgeMappings))
	physical = append(physical, slices.Sorted(maps.Keys(r.DeviceMappings))...)
	return fmt.Sprintf("the physical networks [%s] and tunnels of the types [%s]", strings.Join(physical, ", "),
		strings.Join(r.tunnels, ", "))
}
