package network

import (
	"errors"
	"slices"

	"github.com/berthcloud/berth/fault"
	"github.com/berthcloud/berth/network/binding"
	"github.com/berthcloud/berth/network/ipam"
)

// agentPorts are the owners of ports that a network's agents make, and that are deleted with it.
var agentPorts = []string{ipam.OwnerDHCP, "network:distributed", "network:floatingip_agent_gateway"}

// ipam returns what package ipam has to know of a subnet.
func (s *SubnetRow) ipam() ipam.Subnet {
	return ipam.Subnet{
		ID: string(s.ID), Network: string(s.Network), Segment: string(s.Segment), Version: s.IPVersion,
		CIDR: s.CIDR, Gateway: s.Gateway, DHCP: s.EnableDHCP, Pools: s.Pools,
		Nameservers: s.DNSNameservers, HostRoutes: s.HostRoutes,
		AddressMode: s.IPv6Address, RAMode: s.IPv6RA, ServiceTypes: s.ServiceTypes,
	}
}

func ipamSubnets(rows []SubnetRow) []ipam.Subnet {
	all := make([]ipam.Subnet, len(rows))
	for i := range rows {
		all[i] = rows[i].ipam()
	}
	return all
}

// fixed returns requested addresses as package ipam has them.
func fixed(requested []FixedIP) []ipam.Fixed {
	all := make([]ipam.Fixed, len(requested))
	for i, f := range requested {
		all[i] = ipam.Fixed{Subnet: string(f.Subnet), IP: f.IP}
	}
	return all
}

// selectSubnets returns the subnets that a port may have addresses of; deferred says that they are not
// known before it has a host.
func (c *change) selectSubnets(r ipam.Request) (subnets []ipam.Subnet, deferred bool, err error) {
	rows, err := c.subnetsOf(ID(r.Network))
	if err != nil || len(rows) == 0 {
		return nil, false, err
	}
	if r.Host != "" {
		if r.Connected, err = c.connected(r.Host, ID(r.Network)); err != nil {
			return nil, false, err
		}
	}
	return ipam.Select(ipamSubnets(rows), r)
}

// connected returns the segments of a network that the agents of a host are connected to: those on
// physical networks.
func (c *change) connected(host string, network ID) (map[string]bool, error) {
	segments, err := Rows[SegmentRow](c, Where(ByNetwork, network))
	if err != nil {
		return nil, err
	}
	agents, err := c.agentsOn(host)
	if err != nil {
		return nil, err
	}
	connected := make(map[string]bool)
	for _, a := range agents {
		connectivity := binding.ConnectivityOf(c.agentToBind(a))
		for _, s := range segments {
			if s.PhysicalNetwork != "" && connectivity.Segment(segmentToBind(s)) {
				connected[string(s.ID)] = true
			}
		}
	}
	return connected, nil
}

// assignAddresses assigns addresses to a port that has none: those that are requested or, when any
// will do, one of each IP version of the network's subnets, and the SLAAC addresses. It reports
// whether the assignment is deferred until the port has a host.
func (c *change) assignAddresses(p PortRow, r ipam.Request) (deferred bool, err error) {
	subnets, deferred, err := c.selectSubnets(r)
	if err != nil || deferred {
		return deferred, err
	}
	for _, want := range r.Fixed {
		if err := c.assignAddress(p, subnets, want); err != nil {
			return false, err
		}
	}
	for _, v := range []int{4, 6} {
		if !r.Any {
			break
		}
		if err := c.assignAny(p, subnets, v); err != nil {
			return false, err
		}
	}
	return false, c.assignDerived(p, subnets)
}

// assignAny gives a port the first free address of a version; nothing when there is no subnet of it.
func (c *change) assignAny(p PortRow, subnets []ipam.Subnet, version int) error {
	exists := false
	for _, s := range subnets {
		if s.Version != version || s.Automatic() {
			continue
		}
		exists = true
		free, err := c.freeAddresses(s)
		if err != nil {
			return err
		}
		if a, ok := free.First(); ok {
			return c.Insert(&AddressRow{Port: p.ID, Subnet: ID(s.ID), IP: a.String()})
		}
	}
	if exists {
		return exhausted(p.Network)
	}
	return nil
}

func exhausted(network ID) error {
	return conflict("IpAddressGenerationFailure", "No more IP addresses available on network %s.", network)
}

