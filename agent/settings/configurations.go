package settings

import (
	"encoding/json"
	"strings"

	"github.com/berthcloud/berth/network/guarantee"
)

// Capabilities is what Open vSwitch says it can do: the columns datapath_types
// and iface_types of its database.
type Capabilities struct {
	DatapathTypes  []string `json:"datapath_types"`
	InterfaceTypes []string `json:"iface_types"`
}

// Configurations returns the attribute configurations of the agent's heartbeats,
// a JSON object with the keys of upstream's agents. Capabilities count for an
// OVS agent only. What Berth's agent cannot do is reported as switched off,
// whatever the files say. Of the keys, resource_provider_traits is Berth's own;
// it is there when the files set traits.
func (s *Settings) Configurations(c Capabilities) ([]byte, error) {
	all := configurations{Report: s.Resources.Report}
	if len(s.Resources.Traits) > 0 {
		all.Traits = s.Resources.Traits
	}
	switch s.Kind {
	case OVS:
		all.Extensions = []string{extensionQoS}
		all.switchState = s.switchState(c)
	case SRIOV:
		all.Extensions = []string{extensionQoS}
	case OVN:
		all.ChassisMappings = chassisMappings(all.BridgeMappings)
	}
	return json.Marshal(all)
}

// extensionQoS is the one extension that Berth's agents have.
const extensionQoS = "qos"

type configurations struct {
	guarantee.Report
	Traits     map[string][]string `json:"resource_provider_traits,omitzero"`
	Extensions []string            `json:"extensions,omitzero"`
	*switchState
	ChassisMappings string `json:"bridge-mappings,omitzero"` // as in the chassis
}

// switchState is what upstream's OVS agent reports beside its resources. The
// network service answers Nova from it: how ports are plugged follows from
// datapath_type, vhostuser_socket_dir and ovs_hybrid_plug.
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
		Capabilities:       Capabilities{notNil(c.DatapathTypes), notNil(c.InterfaceTypes)},
		TunnelTypes:        notNil(s.Agent.TunnelTypes),
		VhostuserSocketDir: s.OVS.VhostuserSocketDir,
	}
	if s.OVS.LocalIP != "" {
		state.TunnelingIP = &s.OVS.LocalIP
	}
	return state
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
	for _, physnet := range sortedKeys(bridges) {
		pairs = append(pairs, physnet+":"+bridges[physnet])
	}
	return strings.Join(pairs, ",")
}
