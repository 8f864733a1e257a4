package network

import (
	"net/netip"
)

// checkSubnet validates the attributes of a subnet against each other, in Neutron's order; old is
// the current row, zero for a new one.
func (rs *rules) checkSubnet(row, old SubnetRow) error {
	block, err := netip.ParsePrefix(row.CIDR)
	if err != nil {
		return invalidInput("%s is not in a CIDR format", row.CIDR)
	}
	v := version(row.IPVersion)
	if err := v.check("cidr", row.CIDR, block.Addr()); err != nil {
		return err
	}
	if row.EnableDHCP && !old.EnableDHCP {
		if err := checkDHCP(block); err != nil {
			return err
		}
	}
	return firstError(checkGateway(row, block, v), rs.checkNameservers(row, v), rs.checkRoutes(row, v), checkModes(row, old, block))
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

func checkGateway(row SubnetRow, block netip.Prefix, v version) error {
	if row.Gateway == "" {
		return nil
	}
	gateway, err := netip.ParseAddr(row.Gateway)
	if err != nil {
		return invalidInput("Gateway is not valid on subnet")
	}
	if err := v.check("gateway_ip", row.Gateway, gateway); err != nil {
		return err
	}
	if !usableGateway(block, gateway) {
		return invalidInput("Gateway is not valid on subnet")
	}
	return nil
}

func (rs *rules) checkNameservers(row SubnetRow, v version) error {
	if most := rs.settings.MaxNameservers; len(row.DNSNameservers) > most {
		return invalid("DNSNameServersExhausted", "Unable to complete operation for %s. "+
			"The number of DNS nameservers exceeds the limit %d.", subnetName(row), most)
	}
	for _, text := range row.DNSNameservers {
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

// subnetName is what errors call a subnet that may have no id yet.
func subnetName(row SubnetRow) string {
	if row.ID == "" {
		return "new subnet"
	}
	return string(row.ID)
}

func (rs *rules) checkRoutes(row SubnetRow, v version) error {
	if most := rs.settings.MaxHostRoutes; len(row.HostRoutes) > most {
		return invalid("HostRoutesExhausted", "Unable to complete operation for %s. "+
			"The number of host routes exceeds the limit %d.", subnetName(row), most)
	}
	for _, r := range row.HostRoutes {
		to, err := netip.ParsePrefix(r.Destination)
		hop, err2 := netip.ParseAddr(r.NextHop)
		if firstError(err, err2) != nil {
			return invalidInput("Invalid route: {'destination': '%s', 'nexthop': '%s'}", r.Destination, r.NextHop)
		}
		if err := firstError(v.check("nexthop", r.NextHop, hop), v.check("destination", r.Destination, to.Addr())); err != nil {
			return err
		}
	}
	return nil
}

// checkModes validates the two IPv6 modes against each other and the other attributes.
func checkModes(row, old SubnetRow, block netip.Prefix) error {
	ra, address := row.IPv6RA, row.IPv6Address
	set := ra != "" || address != ""
	switch {
	case row.IPVersion == 4 && ra != "":
		return invalidInput("ipv6_ra_mode is not valid when ip_version is 4")
	case row.IPVersion == 4 && address != "":
		return invalidInput("ipv6_address_mode is not valid when ip_version is 4")
	case set && !row.EnableDHCP && old.EnableDHCP:
		return invalidInput("Cannot disable enable_dhcp with ipv6 attributes set")
	case set && !row.EnableDHCP:
		return invalidInput("ipv6_ra_mode or ipv6_address_mode cannot be set when enable_dhcp is set to False")
	case ra != "" && address != "" && ra != address:
		return invalidInput("ipv6_ra_mode set to '%s' with ipv6_address_mode set to '%s' is not valid. "+
			"If both attributes are set, they must be the same value", ra, address)
	case row.automatic() && block.Bits() != interfaceBits:
		return invalidInput("Invalid CIDR %s for IPv6 address mode. "+
			"OpenStack uses the EUI-64 address format, which requires the prefix to be /64", row.CIDR)
	}
	return nil
}
