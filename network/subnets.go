package network

import (
	"context"
	"net/netip"
	"slices"
)

// A SubnetSpec is what may be said of a subnet.
type SubnetSpec struct {
	SubnetRow
	NoGateway bool // Gateway "" means none, rather than the first address
}

// Subnets returns the subnets that match.
func (s *Service) Subnets(ctx context.Context, where ...Match) (all []SubnetRow, err error) {
	err = s.store.View(ctx, func(r Reader) error {
		all, err = Rows[SubnetRow](r, where...)
		return err
	})
	return all, err
}

// CreateSubnets makes all of the subnets or none. Faults: NetworkNotFound,
// InvalidInput for what does not fit together or overlaps with another subnet of
// the network, InvalidAllocationPool, OutOfBoundsAllocationPool,
// OverlappingAllocationPools, GatewayConflictWithAllocationPools.
func (s *Service) CreateSubnets(ctx context.Context, specs []SubnetSpec) (made []SubnetRow, err error) {
	err = s.update(ctx, func(c *change) error {
		if err := withinEach(c, "subnet", specs, func(s *SubnetSpec) string { return s.Project }); err != nil {
			return err
		}
		made = make([]SubnetRow, len(specs))
		for i := range specs {
			if made[i], err = c.createSubnet(specs[i]); err != nil {
				return err
			}
		}
		return nil
	})
	return made, err
}

func (c *change) createSubnet(spec SubnetSpec) (SubnetRow, error) {
	row := spec.SubnetRow
	if row.CIDR == "" {
		return row, badSubnets("a subnetpool must be specified in the absence of a cidr")
	}
	block, err := netip.ParsePrefix(row.CIDR)
	if err != nil {
		return row, invalidInput("%s is not in a CIDR format", row.CIDR)
	}
	row.CIDR = block.Masked().String()
	if err := c.checkSubnet(row, SubnetRow{}); err != nil {
		return row, err
	}
	if _, err := byID[NetworkRow](c, "network", row.Network); err != nil {
		return row, err
	}
	if err := c.layOut(&row, block.Masked(), spec.NoGateway); err != nil {
		return row, err
	}
	if err := c.fits(row, block.Masked()); err != nil {
		return row, err
	}
	c.fresh(&row.Common)
	return row, firstError(c.Insert(&row), c.touchNetwork(row.Network))
}

// badSubnets is Neutron's BadRequest about subnets.
func badSubnets(text string) error { return invalid("BadRequest", "Bad subnets request: %s.", text) }

// touchNetwork raises the revision of a network because of a subnet.
func (c *change) touchNetwork(id ID) error {
	n, err := byID[NetworkRow](c, "network", id)
	if err != nil {
		return err
	}
	c.touch(&n.Common)
	return c.Replace(&n)
}

// layOut finds the gateway and the pools that a subnet says nothing of, and checks
// those that it names.
func (c *change) layOut(row *SubnetRow, block netip.Prefix, noGateway bool) error {
	if row.Gateway == "" && !noGateway {
		row.Gateway = usualGateway(block).String()
	}
	gateway, _ := netip.ParseAddr(row.Gateway)
	if len(row.Pools) == 0 {
		row.Pools = pools(around(block, gateway))
		return nil
	}
	all, err := spans(row.Pools)
	if err != nil {
		return err
	}
	if err := checkPools(all, block); err != nil {
		return err
	}
	return outside(gateway, all)
}

// usualGateway is the first address of a block, or its only one.
func usualGateway(block netip.Prefix) netip.Addr {
	first, last := ends(block)
	if first == last {
		return first
	}
	return first.Next()
}

func checkPools(all []span, block netip.Prefix) error {
	most := hosts(block)
	for i, s := range all {
		switch {
		case s.first.Is4() != block.Addr().Is4() || s.last.Is4() != block.Addr().Is4() || s.first.Compare(s.last) > 0:
			return invalid("InvalidAllocationPool", "The allocation pool %s is not valid.", s)
		case s.first.Less(most.first) || most.last.Less(s.last):
			return invalid("OutOfBoundsAllocationPool", "The allocation pool %s spans beyond the subnet cidr %s.", s, block)
		}
		if j := slices.IndexFunc(all[:i], s.meets); j >= 0 {
			return conflict("OverlappingAllocationPools", "Found overlapping allocation pools: %s %s for subnet %s.", all[j], s, block)
		}
	}
	return nil
}

// outside refuses a gateway that a port could get.
func outside(gateway netip.Addr, all []span) error {
	for _, s := range all {
		if gateway.IsValid() && s.has(gateway) {
			return conflict("GatewayConflictWithAllocationPools", "Gateway ip %s conflicts with allocation pool %s.", gateway, s)
		}
	}
	return nil
}

// fits refuses a block that another subnet of the network has a part of.
func (c *change) fits(row SubnetRow, block netip.Prefix) error {
	if block.Bits() == 0 {
		return invalidInput("0 is not allowed as CIDR prefix length")
	}
	others, err := Rows[SubnetRow](c, Where(ByNetwork, row.Network))
	if err != nil {
		return err
	}
	for _, o := range others {
		if p, err := netip.ParsePrefix(o.CIDR); err == nil && p.Overlaps(block) {
			return invalidInput("Requested subnet with cidr: %s for network: %s overlaps with another subnet", row.CIDR, row.Network)
		}
	}
	return nil
}

// UpdateSubnet changes a subnet. The function gets what the subnet is now; it may
// run more than once.
func (s *Service) UpdateSubnet(ctx context.Context, id ID, fn func(*SubnetSpec) error) (row SubnetRow, err error) {
	err = s.update(ctx, func(c *change) error {
		row, err = c.updateSubnet(id, fn)
		return err
	})
	return row, err
}

func (c *change) updateSubnet(id ID, fn func(*SubnetSpec) error) (SubnetRow, error) {
	old, err := byID[SubnetRow](c, "subnet", id)
	if err != nil {
		return old, err
	}
	spec := SubnetSpec{SubnetRow: old, NoGateway: true}
	if err := fn(&spec); err != nil {
		return old, err
	}
	row := spec.SubnetRow
	if err := c.checkSubnet(row, old); err != nil {
		return row, err
	}
	block, err := netip.ParsePrefix(row.CIDR)
	if err != nil {
		return row, err
	}
	if err := c.layOut(&row, block, true); err != nil {
		return row, err
	}
	c.touch(&row.Common)
	return row, firstError(c.Replace(&row), c.touchNetwork(row.Network))
}

// DeleteSubnet removes a subnet that no port has an address of: SubnetInUse.
func (s *Service) DeleteSubnet(ctx context.Context, id ID) error {
	return s.update(ctx, func(c *change) error {
		row, err := byID[SubnetRow](c, "subnet", id)
		if err != nil {
			return err
		}
		used, err := Rows[AddressRow](c, Where(BySubnet, id))
		if err != nil {
			return err
		}
		if len(used) > 0 {
			return conflict("SubnetInUse", "Unable to complete operation on subnet %s: "+
				"One or more ports have an IP allocation from this subnet.", id)
		}
		_, err = c.Remove(&SubnetRow{}, Where(ByID, id))
		return firstError(err, c.touchNetwork(row.Network))
	})
}
