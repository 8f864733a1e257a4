package tc_test

import (
	"testing"

	"github.com/vishvananda/netlink"
	"golang.org/x/sys/unix"
	"pgregory.net/rapid"

	"github.com/berthcloud/berth/agent/tc"
)

func filter() *rapid.Generator[tc.Filter] {
	return rapid.Custom(func(t *rapid.T) tc.Filter {
		minor := rapid.Uint16Range(uint16(tc.PortMinor), uint16(tc.LastMinor)).Draw(t, "class")
		address := rapid.SampledFrom([]tc.Address{tc.Source, tc.Destination}).Draw(t, "address")
		bytes := rapid.SliceOfN(rapid.Byte(), 6, 6).Draw(t, "mac")
		return tc.Filter{Pref: minor, Address: address, MAC: tc.MAC(bytes), Class: tc.Minor(minor)}
	})
}

// TestFiltersReadBack wants each classifier's form of a filter to be recognised.
func TestFiltersReadBack(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		f := filter().Draw(t, "filter")
		attrs := netlink.FilterAttrs{Priority: f.Pref, Protocol: unix.ETH_P_ALL}
		for _, form := range []netlink.Filter{tc.Flower(f, attrs), tc.U32(f, attrs)} {
			if got := tc.DecodeFilter(form); got != f {
				t.Fatalf("%v as %s was read back as %v", f, form.Type(), got)
			}
		}
	})
}

// TestOtherFiltersHaveNoAddress wants filters that match less, more or
// otherwise not to be taken for a port's.
func TestOtherFiltersHaveNoAddress(t *testing.T) {
	f := tc.Filter{Pref: 16, Address: tc.Source, MAC: mac(1), Class: 16}
	attrs := netlink.FilterAttrs{Priority: f.Pref, Protocol: unix.ETH_P_ALL}
	u32 := func(change func(*netlink.U32)) netlink.Filter {
		u := tc.U32(f, attrs).(*netlink.U32)
		change(u)
		return u
	}
	flower := func(change func(*netlink.Flower)) netlink.Filter {
		fl := tc.Flower(f, attrs).(*netlink.Flower)
		change(fl)
		return fl
	}
	for name, other := range map[string]netlink.Filter{
		"u32 protocol":     u32(func(u *netlink.U32) { u.Protocol = unix.ETH_P_IP }),
		"u32 no keys":      u32(func(u *netlink.U32) { u.Sel = nil }),
		"u32 one key":      u32(func(u *netlink.U32) { u.Sel.Keys = u.Sel.Keys[:1] }),
		"u32 mask":         u32(func(u *netlink.U32) { u.Sel.Keys[1].Mask = 0xff000000 }),
		"u32 offset":       u32(func(u *netlink.U32) { u.Sel.Keys[0].Off = 12 }),
		"u32 action":       u32(func(u *netlink.U32) { u.Actions = []netlink.Action{netlink.NewMirredAction(1)} }),
		"flower protocol":  flower(func(f *netlink.Flower) { f.EthType = unix.ETH_P_IP }),
		"flower both":      flower(func(f *netlink.Flower) { f.DestMac = f.SrcMac }),
		"flower VLAN":      flower(func(f *netlink.Flower) { f.VlanId = 7 }),
		"flower action":    flower(func(f *netlink.Flower) { f.Actions = []netlink.Action{netlink.NewMirredAction(1)} }),
		"flower short MAC": flower(func(f *netlink.Flower) { f.SrcMac = f.SrcMac[:3] }),
		"another kind":     &netlink.MatchAll{FilterAttrs: attrs, ClassId: netlink.MakeHandle(tc.Major, 16)},
	} {
		if got := tc.DecodeFilter(other); got.MAC != (tc.MAC{}) || got.Pref != f.Pref || got.Class > f.Class {
			t.Errorf("%s: read as %v", name, got)
		}
	}
}

// FuzzU32 reads whatever another program may have put there.
func FuzzU32(f *testing.F) {
	f.Add(int32(-8), uint32(0xffffffff), uint32(1), int32(-4), uint32(0xffff0000), uint32(2))
	f.Fuzz(func(t *testing.T, off1 int32, mask1, val1 uint32, off2 int32, mask2, val2 uint32) {
		read := tc.DecodeFilter(&netlink.U32{
			FilterAttrs: netlink.FilterAttrs{Priority: 16, Protocol: unix.ETH_P_ALL},
			ClassId:     netlink.MakeHandle(tc.Major, 16),
			Sel: &netlink.TcU32Sel{Keys: []netlink.TcU32Key{
				{Off: off1, Mask: mask1, Val: val1},
				{Off: off2, Mask: mask2, Val: val2},
			}},
		})
		if read.Address == "" && read.MAC != (tc.MAC{}) {
			t.Errorf("an address of no kind: %v", read)
		}
	})
}
