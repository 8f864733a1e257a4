package topology

import (
	"cmp"
	"errors"
	"slices"

	"github.com/berthcloud/berth/fault"
	"github.com/berthcloud/berth/network"
	"github.com/berthcloud/berth/network/agents"
	"github.com/berthcloud/berth/network/ipam"
)

// ipamSubnet returns what package ipam has to know of a subnet.
func ipamSubnet(s *network.SubnetRow) ipam.Subnet {
	return ipam.Subnet{
		ID: string(s.ID), Network: string(s.Network), Segment: string(s.Segment), Version: s.IPVersion,
		CIDR: s.CIDR, Gateway: s.Gateway, DHCP: s.EnableDHCP, Pools: s.Pools,
		Nameservers: s.DNSNameservers, HostRoutes: s.HostRoutes,
		AddressMode: s.IPv6Address, RAMode: s.IPv6RA, ServiceTypes: s.ServiceTypes,
	}
}

func ipamSubnets(rows []network.SubnetRow) []ipam.Subnet {
	all := make([]ipam.Subnet, len(rows))
	for i := range rows {
		all[i] = ipamSubnet(&rows[i])
	}
	return all
}

// fixedOf returns addresses of a port as package ipam has them.
func fixedOf(rows []network.AddressRow) []ipam.Fixed {
	all := make([]ipam.Fixed, len(rows))
	for i, a := range rows {
		all[i] = ipam.Fixed{Subnet: string(a.Subnet), IP: a.IP}
	}
	return all
}

// selectSubnets returns the subnets that a port may have addresses of; deferred means that they are
// not known before it has a host.
func selectSubnets(tx *network.Tx, r ipam.Request) (subnets []ipam.Subnet, deferred bool, err error) {
	rows, err := tx.SubnetsOf(network.ID(r.Network))
	if err != nil || len(rows) == 0 {
		return nil, false, err
	}
	if r.Host != "" && slices.ContainsFunc(rows, func(s network.SubnetRow) bool { return s.Segment != "" }) {
		if r.Connected, err = connectedSegments(tx, r.Host, network.ID(r.Network)); err != nil {
			return nil, false, err
		}
	}
	return ipam.Select(ipamSubnets(rows), r)
}

// connectedSegments returns the segments of a network that the agents of a host are connected to:
// those on physical networks.
func connectedSegments(tx *network.Tx, host string, id network.ID) (map[string]bool, error) {
	segments, err := network.Rows[network.SegmentRow](tx, network.Where(network.ByNetwork, id))
	if err != nil {
		return nil, err
	}
	present, err := agents.On(tx, host)
	if err != nil {
		return nil, err
	}
	connected := make(map[string]bool)
	for _, a := range present {
		reaches := agents.Connected(tx.Rules, a)
		for _, s := range segments {
			if reaches(s) {
				connected[string(s.ID)] = true
			}
		}
	}
	return connected, nil
}

// AssignAddresses assigns addresses to a port that has none: those that are requested or, when any
// will do, one of each IP version of the network's subnets, and the SLAAC addresses. It reports
// whether the assignment is deferred until the port has a host.
func AssignAddresses(tx *network.Tx, p network.PortRow, r ipam.Request) (deferred bool, err error) {
	subnets, deferred, err := selectSubnets(tx, r)
	if err != nil || deferred {
		return deferred, err
	}
	for _, want := range r.Fixed {
		if err := assignAddress(tx, p, subnets, want); err != nil {
			return false, err
		}
	}
	for _, v := range []int{4, 6} {
		if !r.Any {
			break
		}
		if err := assignAny(tx, p, subnets, v); err != nil {
			return false, err
		}
	}
	return false, assignDerived(tx, p, subnets)
}

// assignAny gives a port the first free address of a version; nothing when there is no subnet of
// it.
func assignAny(tx *network.Tx, p network.PortRow, subnets []ipam.Subnet, version int) error {
	exists := false
	for _, s := range subnets {
		if s.Version != version || s.Automatic() {
			continue
		}
		exists = true
		free, err := tx.FreeAddresses(s)
		if err != nil {
			return err
		}
		if a, ok := free.First(); ok {
			return tx.Insert(&network.AddressRow{Port: p.ID, Subnet: network.ID(s.ID), IP: a.String()})
		}
	}
	if exists {
		return exhausted(p.Network)
	}
	return nil
}

func exhausted(id network.ID) error {
	return network.Conflict("IpAddressGenerationFailure", "No more IP addresses available on network %s.", id)
}

// assignAddress assigns one requested address to a port.
func assignAddress(tx *network.Tx, p network.PortRow, subnets []ipam.Subnet, want ipam.Fixed) error {
	s, err := ipam.For(subnets, want, p.DeviceOwner)
	if err != nil {
		among := slices.ContainsFunc(subnets, func(s ipam.Subnet) bool { return s.ID == want.Subnet })
		if want.Subnet != "" && !among && len(subnets) > 0 { // it may not exist at all
			if _, missing := network.Find[network.SubnetRow](tx, "subnet", network.ID(want.Subnet)); missing != nil {
				return missing
			}
		}
		return err
	}
	ip := want.IP
	switch {
	case s.Automatic() && ip == "" && !ipam.IsRouter(p.DeviceOwner):
		return nil // assignDerived does
	case s.Automatic() && ip != "" && !ipam.IsRouterInterface(p.DeviceOwner):
		return network.Invalid("AllocationOnAutoAddressSubnet",
			"IPv6 address %s cannot be directly assigned to a port on subnet %s "+
				"as the subnet is configured for automatic addresses", ip, s.ID)
	case ip == "":
		free, err := tx.FreeAddresses(s)
		if err != nil {
			return err
		}
		a, ok := free.First()
		if !ok {
			return exhausted(p.Network)
		}
		ip = a.String()
	}
	err = tx.Insert(&network.AddressRow{Port: p.ID, Subnet: network.ID(s.ID), IP: ip})
	if errors.Is(err, network.ErrTaken) {
		return network.Conflict("IpAddressAlreadyAllocated", "IP address %s already allocated in subnet %s", ip, s.ID)
	}
	return err
}

