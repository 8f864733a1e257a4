package networkapi

import (
	"context"
	"net/http"

	"github.com/berthcloud/berth/httpapi/pyjson"
	"github.com/berthcloud/berth/identity"
	"github.com/berthcloud/berth/network"
)

type segmentResource = resource[network.SegmentRow, network.SegmentRow]

// segments are the segments of all networks.
func (a *API) segments() *segmentResource {
	return &segmentResource{
		api: a, name: "segment", plural: "segments", path: "/v2.0/segments",
		table:  segmentTable(),
		common: func(s *network.SegmentRow) *network.Common { return &s.Common },
		id:     func(s *network.SegmentRow) string { return string(s.ID) },
		target: func(*network.SegmentRow) target { return target{} },
		made:   func(context.Context, *network.SegmentRow) (target, error) { return target{}, nil },
		list:   a.Network.Segments,
		near:   a.ifShown("get_segment"),
		where:  map[string]network.Field{"id": network.ByID, "network_id": network.ByNetwork, "physical_network": network.ByPhysical},
		start:  func(*http.Request, identity.Caller) network.SegmentRow { return network.SegmentRow{SegmentationID: -1} },
		create: a.Network.CreateSegments,
		update: func(ctx context.Context, s *network.SegmentRow, fn func(*network.SegmentRow) error) (network.SegmentRow, error) {
			return a.Network.UpdateSegment(ctx, s.ID, fn)
		},
		remove: func(ctx context.Context, s *network.SegmentRow, only network.Condition) error {
			return a.Network.DeleteSegment(ctx, s.ID, only)
		},
	}
}

func segmentTable() []attribute[network.SegmentRow, network.SegmentRow] {
	type S = network.SegmentRow
	of := func(s *S) *network.Common { return &s.Common }
	all := []attribute[S, S]{
		idAttribute[S, S](of),
		{
			name: "network_id", use: post | required | filter | sortable, check: uuid,
			set:  func(s *S, v pyjson.Value) { s.Network = network.ID(v.Str()) },
			show: func(s *S) pyjson.Value { return valueOf(string(s.Network)) },
		},
		{
			name: "name", use: post | put | filter | sortable, check: orNull(text(255)),
			set:  func(s *S, v pyjson.Value) { s.Name = v.Str() },
			show: func(s *S) pyjson.Value { return orNone(s.Name) },
		},
		{
			name: "network_type", use: post | required | filter | sortable, check: text(32),
			set:  func(s *S, v pyjson.Value) { s.Type = v.Str() },
			show: func(s *S) pyjson.Value { return valueOf(s.Type) },
		},
		{
			name: "physical_network", use: post | filter | sortable, check: orNull(text(64)),
			set:  func(s *S, v pyjson.Value) { s.PhysicalNetwork = v.Str() },
			show: func(s *S) pyjson.Value { return orNone(s.PhysicalNetwork) },
		},
		{
			name: "segmentation_id", use: post | filter | sortable, convert: intOrNull,
			set: func(s *S, v pyjson.Value) {
				if n, ok := v.Int64(); ok && v.Kind() == pyjson.Int {
					s.SegmentationID = int(n)
				}
			},
			show: func(s *S) pyjson.Value { return numberOrNone(s.SegmentationID) },
		},
		{
			name: "description", use: post | put | filter, check: orNull(text(255)),
			set:  func(s *S, v pyjson.Value) { s.Description = v.Str() },
			show: func(s *S) pyjson.Value { return orNone(s.Description) },
		},
	}
	return append(all, stamps[S, S](of)[4:]...) // they have no tags
}

// intOrNull accepts null besides what toInt does.
func intOrNull(v pyjson.Value) (pyjson.Value, error) {
	if v.Kind() == pyjson.Null {
		return v, nil
	}
	return toInt(v)
}
