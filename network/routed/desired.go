package routed

import (
	"encoding/binary"
	"math"
	"net/netip"
	"slices"

	"github.com/berthcloud/berth/network"
	"github.com/berthcloud/berth/network/agents"
	"github.com/berthcloud/berth/placement"
)

// addressClass is the resource class of IPv4 addresses.
const addressClass = "IPV4_ADDRESS"

// inventoryOf returns the inventory of a segment's addresses, with total 0 when its subnets have no
// pools. Neutron counts in the same way: the pools and the gateways are the total; gateways, one
// address of each subnet with DHCP, and the addresses of ports that are neither servers' nor those
// of DHCP servers are reserved. What is reserved beyond the total, by addresses outside of the
// pools, is left out: placement refuses it.
func inventoryOf(r network.Reader, segment network.ID) (i placement.Inventory, err error) {
	i = placement.Inventory{MinUnit: 1, MaxUnit: 1, StepSize: 1, AllocationRatio: 1}
	subnets, err := network.Rows[network.SubnetRow](r, network.Where(network.BySegment, segment))
	if err != nil {
		return i, err
	}
	subnets = slices.DeleteFunc(subnets, func(s network.SubnetRow) bool { return s.IPVersion != 4 })
	for _, s := range subnets {
		var pools int64
		for _, p := range s.Pools {
			pools += poolSize(p)
		}
		if pools == 0 {
			continue
		}
		i.Total += pools
		if s.Gateway != "" {
			i.Total++
			i.Reserved++
		}
		if s.EnableDHCP {
			i.Reserved++
		}
	}
	ports, err := reservedAddresses(r, subnets)
	i.Total = min(i.Total, math.MaxInt32) // placement's largest
	i.Reserved = min(i.Reserved+ports, i.Total)
	return i, err
}

// poolSize counts the addresses of an IPv4 pool.
func poolSize(p network.Pool) int64 {
	start, err1 := netip.ParseAddr(p.Start)
	end, err2 := netip.ParseAddr(p.End)
	if err1 != nil || err2 != nil || !start.Is4() || !end.Is4() {
		return 0
	}
	first, last := start.As4(), end.As4()
	return max(0, int64(binary.BigEndian.Uint32(last[:]))-int64(binary.BigEndian.Uint32(first[:]))+1)
}

// reservedAddresses counts the addresses of subnets that are neither servers' nor those of DHCP
// servers.
func reservedAddresses(r network.Reader, subnets []network.SubnetRow) (n int64, err error) {
	if len(subnets) == 0 {
		return 0, nil
	}
	addresses, err := network.Rows[network.AddressRow](r,
		network.Where(network.BySubnet, network.IDs(subnets, func(s *network.SubnetRow) network.ID { return s.ID })...))
	if err != nil || len(addresses) == 0 {
		return 0, err
	}
	ports, err := network.Rows[network.PortRow](r,
		network.Where(network.ByID, network.IDs(addresses, func(a *network.AddressRow) network.ID { return a.Port })...))
	if err != nil {
		return 0, err
	}
	owners := make(map[network.ID]string, len(ports))
	for _, p := range ports {
		owners[p.ID] = p.DeviceOwner
	}
	for _, a := range addresses {
		if network.ReservesAddress(owners[a.Port]) {
			n++
		}
	}
	return n, nil
}

// hostsOf returns the hosts, in order, whose agents are connected to each of some segments.
func hostsOf(r network.Reader, rules network.Rules, segments []network.ID) (map[network.ID][]string, error) {
	rows, err := network.Rows[network.SegmentRow](r, network.Where(network.ByID, segments...))
	if err != nil {
		return nil, err
	}
	all, err := network.Rows[network.AgentRow](r)
	if err != nil {
		return nil, err
	}
	hosts := make(map[network.ID][]string, len(rows))
	for _, a := range all {
		connected := agents.Connected(rules, a)
		for _, s := range rows {
			if connected(s) {
				hosts[s.ID] = append(hosts[s.ID], a.Host)
			}
		}
	}
	for id := range hosts {
		slices.Sort(hosts[id])
		hosts[id] = slices.Compact(hosts[id])
	}
	return hosts, nil
}
