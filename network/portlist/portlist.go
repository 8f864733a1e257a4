// Package portlist has what the network service and the agents of its hosts exchange, with its
// JSON: heartbeats with their answers, and the list of the ports that are bound to a host. Service
// and agents may be of different releases: members are added, not changed.
package portlist

import "encoding/json"

// A Heartbeat is what an agent reports of itself.
type Heartbeat struct {
	Type           string          `json:"agent_type"`
	Binary         string          `json:"binary"`
	Host           string          `json:"host"`
	Topic          string          `json:"topic"`
	Zone           string          `json:"availability_zone"`
	Configurations json.RawMessage `json:"configurations,omitempty"`    // an object
	Versions       json.RawMessage `json:"resource_versions,omitempty"` // an object
	// Start says that nothing was reported since the agent started or its settings changed.
	Start bool `json:"start_flag"`

	// The service sets the fields that follow; an agent cannot.

	// Unchanged says that the agent is as it last reported, and Problem, in one line, why its
	// configurations cannot be understood. With either of them the agent's record keeps the
	// configurations that it has: those of the heartbeat are for a new record.
	Unchanged bool   `json:"-"`
	Problem   string `json:"-"`
	// Hosts are the hosts that the agent has proved to be on. An agent may have devices on other
	// hypervisors too, but not on those of other hosts' agents. Nil: that is not checked.
	Hosts []string `json:"-"`
}

// An Answer is the service's answer to a heartbeat: the agent, and the result of the last sync of
// its devices to placement.
type Answer struct {
	ID        string `json:"id"`
	Synced    *bool  `json:"resources_synced"` // nil: there was no sync
	SyncError string `json:"sync_error"`
}

// A List is the list of the ports that are bound to a host at a revision, which is never "".
type List struct {
	Revision string `json:"revision"`
	Ports    []Port `json:"ports"`
}

// A Port is a port that is bound to the host. Its JSON has null for an empty PCISlot, NetworkType
// and PhysicalNetwork.
type Port struct {
	ID           string `json:"id"`
	Network      string `json:"network_id"`
	MAC          string `json:"mac_address"`
	AdminStateUp bool   `json:"admin_state_up"`
	// Status is in the list so that an agent repeats a report that did not arrive.
	Status          string   `json:"status"`
	Device          string   `json:"device_id"`
	DeviceOwner     string   `json:"device_owner"`
	Driver          string   `json:"driver"` // the mechanism driver that bound it
	VIF             string   `json:"vif_type"`
	VNIC            string   `json:"vnic_type"`
	PCISlot         string   `json:"pci_slot"`         // of its virtual function; "" for none
	Providers       []string `json:"providers"`        // UUIDs of the resource providers that serve it
	NetworkType     string   `json:"network_type"`     // "vlan", …
	PhysicalNetwork string   `json:"physical_network"` // "" for a tunnel
	SegmentationID  *int     `json:"segmentation_id"`
	Rules           []Rule   `json:"rules"` // of the QoS policy in effect
}

// The states of a port that an agent reports.
const (
	Active = "ACTIVE" // plugged in
	Down   = "DOWN"
)

// Status returns the state of a port that is plugged in or not.
func Status(plugged bool) string {
	if plugged {
		return Active
	}
	return Down
}

// MarshalJSON writes null for text that a port does not have, as the service's API does.
func (p Port) MarshalJSON() ([]byte, error) {
	type plain Port
	orNull := func(s string) *string {
		if s == "" {
			return nil
		}
		return &s
	}
	if p.Providers == nil {
		p.Providers = []string{}
	}
	if p.Rules == nil {
		p.Rules = []Rule{}
	}
	return json.Marshal(struct {
		plain
		PCISlot         *string `json:"pci_slot"`
		NetworkType     *string `json:"network_type"`
		PhysicalNetwork *string `json:"physical_network"`
	}{plain(p), orNull(p.PCISlot), orNull(p.NetworkType), orNull(p.PhysicalNetwork)})
}

// A Rule is a rule of a QoS policy. Its JSON has the members that a rule of its type has in the
// API.
type Rule struct {
	Type      string // "minimum_bandwidth", …
	Direction string // "egress", "ingress" or "any", as the server sees it; "" of a DSCP mark
	Rate      int64  // in kbit/s or kpackets/s, or the DSCP mark
	Burst     int64  // in kbit or kpackets
}

// ruleMembers are the names of a rule's rate and burst in JSON, by its type.
var ruleMembers = map[string]struct{ rate, burst string }{
	"bandwidth_limit":     {"max_kbps", "max_burst_kbps"},
	"dscp_marking":        {rate: "dscp_mark"},
	"minimum_bandwidth":   {rate: "min_kbps"},
	"minimum_packet_rate": {rate: "min_kpps"},
	"packet_rate_limit":   {"max_kpps", "max_burst_kpps"},
}

// MarshalJSON writes a rule of a known type with its rate, others with type and direction.
func (r Rule) MarshalJSON() ([]byte, error) {
	doc := map[string]any{"type": r.Type}
	if r.Direction != "" {
		doc["direction"] = r.Direction
	}
	names := ruleMembers[r.Type]
	if names.rate != "" {
		doc[names.rate] = r.Rate
	}
	if names.burst != "" {
		doc[names.burst] = r.Burst
	}
	return json.Marshal(doc)
}

// UnmarshalJSON reads what MarshalJSON writes. The rate of a rule of an unknown type is 0: a
// service of a later release may have further types.
func (r *Rule) UnmarshalJSON(text []byte) error {
	var head struct{ Type, Direction string }
	if err := json.Unmarshal(text, &head); err != nil {
		return err
	}
	*r = Rule{Type: head.Type, Direction: head.Direction}
	names := ruleMembers[r.Type]
	var doc map[string]json.RawMessage
	if err := json.Unmarshal(text, &doc); err != nil {
		return err
	}
	for _, m := range []struct {
		name string
		to   *int64
	}{{names.rate, &r.Rate}, {names.burst, &r.Burst}} {
		if value, ok := doc[m.name]; ok && m.name != "" {
			if err := json.Unmarshal(value, m.to); err != nil {
				return err
			}
		}
	}
	return nil
}
