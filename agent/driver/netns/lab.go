package netns

import (
	"errors"
	"fmt"
	"net/netip"
)

// A Lab is a small environment of a host, for trials on one machine: NICs, whose wires lead outside
// and have a rate, and bridges with them. The outside is a network namespace for each wire:
//
//	        the host                     the namespace Outside
//	bridge ─── nic ════ wire ─── bridge ─── far ════ eth0   with addresses
//	                     ▲ rate              ▲ rate
//
// To measure a guarantee, iperf3 is run there and in a server.
type Lab struct {
	// Namespace is that of the host, as in Config. With Own it is a name, and created and removed
	// with the rest.
	Namespace string
	Own       bool
	Wires     []Wire
}

// A Wire is a NIC and what it leads to.
type Wire struct {
	NIC     string // created by Open
	Bridge  string // created with the NIC in it; "" for none: ports may share the NIC
	Outside string // the namespace at the other end, which is created
	// Rate is how much goes through each way, in kbit/s; 0 is as much as can be.
	Rate int64
	// Addresses are those of the other end, with the lengths of their prefixes.
	Addresses []string
}

// check returns what is wrong with a lab.
func (l *Lab) check() error {
	var wrong []error
	taken := map[string]bool{}
	once := func(what, name string) {
		if taken[what+name] {
			wrong = append(wrong, fmt.Errorf("%s %s is there twice", what, name))
		}
		taken[what+name] = true
	}
	if l.Own && !spaceName(l.Namespace) {
		wrong = append(wrong, fmt.Errorf("a host's namespace cannot be called %q", l.Namespace))
	}
	for _, w := range l.Wires {
		wrong = append(wrong, named("the NIC", "", w.NIC))
		once("interface", w.NIC)
		if w.Bridge != "" {
			wrong = append(wrong, named("the bridge", "", w.Bridge))
			once("interface", w.Bridge)
		}
		if !spaceName(w.Outside) {
			wrong = append(wrong, fmt.Errorf("a namespace cannot be called %q", w.Outside))
		}
		once("namespace", w.Outside)
		if w.Rate < 0 || w.Rate > maxRate {
			wrong = append(wrong, fmt.Errorf("the wire of %s cannot have a rate of %d kbit/s: 0 to %d", w.NIC, w.Rate, int64(maxRate)))
		}
		for _, a := range w.Addresses {
			if _, err := netip.ParsePrefix(a); err != nil {
				wrong = append(wrong, fmt.Errorf("the address outside of %s: %w", w.NIC, err))
			}
		}
	}
	return errors.Join(wrong...)
}

const maxRate = 100_000_000 // kbit/s
