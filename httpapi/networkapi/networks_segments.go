package networkapi

import (
	"math"
	"slices"

	"github.com/berthcloud/berth/httpapi/pyjson"
	"github.com/berthcloud/berth/httpapi/resource"
	"github.com/berthcloud/berth/network"
	"github.com/berthcloud/berth/network/topology"
)

// The attributes of a network's segments: three of one, or a list when there are
// several. Only one of the two forms is shown.

const (
	networkType     = "provider:network_type"
	physicalNetwork = "provider:physical_network"
	segmentationID  = "provider:segmentation_id"
)

func providerTable() []networkAttribute {
	use := post | put | filterable | guarded
	return []networkAttribute{
		{
			Name: networkType, Use: use, Check: resource.MaxLength(32), ShownIf: single, Filter: anySegment,
			Set: func(s *topology.NetworkSpec, v pyjson.Value) {
				singleSegment(s).Any, singleSegment(s).Type = false, v.Str()
			},
			Show: ofSegment(func(s *network.SegmentRow) pyjson.Value { return pyjson.Of(s.Type) }),
		},
		{
			Name: physicalNetwork, Use: use, Check: resource.MaxLength(64), ShownIf: single, Filter: anySegment,
			Set:  func(s *topology.NetworkSpec, v pyjson.Value) { singleSegment(s).PhysicalNetwork = v.Str() },
			Show: ofSegment(func(s *network.SegmentRow) pyjson.Value { return resource.TextOrNull(s.PhysicalNetwork) }),
		},
		{
			Name: segmentationID, Use: use, Convert: toSegmentationID, ShownIf: single, Filter: anySegment,
			Set: func(s *topology.NetworkSpec, v pyjson.Value) {
				n, _ := v.Int64()
				singleSegment(s).SegmentationID = int(n)
			},
			Show: ofSegment(func(s *network.SegmentRow) pyjson.Value { return numberOrNone(s.SegmentationID) }),
		},
		{
			Name: "segments", Use: post | put | ignored | guarded, NestedPolicy: true, Convert: toSegments,
			Set:     func(s *topology.NetworkSpec, v pyjson.Value) { s.Segments = segmentsOf(v) },
			Show:    func(n *network.Network) pyjson.Value { return resource.List(n.Segments, showSegment) },
			ShownIf: func(n *network.Network) bool { return !single(n) },
		},
	}
}

// single reports whether a network has the form of those with one segment.
func single(n *network.Network) bool { return len(n.Segments) <= 1 }

// anySegment is a filter by something of a segment, of whichever.
func anySegment(values []string) func(*network.Network) bool {
	valid := resource.SetOf(values)
	return func(n *network.Network) bool {
		return slices.ContainsFunc(n.Segments, func(s network.SegmentRow) bool {
			return valid[s.Type] || valid[s.PhysicalNetwork] && s.PhysicalNetwork != "" ||
				valid[pyjson.Str(numberOrNone(s.SegmentationID))]
		})
	}
}

// singleSegment returns the one segment of the three attributes.
func singleSegment(s *topology.NetworkSpec) *topology.SegmentSpec {
	if len(s.Segments) == 0 {
		s.Segments = []topology.SegmentSpec{{Any: true, SegmentationID: -1}}
	}
	return &s.Segments[0]
}

// ofSegment shows something of the only segment of a network.
func ofSegment(show func(*network.SegmentRow) pyjson.Value) func(*network.Network) pyjson.Value {
	return func(n *network.Network) pyjson.Value {
		if len(n.Segments) == 0 {
			return pyjson.Value{}
		}
		return show(&n.Segments[0])
	}
}

func showSegment(s network.SegmentRow) pyjson.Value {
	return pyjson.NewObject(pyjson.M(networkType, s.Type),
		pyjson.M(physicalNetwork, resource.TextOrNull(s.PhysicalNetwork)),
		pyjson.M(segmentationID, numberOrNone(s.SegmentationID)))
}

// toSegments adds the defaults of each segment of a list, and refuses duplicates.
func toSegments(v pyjson.Value) (pyjson.Value, error) {
	if v.Kind() != pyjson.Array {
		return v, resource.InvalidValue("segments", "'"+pyjson.Str(v)+"' is not a list")
	}
	whole, seen := make([]pyjson.Value, v.Len()), resource.ValueSet{}
	for i, item := range v.Items() {
		one, err := toSegment(item)
		if err != nil {
			return v, err
		}
		if !seen.Add(one) {
			return v, resource.NewFault("SegmentsContainDuplicateEntry", "Duplicate segment entry in request.")
		}
		whole[i] = one
	}
	return pyjson.NewArray(whole...), nil
}

// toSegmentationID takes the number of a VLAN or a tunnel, as far as it can be stored.
func toSegmentationID(v pyjson.Value) (pyjson.Value, error) {
	v, err := resource.ToInt(v)
	if n, ok := v.Int64(); err == nil && (!ok || n < 0 || n > math.MaxInt32) {
		return v, resource.InvalidInput("segmentation_id out of range (0 through %d)", math.MaxInt32)
	}
	return v, err
}

// toSegment checks one segment of a list.
func toSegment(item pyjson.Value) (pyjson.Value, error) {
	b, err := resource.Read([]resource.Attribute[struct{}, struct{}]{
		{Name: networkType, Use: post},
		{Name: physicalNetwork, Use: post},
		{Name: segmentationID, Use: post, Convert: toSegmentationID},
	}, item, true)
	if err != nil {
		return item, err
	}
	return pyjson.NewObject(pyjson.M(networkType, b.Values[networkType]),
		pyjson.M(physicalNetwork, b.Values[physicalNetwork]), pyjson.M(segmentationID, b.Values[segmentationID])), nil
}

func segmentsOf(v pyjson.Value) []topology.SegmentSpec {
	return resource.Each(v, func(item pyjson.Value) topology.SegmentSpec {
		kind := resource.Member(item, networkType)
		id, ok := resource.Member(item, segmentationID).Int64()
		if !ok {
			id = -1
		}
		return topology.SegmentSpec{
			Any: kind.Kind() == pyjson.Null, Type: kind.Str(), PhysicalNetwork: resource.Member(item, physicalNetwork).Str(),
			SegmentationID: int(id),
		}
	})
}

// oneForm refuses a body with segments in both forms.
func oneForm(b resource.Body) error {
	_, list := b.Values["segments"]
	for _, name := range []string{networkType, physicalNetwork, segmentationID} {
		if _, ok := b.Values[name]; ok && list {
			return resource.NewFault("SegmentsSetInConjunctionWithProviders", "Segments and provider values cannot both be set.")
		}
	}
	return nil
}
