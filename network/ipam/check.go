package ipam

import (
	"cmp"
	"net/netip"
)

// Limits bound what a subnet may have.
type Limits struct{ Nameservers, HostRoutes int }

// Check validates the attributes of a subnet against each other, in Neutron's order; old is the
// current one, zero for a new one.
func (s *Subnet) Check(old Subnet, limits Limits) error {
	block, err := netip.ParsePrefix(s.CIDR)
	if err != nil {
		return invalidInput("%s is not in a CIDR format", s.CIDR)
	}
	v := version(s.Version)
	if err := v.check("cidr", s.CIDR, block.Addr()); err != nil {
		return err
	}
	if s.DHCP && !old.DHCP {
		if err := checkDHCP(block); err != nil {
			return err
		}
	}
	return cmp.Or(checkGateway(s, block, v), s.checkNameservers(v, limits.Nameservers),
		s.checkRoutes(v, limits.HostRoutes), checkModes(s, &old, block))
}

// A version is 4 or 6.
type version int

// check refuses an address of the other version.
func (v version) check(name, text string, a netip.Addr) error {
	if a.IsValid() && a.Is4() != (v == 4) {
		return invalidInput("%s '%s' does not match the ip_version '%d'", name, text, v)
	}
	return nil
}

// checkDHCP refuses blocks that DHCP cannot serve.
func checkDHCP(block netip.Prefix) error {
	most := 30
	if block.Addr().Is6() {
		most = 126
	}
	first, _ := ends(block)
	switch {
	case block.Bits() > most:
		return invalidInput("Subnet has a prefix length that is incompatible with DHCP service enabled")
	case first.IsMulticast():
		return invalidInput("Multicast IP subnet is not supported if enable_dhcp is True")
	case first.IsLoopback():
		return invalidInput("Loopback IP subnet is not supported if enable_dhcp is True")
	case first.Is4() && first.IsUnspecified():
		return invalidInput("First IP '0.0.0.0' of network is not supported if enable_dhcp is True.")
	}
	return nil
}

func checkGateway(s *Subnet, block netip.Prefix, v version) error {
	if s.Gateway == "" {
		return nil
	}
	gateway, err := netip.ParseAddr(s.Gateway)
	if err != nil {
		return invalidInput("Gateway is not valid on subnet")
	}
	if err := v.check("gateway_ip", s.Gateway, gateway); err != nil {
		return err
	}
	if !usableGateway(block, gateway) {
		return invalidInput("Gateway is not valid on subnet")
	}
	return nil
}

func (s *Subnet) checkNameservers(v version, most int) error {
	if len(s.Nameservers) > most {
		return invalid("DNSNameServersExhausted", "Unable to complete operation for %s. "+
			"The number of DNS nameservers exceeds the limit %d.", s.name(), most)
	}
	for _, text := range s.Nameservers {
		a, err := netip.ParseAddr(text)
		if err != nil {
			return invalidInput("Error parsing dns address %s", text)
		}
		if err := v.check("dns_nameserver", text, a); err != nil {
			return err
		}
	}
	return nil
}

// name is what errors call a subnet that may have no id yet.
func (s *Subnet) name() string {
	if s.ID == "" {
		return "new subnet"
	}
	return s.ID
}

func (s *Subnet) checkRoutes(v version, most int) error {
	if len(s.HostRoutes) > most {
		return invalid("HostRoutesExhausted", "Unable to complete operation for %s. "+
			"The number of host routes exceeds the limit %d.", s.name(), most)
	}
	for _, r := range s.HostRoutes {
		to, err := netip.ParsePrefix(r.Destination)
		hop, err2 := netip.ParseAddr(r.NextHop)
		if cmp.Or(err, err2) != nil {
			return invalidInput("Invalid route: {'destination': '%s', 'nexthop': '%s'}", r.Destination, r.NextHop)
		}
		if err := cmp.Or(v.check("nexthop", r.NextHop, hop), v.check("destination", r.Destination, to.Addr())); err != nil {
			return err
		}
	}
	return nil
}

// checkModes validates the two IPv6 modes against each other and the other attributes.
func checkModes(s, old *Subnet, block netip.Prefix) error {
	ra, address := s.RAMode, s.AddressMode
	set := ra != "" || address != ""
	switch {
	case s.Version == 4 && ra != "":
		return invalidInput("ipv6_ra_mode is not valid when ip_version is 4")
	case s.Version == 4 && address != "":
		return invalidInput("ipv6_address_mode is not valid when ip_version is 4")
	case set && !s.DHCP && old.DHCP:
		return invalidInput("Cannot disable enable_dhcp with ipv6 attributes set")
	case set && !s.DHCP:
		return invalidInput("ipv6_ra_mode or ipv6_address_mode cannot be set when enable_dhcp is set to False")
	case ra != "" && address != "" && ra != address:
		return invalidInput("ipv6_ra_mode set to '%s' with ipv6_address_mode set to '%s' is not valid. "+
			"If both attributes are set, they must be the same value", ra, address)
	case s.Automatic() && block.Bits() != interfaceBits:
		return invalidInput("Invalid CIDR %s for IPv6 address mode. "+
			"OpenStack uses the EUI-64 address format, which requires the prefix to be /64", s.CIDR)
	}
	return nil
}
