package network

// A PolicyRow is a QoS policy: a set of rules that ports and networks name.
type PolicyRow struct {
	Common
	Shared  bool // every project may use it
	Default bool // of its project, for new networks without one
}

// OpenTo is AllProjects for a policy that others see besides its project, and "" otherwise.
func (p *PolicyRow) OpenTo() string { return openTo(p.Shared) }

// A RuleRow is a rule of a policy. Rate and Burst are in the unit of its type.
type RuleRow struct {
	ID        ID
	Policy    ID
	Type      RuleType
	Direction string // Egress, Ingress, AnyDirection; "" of a DSCP mark
	Rate      int64  // min_kbps, max_kbps, min_kpps, max_kpps or dscp_mark
	Burst     int64  // max_burst_kbps or max_burst_kpps
}

// A RuleType is a type of rules, as the API calls it.
type RuleType string

// The types of rules.
const (
	BandwidthLimit    RuleType = "bandwidth_limit"     // Rate and Burst in kbit/s and kbit
	MinimumBandwidth  RuleType = "minimum_bandwidth"   // Rate in kbit/s
	PacketRateLimit   RuleType = "packet_rate_limit"   // Rate and Burst in kpackets/s and kpackets
	MinimumPacketRate RuleType = "minimum_packet_rate" // Rate in kpackets/s
	DSCPMarking       RuleType = "dscp_marking"        // Rate is the mark
)

// The directions, as the server sees them: egress is its upload.
const (
	Egress       = "egress"
	Ingress      = "ingress"
	AnyDirection = "any"
)
