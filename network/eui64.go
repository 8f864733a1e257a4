package network

import (
	"net"
	"net/netip"
)

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
