package guarantee

import (
	"slices"
	"strings"
)

// A RuleType is a type of QoS rules, as the API calls it.
type RuleType string

// The types of rules. Placement tracks the minimums.
const (
	BandwidthLimit    RuleType = "bandwidth_limit"
	MinimumBandwidth  RuleType = "minimum_bandwidth"
	PacketRateLimit   RuleType = "packet_rate_limit"
	MinimumPacketRate RuleType = "minimum_packet_rate"
	DSCPMarking       RuleType = "dscp_marking"
)

// The directions.
const (
	Egress       = "egress"
	Ingress      = "ingress"
	AnyDirection = "any" // of packets, both counted together
)

// The resource classes.
const (
	EgressBandwidth   = "NET_BW_EGR_KILOBIT_PER_SEC"
	IngressBandwidth  = "NET_BW_IGR_KILOBIT_PER_SEC"
	EgressPacketRate  = "NET_PACKET_RATE_EGR_KILOPACKET_PER_SEC"
	IngressPacketRate = "NET_PACKET_RATE_IGR_KILOPACKET_PER_SEC"
	PacketRate        = "NET_PACKET_RATE_KILOPACKET_PER_SEC"
)

// tracked are the types of rules that become groups of a request, in their order.
var tracked = []RuleType{MinimumBandwidth, MinimumPacketRate}

// A Rule is a rule of a port's effective policy. Functions that take rules pass
// over those that placement does not track.
type Rule struct {
	ID        string
	Type      RuleType
	Direction string
	Amount    int64 // min_kbps or min_kpps
}

// Class returns the resource class that a rule claims, "" when placement does not
// track it.
func (r Rule) Class() string { return Class(r.Type, r.Direction) }

// Class returns the resource class that rules of a type and direction claim, "" when
// placement does not track them.
func Class(t RuleType, direction string) string {
	type way struct {
		t         RuleType
		direction string
	}
	switch (way{t, direction}) {
	case way{MinimumBandwidth, Egress}:
		return EgressBandwidth
	case way{MinimumBandwidth, Ingress}:
		return IngressBandwidth
	case way{MinimumPacketRate, Egress}:
		return EgressPacketRate
	case way{MinimumPacketRate, Ingress}:
		return IngressPacketRate
	case way{MinimumPacketRate, AnyDirection}:
		return PacketRate
	}
	return ""
}

// ofType returns the rules of one type that placement tracks.
func ofType(rules []Rule, t RuleType) []Rule {
	var some []Rule
	for _, r := range rules {
		if r.Type == t && r.Class() != "" {
			some = append(some, r)
		}
	}
	return some
}

// amounts returns what rules claim of each class. A minimum of 0 claims nothing:
// placement knows no amount of 0. Two rules of one class, which no policy has, add
// up.
func amounts(rules []Rule) map[string]int64 {
	sum := map[string]int64{}
	for _, r := range rules {
		if c := r.Class(); c != "" && r.Amount > 0 {
			sum[c] += r.Amount
		}
	}
	return sum
}

// GroupID returns the id of the group that the rules of one type make in the
// request of a port. It does not depend on the order of the rules.
func GroupID(port UUID, t RuleType, rules []Rule) UUID { return GroupIDs(port, t, rules)[0] }

// GroupIDs returns the ids under which an allocation may know the group that the
// rules of one type make: GroupID first, then that of the opposite order. Neutron
// hashes rules as its database lists them; a policy has two of a type at most, so
// that these are all ids there can be.
func GroupIDs(port UUID, t RuleType, rules []Rule) []UUID {
	var ids []string
	for _, r := range ofType(rules, t) {
		ids = append(ids, r.ID)
	}
	slices.Sort(ids)
	all := []UUID{port.Derive(strings.Join(ids, ":"))}
	if len(ids) > 1 {
		slices.Reverse(ids)
		all = append(all, port.Derive(strings.Join(ids, ":")))
	}
	return all
}
