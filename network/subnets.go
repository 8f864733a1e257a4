package network

import (
	"context"
	"net/netip"
	"slices"

	"github.com/berthcloud/berth/network/ipam"
)

// A SubnetSpec is what may be said of a subnet.
type SubnetSpec struct {
	SubnetRow
	NoGateway bool // Gateway "" means none, rather than the usual one
}

// Subnets returns the subnets that match.
func (s *Service) Subnets(ctx context.Context, where ...Match) (all []SubnetRow, err error) {
	err = s.store.View(ctx, func(r Reader) error {
		all, err = Rows[SubnetRow](r, where...)
		return err
	})
	return all, err
}

// CreateSubnets makes all of the subnets or none. Ports that are there get an address of
// a subnet whose hosts make their own. Faults: NetworkNotFound, SegmentNotFound,
// InvalidInput for what does not fit together or overlaps with another subnet of
// the network, InvalidAllocationPool, OutOfBoundsAllocationPool,
// OverlappingAllocationPools, GatewayConflictWithAllocationPools,
// SubnetsNotAllAssociatedWithSegments, NetworkIdsDontMatch.
func (s *Service) CreateSubnets(ctx context.Context, specs []SubnetSpec) (made []SubnetRow, err error) {
	plans := make([]subnetPlan, len(specs))
	for i := range specs {
		plans[i] = s.planSubnet(specs[i])
	}
	err = s.update(ctx, func(c *change) error {
		if err := withinEach(c, "subnet", specs, func(s *SubnetSpec) string { return s.Project }); err != nil {
			return err
		}
		made = make([]SubnetRow, len(plans))
		for i := range plans {
			if made[i], err = c.createSubnet(plans[i]); err != nil {
				return err
			}
		}
		return nil
	})
	return made, err
}

// A subnetPlan is what follows from the request for a new subnet alone. It is computed before the
// transaction, while others write; its error is returned at the point where Neutron would.
type subnetPlan struct {
	row   SubnetRow
	block netip.Prefix

	wrong error // of the request
	noFit error // gateway and pools with the block
}

func (rs *rules) planSubnet(spec SubnetSpec) (p subnetPlan) {
	p.row = spec.SubnetRow
	if p.row.CIDR == "" {
		p.wrong = badSubnets("a subnetpool must be specified in the absence of a cidr")
		return p
	}
	block, err := netip.ParsePrefix(p.row.CIDR)
	if err != nil {
		p.wrong = invalidInput("%s is not in a CIDR format", p.row.CIDR)
		return p
	}
	p.block = block.Masked()
	p.row.CIDR = p.block.String()
	s := p.row.ipam()
	if p.wrong = s.Check(ipam.Subnet{}, rs.subnetLimits()); p.wrong == nil {
		p.noFit = s.LayOut(p.block, spec.NoGateway)
		p.row.Gateway, p.row.Pools = s.Gateway, s.Pools
	}
	return p
}

// subnetLimits bounds what a subnet may have.
func (rs *rules) subnetLimits() ipam.Limits {
	return ipam.Limits{Nameservers: rs.settings.MaxNameservers, HostRoutes: rs.settings.MaxHostRoutes}
}

func (c *change) createSubnet(plan subnetPlan) (SubnetRow, error) {
	row := plan.row
	if plan.wrong != nil {
		return row, plan.wrong
	}
	if _, err := byID[NetworkRow](c, "network", row.Network); err != nil {
		return row, err
	}
	others, err := c.subnetsOf(row.Network)
	if err != nil {
		return row, err
	}
	s := row.ipam()
	if err := firstError(plan.noFit, s.Fits(plan.block, ipamSubnets(others)), c.checkSegment(row, others)); err != nil {
		return row, err
	}
	c.fresh(&row.Common)
	if len(row.ServiceTypes) > 0 {
		row.Revision = 1 // Neutron writes them after the subnet
	}
	for _, o := range others {
		row.Place = max(row.Place, o.Place+1)
	}
	return row, firstError(c.Insert(&row), c.touchNetwork(row.Network), c.assignToNetwork(row))
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
	s := row.ipam()
	if err := s.Check(old.ipam(), c.subnetLimits()); err != nil {
		return row, err
	}
	block, err := netip.ParsePrefix(row.CIDR)
	if err != nil {
		return row, err
	}
	if err := firstError(s.CheckPools(block), c.checkSegmentChange(row, old)); err != nil {
		return row, err
	}
	c.touch(&row.Common)
	return row, firstError(c.Replace(&row), c.touchNetwork(row.Network))
}

// DeleteSubnet removes a subnet that no port has an address of: SubnetInUse.
// Addresses that hosts make themselves, and those of DHCP agents, go with it.
func (s *Service) DeleteSubnet(ctx context.Context, id ID, only ...Condition) error {
	return s.update(ctx, func(c *change) error {
		row, err := byID[SubnetRow](c, "subnet", id)
		if err != nil {
			return err
		}
		if err := c.vacate(row); err != nil {
			return err
		}
		if err := met(only, &row.Common); err != nil {
			return err
		}
		_, err = c.Remove(&SubnetRow{}, Where(ByID, id))
		return firstError(err, c.touchNetwork(row.Network))
	})
}

// vacate removes the addresses of a subnet from the ports that can do without.
func (c *change) vacate(s SubnetRow) error {
	used, err := Rows[AddressRow](c, Where(BySubnet, s.ID))
	if err != nil || len(used) == 0 {
		return err
	}
	owners, err := Rows[PortRow](c, Where(ByID, ids(used, func(a *AddressRow) ID { return a.Port })...))
	if err != nil {
		return err
	}
	subnet := s.ipam()
	keeps := func(p PortRow) bool {
		return ipam.IsRouterInterface(p.DeviceOwner) || !subnet.Automatic() && !slices.Contains(agentPorts, p.DeviceOwner)
	}
	if slices.ContainsFunc(owners, keeps) {
		return conflict("SubnetInUse", "Unable to complete operation on subnet %s: "+
			"One or more ports have an IP allocation from this subnet.", s.ID)
	}
	for _, p := range owners {
		c.touch(&p.Common)
		if err := c.Replace(&p); err != nil {
			return err
		}
	}
	_, err = c.Remove(&AddressRow{}, Where(BySubnet, s.ID))
	return err
}
