package network

import (
	"context"
	"strings"
)

// CreateSegments gives networks further segments, all or none. Of the rows Network,
// Type, PhysicalNetwork, SegmentationID (-1 for any), Name and Description count.
// Faults: NetworkNotFound, InvalidInput, and Conflict when the segment is taken.
func (s *Service) CreateSegments(ctx context.Context, rows []SegmentRow) (made []SegmentRow, err error) {
	err = s.update(ctx, func(c *change) error {
		made = nil
		for _, row := range rows {
			row, err := c.addSegment(row)
			if err != nil {
				return err
			}
			made = append(made, row)
		}
		return nil
	})
	return made, err
}

func (c *change) addSegment(row SegmentRow) (SegmentRow, error) {
	n, err := byID[NetworkRow](c, "network", row.Network)
	if err != nil {
		return row, err
	}
	others, err := Rows[SegmentRow](c, Where(ByNetwork, row.Network))
	if err != nil {
		return row, err
	}
	made, err := c.reserve(SegmentSpec{Type: row.Type, PhysicalNetwork: row.PhysicalNetwork, SegmentationID: row.SegmentationID})
	if err != nil {
		return row, err
	}
	c.fresh(&made.Common)
	made.Network, made.Name, made.Description, made.Revision = row.Network, row.Name, row.Description, 1
	for _, o := range others {
		made.Place = max(made.Place, o.Place+1)
	}
	if n.MTU, err = c.mtu(n.MTU, append(others, made)); err != nil {
		return row, err
	}
	return made, firstError(taken(c.Insert(&made), made), c.segmentsChanged(n))
}

// segmentsChanged raises the revision of a network that has got a segment or lost one;
// Neutron computes its MTU before and after that, and counts both.
func (c *change) segmentsChanged(n NetworkRow) error {
	n.Revision++
	c.touch(&n.Common)
	return c.Replace(&n)
}

// UpdateSegment changes the name and the description of a segment; fn may change no
// more. It may run more than once. Fault: SegmentNotFound.
func (s *Service) UpdateSegment(ctx context.Context, id ID, fn func(*SegmentRow) error) (row SegmentRow, err error) {
	err = s.update(ctx, func(c *change) error {
		if row, err = byID[SegmentRow](c, "segment", id); err != nil {
			return err
		}
		if err := fn(&row); err != nil {
			return err
		}
		c.touch(&row.Common)
		return c.Replace(&row)
	})
	return row, err
}

// DeleteSegment removes a segment from its network, which may be left without any. Faults:
// SegmentNotFound, and SegmentInUse while it has subnets or bound ports.
func (s *Service) DeleteSegment(ctx context.Context, id ID, only ...Condition) error {
	return s.update(ctx, func(c *change) error {
		row, err := byID[SegmentRow](c, "segment", id)
		if err != nil {
			return err
		}
		if err := firstError(c.segmentFree(id), met(only, &row.Common)); err != nil {
			return err
		}
		n, err := byID[NetworkRow](c, "network", row.Network)
		if err != nil {
			return err
		}
		_, err = c.Remove(&SegmentRow{}, Where(ByID, id))
		return firstError(err, c.segmentsChanged(n))
	})
}

// segmentFree refuses a segment that something is on.
func (c *change) segmentFree(id ID) error {
	subnets, err := Rows[SubnetRow](c, Where(BySegment, id))
	if err != nil {
		return err
	}
	bindings, err := Rows[BindingRow](c, Where(BySegment, id))
	if err != nil {
		return err
	}
	inUse := func(what string, by []ID) error {
		list := make([]string, len(by))
		for i, id := range by {
			list[i] = string(id)
		}
		return conflict("SegmentInUse", "Segment '%s' cannot be deleted: %s %s.", string(id), what, strings.Join(list, ", "))
	}
	switch {
	case len(subnets) > 0:
		return inUse("The segment is still associated with subnet(s)", ids(subnets, func(s *SubnetRow) ID { return s.ID }))
	case len(bindings) > 0:
		return inUse("The segment is still used by port(s)", ids(bindings, func(b *BindingRow) ID { return b.Port }))
	}
	return nil
}
