package topology

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"maps"
	"math/rand/v2"
	"slices"

	"github.com/berthcloud/berth/fault"
	"github.com/berthcloud/berth/network"
)

// Segments returns the segments that match.
func (s *Service) Segments(ctx context.Context, where ...network.Match) (all []network.SegmentRow, err error) {
	err = s.db.View(ctx, func(r network.Reader) error {
		all, err = network.Rows[network.SegmentRow](r, where...)
		return err
	})
	return all, err
}

// The numbers that VLANs have.
const MinVLAN, MaxVLAN = 1, 4094

// reserve returns a segment as requested. The store refuses one that is in use.
func reserve(tx *network.Tx, want SegmentSpec) (network.SegmentRow, error) {
	row := network.SegmentRow{
		Type: want.Type, PhysicalNetwork: want.PhysicalNetwork,
		SegmentationID: want.SegmentationID,
	}
	switch {
	case want.Any && want.PhysicalNetwork == "" && want.SegmentationID < 0:
		return reserveAny(tx, want.External)
	case want.Any:
		return row, network.InvalidInput("network_type required")
	case !slices.Contains(tx.Settings.Types, want.Type):
		return row, network.InvalidInput("network_type value '%s' not supported", want.Type)
	}
	switch want.Type {
	case network.VLAN:
		return reserveVLAN(tx, row)
	case network.Flat:
		return row, cmp.Or(checkFlat(tx, row), flatFree(tx, row))
	case network.VXLAN, network.GRE, network.Geneve:
		return reserveTunnel(tx, row)
	}
	return row, checkLocal(row)
}

// reserveAny returns the first free segment of the types that the settings offer. A flat one is
// never free: it needs a physical network by name.
func reserveAny(tx *network.Tx, external bool) (row network.SegmentRow, err error) {
	kinds := tx.Settings.ProjectTypes
	if external && tx.Settings.ExternalType != "" {
		kinds = []string{tx.Settings.ExternalType}
	}
	for _, kind := range kinds {
		if kind == network.Flat {
			continue
		}
		row, err = reserve(tx, SegmentSpec{Type: kind, SegmentationID: -1})
		if _, code := fault.Of(err); err == nil || code != codeNoNetwork {
			return row, err
		}
	}
	return row, noNetwork()
}

const codeNoNetwork fault.Code = "NoNetworkAvailable"

func noNetwork() error {
	return fault.New(fault.Unavailable, codeNoNetwork,
		"Unable to create the network. No tenant network is available for allocation.")
}

func reserveVLAN(tx *network.Tx, row network.SegmentRow) (network.SegmentRow, error) {
	_, known := tx.Settings.VLANs[row.PhysicalNetwork]
	switch {
	case row.PhysicalNetwork != "" && !known:
		return row, network.InvalidInput("physical_network '%s' unknown for VLAN provider network", row.PhysicalNetwork)
	case row.PhysicalNetwork == "" && row.SegmentationID >= 0:
		return row, network.InvalidInput("segmentation_id requires physical_network for VLAN provider network")
	case row.SegmentationID < 0:
		return freeVLAN(tx, row)
	case row.SegmentationID < MinVLAN || row.SegmentationID > MaxVLAN:
		return row, network.InvalidInput("segmentation_id out of range (%d through %d)", MinVLAN, MaxVLAN)
	}
	return row, nil
}

// freeVLAN returns a free VLAN of one physical network, or of any.
func freeVLAN(tx *network.Tx, row network.SegmentRow) (network.SegmentRow, error) {
	physical := []string{row.PhysicalNetwork}
	if row.PhysicalNetwork == "" {
		physical = slices.Sorted(maps.Keys(tx.Settings.VLANs))
	}
	for _, name := range physical {
		used, err := tx.UsedNumbers(network.VLAN, name)
		if err != nil {
			return row, err
		}
		ranges := tx.Settings.VLANs[name]
		if len(ranges) == 0 {
			ranges = []network.Range{{Low: MinVLAN, High: MaxVLAN}}
		}
		if id, ok := anyFree(ranges, used); ok {
			row.PhysicalNetwork, row.SegmentationID = name, id
			return row, nil
		}
	}
	return row, noNetwork()
}

func reserveTunnel(tx *network.Tx, row network.SegmentRow) (network.SegmentRow, error) {
	switch {
	case row.PhysicalNetwork != "":
		return row, network.InvalidInput("provider:physical_network specified for %s network", row.Type)
	case row.SegmentationID >= 0: // of which Neutron takes any
		return row, nil
	}
	used, err := tx.UsedNumbers(row.Type, "")
	if err != nil {
		return row, err
	}
	id, ok := anyFree(tx.Settings.Tunnels[row.Type], used)
	if !ok {
		return row, noNetwork()
	}
	row.SegmentationID = id
	return row, nil
}

