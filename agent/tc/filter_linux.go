package tc

import (
	"encoding/binary"
	"slices"

	"github.com/vishvananda/netlink"
	"golang.org/x/sys/unix"
)

// flower gives the filter in the classifier that reads frames as they are,
// whatever VLAN tags they carry and wherever these are kept.
func (f Filter) flower(attrs netlink.FilterAttrs) netlink.Filter {
	mac := slices.Clone(f.MAC[:])
	flower := &netlink.Flower{FilterAttrs: attrs, ClassId: handleOf(f.Class)}
	if f.Address == Source {
		flower.SrcMac = mac
	} else {
		flower.DestMac = mac
	}
	return flower
}

// u32 gives the filter in the classifier that every kernel has. It counts from
// the network header, before which the Ethernet header ends: destination at
// -14, source at -8.
func (f Filter) u32(attrs netlink.FilterAttrs) netlink.Filter {
	return &netlink.U32{
		FilterAttrs: attrs,
		ClassId:     handleOf(f.Class),
		Sel:         &netlink.TcU32Sel{Flags: netlink.TC_U32_TERMINAL, Keys: u32Keys(f.Address, f.MAC)},
	}
}

func u32Keys(a Address, mac MAC) []netlink.TcU32Key {
	word, half := binary.BigEndian.Uint32, binary.BigEndian.Uint16
	if a == Source {
		return []netlink.TcU32Key{
			{Off: -8, Mask: 0xffffffff, Val: word(mac[:4])},
			{Off: -4, Mask: 0xffff0000, Val: uint32(half(mac[4:])) << 16},
		}
	}
	return []netlink.TcU32Key{
		{Off: -16, Mask: 0x0000ffff, Val: uint32(half(mac[:2]))},
		{Off: -12, Mask: 0xffffffff, Val: word(mac[2:])},
	}
}

// decodeFilter reads one of either kind. What it does not understand has no
// address, and so is nothing that a port could keep.
func decodeFilter(filter netlink.Filter) Filter {
	f := Filter{Pref: filter.Attrs().Priority}
	var class uint32
	switch filter := filter.(type) {
	case *netlink.Flower:
		class = filter.ClassId
		f.Address, f.MAC = flowerMatch(filter)
	case *netlink.U32:
		class = filter.ClassId
		f.Address, f.MAC = u32Match(filter)
	}
	if major, minor := netlink.MajorMinor(class); major == Major {
		f.Class = Minor(minor)
	}
	return f
}

func flowerMatch(f *netlink.Flower) (Address, MAC) {
	other := f.EthType != 0 || f.VlanId != 0 || f.IPProto != nil || f.SrcIP != nil || f.DestIP != nil || f.SkipSw
	switch {
	case other || len(f.Actions) > 0:
	case len(f.SrcMac) == 6 && f.DestMac == nil:
		return Source, MAC(f.SrcMac)
	case len(f.DestMac) == 6 && f.SrcMac == nil:
		return Destination, MAC(f.DestMac)
	}
	return "", MAC{}
}

func u32Match(f *netlink.U32) (Address, MAC) {
	if f.Sel == nil || len(f.Sel.Keys) != 2 || len(f.Actions) > 0 || f.Attrs().Protocol != unix.ETH_P_ALL {
		return "", MAC{}
	}
	k := f.Sel.Keys
	first, second := binary.BigEndian.AppendUint32(nil, k[0].Val), binary.BigEndian.AppendUint32(nil, k[1].Val)
	source, destination := MAC(slices.Concat(first, second[:2])), MAC(slices.Concat(first[2:], second))
	switch {
	case slices.EqualFunc(k, u32Keys(Source, source), sameKey):
		return Source, source
	case slices.EqualFunc(k, u32Keys(Destination, destination), sameKey):
		return Destination, destination
	}
	return "", MAC{}
}

func sameKey(a, b netlink.TcU32Key) bool {
	return a.Off == b.Off && a.Mask == b.Mask && a.Val == b.Val && a.OffMask == b.OffMask
}
