package ipam

import (
	"net/netip"
	"slices"
)

// A Fixed requests an address: one of a subnet, a certain one, or both.
type Fixed struct{ Subnet, IP string }

// A Request is for addresses of a port.
type Request struct {
	Network string
	Owner   string // of the port: its service type
	Host    string // that it is bound to, "" for none
	// Connected are the segments that the agents of Host are connected to.
	Connected map[string]bool
	Fixed     []Fixed // requested addresses
	Any       bool    // no addresses were requested
}

// Select returns the subnets that a port may have addresses of, those for its
// service before the others. On a routed network these are the subnets of the segment
// that the port's host is connected to; deferred says that they are not known before
// it has one.
func Select(all []Subnet, r Request) (subnets []Subnet, deferred bool, err error) {
	if len(all) == 0 {
		return nil, false, nil
	}
	open := slices.DeleteFunc(slices.Clone(all), func(s Subnet) bool { return !s.serves(r.Owner) })
	subnets, err = r.reachable(open)
	switch {
	case err != nil:
		return nil, false, err
	case len(subnets) > 0:
		slices.SortStableFunc(subnets, servicesFirst)
		return subnets, false, nil
	case r.Host != "" && slices.ContainsFunc(all, func(s Subnet) bool { return s.Segment != "" }):
		return nil, false, conflict("HostNotConnectedToAnySegment", "Host %s is not connected to any segments on routed "+
			"provider network '%s'.  It should be connected to one.", r.Host, r.Network)
	case len(open) > 0:
		return nil, true, nil
	}
	return nil, false, conflict("IpAddressGenerationFailureNoMatchingSubnet",
		"No valid service subnet for the given device owner, network %s, service type %s.", r.Network, r.Owner)
}

// serves reports whether ports of an owner may have addresses of the subnet.
func (s *Subnet) serves(owner string) bool {
	return len(s.ServiceTypes) == 0 || slices.Contains(s.ServiceTypes, owner) || s.DHCP && owner == OwnerDHCP
}

func servicesFirst(a, b Subnet) int {
	switch {
	case len(a.ServiceTypes) > 0 && len(b.ServiceTypes) == 0:
		return -1
	case len(a.ServiceTypes) == 0 && len(b.ServiceTypes) > 0:
		return 1
	}
	return 0
}

// reachable returns the subnets that a port can reach together: those of one segment, or of none.
func (r Request) reachable(open []Subnet) ([]Subnet, error) {
	switch {
	case r.Host != "":
		return r.reachableFromHost(open)
	case r.Any:
		return onSegment(open, ""), nil
	}
	return named(open, r.Fixed)
}

func onSegment(all []Subnet, segment string) []Subnet {
	return slices.DeleteFunc(slices.Clone(all), func(s Subnet) bool { return s.Segment != segment })
}

// reachableFromHost returns the subnets that the host of a port is connected to.
func (r Request) reachableFromHost(open []Subnet) ([]Subnet, error) {
	some := slices.DeleteFunc(slices.Clone(open), func(s Subnet) bool {
		return s.Segment != "" && !r.Connected[s.Segment]
	})
	segments := map[string]bool{}
	for _, s := range some {
		if s.Segment != "" {
			segments[s.Segment] = true
		}
	}
	if len(segments) > 1 {
		return nil, conflict("HostConnectedToMultipleSegments", "Host %s is connected to multiple segments on routed "+
			"provider network '%s'.  It should be connected to one.", r.Host, r.Network)
	}
	return some, nil
}

// named returns the subnets on the segment of the requested addresses. When one of the addresses is
// in no subnet, which For refuses later, it returns all.
func named(open []Subnet, fixed []Fixed) ([]Subnet, error) {
	var on []Subnet
	for _, want := range fixed {
		i := slices.IndexFunc(open, func(s Subnet) bool { return s.has(want) })
		if i < 0 {
			return open, nil
		}
		on = append(on, open[i])
	}
	var segment string
	if len(on) > 0 {
		segment = on[0].Segment
	}
	if slices.ContainsFunc(on, func(s Subnet) bool { return s.Segment != segment }) {
		return nil, invalid("FixedIpsSubnetsNotOnSameSegment", "Cannot allocate addresses from different segments.")
	}
	return onSegment(open, segment), nil
}

// has reports whether a requested address is in the subnet.
func (s *Subnet) has(want Fixed) bool {
	if want.Subnet != "" {
		return want.Subnet == s.ID
	}
	block, err := netip.ParsePrefix(s.CIDR)
	addr, err2 := netip.ParseAddr(want.IP)
	return err == nil && err2 == nil && block.Contains(addr)
}

// For returns the subnet of a requested address, among those that Select has returned for a
// network.
func For(subnets []Subnet, want Fixed, owner string) (Subnet, error) {
	var none Subnet
	addr, _ := netip.ParseAddr(want.IP) // invalid where none is requested
	switch {
	case len(subnets) == 0:
		return none, invalidInput("IP allocation requires subnets for network")
	case want.Subnet == "" && want.IP == "":
		return none, invalidInput("IP allocation requires subnet_id or ip_address")
	case want.Subnet == "":
		i := slices.IndexFunc(subnets, func(s Subnet) bool { return s.usable(addr, owner) })
		if i < 0 {
			return none, invalid("InvalidIpForNetwork",
				"IP address %s is not a valid IP for any of the subnets on the specified network.", want.IP)
		}
		return subnets[i], nil
	}
	i := slices.IndexFunc(subnets, func(s Subnet) bool { return s.ID == want.Subnet })
	if i < 0 {
		return none, invalidInput("Failed to create port on network %s, because fixed_ips included invalid subnet %s",
			subnets[0].Network, want.Subnet)
	}
	if want.IP != "" && !subnets[i].usable(addr, owner) {
		return none, invalid("InvalidIpForSubnet", "IP address %s is not a valid IP for the specified subnet.", want.IP)
	}
	return subnets[i], nil
}

// Difference returns the addresses to add and to remove. A request that names a subnet only is met
// by any address that the port has of that subnet.
func Difference(current, desired []Fixed) (add, drop []Fixed) {
	drop = slices.Clone(current)
	keep := func(matches func(Fixed) bool) bool {
		i := slices.IndexFunc(drop, matches)
		if i >= 0 {
			drop = slices.Delete(drop, i, i+1)
		}
		return i >= 0
	}
	for _, w := range desired {
		if w.IP != "" && !keep(func(a Fixed) bool { return a.IP == w.IP && (w.Subnet == "" || a.Subnet == w.Subnet) }) {
			add = append(add, w)
		}
	}
	for _, w := range desired {
		if w.IP == "" && !keep(func(a Fixed) bool { return a.Subnet == w.Subnet }) {
			add = append(add, w)
		}
	}
	return add, drop
}
