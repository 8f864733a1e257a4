// Package ipam has the arithmetic and the rules of addresses: blocks, pools and gateways of
// subnets, the subnets that a port can have addresses of, and the addresses that IPv6 hosts derive.
// It reads no rows and writes none; its faults have Neutron's codes.
package ipam

import (
	"math/big"
	"net/netip"
	"slices"

	"github.com/berthcloud/berth/fault"
)

// A Subnet is a block of addresses of a network, with values as they were given.
type Subnet struct {
	ID, Network  string
	Segment      string // "" for the whole network
	Version      int
	CIDR         string
	Gateway      string // "" for none
	DHCP         bool
	Pools        []Pool // addresses for ports that request none in particular; in order
	Nameservers  []string
	HostRoutes   []Route
	AddressMode  string   // ipv6_address_mode, "" for none
	RAMode       string   // ipv6_ra_mode
	ServiceTypes []string // owners of the ports that it is for, none for all
}

// A Pool is a range of addresses, both ends included.
type Pool struct{ Start, End string }

// A Route is announced to the hosts of a subnet.
type Route struct{ Destination, NextHop string }

// The owners of ports that have rules of their own.
const (
	OwnerDHCP    = "network:dhcp"
	ownerGateway = "network:router_gateway"
)

// interfaceOwners are the owners of ports through which a router serves a subnet.
var interfaceOwners = []string{
	"network:router_interface", "network:ha_router_replicated_interface", "network:router_interface_distributed",
}

// IsRouterInterface reports whether a router serves a subnet through ports of an owner.
func IsRouterInterface(owner string) bool { return slices.Contains(interfaceOwners, owner) }

// IsRouter reports whether ports of an owner are routers', which derive no addresses.
func IsRouter(owner string) bool {
	return IsRouterInterface(owner) || owner == "network:router_centralized_snat"
}

// Automatic reports whether hosts of an IPv6 subnet derive their addresses themselves.
func (s *Subnet) Automatic() bool {
	modes := []string{"slaac", "dhcpv6-stateless"}
	return slices.Contains(modes, s.AddressMode) || slices.Contains(modes, s.RAMode)
}

// Derived returns the address that a host of an automatic subnet derives from its MAC address.
func (s *Subnet) Derived(mac string) (netip.Addr, bool) {
	block, err := netip.ParsePrefix(s.CIDR)
	if !s.Automatic() || err != nil {
		return netip.Addr{}, false
	}
	return eui64(block, mac)
}

func (s *Subnet) usable(a netip.Addr, owner string) bool {
	block, err := netip.ParsePrefix(s.CIDR)
	return err == nil && a.IsValid() && usable(block, a, owner)
}

// Size counts the addresses of a subnet's pools, or of the subnet when it has none.
func (s *Subnet) Size() (*big.Int, error) {
	all, err := spans(s.Pools)
	if err != nil {
		return nil, err
	}
	if len(all) == 0 {
		p, err := netip.ParsePrefix(s.CIDR)
		if err != nil {
			return nil, err
		}
		first, last := ends(p)
		all = []span{{first, last}}
	}
	total := new(big.Int)
	for _, pool := range all {
		total.Add(total, pool.size())
	}
	return total, nil
}

// Free has the addresses of a subnet's pools and which of them are in use.
type Free struct {
	pools []span
	used  map[netip.Addr]bool
	next  netip.Addr // in the first of the pools: none before it is free
}

// NewFree returns the free addresses of a subnet, of which some are in use.
func (s *Subnet) NewFree(used []string) (*Free, error) {
	f := &Free{used: make(map[netip.Addr]bool, len(used))}
	for _, ip := range used {
		f.Use(ip)
	}
	var err error
	if f.pools, err = spans(s.Pools); err != nil {
		return nil, err
	}
	if len(f.pools) > 0 {
		f.next = f.pools[0].first
	}
	return f, nil
}

// Use marks an address as in use.
func (f *Free) Use(ip string) {
	if a, err := netip.ParseAddr(ip); err == nil {
		f.used[a] = true
	}
}

// First returns the lowest free address.
func (f *Free) First() (netip.Addr, bool) {
	for len(f.pools) > 0 {
		for ; f.next.IsValid() && f.next.Compare(f.pools[0].last) <= 0; f.next = f.next.Next() {
			if !f.used[f.next] {
				return f.next, true
			}
		}
		if f.pools = f.pools[1:]; len(f.pools) > 0 {
			f.next = f.pools[0].first
		}
	}
	return netip.Addr{}, false
}

func invalid(code fault.Code, format string, args ...any) error {
	return fault.New(fault.Invalid, code, format, args...)
}

func conflict(code fault.Code, format string, args ...any) error {
	return fault.New(fault.Conflict, code, format, args...)
}

// invalidInput is Neutron's InvalidInput: a value that makes no sense here.
func invalidInput(format string, args ...any) error {
	return invalid("InvalidInput", "Invalid input for operation: "+format+".", args...)
}
