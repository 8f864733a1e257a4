package networkapi

import (
	"fmt"
	"net"
	"net/netip"
	"slices"
	"strings"
	"unicode"

	"github.com/berthcloud/berth/httpapi/pyjson"
	"github.com/berthcloud/berth/httpapi/resource"
)

// mac is the hardware address of an interface, in one of the usual notations.
func mac(v pyjson.Value) string {
	hw, err := net.ParseMAC(v.Str())
	if err != nil || len(hw) != 6 || slices.Equal(hw, make([]byte, 6)) || strings.ContainsFunc(v.Str(), unicode.IsSpace) {
		return "'" + pyjson.Str(v) + "' is not a valid MAC address"
	}
	return ""
}

// ip is an IPv4 or IPv6 address. Zeros in front of a number of IPv4 are refused:
// whether they make it octal is not agreed upon.
func ip(v pyjson.Value) string {
	s := v.Str()
	if plain := withoutZeros(s); plain != s {
		if addr, err := netip.ParseAddr(plain); err == nil {
			return fmt.Sprintf("'%s' is not an accepted IP address, '%s' is recommended", s, addr)
		}
	}
	if _, err := netip.ParseAddr(s); err != nil || strings.Contains(s, "%") {
		return "'" + pyjson.Str(v) + "' is not a valid IP address"
	}
	return ""
}

// withoutZeros removes what is in front of the numbers of an IPv4 address.
func withoutZeros(s string) string {
	parts := strings.Split(s, ".")
	if len(parts) != 4 {
		return s
	}
	for i, p := range parts {
		if trimmed := strings.TrimLeft(p, "0"); trimmed != "" {
			parts[i] = trimmed
		} else if p != "" {
			parts[i] = "0"
		}
	}
	return strings.Join(parts, ".")
}

// toIP converts an IPv6 address to its canonical form; other values are unchanged.
func toIP(v pyjson.Value) (pyjson.Value, error) {
	if addr, err := netip.ParseAddr(v.Str()); err == nil && addr.Is6() {
		return pyjson.NewString(addr.String()), nil
	}
	return v, nil
}

// toCIDR writes a block of addresses in its canonical form: convert_cidr_to_canonical_format in
// neutron_lib.
func toCIDR(v pyjson.Value) (pyjson.Value, error) {
	addr, bits, hasLength := strings.Cut(v.Str(), "/")
	p, err := parsePrefix(addr, bits, hasLength)
	if err != nil {
		return v, resource.InvalidInput("%s is not in a CIDR format", pyjson.Str(v))
	}
	return pyjson.NewString(p.String()), nil
}

// parsePrefix takes a block without a length for one address.
func parsePrefix(addr, bits string, hasLength bool) (netip.Prefix, error) {
	if hasLength {
		return netip.ParsePrefix(addr + "/" + bits)
	}
	a, err := netip.ParseAddr(addr)
	if err != nil {
		return netip.Prefix{}, err
	}
	return a.Prefix(a.BitLen())
}

// cidr is a block of addresses: validate_subnet in neutron_lib.
func cidr(v pyjson.Value) string {
	p, err := netip.ParsePrefix(v.Str())
	switch {
	case err != nil:
		return "'" + pyjson.Str(v) + "' is not a valid IP subnet"
	case p.Addr().Is4() && p.String() != v.Str():
		return fmt.Sprintf("'%s' isn't a recognized IP subnet cidr, '%s' is recommended", v.Str(), p.Masked())
	}
	return ""
}

// routeCIDR is a block of addresses that packets can be sent to.
func routeCIDR(v pyjson.Value) string {
	p, err := netip.ParsePrefix(v.Str())
	switch {
	case err != nil:
		return "'" + pyjson.Str(v) + "' is not a valid CIDR"
	case p.Masked().Addr() != p.Addr():
		return fmt.Sprintf("'%s' is not a recognized CIDR, '%s' is recommended", v.Str(), p.Masked())
	case p.Addr().IsLoopback():
		return "'" + v.Str() + "' is not a routable CIDR"
	}
	return ""
}

