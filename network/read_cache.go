package network

import (
	"slices"

	"github.com/berthcloud/berth/network/ipam"
)

// readCache caches what a transaction has read, and applies what the transaction writes to it, so
// that a request for many objects does not read all rows again for each of them. The zero value is
// empty.
type readCache struct {
	addresses map[ID]*ipam.Free // by subnet
	subnets   map[ID][]SubnetRow
	segments  map[segmentKind]map[int]bool
}

// A segmentKind is what the numbers of segments are unique in.
type segmentKind struct{ kind, physical string }

// inserted applies a row that was added.
func (s *readCache) inserted(row any) {
	switch r := row.(type) {
	case *AddressRow:
		if free := s.addresses[r.Subnet]; free != nil {
			free.Use(r.IP)
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

// FreeAddresses returns the free addresses of a subnet.
func (tx *Tx) FreeAddresses(s ipam.Subnet) (*ipam.Free, error) {
	id := ID(s.ID)
	if f := tx.cache.addresses[id]; f != nil {
		return f, nil
	}
	rows, err := Rows[AddressRow](tx, Where(BySubnet, id))
	if err != nil {
		return nil, err
	}
	used := make([]string, len(rows))
	for i, row := range rows {
		used[i] = row.IP
	}
	f, err := s.NewFree(used)
	if err != nil {
		return nil, err
	}
	if tx.cache.addresses == nil {
		tx.cache.addresses = map[ID]*ipam.Free{}
	}
	tx.cache.addresses[id] = f
	return f, nil
}

// SubnetsOf returns the subnets of a network in order of creation. The caller must not modify the
// list.
func (tx *Tx) SubnetsOf(network ID) ([]SubnetRow, error) {
	if all, ok := tx.cache.subnets[network]; ok {
		return all, nil
	}
	all, err := Rows[SubnetRow](tx, Where(ByNetwork, network))
	if err != nil {
		return nil, err
	}
	slices.SortStableFunc(all, func(a, b SubnetRow) int { return a.Index - b.Index })
	if tx.cache.subnets == nil {
		tx.cache.subnets = map[ID][]SubnetRow{}
	}
	tx.cache.subnets[network] = all
	return all, nil
}

// UsedNumbers returns the numbers that are in use on segments of a type. The caller must not modify
// the map.
func (tx *Tx) UsedNumbers(kind, physical string) (map[int]bool, error) {
	if used := tx.cache.segments[segmentKind{kind, physical}]; used != nil {
		return used, nil
	}
	rows, err := Rows[SegmentRow](tx, Where(ByPhysical, physical))
	if err != nil {
		return nil, err
	}
	used := make(map[int]bool, len(rows))
	for _, row := range rows {
		if row.Type == kind {
			used[row.SegmentationID] = true
		}
	}
	if tx.cache.segments == nil {
		tx.cache.segments = map[segmentKind]map[int]bool{}
	}
	tx.cache.segments[segmentKind{kind, physical}] = used
	return used, nil
}
