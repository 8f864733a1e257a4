package networkapi

import (
	"github.com/berthcloud/berth/httpapi/pyjson"
	"github.com/berthcloud/berth/network"
)

type segmentResource = resource[network.SegmentRow, network.SegmentRow]

// segments are the segments of all networks, to be looked at.
func (a *API) segments() *segmentResource {
	return &segmentResource{
		api: a, name: "segment", plural: "segments", path: "/v2.0/segments",
		table:  segmentTable(),
		id:     func(s *network.SegmentRow) string { return string(s.ID) },
		target: func(*network.SegmentRow) target { return target{} },
		list:   a.Network.Segments,
		where:  map[string]network.Field{"id": network.ByID, "network_id": network.ByNetwork, "physical_network": network.ByPhysical},
	}
}

func segmentTable() []attribute[network.SegmentRow, network.SegmentRow] {
	type S = network.SegmentRow
	of := func(s *S) *network.Common { return &s.Common }
	all := []attribute[S, S]{
		idAttribute[S, S](of),
		{name: "network_id", use: filter | sortable, show: func(s *S) pyjson.Value { return valueOf(string(s.Network)) }},
		{name: "name", use: filter | sortable, show: func(s *S) pyjson.Value { return orNone(s.Name) }},
		{name: "network_type", use: filter | sortable, show: func(s *S) pyjson.Value { return valueOf(s.Type) }},
		{name: "physical_network", use: filter | sortable, show: func(s *S) pyjson.Value { return orNone(s.PhysicalNetwork) }},
		{name: "segmentation_id", use: filter | sortable, show: func(s *S) pyjson.Value { return numberOrNone(s.SegmentationID) }},
		{name: "description", use: filter, show: func(s *S) pyjson.Value { return orNone(s.Description) }},
	}
	return append(all, stamps[S, S](of)[4:]...) // they have no tags
}
