package network

import (
	"net/netip"
	"slices"

	"github.com/berthcloud/berth/network/binding"
)

// A demand selects the subnets from which a port gets addresses.
type demand struct {
	network ID
	owner   string    // of the port: its service type
	host    string    // that it is bound to, "" for none
	fixed   []FixedIP // requested addresses
	any     bool      // no addresses were requested
}

// candidates returns the subnets that a port may have addresses of, those for its
// service before the others. On a routed network these are the subnets of the segment
// that the port's host is connected to; deferred says that they are not known before
// it has one.
func (c *change) candidates(d demand) (subnets []SubnetRow, deferred bool, err error) {
	all, err := c.subnetsOf(d.network)
	if err != nil || len(all) == 0 {
		return nil, false, err
	}
	open := slices.DeleteFunc(slices.Clone(all), func(s SubnetRow) bool { return !s.serves(d.owner) })
	subnets, err = c.onOne(open, d)
	switch {
	case err != nil:
		return nil, false, err
	case len(subnets) > 0:
		slices.SortStableFunc(subnets, servicesFirst)
		return subnets, false, nil
	case d.host != "" && slices.ContainsFunc(all, func(s SubnetRow) bool { return s.Segment != "" }):
		return nil, false, conflict("HostNotConnectedToAnySegment", "Host %s is not connected to any segments on routed "+
			"provider network '%s'.  It should be connected to one.", d.host, d.network)
	case len(open) > 0:
		return nil, true, nil
	}
	return nil, false, conflict("IpAddressGenerationFailureNoMatchingSubnet",
		"No valid service subnet for the given device owner, network %s, service type %s.", d.network, d.owner)
}

// serves reports whether ports of an owner may have addresses of the subnet.
func (s *SubnetRow) serves(owner string) bool {
	return len(s.ServiceTypes) == 0 || slices.Contains(s.ServiceTypes, owner) || s.EnableDHCP && owner == ownerDHCP
}

func servicesFirst(a, b SubnetRow) int {
	switch {
	case len(a.ServiceTypes) > 0 && len(b.ServiceTypes) == 0:
		return -1
	case len(a.ServiceTypes) == 0 && len(b.ServiceTypes) > 0:
		return 1
	}
	return 0
}

// onOne returns the subnets that a port can reach together: those of one segment, or of none.
func (c *change) onOne(open []SubnetRow, d demand) ([]SubnetRow, error) {
	switch {
	case d.host != "":
		return c.reachable(open, d)
	case d.any:
		return onSegment(open, ""), nil
	}
	return named(open, d.fixed)
}

func onSegment(all []SubnetRow, segment ID) []SubnetRow {
	return slices.DeleteFunc(slices.Clone(all), func(s SubnetRow) bool { return s.Segment != segment })
}

// reachable returns the subnets that the host of a port is connected to.
func (c *change) reachable(open []SubnetRow, d demand) ([]SubnetRow, error) {
	connected, err := c.connected(d.host, d.network)
	if err != nil {
		return nil, err
	}
	some := slices.DeleteFunc(slices.Clone(open), func(s SubnetRow) bool { return s.Segment != "" && !connected[s.Segment] })
	if len(segmentsIn(some)) > 1 {
		return nil, conflict("HostConnectedToMultipleSegments", "Host %s is connected to multiple segments on routed "+
			"provider network '%s'.  It should be connected to one.", d.host, d.network)
	}
	return some, nil
}

// segmentsIn returns the segments that subnets are on, each once.
func segmentsIn(all []SubnetRow) []ID { return ids(all, func(s *SubnetRow) ID { return s.Segment }) }

// connected returns the segments of a network that the agents of a host are connected
// to: those on physical networks.
func (c *change) connected(host string, network ID) (map[ID]bool, error) {
	segments, err := Rows[SegmentRow](c, Where(ByNetwork, network))
	if err != nil {
		return nil, err
	}
	agents, err := c.agentsOn(host)
	if err != nil {
		return nil, err
	}
	connected := make(map[ID]bool)
	for _, a := range agents {
		connectivity := binding.ConnectivityOf(c.agentToBind(a))
		for _, s := range segments {
			if s.PhysicalNetwork != "" && connectivity.Segment(segmentToBind(s)) {
				connected[s.ID] = true
			}
		}
	}
	return connected, nil
}

// named returns the subnets on the segment of the requested addresses. When one of the addresses is
// in no subnet, which giveAddress refuses later, it returns all.
func named(open []SubnetRow, fixed []FixedIP) ([]SubnetRow, error) {
	var of []SubnetRow
	for _, want := range fixed {
		i := slices.IndexFunc(open, func(s SubnetRow) bool { return s.meant(want) })
		if i < 0 {
			return open, nil
		}
		of = append(of, open[i])
	}
	var segment ID
	if len(of) > 0 {
		segment = of[0].Segment
	}
	if slices.ContainsFunc(of, func(s SubnetRow) bool { return s.Segment != segment }) {
		return nil, invalid("FixedIpsSubnetsNotOnSameSegment", "Cannot allocate addresses from different segments.")
	}
	return onSegment(open, segment), nil
}

// meant reports whether a requested address is in the subnet.
func (s *SubnetRow) meant(want FixedIP) bool {
	if want.Subnet != "" {
		return want.Subnet == s.ID
	}
	block, err := netip.ParsePrefix(s.CIDR)
	addr, err2 := netip.ParseAddr(want.IP)
	return err == nil && err2 == nil && block.Contains(addr)
}
