package guarantee

import (
	"encoding/json"
	"strconv"
	"strings"
)

// A Report is the part of an agent's configurations that placement follows. The
// agent writes it with encoding/json, the network service reads it with
// ParseReport. A map that is nil was not reported, and is not written.
type Report struct {
	// Bandwidths are by device: bridges, NICs, or the tunnel device.
	Bandwidths        map[string]Directed `json:"resource_provider_bandwidths,omitzero"`
	InventoryDefaults InventoryDefaults   `json:"resource_provider_inventory_defaults,omitzero"`

	// Hypervisors are the names that compute has for where devices are, by
	// device. Agents before Ussuri report none.
	Hypervisors map[string]string `json:"resource_provider_hypervisors,omitzero"`

	// PacketRates are by hypervisor. An agent has the ones or the others.
	PacketRates             map[string]Directed   `json:"resource_provider_packet_processing_with_direction,omitzero"`
	UndirectedPacketRates   map[string]Undirected `json:"resource_provider_packet_processing_without_direction,omitzero"`
	PacketInventoryDefaults InventoryDefaults     `json:"resource_provider_packet_processing_inventory_defaults,omitzero"`

	// Traits are additional traits of the providers of devices, by device, which operators
	// configure: they distinguish devices for guaranteed traffic from others. This key is Berth's
	// own.
	Traits map[string][]string `json:"resource_provider_traits,omitzero"`

	// What is on which physical network: the bridges of Open vSwitch and OVN,
	// the NICs of SR-IOV.
	BridgeMappings map[string]string   `json:"bridge_mappings,omitzero"`
	DeviceMappings map[string][]string `json:"device_mappings,omitzero"`
}

// A Directed is a rate for each direction, nil for none.
type Directed struct {
	Egress  *int64 `json:"egress"`
	Ingress *int64 `json:"ingress"`
}

// An Undirected is a rate of both directions together, nil for none.
type Undirected struct {
	Any *int64 `json:"any"`
}

// InventoryDefaults are the fields of an agent's inventories other than the totals. Nil fields have
// placement's defaults.
type InventoryDefaults struct {
	AllocationRatio *float64 `json:"allocation_ratio,omitempty"`
	MinUnit         *int64   `json:"min_unit,omitempty"`
	MaxUnit         *int64   `json:"max_unit,omitempty"`
	StepSize        *int64   `json:"step_size,omitempty"`
	Reserved        *int64   `json:"reserved,omitempty"`
}

// MarshalJSON writes the ratio with a fraction, as upstream's agents do: clients show it
// as it was written.
func (d InventoryDefaults) MarshalJSON() ([]byte, error) {
	type others InventoryDefaults
	var ratio json.RawMessage
	if d.AllocationRatio != nil {
		text := strconv.FormatFloat(*d.AllocationRatio, 'f', -1, 64)
		if !strings.Contains(text, ".") {
			text += ".0"
		}
		ratio = json.RawMessage(text)
	}
	return json.Marshal(struct {
		AllocationRatio json.RawMessage `json:"allocation_ratio,omitempty"`
		others
	}{ratio, others(d)})
}

// HasBandwidths reports whether the agent has providers: whether it reported bandwidths, even an
// empty list. Other agents are not in placement.
func (r Report) HasBandwidths() bool { return r.Bandwidths != nil }

// HasPacketRates says whether a packet rate of any hypervisor was reported.
func (r Report) HasPacketRates() bool {
	return len(r.PacketRates) > 0 || len(r.UndirectedPacketRates) > 0
}

// UnmarshalJSON reads what ParseReport reads.
func (r *Report) UnmarshalJSON(data []byte) error {
	parsed, err := ParseReport(data)
	if err == nil {
		*r = parsed
	}
	return err
}

var _ json.Unmarshaler = (*Report)(nil)

// networks returns the traits of the physical networks that devices are on, by
// device.
func (r Report) networks() map[string][]string {
	traits := map[string][]string{}
	for net, bridge := range r.BridgeMappings {
		traits[bridge] = append(traits[bridge], PhysicalNetworkTrait(net))
	}
	for net, devices := range r.DeviceMappings {
		for _, device := range devices {
			traits[device] = append(traits[device], PhysicalNetworkTrait(net))
		}
	}
	return traits
}

// hypervisor returns where a device is, "" when the report does not say. Agents
// that name no hypervisors at all are on one that is called as their host.
func (r Report) hypervisor(device, host string) string {
	if r.Hypervisors == nil {
		return host
	}
	return r.Hypervisors[device]
}

// packetRates returns the packet rates by hypervisor and class, only those that are
// above 0. Of an agent that reports both kinds the undirected ones count, as they
// do in Neutron.
func (r Report) packetRates() map[string]map[string]int64 {
	all := map[string]map[string]int64{}
	if len(r.UndirectedPacketRates) > 0 {
		for hypervisor, rate := range r.UndirectedPacketRates {
			all[hypervisor] = totals(map[string]*int64{PacketRate: rate.Any})
		}
		return all
	}
	for hypervisor, rate := range r.PacketRates {
		all[hypervisor] = totals(map[string]*int64{EgressPacketRate: rate.Egress, IngressPacketRate: rate.Ingress})
	}
	return all
}

func (d Directed) bandwidth() map[string]int64 {
	return totals(map[string]*int64{EgressBandwidth: d.Egress, IngressBandwidth: d.Ingress})
}

// totals keeps what can be an inventory: a rate that is missing and one of 0 alike
// are none.
func totals(rates map[string]*int64) map[string]int64 {
	some := map[string]int64{}
	for class, rate := range rates {
		if rate != nil && *rate > 0 {
			some[class] = *rate
		}
	}
	return some
}
