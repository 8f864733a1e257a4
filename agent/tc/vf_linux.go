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
	for _, pf := range pfs {
		link, err := l.handle.LinkByName(pf)
		var gone netlink.LinkNotFoundError
		if errors.As(err, &gone) {
			continue
		}
		if err != nil {
			return nil, fmt.Errorf("looking up %s: %w", pf, err)
		}
		for _, vf := range link.Attrs().Vfs {
			rates[VF{pf, vf.ID}] = VFRate{int(vf.MinTxRate), int(vf.MaxTxRate)}
		}
	}
	return rates, nil
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
