package settings

import (
	"encoding/json"
	"maps"
	"slices"
	"strings"

	"github.com/berthcloud/berth/guarantee"
)

// Capabilities is what Open vSwitch says it can do: the columns datapath_types
// and iface_types of its database.
type Capabilities struct {
	DatapathTypes  []string `json:"datapath_types"`
	InterfaceTypes []string `json:"iface_types"`
}

// Observed is what was seen of the host.
type Observed struct {
	Capabilities          // of the switch
	Findings     []string // rules that are not enforced; nil when no enforcement reports
	Chassis      string   // name of the chassis of an OVN agent
	DatapathType string   // of that chassis; that of an OVS agent is in its files
}

// Configurations returns the attribute configurations of the agent's heartbeats, a JSON object with
// the keys of upstream's agents. Features that Berth's agent lacks are reported as off, whatever
// the files say. An agent without resources leaves resource_provider_bandwidths out, so that it has
// no providers: upstream's agents report it empty, and the sync of a host without compute then
// fails for ever. Two keys are Berth's own: resource_provider_traits when the files set traits, and
// findings when an enforcement reports them.
func (s *Settings) Configurations(o Observed) ([]byte, error) {
	all := configurations{Report: s.Resources.Report, Findings: o.Findings}
	if len(all.Bandwidths) == 0 && !all.HasPacketRates() {
		all.Bandwidths = nil
	}
	switch s.Kind {
	case OVS:
		all.Extensions = []string{extensionQoS}
		all.switchState = s.switchState(o.Capabilities)
	case SRIOV:
		all.Extensions = []string{extensionQoS}
	case OVN:
		all.Chassis, all.ChassisMappings = o.Chassis, chassisMappings(all.BridgeMappings)
		if o.DatapathType != "" {
			return json.Marshal(chassisConfigurations{all, o.DatapathType, o.notNull()})
		}
	}
	return json.Marshal(all)
}

// extensionQoS is the one extension that Berth's agents have.
const extensionQoS = "qos"

type configurations struct {
	guarantee.Report
	Extensions []string `json:"extensions,omitzero"`
	Findings   []string `json:"findings,omitzero"`
	*switchState
	Chassis         string `json:"chassis_name,omitzero"`
	ChassisMappings string `json:"bridge-mappings,omitzero"` // as in the chassis
}

// switchState is what upstream's OVS agent reports next to its resources. The
// network service answers Nova from it: how ports are plugged follows from
// datapath_type, iface_types, vhostuser_socket_dir and ovs_hybrid_plug.
type switchState struct {
	ARPResponder       bool         `json:"arp_responder_enabled"`
	BaremetalSmartNIC  bool         `json:"baremetal_smartnic"`
	DatapathType       string       `json:"datapath_type"`
	DistributedRouting bool         `json:"enable_distributed_routing"`
	IntegrationBridge  string       `json:"integration_bridge"`
	L2Population       bool         `json:"l2_population"`
	LogHeartbeats      bool         `json:"log_agent_heartbeats"`
	Capabilities       Capabilities `json:"ovs_capabilities"`
	HybridPlug         bool         `json:"ovs_hybrid_plug"`
	TunnelTypes        []string     `json:"tunnel_types"`
	TunnelingIP        *string      `json:"tunneling_ip"`
	VhostuserSocketDir string       `json:"vhostuser_socket_dir"`
}

func (s *Settings) switchState(c Capabilities) *switchState {
	state := &switchState{
		DatapathType:       s.OVS.DatapathType,
		IntegrationBridge:  s.OVS.IntegrationBridge,
		LogHeartbeats:      s.Agent.LogHeartbeats,
		Capabilities:       c.notNull(),
		TunnelTypes:        notNil(s.Agent.TunnelTypes),
		VhostuserSocketDir: s.OVS.VhostuserSocketDir,
	}
	if s.OVS.LocalIP != "" {
		state.TunnelingIP = &s.OVS.LocalIP
	}
	return state
}

// chassisConfigurations are those of a chassis of OVN that says what its switch forwards
// packets with. Upstream reads the chassis itself.
type chassisConfigurations struct {
	configurations
	DatapathType string       `json:"datapath_type"`
	Capabilities Capabilities `json:"ovs_capabilities"`
}

// notNull returns the capabilities with lists that are no null.
func (c Capabilities) notNull() Capabilities {
	return Capabilities{notNil(c.DatapathTypes), notNil(c.InterfaceTypes)}
}

// notNil keeps an empty list from becoming null.
func notNil(list []string) []string {
	if list == nil {
		return []string{}
	}
	return list
}

func chassisMappings(bridges map[string]string) string {
	var pairs []string
	for _, physnet := range slices.Sorted(maps.Keys(bridges)) {
		pairs = append(pairs, physnet+":"+bridges[physnet])
	}
	return strings.Join(pairs, ",")
}
