package network

import "cmp"

// MTUs are upper bounds of MTUs, in bytes. Zero means no bound.
type MTUs struct {
	// Global is that of physical networks, and of the network between hosts.
	Global int
	// Path is the bound of the network between hosts.
	Path int
	// Physical are the bounds of single physical networks.
	Physical map[string]int
	// OverlayIPVersion is the version of IP that carries tunnels, 4 or 6.
	OverlayIPVersion int
	// GeneveHeader is what a Geneve header takes, without that of IP.
	GeneveHeader int
}

// What headers of tunnels and of IP take of a packet.
const (
	vxlanHeader = 30
	greHeader   = 22
	ipv4Header  = 20
	ipv6Header  = 40
)

// Largest returns the largest packet that fits into each of some segments, 0 for any.
func (m MTUs) Largest(segments []SegmentRow) int {
	fits := make([]int, len(segments))
	for i, s := range segments {
		fits[i] = m.of(s)
	}
	return cmp.Or(leastKnown(fits...), m.Global)
}

// of returns the largest packet that fits into a segment, 0 for any.
func (m MTUs) of(s SegmentRow) int {
	switch s.Type {
	case Flat, VLAN:
		return leastKnown(m.Global, m.Physical[s.PhysicalNetwork])
	case VXLAN:
		return m.tunnel(vxlanHeader)
	case GRE:
		return m.tunnel(greHeader)
	case Geneve:
		return m.tunnel(m.GeneveHeader)
	}
	return 0
}

// tunnel returns the largest packet that fits into a tunnel with a header.
func (m MTUs) tunnel(header int) int {
	most := leastKnown(m.Global, m.Path)
	if most == 0 {
		return 0
	}
	if m.OverlayIPVersion == 6 {
		return most - ipv6Header - header
	}
	return most - ipv4Header - header
}

// leastKnown returns the least of some numbers that are not 0; 0 when all are.
func leastKnown(all ...int) int {
	least := 0
	for _, n := range all {
		if n > 0 && (least == 0 || n < least) {
			least = n
		}
	}
	return least
}
