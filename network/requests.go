package network

import (
	"github.com/berthcloud/berth/guarantee"
	"github.com/berthcloud/berth/network/binding"
)

// Request returns the resource request of a port: the guarantees of the effective policy, from a
// provider on its network. A port on a trunk has a request like any other, but compute reads that
// of the trunk's parent only.
func (r Rules) Request(p *Port) guarantee.Request {
	id, err := guarantee.ParseUUID(string(p.ID))
	if err != nil {
		return guarantee.Request{}
	}
	return guarantee.Port{
		ID: id, VNICType: p.Binding.VNIC, Rules: GuaranteeRules(p.Rules),
		Segments: GuaranteeSegments(p.Network.Segments),
	}.Request(r.Settings.Extensions)
}

// GuaranteeRules returns rules of a policy as package guarantee has them.
func GuaranteeRules(rows []RuleRow) []guarantee.Rule {
	rules := make([]guarantee.Rule, len(rows))
	for i, r := range rows {
		rules[i] = guarantee.Rule{
			ID: string(r.ID), Type: guarantee.RuleType(r.Type), Direction: r.Direction,
			Amount: r.Rate,
		}
	}
	return rules
}

// GuaranteeSegments returns segments of a network as package guarantee has them.
func GuaranteeSegments(rows []SegmentRow) []guarantee.Segment {
	segments := make([]guarantee.Segment, len(rows))
	for i, r := range rows {
		segments[i] = guarantee.Segment{Type: r.Type, PhysicalNetwork: r.PhysicalNetwork}
	}
	return segments
}

// BindingSegment returns what package binding has to know of a segment.
func BindingSegment(s SegmentRow) binding.Segment {
	return binding.Segment{ID: string(s.ID), Type: s.Type, PhysicalNetwork: s.PhysicalNetwork, Number: s.SegmentationID}
}