// assignAddress assigns one requested address to a port.
func (c *change) assignAddress(p PortRow, subnets []ipam.Subnet, want ipam.Fixed) error {
	s, err := ipam.For(subnets, want, p.DeviceOwner)
	if err != nil {
		among := slices.ContainsFunc(subnets, func(s ipam.Subnet) bool { return s.ID == want.Subnet })
		if want.Subnet != "" && !among && len(subnets) > 0 { // it may not exist at all
			if _, missing := byID[SubnetRow](c, "subnet", ID(want.Subnet)); missing != nil {
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
		return invalid("AllocationOnAutoAddressSubnet", "IPv6 address %s cannot be directly assigned to a port on subnet %s "+
			"as the subnet is configured for automatic addresses", ip, s.ID)
	case ip == "":
		free, err := c.freeAddresses(s)
		if err != nil {
			return err
		}
		a, ok := free.First()
		if !ok {
			return exhausted(p.Network)
		}
		ip = a.String()
	}
	err = c.Insert(&AddressRow{Port: p.ID, Subnet: ID(s.ID), IP: ip})
	if errors.Is(err, ErrTaken) {
		return conflict("IpAddressAlreadyAllocated", "IP address %s already allocated in subnet %s", ip, s.ID)
	}
	return err
}

// assignDerived records the addresses that a host derives from its MAC address.
func (c *change) assignDerived(p PortRow, subnets []ipam.Subnet) error {
	if ipam.IsRouter(p.DeviceOwner) {
		return nil
	}
	for _, s := range subnets {
		a, ok := s.Derived(p.MAC)
		if !ok {
			continue
		}
		if err := c.Insert(&AddressRow{Port: p.ID, Subnet: ID(s.ID), IP: a.String()}); err != nil && !errors.Is(err, ErrTaken) {
			return err
		}
	}
	return nil
}

// assignToNetwork gives the ports of its network an address of a new subnet whose hosts derive their
// own, but not those on another segment.
func (c *change) assignToNetwork(row SubnetRow) error {
	s := row.ipam()
	if !s.Automatic() {
		return nil
	}
	all, err := ports(c, Where(ByNetwork, row.Network))
	if err != nil {
		return err
	}
	for _, p := range all {
		if ipam.IsRouter(p.DeviceOwner) {
			continue
		}
		r := ipam.Request{Network: s.Network, Owner: p.DeviceOwner, Host: p.Binding.Host, Fixed: fixed(p.spec().FixedIPs)}
		subnets, _, err := c.selectSubnets(r)
		if kind, _ := fault.Of(err); err != nil && kind != fault.Conflict && kind != fault.Invalid {
			return err
		}
		if !slices.ContainsFunc(subnets, func(o ipam.Subnet) bool { return o.ID == s.ID }) {
			continue
		}
		p.Revision++ // for the address, and once more for the port
		c.touch(&p.Common)
		if err := firstError(c.assignDerived(p.PortRow, []ipam.Subnet{s}), c.Replace(&p.PortRow)); err != nil {
			return err
		}
	}
	return nil
}

// moveAddresses changes the addresses of a port to the requested ones; addresses in both sets stay
// as they are. A port with deferred addresses gets them when it gets a host. A port with addresses
// is refused on a host that is not connected to their segment.
func (c *change) moveAddresses(row PortRow, p Port, spec PortSpec) error {
	moves := spec.Host != "" && spec.Host != p.Binding.Host
	r := ipam.Request{Network: string(p.Network.ID), Owner: p.DeviceOwner, Host: spec.Host}
	switch {
	case !spec.AnyIPs || row.MAC != p.MAC:
		return c.changeAddresses(row, p, fixed(spec.FixedIPs), r)
	case !moves:
		return nil
	case len(p.Addresses) > 0:
		return c.checkHost(p, r)
	case p.Binding.Host == "" && p.IPAllocation == allocationDeferred:
		r.Owner, r.Any = row.DeviceOwner, true
		_, err := c.assignAddresses(row, r)
		return err
	}
	return nil
}

// checkHost refuses to bring a port to a host that is on another segment than its
// addresses are.
func (c *change) checkHost(p Port, r ipam.Request) error {
	r.Any = true
	subnets, _, err := c.selectSubnets(r)
	if err != nil {
		return err
	}
	lost := func(a AddressRow) bool {
		return !slices.ContainsFunc(subnets, func(s ipam.Subnet) bool { return s.ID == string(a.Subnet) })
	}
	if slices.ContainsFunc(p.Addresses, lost) {
		return conflict("HostNotCompatibleWithFixedIps", "Host %s is not connected to a segment where the existing fixed_ips on port %s "+
			"will function given the routed network topology.", r.Host, p.ID)
	}
	return nil
}

// changeAddresses adds the requested addresses that a port does not have, and removes those that
// are not requested. SLAAC addresses follow subnets and MAC addresses only.
func (c *change) changeAddresses(row PortRow, p Port, wanted []ipam.Fixed, r ipam.Request) error {
	rows, err := c.subnetsOf(p.Network.ID)
	if err != nil {
		return err
	}
	derives := make(map[string]bool) // by subnet: the port derives its address of it
	for _, s := range ipamSubnets(rows) {
		derives[s.ID] = s.Automatic() && !ipam.IsRouter(p.DeviceOwner)
	}
	current := make([]ipam.Fixed, len(p.Addresses))
	for i, a := range p.Addresses {
		current[i] = ipam.Fixed{Subnet: string(a.Subnet), IP: a.IP}
	}
	if row.MAC != p.MAC {
		for _, a := range current {
			if derives[a.Subnet] {
				wanted = slices.DeleteFunc(slices.Clone(wanted), func(w ipam.Fixed) bool { return w.Subnet == a.Subnet || w.IP == a.IP })
			}
		}
	}
	add, drop := ipam.Difference(current, wanted)
	drop = slices.DeleteFunc(drop, func(a ipam.Fixed) bool { return derives[a.Subnet] && row.MAC == p.MAC })
	r.Fixed = slices.Clone(add)
	for _, a := range current {
		if !slices.Contains(drop, a) {
			r.Fixed = append(r.Fixed, a)
		}
	}
	for _, a := range drop {
		if _, err := c.Remove(&AddressRow{}, Where(BySubnet, ID(a.Subnet)), Where(ByIP, a.IP)); err != nil {
			return err
		}
	}
	subnets, _, err := c.selectSubnets(r)
	if err != nil {
		return err
	}
	row.DeviceOwner = p.DeviceOwner
	for _, want := range add {
		if err := c.assignAddress(row, subnets, want); err != nil {
			return err
		}
	}
	return c.assignDerived(row, subnets)
}
