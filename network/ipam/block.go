package ipam

import (
	"fmt"
	"math/big"
	"net"
	"net/netip"
	"slices"
	"sort"
)

// A span is a range of addresses, both ends included.
type span struct{ first, last netip.Addr }

// String returns the range as Python's netaddr shows it, in the texts of errors.
func (s span) String() string { return fmt.Sprintf("%s-%s", s.first, s.last) }

// size is how many addresses a range has.
func (s span) size() *big.Int {
	first, last := new(big.Int).SetBytes(s.first.AsSlice()), new(big.Int).SetBytes(s.last.AsSlice())
	return last.Sub(last, first).Add(last, big.NewInt(1))
}

func (s span) has(a netip.Addr) bool { return s.first.Compare(a) <= 0 && a.Compare(s.last) <= 0 }

func (s span) meets(o span) bool {
	return s.first.Compare(o.last) <= 0 && o.first.Compare(s.last) <= 0
}

// ends returns the first and the last address of a block.
func ends(p netip.Prefix) (first, last netip.Addr) {
	first = p.Masked().Addr()
	b := first.AsSlice()
	for bit := p.Bits(); bit < 8*len(b); bit++ {
		b[bit/8] |= 0x80 >> (bit % 8)
	}
	last, _ = netip.AddrFromSlice(b)
	return first, last
}

// hosts returns the addresses of a block that ports may have: not those of the
// network and of the broadcast, where there are such.
func hosts(p netip.Prefix) span {
	first, last := ends(p)
	switch {
	case first == last:
	case first.Is4() && p.Bits() <= 30:
		first, last = first.Next(), last.Prev()
	case first.Is6():
		first = first.Next()
	}
	return span{first, last}
}

// without returns the pools of a block whose gateway is not for ports.
func without(p netip.Prefix, gateway netip.Addr) []span {
	all := hosts(p)
	if !gateway.IsValid() || !all.has(gateway) || all.first == all.last {
		return []span{all}
	}
	var parts []span
	if gateway != all.first {
		parts = append(parts, span{all.first, gateway.Prev()})
	}
	if gateway != all.last {
		parts = append(parts, span{gateway.Next(), all.last})
	}
	return parts
}

// usable reports whether a port of an owner may have an address of a block. The first
// one of IPv6 is for routers, and for ports that may become theirs.
func usable(p netip.Prefix, a netip.Addr, owner string) bool {
	first, last := ends(p)
	if a.Is6() {
		return p.Contains(a) && (a != first || owner == "" || owner == ownerGateway || IsRouter(owner))
	}
	return p.Contains(a) && a != first && a != last
}

// spans reads pools, which were checked when they were written.
func spans(pools []Pool) ([]span, error) {
	all := make([]span, len(pools))
	for i, p := range pools {
		first, err := netip.ParseAddr(p.Start)
		if err != nil {
			return nil, fmt.Errorf("ipam: a pool begins with %q", p.Start)
		}
		last, err := netip.ParseAddr(p.End)
		if err != nil {
			return nil, fmt.Errorf("ipam: a pool ends with %q", p.End)
		}
		all[i] = span{first, last}
	}
	return all, nil
}

// pools writes spans as rows have them.
func pools(all []span) []Pool {
	out := make([]Pool, len(all))
	for i, s := range all {
		out[i] = Pool{s.first.String(), s.last.String()}
	}
	return out
}

// firstOverlap returns the first of some spans that has an address of an earlier one, -1
// when none has.
func firstOverlap(all []span) int {
	if !overlap(all) {
		return -1
	}
	// The shortest beginning of the list with an overlap ends with it.
	return sort.Search(len(all), func(i int) bool { return overlap(all[:i+1]) })
}

// overlap reports whether two of some spans have an address in common. Spans that end
// before they begin have none.
func overlap(all []span) bool {
	order := slices.DeleteFunc(slices.Clone(all), func(s span) bool { return s.last.Less(s.first) })
	slices.SortFunc(order, func(a, b span) int { return a.first.Compare(b.first) })
	for i := 1; i < len(order); i++ {
		if order[i].meets(order[i-1]) {
			return true
		}
		if order[i].last.Less(order[i-1].last) {
			order[i].last = order[i-1].last
		}
	}
	return false
}

// interfaceBits is how long a block is whose hosts make their addresses themselves.
const interfaceBits = 64

// eui64 is the address that a host makes from its MAC address in such a block
// (RFC 4291, appendix A).
func eui64(block netip.Prefix, mac string) (netip.Addr, bool) {
	hw, err := net.ParseMAC(mac)
	if err != nil || len(hw) != 6 || block.Bits() != interfaceBits || !block.Addr().Is6() {
		return netip.Addr{}, false
	}
	a := block.Masked().Addr().As16()
	copy(a[8:], []byte{hw[0] ^ 2, hw[1], hw[2], 0xff, 0xfe, hw[3], hw[4], hw[5]})
	return netip.AddrFrom16(a), true
}
