package tctest

import (
	"errors"
	"fmt"
	"maps"
	"slices"

	"github.com/berthcloud/berth/agent/tc"
)

// VFs is a host's SR-IOV cards in memory. It records what is set.
type VFs struct {
	// State is what there is. Tests may change it as other programs would.
	State map[tc.VF]tc.VFRate

	// Addresses are those that the VFs have.
	Addresses map[tc.VF]tc.MAC

	// Set is every call of SetVFRate that reached a card, in order.
	Set []tc.VFStep

	// Blind is what VFRates and VFAddresses fail with, if anything.
	Blind error

	// NoGuarantee and NoRates are what the driver cannot do.
	NoGuarantee, NoRates bool

	// Total is the most that the card guarantees in Mbit/s, 0 for any.
	Total int
}

// NewVFs has a card with this many VFs without rates.
func NewVFs(pf string, number int) *VFs {
	v := &VFs{State: make(map[tc.VF]tc.VFRate)}
	for i := range number {
		v.State[tc.VF{PF: pf, Number: i}] = tc.VFRate{}
	}
	return v
}

// VFRates implements tc.VFs.
func (v *VFs) VFRates(pfs []string) (map[tc.VF]tc.VFRate, error) {
	if v.Blind != nil {
		return nil, v.Blind
	}
	rates := maps.Clone(v.State)
	maps.DeleteFunc(rates, func(vf tc.VF, _ tc.VFRate) bool { return !slices.Contains(pfs, vf.PF) })
	return rates, nil
}

// VFAddresses implements tc.VFs.
func (v *VFs) VFAddresses(pfs []string) (map[tc.VF]tc.MAC, error) {
	if v.Blind != nil {
		return nil, v.Blind
	}
	addresses := maps.Clone(v.Addresses)
	maps.DeleteFunc(addresses, func(vf tc.VF, _ tc.MAC) bool { return !slices.Contains(pfs, vf.PF) })
	return addresses, nil
}

// SetVFRate implements tc.VFs with the kernel's own checks and the driver's.
func (v *VFs) SetVFRate(vf tc.VF, r tc.VFRate) error {
	v.Set = append(v.Set, tc.VFStep{VF: vf, Rate: r})
	_, ok := v.State[vf]
	switch {
	case !ok:
		return fmt.Errorf("there is no %v", vf)
	case v.NoRates, v.NoGuarantee && r.Min > 0:
		return fmt.Errorf("%w by the driver", tc.ErrUnsupported)
	case r.Max > 0 && r.Min > r.Max:
		return errors.New("invalid argument: the minimum is above the maximum")
	case v.Total > 0 && v.guaranteed(vf.PF)-v.State[vf].Min+r.Min > v.Total:
		return errors.New("invalid argument: the card has no more to guarantee")
	}
	v.State[vf] = r
	return nil
}

func (v *VFs) guaranteed(pf string) int {
	sum := 0
	for vf, r := range v.State {
		if vf.PF == pf {
			sum += r.Min
		}
	}
	return sum
}
