package network

import (
	"context"
	"maps"
	"math/rand/v2"
	"slices"

	"github.com/berthcloud/berth/fault"
)

// Segments returns the segments that match.
func (s *Service) Segments(ctx context.Context, where ...Match) (all []SegmentRow, err error) {
	err = s.store.View(ctx, func(r Reader) error {
		all, err = Rows[SegmentRow](r, where...)
		return err
	})
	return all, err
}

// The numbers that VLANs have.
const minVLAN, maxVLAN = 1, 4094

// reserve returns a segment as requested. The store refuses one that is in use.
func (c *change) reserve(want SegmentSpec) (SegmentRow, error) {
	row := SegmentRow{Type: want.Type, PhysicalNetwork: want.PhysicalNetwork, SegmentationID: want.SegmentationID}
	switch {
	case want.Any && want.PhysicalNetwork == "" && want.SegmentationID < 0:
		return c.reserveAny(want.External)
	case want.Any:
		return row, invalidInput("network_type required")
	case !slices.Contains(c.settings.Types, want.Type):
		return row, invalidInput("network_type value '%s' not supported", want.Type)
	}
	switch want.Type {
	case VLAN:
		return c.reserveVLAN(row)
	case Flat:
		return row, firstError(c.checkFlat(row), c.flatFree(row))
	case VXLAN, GRE, Geneve:
		return c.reserveTunnel(row)
	}
	return row, checkLocal(row)
}

// reserveAny returns the first free segment of the types that the settings offer. A flat one is
// never free: it needs a physical network by name.
func (c *change) reserveAny(external bool) (row SegmentRow, err error) {
	kinds := c.settings.ProjectTypes
	if external && c.settings.ExternalType != "" {
		kinds = []string{c.settings.ExternalType}
	}
	for _, kind := range kinds {
		if kind == Flat {
			continue
		}
		row, err = c.reserve(SegmentSpec{Type: kind, SegmentationID: -1})
		if _, code := fault.Of(err); err == nil || code != codeNoNetwork {
			return row, err
		}
	}
	return row, noNetwork()
}

const codeNoNetwork fault.Code = "NoNetworkAvailable"

func noNetwork() error {
	return fault.New(fault.Unavailable, codeNoNetwork, "Unable to create the network. No tenant network is available for allocation.")
}

func (c *change) reserveVLAN(row SegmentRow) (SegmentRow, error) {
	_, known := c.settings.VLANs[row.PhysicalNetwork]
	switch {
	case row.PhysicalNetwork != "" && !known:
		return row, invalidInput("physical_network '%s' unknown for VLAN provider network", row.PhysicalNetwork)
	case row.PhysicalNetwork == "" && row.SegmentationID >= 0:
		return row, invalidInput("segmentation_id requires physical_network for VLAN provider network")
	case row.SegmentationID < 0:
		return c.freeVLAN(row)
	case row.SegmentationID < minVLAN || row.SegmentationID > maxVLAN:
		return row, invalidInput("segmentation_id out of range (%d through %d)", minVLAN, maxVLAN)
	}
	return row, nil
}

// freeVLAN looks for a free VLAN of one physical network, or of any.
func (c *change) freeVLAN(row SegmentRow) (SegmentRow, error) {
	physical := []string{row.PhysicalNetwork}
	if row.PhysicalNetwork == "" {
		physical = slices.Sorted(maps.Keys(c.settings.VLANs))
	}
	for _, name := range physical {
		used, err := c.used(VLAN, name)
		if err != nil {
			return row, err
		}
		ranges := c.settings.VLANs[name]
		if len(ranges) == 0 {
			ranges = []Range{{minVLAN, maxVLAN}}
		}
		if id, ok := anyFree(ranges, used); ok {
			row.PhysicalNetwork, row.SegmentationID = name, id
			return row, nil
		}
	}
	return row, noNetwork()
}

