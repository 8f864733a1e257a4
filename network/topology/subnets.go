package topology

import (
	"cmp"
	"context"
	"net/netip"
	"slices"

	"github.com/berthcloud/berth/network"
	"github.com/berthcloud/berth/network/ipam"
	"github.com/berthcloud/berth/network/quotas"
)

// A SubnetSpec is a request for a subnet.
type SubnetSpec struct {
	network.SubnetRow
	NoGateway bool // Gateway "" means none, rather than the usual one
}

// Subnets returns the subnets that match.
func (s *Service) Subnets(ctx context.Context, where ...network.Match) (all []network.SubnetRow, err error) {
	err = s.db.View(ctx, func(r network.Reader) error {
		all, err = network.Rows[network.SubnetRow](r, where...)
		return err
	})
	return all, err
}

// CreateSubnets creates all of the subnets or none. Existing ports get an address of
// a subnet whose hosts make their own. Faults: NetworkNotFound, SegmentNotFound,
// InvalidInput for what does not fit together or overlaps with another subnet of
// the network, InvalidAllocationPool, OutOfBoundsAllocationPool,
// OverlappingAllocationPools, GatewayConflictWithAllocationPools,
// SubnetsNotAllAssociatedWithSegments, NetworkIdsDontMatch.
func (s *Service) CreateSubnets(ctx context.Context, specs []SubnetSpec) (subnets []network.SubnetRow, err error) {
	plans := make([]subnetPlan, len(specs))
	for i := range specs {
		plans[i] = planSubnet(s.db.Rules, specs[i])
	}
	err = s.db.Update(ctx, func(tx *network.Tx) error {
		if err := quotas.WithinEach(tx, "subnet", specs, func(s *SubnetSpec) string { return s.Project }); err != nil {
			return err
		}
		subnets = make([]network.SubnetRow, len(plans))
		for i := range plans {
			if subnets[i], err = createSubnet(tx, plans[i]); err != nil {
				return err
			}
		}
		return nil
	})
	return subnets, err
}

// A subnetPlan is what follows from the request for a new subnet alone. It is computed before the
// transaction, while others write; its error is returned at the point where Neutron would.
type subnetPlan struct {
	row   network.SubnetRow
	block netip.Prefix

	wrong error // of the request
	noFit error // gateway and pools with the block
}

func planSubnet(rules network.Rules, spec SubnetSpec) (p subnetPlan) {
	p.row = spec.SubnetRow
	if p.row.CIDR == "" {
		p.wrong = badSubnets("a subnetpool must be specified in the absence of a cidr")
		return p
	}
	block, err := netip.ParsePrefix(p.row.CIDR)
	if err != nil {
		p.wrong = network.InvalidInput("%s is not in a CIDR format", p.row.CIDR)
		return p
	}
	p.block = block.Masked()
	p.row.CIDR = p.block.String()
	s := ipamSubnet(&p.row)
	if p.wrong = s.Check(ipam.Subnet{}, subnetLimits(rules)); p.wrong == nil {
		p.noFit = s.LayOut(p.block, spec.NoGateway)
		p.row.Gateway, p.row.Pools = s.Gateway, s.Pools
	}
	return p
}

// subnetLimits bounds what a subnet may have.
func subnetLimits(rules network.Rules) ipam.Limits {
	return ipam.Limits{Nameservers: rules.Settings.MaxNameservers, HostRoutes: rules.Settings.MaxHostRoutes}
}

func createSubnet(tx *network.Tx, plan subnetPlan) (network.SubnetRow, error) {
	row := plan.row
	if plan.wrong != nil {
		return row, plan.wrong
	}
	if _, err := network.Find[network.NetworkRow](tx, "network", row.Network); err != nil {
		return row, err
	}
	others, err := tx.SubnetsOf(row.Network)
	if err != nil {
		return row, err
	}
	s := ipamSubnet(&row)
	if err := cmp.Or(plan.noFit, s.Fits(plan.block, ipamSubnets(others)), checkSegment(tx, row, others)); err != nil {
		return row, err
	}
	tx.Fresh(&row.Common)
	if len(row.ServiceTypes) > 0 {
		row.Revision = 1 // Neutron writes them after the subnet
	}
	for _, o := range others {
		row.Index = max(row.Index, o.Index+1)
	}
	return row, cmp.Or(tx.Insert(&row), touchNetwork(tx, row.Network), assignToNetwork(tx, row), tx.MarkSubnets(row))
}