// anyFree returns a number of some ranges that is not in use, any of them: it does not
// disclose how many there are. It tries no more numbers than are in use, however
// large the ranges are.
func anyFree(ranges []network.Range, used map[int]bool) (int, bool) {
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
func numberAt(ranges []network.Range, i int) int {
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
func flatFree(tx *network.Tx, row network.SegmentRow) error {
	rows, err := network.Rows[network.SegmentRow](tx, network.Where(network.ByPhysical, row.PhysicalNetwork))
	if err != nil {
		return err
	}
	if slices.ContainsFunc(rows, func(o network.SegmentRow) bool { return o.Type == network.Flat }) {
		return taken(network.ErrTaken, row)
	}
	return nil
}

func checkFlat(tx *network.Tx, row network.SegmentRow) error {
	flat := tx.Settings.FlatNetworks
	switch {
	case row.PhysicalNetwork == "":
		return network.InvalidInput("physical_network required for flat provider network")
	case len(flat) == 0:
		return network.InvalidInput("Flat provider networks are disabled")
	case !slices.Contains(flat, "*") && !slices.Contains(flat, row.PhysicalNetwork):
		return network.InvalidInput("physical_network '%s' unknown for flat provider network", row.PhysicalNetwork)
	case row.SegmentationID > 0:
		return network.InvalidInput("segmentation_id prohibited for flat provider network")
	}
	return nil
}

func checkLocal(row network.SegmentRow) error {
	switch {
	case row.PhysicalNetwork != "":
		return network.InvalidInput("physical_network prohibited for local provider network")
	case row.SegmentationID > 0:
		return network.InvalidInput("segmentation_id prohibited for local provider network")
	}
	return nil
}

// changeVLAN changes the number of a network of one VLAN, which is all of a segment
// that may change.
func changeVLAN(tx *network.Tx, n *network.Network, to SegmentSpec) error {
	var now network.SegmentRow
	if len(n.Segments) > 0 {
		now = n.Segments[0]
	}
	same := (to.Any || to.Type == now.Type) && (to.PhysicalNetwork == "" || to.PhysicalNetwork == now.PhysicalNetwork)
	switch {
	case !same:
		return network.InvalidInput("Plugin does not support updating the following provider network attributes: " +
			"provider:network_type, provider:physical_network")
	case to.SegmentationID <= 0:
		return nil
	case len(n.Segments) > 1:
		return network.InvalidInput("Provider network attributes can be updated only in provider networks " +
			"with a single segment.")
	case now.Type != network.VLAN:
		return network.InvalidInput("Only VLAN type networks can be updated.")
	case to.SegmentationID == now.SegmentationID:
		return nil
	}
	now.SegmentationID = to.SegmentationID
	if _, err := reserveVLAN(tx, now); err != nil {
		return err
	}
	tx.Touch(&now.Common)
	n.Segments = []network.SegmentRow{now}
	return taken(tx.Replace(&now), now)
}

// A SegmentSpec is a request for a segment of a network.
type SegmentSpec struct {
	Any             bool // no Type is given: any will do
	External        bool // of an external network, at creation
	Type            string
	PhysicalNetwork string
	SegmentationID  int // -1 when it is not given
}

// taken turns ErrTaken of a segment into the fault of its type.
func taken(err error, s network.SegmentRow) error {
	if !errors.Is(err, network.ErrTaken) {
		return err
	}
	switch s.Type {
	case network.VLAN:
		return network.Conflict("VlanIdInUse",
			"Unable to create the network. The VLAN %d on physical network %s is in use.",
			s.SegmentationID, s.PhysicalNetwork)
	case network.Flat:
		return network.Conflict("FlatNetworkInUse", "Unable to create the flat network. Physical network %s is in use.",
			s.PhysicalNetwork)
	}
	return network.Conflict("TunnelIdInUse", "Unable to create the network. The tunnel ID %s is in use.",
		fmt.Sprint(s.SegmentationID))
}

// networkMTU returns the MTU of a network: the requested one, which may not exceed that of any of
// its segments, or the largest possible when none is requested.
func networkMTU(tx *network.Tx, requested int, segments []network.SegmentRow) (int, error) {
	most := tx.Settings.MTU.Largest(segments)
	switch {
	case requested == 0:
		return most, nil
	case most > 0 && requested > most:
		return 0, network.InvalidInput("Requested MTU is too big, maximum is %d", most)
	}
	return requested, nil
}
