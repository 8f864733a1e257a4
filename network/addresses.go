package network

import (
	"errors"
	"net/netip"
	"slices"

	"github.com/berthcloud/berth/fault"
)

const (
	ownerDHCP    = "network:dhcp"
	ownerGateway = "network:router_gateway"
)

var (
	// interfacePorts are the owners of ports through which a router serves a subnet.
	interfacePorts = []string{"network:router_interface", "network:ha_router_replicated_interface", "network:router_interface_distributed"}
	// routerPorts are the owners of ports that make no addresses themselves.
	routerPorts = append(slices.Clip(interfacePorts), "network:router_centralized_snat")
	// agentPorts are the owners of ports that a network's agents make, and that go with it.
	agentPorts = []string{ownerDHCP, "network:distributed", "network:floatingip_agent_gateway"}
)

// giveAddresses assigns addresses to a port that has none: those that are requested or, when any
// will do, one of each IP version of the network's subnets, and the SLAAC addresses. It reports
// whether the assignment is deferred until the port has a host.
func (c *change) giveAddresses(p PortRow, d demand) (deferred bool, err error) {
	subnets, deferred, err := c.candidates(d)
	if err != nil || deferred {
		return deferred, err
	}
	for _, want := range d.fixed {
		if err := c.giveAddress(p, subnets, want); err != nil {
			return false, err
		}
	}
	for _, v := range []int{4, 6} {
		if !d.any {
			break
		}
		if err := c.giveOne(p, subnets, v); err != nil {
			return false, err
		}
	}
	return false, c.giveAutomatic(p, subnets)
}

// giveOne gives a port the first free address of a version; nothing when there is
// no subnet of it.
func (c *change) giveOne(p PortRow, subnets []SubnetRow, version int) error {
	found := false
	for _, s := range subnets {
		if s.IPVersion != version || s.automatic() {
			continue
		}
		found = true
		a, ok, err := c.free(s)
		if err != nil {
			return err
		}
		if ok {
			return c.Insert(&AddressRow{Port: p.ID, Subnet: s.ID, IP: a.String()})
		}
	}
	if found {
		return exhausted(p.Network)
	}
	return nil
}

func exhausted(network ID) error {
	return conflict("IpAddressGenerationFailure", "No more IP addresses available on network %s.", network)
}

// free returns the lowest unused address of a subnet's pools.
func (c *change) free(s SubnetRow) (netip.Addr, bool, error) {
	r, err := c.freeAddresses(s)
	if err != nil {
		return netip.Addr{}, false, err
	}
	a, ok := r.first()
	return a, ok, nil
}

// giveAddress assigns one requested address to a port.
func (c *change) giveAddress(p PortRow, subnets []SubnetRow, want FixedIP) error {
	s, err := c.subnetFor(p, subnets, want)
	if err != nil {
		return err
	}
	ip := want.IP
	switch {
	case s.automatic() && ip == "" && !slices.Contains(routerPorts, p.DeviceOwner):
		return nil // giveAutomatic does
	case s.automatic() && ip != "" && !slices.Contains(interfacePorts, p.DeviceOwner):
		return invalid("AllocationOnAutoAddressSubnet", "IPv6 address %s cannot be directly assigned to a port on subnet %s "+
			"as the subnet is configured for automatic addresses", ip, s.ID)
	case ip == "":
		a, ok, err := c.free(s)
		switch {
		case err != nil:
			return err
		case !ok:
			return exhausted(p.Network)
		}
		ip = a.String()
	}
	err = c.Insert(&AddressRow{Port: p.ID, Subnet: s.ID, IP: ip})
	if errors.Is(err, ErrTaken) {
		return conflict("IpAddressAlreadyAllocated", "IP address %s already allocated in subnet %s", ip, s.ID)
	}
	return err
}

