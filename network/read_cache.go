package network

import (
	"net/netip"
	"slices"
)

// readCache caches what a transaction has read, and applies what the transaction writes to it, so that
// a request for many objects does not read all rows again for each of them. The zero value is empty.
type readCache struct {
	addresses map[ID]*freeAddresses // by subnet
	subnets   map[ID][]SubnetRow
	segments  map[segmentKind]map[int]bool
}

// A segmentKind is what the numbers of segments are unique in.
type segmentKind struct{ kind, physical string }

// A freeAddresses has the addresses of a subnet's pools and which of them are in use.
type freeAddresses struct {
	pools []span
	used  map[netip.Addr]bool
	next  netip.Addr // in the first of the pools: none before it is free
}

// first returns the lowest free address.
func (r *freeAddresses) first() (netip.Addr, bool) {
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

// inserted applies a row that was added.
func (s *readCache) inserted(row any) {
	switch r := row.(type) {
	case *AddressRow:
		if there := s.addresses[r.Subnet]; there != nil {
			if a, err := netip.ParseAddr(r.IP); err == nil {
				there.used[a] = true
			}
		}
	case *SubnetRow:
		if all, ok := s.subnets[r.Network]; ok {
			s.subnets[r.Network] = append(all, *r) // the slice is not modified in place
		}
	case *SegmentRow:
		if used := s.segments[segmentKind{r.Type, r.PhysicalNetwork}]; used != nil {
			used[r.SegmentationID] = true
		}
	}
}

// changed invalidates what a row that was replaced or removed may have been in.
func (s *readCache) changed(row any) {
	switch row.(type) {
	case *AddressRow:
		s.addresses = nil
	case *SubnetRow:
		s.addresses, s.subnets = nil, nil
	case *SegmentRow:
		s.segments = nil
	}
}

// freeAddresses returns the addresses of a subnet.
func (c *change) freeAddresses(s SubnetRow) (*freeAddresses, error) {
	if r := c.cache.addresses[s.ID]; r != nil {
		return r, nil
	}
	rows, err := Rows[AddressRow](c, Where(BySubnet, s.ID))
	if err != nil {
		return nil, err
	}
	r := &freeAddresses{used: make(map[netip.Addr]bool, len(rows))}
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
	if c.cache.addresses == nil {
		c.cache.addresses = map[ID]*freeAddresses{}
	}
	c.cache.addresses[s.ID] = r
	return r, nil
}

// subnetsOf returns the subnets of a network in order of creation. The caller must not modify the
// list.
func (c *change) subnetsOf(network ID) ([]SubnetRow, error) {
	if all, ok := c.cache.subnets[network]; ok {
		return all, nil
	}
	all, err := Rows[SubnetRow](c, Where(ByNetwork, network))
	if err != nil {
		return nil, err
	}
	slices.SortStableFunc(all, func(a, b SubnetRow) int { return a.Place - b.Place })
	if c.cache.subnets == nil {
		c.cache.subnets = map[ID][]SubnetRow{}
	}
	c.cache.subnets[network] = all
	return all, nil
}

// used returns the numbers that are in use on segments of a type. The caller must not modify the
// map.
func (c *change) used(kind, physical string) (map[int]bool, error) {
	if used := c.cache.segments[segmentKind{kind, physical}]; used != nil {
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
	if c.cache.segments == nil {
		c.cache.segments = map[segmentKind]map[int]bool{}
	}
	c.cache.segments[segmentKind{kind, physical}] = used
	return used, nil
}
