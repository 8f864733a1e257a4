package topology

import (
	"cmp"
	"context"
	"strings"

	"github.com/berthcloud/berth/network"
)

// CreateSegments adds segments to networks, all or none. Of the rows Network,
// Type, PhysicalNetwork, SegmentationID (-1 for any), Name and Description count.
// Faults: NetworkNotFound, InvalidInput, and Conflict when the segment is taken.
func (s *Service) CreateSegments(
	ctx context.Context, rows []network.SegmentRow,
) (segments []network.SegmentRow, err error) {
	err = s.db.Update(ctx, func(tx *network.Tx) error {
		segments = nil
		for _, row := range rows {
			row, err := addSegment(tx, row)
			if err != nil {
				return err
			}
			segments = append(segments, row)
		}
		return nil
	})
	return segments, err
}

func addSegment(tx *network.Tx, row network.SegmentRow) (network.SegmentRow, error) {
	n, err := network.Find[network.NetworkRow](tx, "network", row.Network)
	if err != nil {
		return row, err
	}
	others, err := network.Rows[network.SegmentRow](tx, network.Where(network.ByNetwork, row.Network))
	if err != nil {
		return row, err
	}
	segment, err := reserve(tx,
		SegmentSpec{Type: row.Type, PhysicalNetwork: row.PhysicalNetwork, SegmentationID: row.SegmentationID})
	if err != nil {
		return row, err
	}
	tx.Fresh(&segment.Common)
	segment.Network, segment.Name, segment.Description, segment.Revision = row.Network, row.Name, row.Description, 1
	for _, o := range others {
		segment.Index = max(segment.Index, o.Index+1)
	}
	if n.MTU, err = networkMTU(tx, n.MTU, append(others, segment)); err != nil {
		return row, err
	}
	return segment, cmp.Or(taken(tx.Insert(&segment), segment), segmentsChanged(tx, n))
}

// segmentsChanged raises the revision of a network that has got a segment or lost one;
// Neutron computes its MTU before and after that, and counts both.
func segmentsChanged(tx *network.Tx, n network.NetworkRow) error {
	n.Revision++
	tx.Touch(&n.Common)
	return tx.Replace(&n)
}

// UpdateSegment changes the name and the description of a segment; fn may change no
// more. It may run more than once. Fault: SegmentNotFound.
func (s *Service) UpdateSegment(
	ctx context.Context, id network.ID, fn func(*network.SegmentRow) error,
) (row network.SegmentRow, err error) {
	err = s.db.Update(ctx, func(tx *network.Tx) error {
		if row, err = network.Find[network.SegmentRow](tx, "segment", id); err != nil {
			return err
		}
		if err := fn(&row); err != nil {
			return err
		}
		tx.Touch(&row.Common)
		return tx.Replace(&row)
	})
	return row, err
}

// DeleteSegment removes a segment from its network, which may have none afterwards. Faults:
// SegmentNotFound, and SegmentInUse while it has subnets or bound ports.
func (s *Service) DeleteSegment(ctx context.Context, id network.ID, only ...network.Condition) error {
	return s.db.Update(ctx, func(tx *network.Tx) error {
		row, err := network.Find[network.SegmentRow](tx, "segment", id)
		if err != nil {
			return err
		}
		if err := cmp.Or(segmentFree(tx, id), network.CheckConditions(only, &row.Common)); err != nil {
			return err
		}
		n, err := network.Find[network.NetworkRow](tx, "network", row.Network)
		if err != nil {
			return err
		}
		_, err = tx.Remove(&network.SegmentRow{}, network.Where(network.ByID, id))
		return cmp.Or(err, segmentsChanged(tx, n))
	})
}

// segmentFree refuses a segment that something is on.
func segmentFree(tx *network.Tx, id network.ID) error {
	subnets, err := network.Rows[network.SubnetRow](tx, network.Where(network.BySegment, id))
	if err != nil {
		return err
	}
	bindings, err := network.Rows[network.BindingRow](tx, network.Where(network.BySegment, id))
	if err != nil {
		return err
	}
	inUse := func(what string, by []network.ID) error {
		list := make([]string, len(by))
		for i, id := range by {
			list[i] = string(id)
		}
		return network.Conflict("SegmentInUse", "Segment '%s' cannot be deleted: %s %s.", string(id), what,
			strings.Join(list, ", "))
	}
	switch {
	case len(subnets) > 0:
		return inUse("The segment is still associated with subnet(s)",
			network.IDs(subnets, func(s *network.SubnetRow) network.ID { return s.ID }))
	case len(bindings) > 0:
		return inUse("The segment is still used by port(s)",
			network.IDs(bindings, func(b *network.BindingRow) network.ID { return b.Port }))
	}
	return nil
}
