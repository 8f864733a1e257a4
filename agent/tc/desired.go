package tc

import (
	"cmp"
	"fmt"
	"hash/fnv"
	"net"
	"slices"
)

// Kbps is a rate in kbit/s, as in QoS rules.
type Kbps int64

const bytesPerKbps = 125 // a second

// maxKbps is the largest rate that a QoS rule may have. Larger ones are taken
// for it, so that sums and products of rates stay in 64 bits.
const maxKbps Kbps = 1<<31 - 1

// A Direction says which packets of an interface are meant. At a NIC, and at a
// VF, it is the server's as well; at a server's own tap it is the other way
// round, because what the tap sends is what the server receives.
type Direction string

// The directions.
const (
	Egress  Direction = "egress"  // what the interface sends
	Ingress Direction = "ingress" // what it receives
)

// A MAC is the address of a port. The zero MAC is no address.
type MAC [6]byte

// ParseMAC reads an Ethernet address in any notation that net.ParseMAC knows.
func ParseMAC(s string) (MAC, error) {
	hw, err := net.ParseMAC(s)
	if err != nil {
		return MAC{}, err
	}
	if len(hw) != len(MAC{}) {
		return MAC{}, fmt.Errorf("%s is no Ethernet address: it has %d bytes, give one of 6", s, len(hw))
	}
	return MAC(hw), nil
}

// String gives the usual notation, in lower case with colons.
func (m MAC) String() string { return net.HardwareAddr(m[:]).String() }

// A Link is one direction of an interface that ports share.
type Link struct {
	Interface string
	Direction Direction
	Rate      Kbps // what the ports share
	Ports     []Port
}

// A Port is the rates of one port of a Link. A port without a guarantee or a limit needs none: it
// shares the rest with all others.
type Port struct {
	// Key names the port in findings: its UUID.
	Key string

	// MAC selects the port's packets: of a link's egress by their source, of its ingress by their
	// destination. The zero MAC selects every packet that no other port of the link does, which is
	// right where the interface is the port's own; one port of a link may have it.
	MAC MAC

	Min Kbps // guaranteed, 0 for no guarantee
	Max Kbps // limit, 0 for none but the link's rate
}

// device is the interface whose sending queue shapes the link.
func (l Link) device() string {
	if l.Direction == Ingress {
		return IFBName(l.Interface)
	}
	return l.Interface
}

// ifbPrefix marks the names of the devices that this package makes.
const ifbPrefix = "bth-"

// IFBName names the device through which what an interface receives is led. It
// depends on the interface's name only, so that it is found again.
func IFBName(iface string) string {
	h := fnv.New32a()
	h.Write([]byte(iface)) // never fails
	return fmt.Sprintf("%s%08x", ifbPrefix, h.Sum32())
}

// A want is a link that can be enforced, with the classes that do so.
type want struct {
	Link
	classes
}

// resolve returns the links that need classes, in order of their interfaces and directions, and the
// findings of invalid links.
func resolve(links []Link) ([]want, []Finding) {
	sorted := slices.Clone(links)
	slices.SortStableFunc(sorted, compareLinks)
	var wants []want
	var findings []Finding
	for i, l := range sorted {
		if i > 0 && compareLinks(sorted[i-1], l) == 0 {
			findings = append(findings, l.finding("", Invalid, "it is given twice; the first is used"))
			continue
		}
		if reason := l.refusal(); reason != "" {
			findings = append(findings, l.finding("", Invalid, reason))
			continue
		}
		c, fs := l.shape()
		findings = append(findings, fs...)
		if c.needed() {
			wants = append(wants, want{l, c})
		}
	}
	return wants, findings
}

func compareLinks(a, b Link) int {
	return cmp.Or(cmp.Compare(a.Interface, b.Interface), cmp.Compare(a.Direction, b.Direction))
}

// refusal says why nothing of the link can be enforced, "" if something can.
func (l Link) refusal() string {
	switch {
	case l.Interface == "":
		return "the interface has no name"
	case l.Direction != Egress && l.Direction != Ingress:
		return fmt.Sprintf("%q is no direction: give egress or ingress", l.Direction)
	case l.Rate <= 0:
		return "its rate is not known: configure the interface's bandwidth"
	}
	return ""
}
