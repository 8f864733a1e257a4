package network

import (
	"github.com/berthcloud/berth/guarantee"
)

// Request returns the resource request of a port: the guarantees of the effective policy, from a
// provider on its network. A port on a trunk has a request like any other, but compute reads that
// of the trunk's parent only.
func (rs *rules) Request(p *Port) guarantee.Request {
	id, err := guarantee.ParseUUID(string(p.ID))
	if err != nil {
		return guarantee.Request{}
	}
	return guarantee.Port{
		ID: id, VNICType: p.Binding.VNIC, Rules: rulesFor(p.Rules), Segments: segmentsFor(p.Network.Segments),
	}.Request(rs.settings.Extensions)
}

func rulesFor(rows []RuleRow) []guarantee.Rule {
	rules := make([]guarantee.Rule, len(rows))
	for i, r := range rows {
		rules[i] = guarantee.Rule{ID: string(r.ID), Type: guarantee.RuleType(r.Type), Direction: r.Direction, Amount: r.Rate}
	}
	return rules
}

func segmentsFor(rows []SegmentRow) []guarantee.Segment {
	segments := make([]guarantee.Segment, len(rows))
	for i, r := range rows {
		segments[i] = guarantee.Segment{Type: r.Type, PhysicalNetwork: r.PhysicalNetwork}
	}
	return segments
}
