package netns

import (
	"errors"
	"fmt"
	"net/netip"
)

// A Lab is a small environment of hosts, for trials on one machine: NICs, whose wires lead outside
// and have a rate, and bridges with them. The outside is a network namespace for each wire, in
// which the wires of all hosts meet:
//
//	        host 0                     the namespace Outside
//	bridge ─── nic ════ wire0 ─── line0 ─── far0 ════ port0 ─── eth0   a bridge, with addresses
//	                     ▲ rate               ▲ rate              │
//	bridge ─── nic ════ wire1 ─── line1 ─── far1 ════ port1 ──────┘
//	        host 1
//
// To measure a guarantee, iperf3 is run there, or in a server, and in a server.
type Lab struct {
	// Hosts are the namespaces of the hosts, each as Namespace in Config. The wires of a host are
	// numbered by its index in this list. With Own they are names of namespaces that are created
	// and removed with the rest.
	Hosts []string
	Own   bool
	Wires []Wire // of each host
}

// A Wire is a NIC of each host, and what it leads to.
type Wire struct {
	NIC     string // created by Make
	Bridge  string // created with the NIC in it; "" for none: ports may share the NIC
	Outside string // the namespace at the other end, which is created
	// Rate is the rate of the wire of each host, per direction, in kbit/s; 0 is no limit.
	Rate int64
	// Addresses are the addresses of the other end, with the lengths of their prefixes.
	Addresses []string
}

// check returns what is wrong with a lab.
func (l *Lab) check() error {
	var wrong []error
	taken := map[string]bool{}
	once := func(kind, name string) {
		if taken[kind+name] {
			wrong = append(wrong, fmt.Errorf("%s %s is listed twice", kind, name))
		}
		taken[kind+name] = true
	}
	for _, host := range l.Hosts {
		if l.Own && !spaceName(host) {
			wrong = append(wrong, fmt.Errorf("a host's namespace cannot be called %q", host))
		}
		once("namespace", host)
	}
	if len(l.Hosts) > MaxHosts {
		wrong = append(wrong, fmt.Errorf("a lab cannot have %d hosts: %d at most", len(l.Hosts), MaxHosts))
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
			wrong = append(wrong, fmt.Errorf("the wire of %s cannot have a rate of %d kbit/s: 0 to %d", w.NIC, w.Rate,
				int64(maxRate)))
		}
		for _, a := range w.Addresses {
			if _, err := netip.ParsePrefix(a); err != nil {
				wrong = append(wrong, fmt.Errorf("the address outside of %s: %w", w.NIC, err))
			}
		}
	}
	return errors.Join(wrong...)
}

// MaxHosts is the greatest number of hosts of a lab.
const MaxHosts = 32

const maxRate = 100_000_000 // kbit/s
