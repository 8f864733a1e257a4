package index

import (
	"slices"

	"github.com/berthcloud/berth/guarantee"
	"github.com/berthcloud/berth/ops/cloud"
)

// IsPortClass reports whether a class is one that ports are guaranteed.
func IsPortClass(class string) bool {
	return slices.Contains([]string{
		guarantee.EgressBandwidth, guarantee.IngressBandwidth,
		guarantee.EgressPacketRate, guarantee.IngressPacketRate, guarantee.PacketRate,
	}, class)
}

// HasRequest reports whether a port has a resource request.
func HasRequest(p *cloud.Port) bool {
	if p.Request == nil {
		return false
	}
	for _, g := range p.Request.Groups {
		for _, n := range g.Resources {
			if n > 0 {
				return true
			}
		}
	}
	return false
}

// NamedProvider returns the provider that a port names for a group, "" for none. A key in the older
// format has one provider, which is that of the bandwidth.
func NamedProvider(p *cloud.Port, g cloud.PortGroup) string {
	if old, ok := p.Allocation[""]; ok {
		for class := range g.Resources {
			if class == guarantee.EgressBandwidth || class == guarantee.IngressBandwidth {
				return old
			}
		}
		return ""
	}
	return p.Allocation[g.ID]
}