// pools is a list of ranges of addresses.
func pools(v pyjson.Value) string {
	if v.Kind() != pyjson.Array {
		return "Invalid data format for IP pool: '" + pyjson.Str(v) + "'"
	}
	return resource.FirstWrong(v.Items(), func(pool pyjson.Value) string {
		if wrong := exactly(pool, "end", "start"); wrong != "" {
			return wrong
		}
		start := resource.Member(pool, "start")
		end := resource.Member(pool, "end")
		return resource.FirstWrong([]pyjson.Value{start, end}, ip)
	})
}

// exactly is an object with these keys and no others. Upstream lists the keys in the
// order of a set, which is any.
func exactly(v pyjson.Value, keys ...string) string {
	if v.Kind() != pyjson.Object {
		return fmt.Sprintf("Invalid input. '%s' must be a dictionary with keys: %s", pyjson.Str(v),
			pyjson.Str(pyjson.Of(keys)))
	}
	provided := make([]string, v.Len())
	for i, m := range v.Members() {
		provided[i] = m.Key
	}
	if len(provided) == len(keys) &&
		!slices.ContainsFunc(keys, func(k string) bool { return !slices.Contains(provided, k) }) {
		return ""
	}
	return fmt.Sprintf("Validation of dictionary's keys failed. Expected keys: %s Provided keys: %s", set(keys),
		set(provided))
}

// set is a set of strings as Python shows it.
func set(keys []string) string {
	if len(keys) == 0 {
		return "set()"
	}
	list := pyjson.Str(pyjson.Of(keys))
	return "{" + list[1:len(list)-1] + "}"
}

// nameservers is a list of addresses, each once.
func nameservers(v pyjson.Value) string {
	if v.Kind() != pyjson.Array {
		return "Invalid data format for nameserver: '" + pyjson.Str(v) + "'"
	}
	seen := resource.ValueSet{}
	for _, host := range v.Items() {
		if wrong := ip(host); wrong != "" {
			return fmt.Sprintf("'%s' is not a valid nameserver. %s", pyjson.Str(host), wrong)
		}
		if !seen.Add(host) {
			return "Duplicate nameserver '" + pyjson.Str(host) + "'"
		}
	}
	return ""
}

// hostRoutes is a list of routes, each once.
func hostRoutes(v pyjson.Value) string {
	if v.Kind() != pyjson.Array {
		return "Invalid data format for hostroute: '" + pyjson.Str(v) + "'"
	}
	seen := resource.ValueSet{}
	for _, route := range v.Items() {
		if wrong := hostRoute(route); wrong != "" {
			return wrong
		}
		if !seen.Add(route) {
			return "Duplicate hostroute '" + pyjson.Str(route) + "'"
		}
	}
	return ""
}

func hostRoute(v pyjson.Value) string {
	if wrong := exactly(v, "nexthop", "destination"); wrong != "" {
		return wrong
	}
	destination := resource.Member(v, "destination")
	if wrong := routeCIDR(destination); wrong != "" {
		return wrong
	}
	hop := resource.Member(v, "nexthop")
	return ip(hop)
}

// fixedIPs validates a list of requested addresses and subnets: validate_fixed_ips in neutron_lib.
func fixedIPs(v pyjson.Value) string {
	const format = "Invalid data format for fixed IP: '"
	if v.Kind() != pyjson.Array {
		return format + pyjson.Str(v) + "'"
	}
	seen := map[string]bool{}
	return resource.FirstWrong(v.Items(), func(fixed pyjson.Value) string {
		if fixed.Kind() != pyjson.Object {
			return format + pyjson.Str(fixed) + "'"
		}
		if addr, ok := fixed.Get("ip_address"); ok {
			if seen[pyjson.Str(addr)] {
				return "Duplicate IP address '" + pyjson.Str(addr) + "'"
			}
			if wrong := ip(addr); wrong != "" {
				return wrong
			}
			seen[pyjson.Str(addr)] = true
		}
		if subnet, ok := fixed.Get("subnet_id"); ok {
			return resource.UUID(subnet)
		}
		return ""
	})
}