// assignDerived records the addresses that a host derives from its MAC address.
func assignDerived(tx *network.Tx, p network.PortRow, subnets []ipam.Subnet) error {
	if ipam.IsRouter(p.DeviceOwner) {
		return nil
	}
	for _, s := range subnets {
		a, ok := s.Derived(p.MAC)
		if !ok {
			continue
		}
		if err := tx.Insert(&network.AddressRow{
			Port: p.ID, Subnet: network.ID(s.ID),
			IP: a.String(),
		}); err != nil && !errors.Is(err, network.ErrTaken) {
			return err
		}
	}
	return nil
}

// assignToNetwork gives the ports of its network an address of a new subnet whose hosts derive
// their own, but not those on another segment.
func assignToNetwork(tx *network.Tx, row network.SubnetRow) error {
	s := ipamSubnet(&row)
	if !s.Automatic() {
		return nil
	}
	all, err := network.Ports(tx, network.Where(network.ByNetwork, row.Network))
	if err != nil {
		return err
	}
	for _, p := range all {
		if ipam.IsRouter(p.DeviceOwner) {
			continue
		}
		r := ipam.Request{Network: s.Network, Owner: p.DeviceOwner, Host: p.Binding.Host, Fixed: fixedOf(p.Addresses)}
		subnets, _, err := selectSubnets(tx, r)
		if kind, _ := fault.Of(err); err != nil && kind != fault.Conflict && kind != fault.Invalid {
			return err
		}
		if !slices.ContainsFunc(subnets, func(o ipam.Subnet) bool { return o.ID == s.ID }) {
			continue
		}
		p.Revision++ // for the address, and once more for the port
		tx.Touch(&p.Common)
		if err := cmp.Or(assignDerived(tx, p.PortRow, []ipam.Subnet{s}), tx.Replace(&p.PortRow)); err != nil {
			return err
		}
	}
	return nil
}

// CheckHost refuses to bring a port to a host that is on another segment than its
// addresses are.
func CheckHost(tx *network.Tx, p network.Port, r ipam.Request) error {
	r.Any = true
	subnets, _, err := selectSubnets(tx, r)
	if err != nil {
		return err
	}
	lost := func(a network.AddressRow) bool {
		return !slices.ContainsFunc(subnets, func(s ipam.Subnet) bool { return s.ID == string(a.Subnet) })
	}
	if slices.ContainsFunc(p.Addresses, lost) {
		return network.Conflict("HostNotCompatibleWithFixedIps",
			"Host %s is not connected to a segment where the existing fixed_ips on port %s "+
				"will function given the routed network topology.", r.Host, p.ID)
	}
	return nil
}

// ChangeAddresses adds the requested addresses that a port does not have, and removes those that
// are not requested. SLAAC addresses follow subnets and MAC addresses only.
func ChangeAddresses(
	tx *network.Tx, row network.PortRow, p network.Port, requested []ipam.Fixed, r ipam.Request,
) error {
	rows, err := tx.SubnetsOf(p.Network.ID)
	if err != nil {
		return err
	}
	derives := make(map[string]bool) // by subnet: the port derives its address of it
	for _, s := range ipamSubnets(rows) {
		derives[s.ID] = s.Automatic() && !ipam.IsRouter(p.DeviceOwner)
	}
	current := fixedOf(p.Addresses)
	if row.MAC != p.MAC {
		for _, a := range current {
			if derives[a.Subnet] {
				requested = slices.DeleteFunc(slices.Clone(requested),
					func(w ipam.Fixed) bool { return w.Subnet == a.Subnet || w.IP == a.IP })
			}
		}
	}
	add, drop := ipam.Difference(current, requested)
	drop = slices.DeleteFunc(drop, func(a ipam.Fixed) bool { return derives[a.Subnet] && row.MAC == p.MAC })
	r.Fixed = slices.Clone(add)
	for _, a := range current {
		if !slices.Contains(drop, a) {
			r.Fixed = append(r.Fixed, a)
		}
	}
	for _, a := range drop {
		if _, err := tx.Remove(&network.AddressRow{}, network.Where(network.BySubnet, network.ID(a.Subnet)),
			network.Where(network.ByIP, a.IP)); err != nil {
			return err
		}
	}
	subnets, _, err := selectSubnets(tx, r)
	if err != nil {
		return err
	}
	row.DeviceOwner = p.DeviceOwner
	for _, want := range add {
		if err := assignAddress(tx, row, subnets, want); err != nil {
			return err
		}
	}
	return assignDerived(tx, row, subnets)
}