// subnetFor finds the subnet of a requested address.
func (c *change) subnetFor(p PortRow, subnets []SubnetRow, want FixedIP) (SubnetRow, error) {
	var none SubnetRow
	addr, _ := netip.ParseAddr(want.IP) // invalid where none is requested
	switch {
	case len(subnets) == 0:
		return none, invalidInput("IP allocation requires subnets for network")
	case want.Subnet == "" && want.IP == "":
		return none, invalidInput("IP allocation requires subnet_id or ip_address")
	case want.Subnet == "":
		i := slices.IndexFunc(subnets, func(s SubnetRow) bool { return s.usable(addr, p.DeviceOwner) })
		if i < 0 {
			return none, invalid("InvalidIpForNetwork",
				"IP address %s is not a valid IP for any of the subnets on the specified network.", want.IP)
		}
		return subnets[i], nil
	}
	i := slices.IndexFunc(subnets, func(s SubnetRow) bool { return s.ID == want.Subnet })
	if i < 0 {
		if _, err := byID[SubnetRow](c, "subnet", want.Subnet); err != nil {
			return none, err
		}
		return none, invalidInput("Failed to create port on network %s, because fixed_ips included invalid subnet %s", p.Network, want.Subnet)
	}
	if want.IP != "" && !subnets[i].usable(addr, p.DeviceOwner) {
		return none, invalid("InvalidIpForSubnet", "IP address %s is not a valid IP for the specified subnet.", want.IP)
	}
	return subnets[i], nil
}

func (s *SubnetRow) usable(a netip.Addr, owner string) bool {
	block, err := netip.ParsePrefix(s.CIDR)
	return err == nil && a.IsValid() && usable(block, a, owner)
}

// automatic reports whether hosts of an IPv6 subnet make their addresses
// themselves.
func (s *SubnetRow) automatic() bool {
	modes := []string{"slaac", "dhcpv6-stateless"}
	return slices.Contains(modes, s.IPv6Address) || slices.Contains(modes, s.IPv6RA)
}

// giveAutomatic notes the addresses that a host makes from its MAC address.
func (c *change) giveAutomatic(p PortRow, subnets []SubnetRow) error {
	if slices.Contains(routerPorts, p.DeviceOwner) {
		return nil
	}
	for _, s := range subnets {
		block, err := netip.ParsePrefix(s.CIDR)
		if !s.automatic() || err != nil {
			continue
		}
		a, ok := eui64(block, p.MAC)
		if !ok {
			continue
		}
		if err := c.Insert(&AddressRow{Port: p.ID, Subnet: s.ID, IP: a.String()}); err != nil && !errors.Is(err, ErrTaken) {
			return err
		}
	}
	return nil
}

// spread gives the ports of its network an address of a new subnet whose hosts make
// their own.
func (c *change) spread(s SubnetRow) error {
	if !s.automatic() {
		return nil
	}
	all, err := ports(c, Where(ByNetwork, s.Network))
	if err != nil {
		return err
	}
	for _, p := range all {
		if slices.Contains(routerPorts, p.DeviceOwner) {
			continue
		}
		if err := c.spreadTo(p, s); err != nil {
			return err
		}
	}
	return nil
}

// spreadTo gives a port an address of a new subnet, unless it is on another segment.
func (c *change) spreadTo(p Port, s SubnetRow) error {
	d := demand{network: s.Network, owner: p.DeviceOwner, host: p.Binding.Host, fixed: p.spec().FixedIPs}
	subnets, _, err := c.candidates(d)
	if kind, _ := fault.Of(err); err != nil && kind != fault.Conflict && kind != fault.Invalid {
		return err
	}
	if !slices.ContainsFunc(subnets, func(o SubnetRow) bool { return o.ID == s.ID }) {
		return nil
	}
	p.Revision++ // for the address, and once more for the port
	c.touch(&p.Common)
	return firstError(c.giveAutomatic(p.PortRow, []SubnetRow{s}), c.Replace(&p.PortRow))
}
