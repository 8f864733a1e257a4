package network

import (
	"net/netip"
	"slices"
)

// seen is what a transaction has read once and keeps up with what it writes, so that a
// request for many objects does not read all that is there for each of them. The zero value
// has read nothing.
type seen struct {
	rooms    map[ID]*room // by subnet
	subnets  map[ID][]SubnetRow
	segments map[segmentKind]map[int]bool
}

// A segmentKind is what the numbers of segments are unique in.
type segmentKind struct{ kind, physical string }

// A room is the addresses of a subnet's pools and which of them are in use.
type room struct {
	pools []span
	used  map[netip.Addr]bool
	next  netip.Addr // in the first of the pools: none before it is free
}

// first returns the lowest free address.
func (r *room) first() (netip.Addr, bool) {
	for len(r.pools) > 0 {
		for ; r.next.IsValid() && r.next.Compare(r.pools[0].last) <= 0; r.next = r.next.Next() {
			if !r.used[r.next] {
				return r.next, true
			}
		}
		if r.pools = r.pools[1:]; len(r.pools) > 0 {
			r.next = r.pools[0].first
		}
	}
	return netip.Addr{}, false
}

// inserted keeps up with a row that was added.
func (s *seen) inserted(row any) {
	switch r := row.(type) {
	case *AddressRow:
		if there := s.rooms[r.Subnet]; there != nil {
			if a, err := netip.ParseAddr(r.IP); err == nil {
				there.used[a] = true
			}
		}
	case *SubnetRow:
		if all, ok := s.subnets[r.Network]; ok {
			s.subnets[r.Network] = append(all, *r) // nobody changes what is there
		}
	case *SegmentRow:
		if used := s.segments[segmentKind{r.Type, r.PhysicalNetwork}]; used != nil {
			used[r.SegmentationID] = true
		}
	}
}

// changed forgets what a row that was replaced or removed may have been in.
func (s *seen) changed(row any) {
	switch row.(type) {
	case *AddressRow:
		s.rooms = nil
	case *SubnetRow:
		s.rooms, s.subnets = nil, nil
	case *SegmentRow:
		s.segments = nil
	}
}

// room returns the addresses of a subnet.
func (c *change) room(s SubnetRow) (*room, error) {
	if r := c.seen.rooms[s.ID]; r != nil {
		return r, nil
	}
	rows, err := Rows[AddressRow](c, Where(BySubnet, s.ID))
	if err != nil {
		return nil, err
	}
	r := &room{used: make(map[netip.Addr]bool, len(rows))}
	for _, row := range rows {
		if a, err := netip.ParseAddr(row.IP); err == nil {
			r.used[a] = true
		}
	}
	if r.pools, err = spans(s.Pools); err != nil {
		return nil, err
	}
	if len(r.pools) > 0 {
		r.next = r.pools[0].first
	}
	if c.seen.rooms == nil {
		c.seen.rooms = map[ID]*room{}
	}
	c.seen.rooms[s.ID] = r
	return r, nil
}

// subnetsOf returns the subnets of a network as they were made. The list is not to be
// changed.
func (c *change) subnetsOf(network ID) ([]SubnetRow, error) {
	if all, ok := c.seen.subnets[network]; ok {
		return all, nil
	}
	all, err := Rows[SubnetRow](c, Where(ByNetwork, network))
	if err != nil {
		return nil, err
	}
	slices.SortStableFunc(all, func(a, b SubnetRow) int { return a.Place - b.Place })
	if c.seen.subnets == nil {
		c.seen.subnets = map[ID][]SubnetRow{}
	}
	c.seen.subnets[network] = all
	return all, nil
}

// used returns the numbers that are in use on segments of a type. The map is not to be
// changed.
func (c *change) used(kind, physical string) (map[int]bool, error) {
	if used := c.seen.segments[segmentKind{kind, physical}]; used != nil {
		return used, nil
	}
	rows, err := Rows[SegmentRow](c, Where(ByPhysical, physical))
	if err != nil {
		return nil, err
	}
	used := make(map[int]bool, len(rows))
	for _, row := range rows {
		if row.Type == kind {
			used[row.SegmentationID] = true
		}
	}
	if c.seen.segments == nil {
		c.seen.segments = map[segmentKind]map[int]bool{}
	}
	c.seen.segments[segmentKind{kind, physical}] = used
	return used, nil
}
