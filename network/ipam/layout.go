package ipam

import (
	"fmt"
	"net/netip"
	"slices"
)

// LayOut chooses the gateway and the pools that a new subnet does not name, and checks those that
// it names.
func (s *Subnet) LayOut(block netip.Prefix, noGateway bool) error {
	if s.Gateway == "" && !noGateway {
		s.Gateway = defaultGateway(block).String()
	}
	gateway, _ := netip.ParseAddr(s.Gateway) // invalid where there is none
	if len(s.Pools) == 0 {
		s.Pools = pools(without(block, gateway))
	} else if err := s.CheckPools(block); err != nil {
		return err
	}
	if !usableGateway(block, gateway) {
		return conflict("IpamValueInvalid", "Gateway IP %s cannot be allocated in CIDR %s", gateway, block)
	}
	return nil
}

// defaultGateway is the first address of a block with IPv6, and the next one with IPv4,
// be it outside.
func defaultGateway(block netip.Prefix) netip.Addr {
	first := block.Masked().Addr()
	if first.Is6() {
		return first
	}
	return first.Next()
}

// usableGateway reports whether a gateway is none of the two addresses that IPv4 has
// another use for.
func usableGateway(block netip.Prefix, gateway netip.Addr) bool {
	first, last := ends(block)
	return !gateway.Is4() || gateway != first && gateway != last
}

// CheckPools refuses pools that make no sense, or that have the gateway among them.
func (s *Subnet) CheckPools(block netip.Prefix) error {
	all, err := spans(s.Pools)
	if err != nil {
		return err
	}
	overlap := firstOverlap(all)
	for i, pool := range all {
		if err := checkPool(s.Pools[i], pool, block); err != nil {
			return err
		}
		if i == overlap {
			j := slices.IndexFunc(all[:i], pool.meets)
			return conflict("OverlappingAllocationPools", "Found overlapping allocation pools: %s %s for subnet %s.", all[j],
				pool, block)
		}
	}
	gateway, _ := netip.ParseAddr(s.Gateway) // invalid where there is none
	if i := slices.IndexFunc(all, func(pool span) bool { return gateway.IsValid() && pool.has(gateway) }); i >= 0 {
		return conflict("GatewayConflictWithAllocationPools", "Gateway ip %s conflicts with allocation pool %s.",
			gateway, all[i])
	}
	return nil
}

func checkPool(p Pool, s span, block netip.Prefix) error {
	shown, most := s.String(), hosts(block)
	noRange := s.first.Is4() != s.last.Is4() || s.last.Less(s.first)
	if noRange {
		shown = fmt.Sprintf("{'start': '%s', 'end': '%s'}", p.Start, p.End)
	}
	switch {
	case noRange, s.first.Is4() != block.Addr().Is4():
		return invalid("InvalidAllocationPool", "The allocation pool %s is not valid.", shown)
	case s.first.Less(most.first) || most.last.Less(s.last):
		return invalid("OutOfBoundsAllocationPool", "The allocation pool %s spans beyond the subnet cidr %s.", shown, block)
	}
	return nil
}

// Fits refuses a block that another subnet of the network has a part of.
func (s *Subnet) Fits(block netip.Prefix, others []Subnet) error {
	if block.Bits() == 0 {
		return invalidInput("0 is not allowed as CIDR prefix length")
	}
	for _, o := range others {
		if p, err := netip.ParsePrefix(o.CIDR); err == nil && p.Overlaps(block) {
			return invalidInput("Requested subnet with cidr: %s for network: %s overlaps with another subnet", s.CIDR, s.Network)
		}
	}
	return nil
}
