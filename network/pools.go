package network

import (
	"fmt"
	"net/netip"
	"slices"
	"sort"
)

// A span is a range of addresses, both ends included.
type span struct{ first, last netip.Addr }

// String returns the range as Python's netaddr shows it, in the texts of errors.
func (s span) String() string { return fmt.Sprintf("%s-%s", s.first, s.last) }

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

// around returns the pools of a block whose gateway is not for ports.
func around(p netip.Prefix, gateway netip.Addr) []span {
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
		return p.Contains(a) && (a != first || owner == "" || owner == ownerGateway || slices.Contains(routerPorts, owner))
	}
	return p.Contains(a) && a != first && a != last
}

// spans reads pools, which were checked when they were written.
func spans(pools []Pool) ([]span, error) {
	all := make([]span, len(pools))
	for i, p := range pools {
		first, err := netip.ParseAddr(p.Start)
		if err != nil {
			return nil, fmt.Errorf("network: a pool begins with %q", p.Start)
		}
		last, err := netip.ParseAddr(p.End)
		if err != nil {
			return nil, fmt.Errorf("network: a pool ends with %q", p.End)
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
