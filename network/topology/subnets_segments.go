package topology

import (
	"slices"

	"github.com/berthcloud/berth/network"
)

// A network is routed when its subnets are on its segments: they all are, or none is,
// but for those that are the network's own.

// routed is the service type of subnets that belong to the whole of a routed network.
const routed = "network:routed"

// checkSegment refuses a new subnet that is on a segment of another network, or that is on a
// segment while others of its network are not, or the other way round.
func checkSegment(tx *network.Tx, row network.SubnetRow, others []network.SubnetRow) error {
	var segment network.SegmentRow
	if row.Segment != "" {
		var err error
		if segment, err = network.Find[network.SegmentRow](tx, "segment", row.Segment); err != nil {
			return err
		}
	}
	differs := func(o network.SubnetRow) bool { return (o.Segment == "") != (row.Segment == "") }
	switch {
	case !isRouted(row) && slices.ContainsFunc(exceptRouted(others), differs):
		return notAllOnSegments(row.Network)
	case row.Segment != "" && segment.Network != row.Network:
		return network.Invalid("NetworkIdsDontMatch",
			"The subnet's network id, '%s', doesn't match the network_id of segment '%s'", row.Network, row.Segment)
	}
	return nil
}

func notAllOnSegments(id network.ID) error {
	return network.Invalid("SubnetsNotAllAssociatedWithSegments",
		"All of the subnets on network '%s' must either all be associated with segments "+
			"or all not associated with any segment.", id)
}

func isRouted(s network.SubnetRow) bool { return slices.Contains(s.ServiceTypes, routed) }

// exceptRouted removes the subnets without a segment.
func exceptRouted(all []network.SubnetRow) []network.SubnetRow {
	return slices.DeleteFunc(slices.Clone(all), isRouted)
}

// checkSegmentChange refuses to bring a subnet to another segment than it is on. The only subnet
// of a network that has one segment only may come to it.
func checkSegmentChange(tx *network.Tx, row, old network.SubnetRow) error {
	if row.Segment == old.Segment {
		return nil
	}
	subnets, err := tx.SubnetsOf(row.Network)
	if err != nil {
		return err
	}
	segments, err := network.Rows[network.SegmentRow](tx, network.Where(network.ByNetwork, row.Network))
	switch {
	case err != nil:
		return err
	case len(exceptRouted(subnets)) > 1:
		return notAllOnSegments(row.Network)
	case old.Segment != "":
		return network.Invalid("SubnetSegmentAssociationChangeNotAllowed",
			"A subnet that is already associated with a segment "+
				"cannot have its segment association changed.")
	case len(segments) > 1:
		return network.Invalid("NoUpdateSubnetWhenMultipleSegmentsOnNetwork",
			"The network '%s' has multiple segments, "+
				"it is only possible to associate an existing subnet with a segment on networks with a single segment.",
			row.Network)
	}
	return checkSegment(tx, row, nil)
}
