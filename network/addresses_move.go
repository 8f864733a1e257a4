package network

import (
	"slices"
)

// moveAddresses changes the addresses of a port to the requested ones; addresses in both sets stay
// as they are. A port with deferred addresses gets them when it gets a host. A port with addresses
// is refused on a host that is not connected to their segment.
func (c *change) moveAddresses(row PortRow, p Port, spec PortSpec) error {
	moves := spec.Host != "" && spec.Host != p.Binding.Host
	d := demand{network: p.Network.ID, owner: p.DeviceOwner, host: spec.Host}
	switch {
	case !spec.AnyIPs || row.MAC != p.MAC:
		return c.changeAddresses(row, p, spec.FixedIPs, d)
	case !moves:
		return nil
	case len(p.Addresses) > 0:
		return c.checkHost(p, d)
	case p.Binding.Host == "" && p.IPAllocation == allocationDeferred:
		d.owner, d.any = row.DeviceOwner, true
		_, err := c.giveAddresses(row, d)
		return err
	}
	return nil
}

// checkHost refuses to bring a port to a host that is on another segment than its
// addresses are.
func (c *change) checkHost(p Port, d demand) error {
	d.any = true
	subnets, _, err := c.candidates(d)
	if err != nil {
		return err
	}
	lost := func(a AddressRow) bool {
		return !slices.ContainsFunc(subnets, func(s SubnetRow) bool { return s.ID == a.Subnet })
	}
	if slices.ContainsFunc(p.Addresses, lost) {
		return conflict("HostNotCompatibleWithFixedIps", "Host %s is not connected to a segment where the existing fixed_ips on port %s "+
			"will function given the routed network topology.", d.host, p.ID)
	}
	return nil
}

// changeAddresses adds the requested addresses that a port does not have, and removes those that
// are not requested. SLAAC addresses follow subnets and MAC addresses only.
func (c *change) changeAddresses(row PortRow, p Port, wanted []FixedIP, d demand) error {
	automatic, err := c.automaticOf(p)
	if err != nil {
		return err
	}
	now := p.Addresses
	if row.MAC != p.MAC {
		for _, a := range now {
			if automatic[a.Subnet] {
				wanted = slices.DeleteFunc(slices.Clone(wanted), func(w FixedIP) bool { return w.Subnet == a.Subnet || w.IP == a.IP })
			}
		}
	}
	add, left := difference(now, wanted)
	drop := slices.DeleteFunc(left, func(a AddressRow) bool { return automatic[a.Subnet] && row.MAC == p.MAC })
	d.fixed = slices.Clone(add)
	for _, a := range now {
		if !slices.Contains(drop, a) {
			d.fixed = append(d.fixed, FixedIP{a.Subnet, a.IP})
		}
	}
	for _, a := range drop {
		if _, err := c.Remove(&AddressRow{}, Where(BySubnet, a.Subnet), Where(ByIP, a.IP)); err != nil {
			return err
		}
	}
	subnets, _, err := c.candidates(d)
	if err != nil {
		return err
	}
	row.DeviceOwner = p.DeviceOwner
	for _, want := range add {
		if err := c.giveAddress(row, subnets, want); err != nil {
			return err
		}
	}
	return c.giveAutomatic(row, subnets)
}

// automaticOf returns the subnets of which a port makes its addresses itself.
func (c *change) automaticOf(p Port) (map[ID]bool, error) {
	all, err := c.subnetsOf(p.Network.ID)
	automatic := make(map[ID]bool)
	for _, s := range all {
		automatic[s.ID] = s.automatic() && !slices.Contains(routerPorts, p.DeviceOwner)
	}
	return automatic, err
}

// difference returns the addresses to add and to remove. A request that names a subnet only is met
// by any address that the port has of that subnet.
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
