package networkapi

import (
	"math"
	"slices"

	"github.com/berthcloud/berth/httpapi/pyjson"
	"github.com/berthcloud/berth/network"
)

// The attributes of a network's segments: three of one, or a list when there are
// several. Only one of the two forms is shown.

const (
	networkType     = "provider:network_type"
	physicalNetwork = "provider:physical_network"
	segmentationID  = "provider:segmentation_id"
)

func providerTable() []networkAttribute {
	use := post | put | filter | guarded
	return []networkAttribute{
		{
			name: networkType, use: use, check: text(32), shownIf: single, with: anySegment,
			set:  func(s *network.NetworkSpec, v pyjson.Value) { only(s).Any, only(s).Type = false, v.Str() },
			show: ofSegment(func(s *network.SegmentRow) pyjson.Value { return valueOf(s.Type) }),
		},
		{
			name: physicalNetwork, use: use, check: text(64), shownIf: single, with: anySegment,
			set:  func(s *network.NetworkSpec, v pyjson.Value) { only(s).PhysicalNetwork = v.Str() },
			show: ofSegment(func(s *network.SegmentRow) pyjson.Value { return orNone(s.PhysicalNetwork) }),
		},
		{
			name: segmentationID, use: use, convert: toSegmentationID, shownIf: single, with: anySegment,
			set:  func(s *network.NetworkSpec, v pyjson.Value) { n, _ := v.Int64(); only(s).SegmentationID = int(n) },
			show: ofSegment(func(s *network.SegmentRow) pyjson.Value { return numberOrNone(s.SegmentationID) }),
		},
		{
			name: "segments", use: post | put | idle | guarded, parts: true, convert: toSegments,
			set:     func(s *network.NetworkSpec, v pyjson.Value) { s.Segments = segmentsOf(v) },
			show:    func(n *network.Network) pyjson.Value { return array(n.Segments, showSegment) },
			shownIf: func(n *network.Network) bool { return !single(n) },
		},
	}
}

// single reports whether a network has the form of those with one segment.
func single(n *network.Network) bool { return len(n.Segments) <= 1 }

// anySegment is a filter by something of a segment, of whichever.
func anySegment(wanted []string) func(*network.Network) bool {
	any := setOf(wanted)
	return func(n *network.Network) bool {
		return slices.ContainsFunc(n.Segments, func(s network.SegmentRow) bool {
			return any[s.Type] || any[s.PhysicalNetwork] && s.PhysicalNetwork != "" || any[pyjson.Str(numberOrNone(s.SegmentationID))]
		})
	}
}

// only returns the one segment of the three attributes.
func only(s *network.NetworkSpec) *network.SegmentSpec {
	if len(s.Segments) == 0 {
		s.Segments = []network.SegmentSpec{{Any: true, SegmentationID: -1}}
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
	return object(networkType, s.Type, physicalNetwork, orNone(s.PhysicalNetwork), segmentationID, numberOrNone(s.SegmentationID))
}

// toSegments adds the defaults of each segment of a list, and refuses duplicates.
func toSegments(v pyjson.Value) (pyjson.Value, error) {
	if v.Kind() != pyjson.Array {
		return v, invalidValue("segments", "'"+pyjson.Str(v)+"' is not a list")
	}
	whole, seen := make([]pyjson.Value, v.Len()), values{}
	for i, item := range v.Items() {
		one, err := toSegment(item)
		if err != nil {
			return v, err
		}
		if !seen.add(one) {
			return v, newFault("SegmentsContainDuplicateEntry", "Duplicate segment entry in request.")
		}
		whole[i] = one
	}
	return pyjson.NewArray(whole...), nil
}

// toSegmentationID takes the number of a VLAN or a tunnel, as far as it can be kept.
func toSegmentationID(v pyjson.Value) (pyjson.Value, error) {
	v, err := toInt(v)
	if n, ok := v.Int64(); err == nil && (!ok || n < 0 || n > math.MaxInt32) {
		return v, invalidInput("segmentation_id out of range (0 through %d)", math.MaxInt32)
	}
	return v, err
}

// toSegment checks one segment of a list.
func toSegment(item pyjson.Value) (pyjson.Value, error) {
	b, err := read([]attribute[struct{}, struct{}]{
		{name: networkType, use: post}, {name: physicalNetwork, use: post}, {name: segmentationID, use: post, convert: toSegmentationID},
	}, item, true)
	if err != nil {
		return item, err
	}
	return object(networkType, b.values[networkType], physicalNetwork, b.values[physicalNetwork], segmentationID, b.values[segmentationID]), nil
}

func segmentsOf(v pyjson.Value) []network.SegmentSpec {
	return each(v, func(item pyjson.Value) network.SegmentSpec {
		kind := part(item, networkType)
		id, ok := part(item, segmentationID).Int64()
		if !ok {
			id = -1
		}
		return network.SegmentSpec{
			Any: kind.Kind() == pyjson.Null, Type: kind.Str(), PhysicalNetwork: part(item, physicalNetwork).Str(), SegmentationID: int(id),
		}
	})
}

// oneForm refuses a body with segments in both forms.
func oneForm(b body) error {
	_, list := b.values["segments"]
	for _, name := range []string{networkType, physicalNetwork, segmentationID} {
		if _, ok := b.values[name]; ok && list {
			return newFault("SegmentsSetInConjunctionWithProviders", "Segments and provider values cannot both be set.")
		}
	}
	return nil
}