func (c *change) reserveTunnel(row SegmentRow) (SegmentRow, error) {
	switch {
	case row.PhysicalNetwork != "":
		return row, invalidInput("provider:physical_network specified for %s network", row.Type)
	case row.SegmentationID >= 0: // of which Neutron takes any
		return row, nil
	}
	used, err := c.used(row.Type, "")
	if err != nil {
		return row, err
	}
	id, ok := anyFree(c.settings.Tunnels[row.Type], used)
	if !ok {
		return row, noNetwork()
	}
	row.SegmentationID = id
	return row, nil
}

// anyFree returns a number of some ranges that is not in use, any of them: it says
// nothing about how many there are. It looks at no more numbers than are in use, however
// large the ranges are.
func anyFree(ranges []Range, used map[int]bool) (int, bool) {
	total := 0
	for _, r := range ranges {
		total += max(r.High-r.Low+1, 0)
	}
	if total == 0 {
		return 0, false
	}
	for at, n := rand.IntN(total), 0; n < total; n++ {
		if id := numberAt(ranges, (at+n)%total); !used[id] {
			return id, true
		}
	}
	return 0, false
}

// numberAt returns the i-th number of some ranges, which have so many.
func numberAt(ranges []Range, i int) int {
	for _, r := range ranges {
		size := max(r.High-r.Low+1, 0)
		if i < size {
			return r.Low + i
		}
		i -= size
	}
	panic("network: a number beyond all ranges")
}

// flatFree refuses a second flat network on a physical one.
func (c *change) flatFree(row SegmentRow) error {
	rows, err := Rows[SegmentRow](c, Where(ByPhysical, row.PhysicalNetwork))
	if err != nil {
		return err
	}
	if slices.ContainsFunc(rows, func(o SegmentRow) bool { return o.Type == Flat }) {
		return taken(ErrTaken, row)
	}
	return nil
}

func (c *change) checkFlat(row SegmentRow) error {
	flat := c.settings.FlatNetworks
	switch {
	case row.PhysicalNetwork == "":
		return invalidInput("physical_network required for flat provider network")
	case len(flat) == 0:
		return invalidInput("Flat provider networks are disabled")
	case !slices.Contains(flat, "*") && !slices.Contains(flat, row.PhysicalNetwork):
		return invalidInput("physical_network '%s' unknown for flat provider network", row.PhysicalNetwork)
	case row.SegmentationID > 0:
		return invalidInput("segmentation_id prohibited for flat provider network")
	}
	return nil
}

func checkLocal(row SegmentRow) error {
	switch {
	case row.PhysicalNetwork != "":
		return invalidInput("physical_network prohibited for local provider network")
	case row.SegmentationID > 0:
		return invalidInput("segmentation_id prohibited for local provider network")
	}
	return nil
}

// moveVLAN gives a network of one VLAN another number, which is all of a segment
// that may change.
func (c *change) moveVLAN(n *Network, to SegmentSpec) error {
	var now SegmentRow
	if len(n.Segments) > 0 {
		now = n.Segments[0]
	}
	same := (to.Any || to.Type == now.Type) && (to.PhysicalNetwork == "" || to.PhysicalNetwork == now.PhysicalNetwork)
	switch {
	case !same:
		return invalidInput("Plugin does not support updating the following provider network attributes: " +
			"provider:network_type, provider:physical_network")
	case to.SegmentationID <= 0:
		return nil
	case len(n.Segments) > 1:
		return invalidInput("Provider network attributes can be updated only in provider networks with a single segment.")
	case now.Type != VLAN:
		return invalidInput("Only VLAN type networks can be updated.")
	case to.SegmentationID == now.SegmentationID:
		return nil
	}
	now.SegmentationID = to.SegmentationID
	if _, err := c.reserveVLAN(now); err != nil {
		return err
	}
	c.touch(&now.Common)
	n.Segments = []SegmentRow{now}
	return taken(c.Replace(&now), now)
}
