package network

import "slices"

// A network is routed when its subnets are on its segments: they all are, or none is,
// but for those that are the network's own.

// routed is the service type of subnets that belong to the whole of a routed network.
const routed = "network:routed"

// checkSegment refuses a new subnet that is on a segment of another network, or that is on a
// segment while others of its network are not, or the other way round.
func (c *change) checkSegment(row SubnetRow, others []SubnetRow) error {
	var segment SegmentRow
	if row.Segment != "" {
		var err error
		if segment, err = byID[SegmentRow](c, "segment", row.Segment); err != nil {
			return err
		}
	}
	differs := func(o SubnetRow) bool { return (o.Segment == "") != (row.Segment == "") }
	switch {
	case !isRouted(row) && slices.ContainsFunc(onlyParts(others), differs):
		return notAllOnSegments(row.Network)
	case row.Segment != "" && segment.Network != row.Network:
		return invalid("NetworkIdsDontMatch", "The subnet's network id, '%s', doesn't match the network_id of segment '%s'", row.Network, row.Segment)
	}
	return nil
}

func notAllOnSegments(network ID) error {
	return invalid("SubnetsNotAllAssociatedWithSegments", "All of the subnets on network '%s' must either all be associated with segments "+
		"or all not associated with any segment.", network)
}

func isRouted(s SubnetRow) bool { return slices.Contains(s.ServiceTypes, routed) }

// onlyParts removes the subnets without a segment.
func onlyParts(all []SubnetRow) []SubnetRow { return slices.DeleteFunc(slices.Clone(all), isRouted) }

// checkSegmentChange refuses to bring a subnet to another segment than it is on. The only subnet
// of a network that has one segment only may come to it.
func (c *change) checkSegmentChange(row, old SubnetRow) error {
	if row.Segment == old.Segment {
		return nil
	}
	subnets, err := c.subnetsOf(row.Network)
	if err != nil {
		return err
	}
	segments, err := Rows[SegmentRow](c, Where(ByNetwork, row.Network))
	switch {
	case err != nil:
		return err
	case len(onlyParts(subnets)) > 1:
		return notAllOnSegments(row.Network)
	case old.Segment != "":
		return invalid("SubnetSegmentAssociationChangeNotAllowed", "A subnet that is already associated with a segment "+
			"cannot have its segment association changed.")
	case len(segments) > 1:
		return invalid("NoUpdateSubnetWhenMultipleSegmentsOnNetwork", "The network '%s' has multiple segments, "+
			"it is only possible to associate an existing subnet with a segment on networks with a single segment.", row.Network)
	}
	return c.checkSegment(row, nil)
}
