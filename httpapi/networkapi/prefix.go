package networkapi

import (
	"net/netip"
	"strconv"
	"strings"
)

// readPrefix parses an address with the length of its network as Python's netaddr does: the length
// may be missing, or be a mask or its inverse, and so may the end of an IPv4 address. The host's
// bits are kept.
func readPrefix(text string) (netip.Prefix, bool) {
	addr, length, given := strings.Cut(text, "/")
	a, err := netip.ParseAddr(addr)
	if err != nil {
		a, err = netip.ParseAddr(padded(addr))
	}
	if err != nil || a.Zone() != "" {
		return netip.Prefix{}, false
	}
	bits := a.BitLen()
	if given {
		if bits, err = strconv.Atoi(length); err != nil {
			bits = maskLength(length, a.BitLen())
		}
	}
	p := netip.PrefixFrom(a, bits)
	return p, p.IsValid()
}

// padded completes a shortened IPv4 address.
func padded(addr string) string {
	parts := strings.Split(addr, ".")
	for i, part := range parts {
		n, err := strconv.Atoi(part)
		if err != nil {
			return addr
		}
		parts[i] = strconv.Itoa(n)
	}
	for len(parts) < 4 {
		parts = append(parts, "0")
	}
	return strings.Join(parts, ".")
}

// maskLength is the length of a mask, or of its inverse, in addresses of so many bits; -1 for other
// values.
func maskLength(text string, most int) int {
	mask, err := netip.ParseAddr(text)
	if err != nil || mask.BitLen() != most {
		return -1
	}
	var bits strings.Builder
	for _, b := range mask.AsSlice() {
		bits.WriteString(strconv.FormatUint(uint64(b)|1<<8, 2)[1:])
	}
	ones, zeros := strings.TrimLeft(bits.String(), "1"), strings.TrimLeft(bits.String(), "0")
	switch {
	case !strings.Contains(ones, "1"):
		return most - len(ones)
	case !strings.Contains(zeros, "0"):
		return most - len(zeros)
	}
	return -1
}