// badSubnets is Neutron's BadRequest about subnets.
func badSubnets(text string) error {
	return network.Invalid("BadRequest", "Bad subnets request: %s.", text)
}

// touchNetwork raises the revision of a network because of a subnet.
func touchNetwork(tx *network.Tx, id network.ID) error {
	n, err := network.Find[network.NetworkRow](tx, "network", id)
	if err != nil {
		return err
	}
	tx.Touch(&n.Common)
	return tx.Replace(&n)
}

// UpdateSubnet changes a subnet. The function gets the current subnet; it may
// run more than once.
func (s *Service) UpdateSubnet(
	ctx context.Context, id network.ID, fn func(*SubnetSpec) error,
) (row network.SubnetRow, err error) {
	err = s.db.Update(ctx, func(tx *network.Tx) error {
		row, err = updateSubnet(tx, id, fn)
		return err
	})
	return row, err
}

func updateSubnet(tx *network.Tx, id network.ID, fn func(*SubnetSpec) error) (network.SubnetRow, error) {
	old, err := network.Find[network.SubnetRow](tx, "subnet", id)
	if err != nil {
		return old, err
	}
	spec := SubnetSpec{SubnetRow: old, NoGateway: true}
	if err := fn(&spec); err != nil {
		return old, err
	}
	row := spec.SubnetRow
	s := ipamSubnet(&row)
	if err := s.Check(ipamSubnet(&old), subnetLimits(tx.Rules)); err != nil {
		return row, err
	}
	block, err := netip.ParsePrefix(row.CIDR)
	if err != nil {
		return row, err
	}
	if err := cmp.Or(s.CheckPools(block), checkSegmentChange(tx, row, old)); err != nil {
		return row, err
	}
	tx.Touch(&row.Common)
	return row, cmp.Or(tx.Replace(&row), touchNetwork(tx, row.Network), tx.MarkSubnets(row))
}

// DeleteSubnet removes a subnet that no port has an address of: SubnetInUse.
// Addresses that hosts make themselves, and those of DHCP agents, go with it.
func (s *Service) DeleteSubnet(ctx context.Context, id network.ID, only ...network.Condition) error {
	return s.db.Update(ctx, func(tx *network.Tx) error {
		row, err := network.Find[network.SubnetRow](tx, "subnet", id)
		if err != nil {
			return err
		}
		if err := removeAddresses(tx, row); err != nil {
			return err
		}
		if err := network.CheckConditions(only, &row.Common); err != nil {
			return err
		}
		_, err = tx.Remove(&network.SubnetRow{}, network.Where(network.ByID, id))
		return cmp.Or(err, touchNetwork(tx, row.Network), tx.MarkSubnets(row))
	})
}

// removeAddresses removes the addresses of a subnet from the ports that can do without.
func removeAddresses(tx *network.Tx, s network.SubnetRow) error {
	used, err := network.Rows[network.AddressRow](tx, network.Where(network.BySubnet, s.ID))
	if err != nil || len(used) == 0 {
		return err
	}
	owners, err := network.Rows[network.PortRow](tx,
		network.Where(network.ByID, network.IDs(used, func(a *network.AddressRow) network.ID { return a.Port })...))
	if err != nil {
		return err
	}
	subnet := ipamSubnet(&s)
	keeps := func(p network.PortRow) bool {
		return ipam.IsRouterInterface(p.DeviceOwner) || !subnet.Automatic() && !slices.Contains(agentPorts,
			p.DeviceOwner)
	}
	if slices.ContainsFunc(owners, keeps) {
		return network.Conflict("SubnetInUse", "Unable to complete operation on subnet %s: "+
			"One or more ports have an IP allocation from this subnet.", s.ID)
	}
	for _, p := range owners {
		tx.Touch(&p.Common)
		if err := tx.Replace(&p); err != nil {
			return err
		}
	}
	_, err = tx.Remove(&network.AddressRow{}, network.Where(network.BySubnet, s.ID))
	return err
}

// agentPorts are the owners of ports that a network's agents make, and that are deleted with it.
var agentPorts = []string{ipam.OwnerDHCP, "network:distributed", "network:floatingip_agent_gateway"}
