package networkapi

import (
	"context"
	"net/http"

	"github.com/berthcloud/berth/httpapi/pyjson"
	"github.com/berthcloud/berth/httpapi/resource"
	"github.com/berthcloud/berth/identity"
	"github.com/berthcloud/berth/network"
)

type segmentResource = resource.Resource[network.SegmentRow, network.SegmentRow]

// segments are the segments of all networks.
func (a *API) segments() *segmentResource {
	return &segmentResource{
		API: a.kinds(), Name: "segment", Plural: "segments", Path: "/v2.0/segments",
		Table:       segmentTable(),
		Revision:    func(s *network.SegmentRow) int64 { return s.Revision },
		ID:          func(s *network.SegmentRow) string { return string(s.ID) },
		TargetOf:    func(*network.SegmentRow) resource.Target { return resource.Target{} },
		TargetOfNew: func(context.Context, *network.SegmentRow) (resource.Target, error) { return resource.Target{}, nil },
		List:        a.Network.Segments,
		VisibleTo:   a.ifShown("get_segment"),
		StoreFields: map[string]network.Field{
			"id": network.ByID, "network_id": network.ByNetwork, "physical_network": network.ByPhysical,
		},
		NewSpec: func(*http.Request, identity.Caller) network.SegmentRow {
			return network.SegmentRow{SegmentationID: -1}
		},
		Create: a.Network.CreateSegments,
		Update: func(
			ctx context.Context, s *network.SegmentRow, fn func(*network.SegmentRow) error,
		) (network.SegmentRow, error) {
			return a.Network.UpdateSegment(ctx, s.ID, fn)
		},
		Delete: func(ctx context.Context, s *network.SegmentRow, only resource.Condition) error {
			return a.Network.DeleteSegment(ctx, s.ID, unchanged(only))
		},
	}
}

func segmentTable() []resource.Attribute[network.SegmentRow, network.SegmentRow] {
	type S = network.SegmentRow
	common := func(s *S) *network.Common { return &s.Common }
	all := []resource.Attribute[S, S]{
		idAttribute[S, S](common),
		{
			Name: "network_id", Use: post | required | filterable | sortable, Check: resource.UUID,
			Set:  func(s *S, v pyjson.Value) { s.Network = network.ID(v.Str()) },
			Show: func(s *S) pyjson.Value { return pyjson.Of(string(s.Network)) },
		},
		{
			Name: "name", Use: post | put | filterable | sortable, Check: resource.Nullable(resource.MaxLength(255)),
			Set:  func(s *S, v pyjson.Value) { s.Name = v.Str() },
			Show: func(s *S) pyjson.Value { return resource.TextOrNull(s.Name) },
		},
		{
			Name: "network_type", Use: post | required | filterable | sortable, Check: resource.MaxLength(32),
			Set:  func(s *S, v pyjson.Value) { s.Type = v.Str() },
			Show: func(s *S) pyjson.Value { return pyjson.Of(s.Type) },
		},
		{
			Name: "physical_network", Use: post | filterable | sortable, Check: resource.Nullable(resource.MaxLength(64)),
			Set:  func(s *S, v pyjson.Value) { s.PhysicalNetwork = v.Str() },
			Show: func(s *S) pyjson.Value { return resource.TextOrNull(s.PhysicalNetwork) },
		},
		{
			Name: "segmentation_id", Use: post | filterable | sortable, Convert: intOrNull,
			Set: func(s *S, v pyjson.Value) {
				if n, ok := v.Int64(); ok && v.Kind() == pyjson.Int {
					s.SegmentationID = int(n)
				}
			},
			Show: func(s *S) pyjson.Value { return numberOrNone(s.SegmentationID) },
		},
		{
			Name: "description", Use: post | put | filterable, Check: resource.Nullable(resource.MaxLength(255)),
			Set:  func(s *S, v pyjson.Value) { s.Description = v.Str() },
			Show: func(s *S) pyjson.Value { return resource.TextOrNull(s.Description) },
		},
	}
	return append(all, stamps[S, S](common)[4:]...) // they have no tags
}

// intOrNull accepts null and what resource.ToInt accepts.
func intOrNull(v pyjson.Value) (pyjson.Value, error) {
	if v.Kind() == pyjson.Null {
		return v, nil
	}
	return resource.ToInt(v)
}
