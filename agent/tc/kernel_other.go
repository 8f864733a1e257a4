//go:build !linux

package tc

import "fmt"

// Linux is the running kernel's traffic control: only Linux has it.
type Linux struct{}

// Open fails: there is no traffic control here that this package knows.
func Open(string) (*Linux, error) {
	return nil, fmt.Errorf("%w: traffic control needs Linux", ErrUnsupported)
}

// Close does nothing.
func (*Linux) Close() {}

// Observe implements Kernel.
func (*Linux) Observe() (Actual, error) { return nil, ErrUnsupported }

// Do implements Kernel.
func (*Linux) Do(Step) error { return ErrUnsupported }

// VFRates implements VFs.
func (*Linux) VFRates([]string) (map[VF]VFRate, error) { return nil, ErrUnsupported }

// SetVFRate implements VFs.
func (*Linux) SetVFRate(VF, VFRate) error { return ErrUnsupported }

// VFAddresses implements VFs.
func (*Linux) VFAddresses([]string) (map[VF]MAC, error) { return nil, ErrUnsupported }
