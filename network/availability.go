package network

import (
	"context"
	"math/big"
)

// An Availability says how many addresses a network has.
type Availability struct {
	NetworkRow
	Subnets []SubnetAvailability // in the order of their ids
}

// A SubnetAvailability says how many addresses a subnet has: those of its pools, and
// how many ports have, of its pools or not.
type SubnetAvailability struct {
	SubnetRow
	Total *big.Int
	Used  int64
}

// Availabilities returns how many addresses the networks that match have.
func (s *Service) Availabilities(ctx context.Context, where ...Match) (all []Availability, err error) {
	err = s.store.View(ctx, func(r Reader) error {
		all, err = availabilities(r, where)
		return err
	})
	return all, err
}

func availabilities(r Reader, where []Match) ([]Availability, error) {
	rows, err := Rows[NetworkRow](r, where...)
	if err != nil || len(rows) == 0 {
		return nil, err
	}
	subnets, err := Rows[SubnetRow](r, Where(ByNetwork, ids(rows, func(n *NetworkRow) ID { return n.ID })...))
	if err != nil {
		return nil, err
	}
	addresses, err := Rows[AddressRow](r, Where(BySubnet, ids(subnets, func(s *SubnetRow) ID { return s.ID })...))
	if err != nil {
		return nil, err
	}
	used := make(map[ID]int64, len(subnets))
	for _, a := range addresses {
		used[a.Subnet]++
	}
	byNetwork := group(subnets, func(s *SubnetRow) ID { return s.Network })
	all := make([]Availability, len(rows))
	for i, row := range rows {
		all[i].NetworkRow = row
		for _, subnet := range byNetwork[row.ID] {
			s := subnet.ipam()
			total, err := s.Size()
			if err != nil {
				return nil, err
			}
			all[i].Subnets = append(all[i].Subnets, SubnetAvailability{subnet, total, used[subnet.ID]})
		}
	}
	return all, nil
}
