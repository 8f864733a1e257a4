package enforce

import (
	"fmt"

	"github.com/berthcloud/berth/network/portlist"
)

// The types of rules and the directions, as the API calls them.
const (
	bandwidthLimit    = "bandwidth_limit"
	minimumBandwidth  = "minimum_bandwidth"
	minimumPacketRate = "minimum_packet_rate"

	egress  = "egress"
	ingress = "ingress"
)

// A bandwidth is the rules of a port in one direction, in kbit/s; 0 is none.
type bandwidth struct{ min, max, burst int64 }

// rulesOf returns the rules of a port in a direction.
func rulesOf(p portlist.Port, direction string) (all bandwidth) {
	for _, r := range p.Rules {
		switch {
		case r.Direction != direction:
		case r.Type == minimumBandwidth:
			all.min = r.Rate
		case r.Type == bandwidthLimit:
			all.max, all.burst = r.Rate, r.Burst
		}
	}
	return all
}

// notEnforced returns findings for rules that this agent does not enforce. Minimum packet rates are
// not among them: nothing enforces them, in Neutron neither.
func notEnforced(ports []portlist.Port) (findings []string) {
	for _, p := range ports {
		for _, r := range p.Rules {
			switch r.Type {
			case bandwidthLimit, minimumBandwidth, minimumPacketRate:
			default:
				findings = append(findings, fmt.Sprintf("port %s: a rule of type %s is not applied by this agent", p.ID, r.Type))
			}
		}
	}
	return findings
}

// count is the rate that the settings give a device, 0 for none.
func count(rate *int64) int64 {
	if rate == nil {
		return 0
	}
	return *rate
}
