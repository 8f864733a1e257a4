package network

import (
	"errors"
	"net/netip"
	"slices"
	"strings"
)

// giveAddresses gives a new port its addresses: those it asks for, or, when any
// will do, one of each version that the network has, and those that IPv6 hosts
// make themselves.
func (c *change) giveAddresses(p PortRow, asked []FixedIP, any bool) error {
	subnets, err := c.subnetsOf(p.Network)
	if err != nil {
		return err
	}
	if !any {
		for _, want := range asked {
			if err := c.giveAddress(p, subnets, want); err != nil {
				return err
			}
		}
		return c.giveAutomatic(p, subnets)
	}
	for _, v := range []int{4, 6} {
		if err := c.giveOne(p, subnets, v); err != nil {
			return err
		}
	}
	return c.giveAutomatic(p, subnets)
}

func (c *change) subnetsOf(network ID) ([]SubnetRow, error) {
	return Rows[SubnetRow](c, Where(ByNetwork, network))
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

// free returns the lowest address of a subnet's pools that nobody has.
func (c *change) free(s SubnetRow) (netip.Addr, bool, error) {
	rows, err := Rows[AddressRow](c, Where(BySubnet, s.ID))
	if err != nil {
		return netip.Addr{}, false, err
	}
	used := make(map[netip.Addr]bool, len(rows))
	for _, row := range rows {
		if a, err := netip.ParseAddr(row.IP); err == nil {
			used[a] = true
		}
	}
	all, err := spans(s.Pools)
	if err != nil {
		return netip.Addr{}, false, err
	}
	a, ok := firstUnused(all, used)
	return a, ok, nil
}

// giveAddress gives a port an address that it asks for.
func (c *change) giveAddress(p PortRow, subnets []SubnetRow, want FixedIP) error {
	s, err := c.subnetFor(p, subnets, want)
	if err != nil {
		return err
	}
	ip := want.IP
	if ip == "" {
		if s.automatic() {
			return nil // giveAutomatic does
		}
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

// subnetFor finds the subnet that an address is asked of.
func (c *change) subnetFor(p PortRow, subnets []SubnetRow, want FixedIP) (SubnetRow, error) {
	var none SubnetRow
	addr, _ := netip.ParseAddr(want.IP)
	switch {
	case len(subnets) == 0:
		return none, invalidInput("IP allocation requires subnets for network")
	case want.Subnet == "" && want.IP == "":
		return none, invalidInput("IP allocation requires subnet_id or ip_address")
	case want.Subnet == "":
		i := slices.IndexFunc(subnets, func(s SubnetRow) bool { return s.usable(addr) })
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
	if want.IP != "" && !subnets[i].usable(addr) {
		return none, invalid("InvalidIpForSubnet", "IP address %s is not a valid IP for the specified subnet.", want.IP)
	}
	return subnets[i], nil
}

func (s *SubnetRow) usable(a netip.Addr) bool {
	block, err := netip.ParsePrefix(s.CIDR)
	return err == nil && a.IsValid() && usable(block, a)
}

// automatic reports whether hosts of an IPv6 subnet make their addresses
// themselves.
func (s *SubnetRow) automatic() bool {
	const slaac, stateless = "slaac", "dhcpv6-stateless"
	return s.IPVersion == 6 && (s.IPv6Address == slaac || s.IPv6Address == stateless || s.IPv6RA == slaac && s.IPv6Address == "")
}

// giveAutomatic notes the addresses that a host makes from its MAC address.
func (c *change) giveAutomatic(p PortRow, subnets []SubnetRow) error {
	for _, s := range subnets {
		block, err := netip.ParsePrefix(s.CIDR)
		if !s.automatic() || err != nil || strings.HasPrefix(p.DeviceOwner, "network:router") {
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

// moveAddresses makes the addresses of a port those that are wanted; those that
// it keeps stay as they are.
func (c *change) moveAddresses(p PortRow, now []AddressRow, wanted []FixedIP) error {
	subnets, err := c.subnetsOf(p.Network)
	if err != nil {
		return err
	}
	add, drop := difference(now, wanted)
	for _, a := range drop {
		if i := slices.IndexFunc(subnets, func(s SubnetRow) bool { return s.ID == a.Subnet }); i >= 0 && subnets[i].automatic() {
			continue
		}
		if _, err := c.Remove(&AddressRow{}, Where(BySubnet, a.Subnet), Where(ByIP, a.IP)); err != nil {
			return err
		}
	}
	for _, want := range add {
		if err := c.giveAddress(p, subnets, want); err != nil {
			return err
		}
	}
	return nil
}

// difference finds which addresses are to come and to go. One that is asked for by
// its subnet only may be any of those that the port has of it.
func difference(now []AddressRow, wanted []FixedIP) (add []FixedIP, drop []AddressRow) {
	left := slices.Clone(now)
	keep := func(is func(AddressRow) bool) bool {
		i := slices.IndexFunc(left, is)
		if i >= 0 {
			left = slices.Delete(left, i, i+1)
		}
		return i >= 0
	}
	for _, w := range wanted {
		if w.IP != "" && !keep(func(a AddressRow) bool { return a.IP == w.IP && (w.Subnet == "" || a.Subnet == w.Subnet) }) {
			add = append(add, w)
		}
	}
	for _, w := range wanted {
		if w.IP == "" && !keep(func(a AddressRow) bool { return a.Subnet == w.Subnet }) {
			add = append(add, w)
		}
	}
	return add, left
}
