package tc

import (
	"errors"
	"fmt"

	"github.com/vishvananda/netlink"
	"golang.org/x/sys/unix"
)

// VFRates implements VFs.
func (l *Linux) VFRates(pfs []string) (map[VF]VFRate, error) {
	rates := make(map[VF]VFRate)
	err := l.eachVF(pfs, func(pf string, vf netlink.VfInfo) {
		rates[VF{pf, vf.ID}] = VFRate{int(vf.MinTxRate), int(vf.MaxTxRate)}
	})
	return rates, err
}

// VFAddresses implements VFs.
func (l *Linux) VFAddresses(pfs []string) (map[VF]MAC, error) {
	addresses := make(map[VF]MAC)
	err := l.eachVF(pfs, func(pf string, vf netlink.VfInfo) {
		if len(vf.Mac) == len(MAC{}) {
			addresses[VF{pf, vf.ID}] = MAC(vf.Mac)
		}
	})
	return addresses, err
}

// eachVF reads the VFs of the PFs that are there.
func (l *Linux) eachVF(pfs []string, look func(pf string, vf netlink.VfInfo)) error {
	for _, pf := range pfs {
		link, err := l.handle.LinkByName(pf)
		var missing netlink.LinkNotFoundError
		if errors.As(err, &missing) {
			continue
		}
		if err != nil {
			return fmt.Errorf("looking up %s: %w", pf, err)
		}
		for _, vf := range link.Attrs().Vfs {
			look(pf, vf)
		}
	}
	return nil
}

// SetVFRate implements VFs. Drivers without guarantees refuse them in different
// words; the older of them with EINVAL.
func (l *Linux) SetVFRate(v VF, r VFRate) error {
	link, err := l.handle.LinkByName(v.PF)
	if err != nil {
		return fmt.Errorf("looking up %s: %w", v.PF, err)
	}
	err = l.handle.LinkSetVfRate(link, v.Number, r.Min, r.Max)
	if errors.Is(err, unix.EINVAL) && r.Min > 0 {
		return fmt.Errorf("%w by the driver with these figures: %w", ErrUnsupported, err)
	}
	return explain(err, "")
}
