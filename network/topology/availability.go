package topology

import (
	"context"
	"math/big"

	"github.com/berthcloud/berth/network"
)

// An Availability says how many addresses a network has.
type Availability struct {
	network.NetworkRow
	Subnets []SubnetAvailability // in the order of their ids
}

// A SubnetAvailability says how many addresses a subnet has: those of its pools, and
// how many ports have, of its pools or not.
type SubnetAvailability struct {
	network.SubnetRow
	Total *big.Int
	Used  int64
}

// Availabilities returns how many addresses the networks that match have.
func (s *Service) Availabilities(ctx context.Context, where ...network.Match) (all []Availability, err error) {
	err = s.db.View(ctx, func(r network.Reader) error {
		all, err = availabilities(r, where)
		return err
	})
	return all, err
}

func availabilities(r network.Reader, where []network.Match) ([]Availability, error) {
	rows, err := network.Rows[network.NetworkRow](r, where...)
	if err != nil || len(rows) == 0 {
		return nil, err
	}
	subnets, err := network.Rows[network.SubnetRow](r,
		network.Where(network.ByNetwork, network.IDs(rows, func(n *network.NetworkRow) network.ID { return n.ID })...))
	if err != nil {
		return nil, err
	}
	addresses, err := network.Rows[network.AddressRow](r,
		network.Where(network.BySubnet, network.IDs(subnets, func(s *network.SubnetRow) network.ID { return s.ID })...))
	if err != nil {
		return nil, err
	}
	used := make(map[network.ID]int64, len(subnets))
	for _, a := range addresses {
		used[a.Subnet]++
	}
	byNetwork := network.GroupBy(subnets, func(s *network.SubnetRow) network.ID { return s.Network })
	all := make([]Availability, len(rows))
	for i, row := range rows {
		all[i].NetworkRow = row
		for _, subnet := range byNetwork[row.ID] {
			s := ipamSubnet(&subnet)
			total, err := s.Size()
			if err != nil {
				return nil, err
			}
			all[i].Subnets = append(all[i].Subnets, SubnetAvailability{subnet, total, used[subnet.ID]})
		}
	}
	return all, nil
}
