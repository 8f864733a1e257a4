package network

import (
	"errors"
	"slices"
	"time"

	"github.com/berthcloud/berth/network/ipam"
)

// A SegmentSyncRow is a segment of a routed network that placement and compute have, or should
// have: a provider with an inventory of its IPv4 addresses, and an aggregate of its hosts. It
// exists from the first IPv4 subnet on the segment until both services have nothing of it any more.
type SegmentSyncRow struct {
	Segment ID
	Changes int64     // counts the changes of what both services should have of the segment
	Synced  int64     // Changes before the last sync that succeeded
	RetryAt time.Time // when a sync that failed or was incomplete is repeated; zero for none
	Error   string    // why it failed or what was incomplete
	// Instance and Process are the worker that syncs the segment until LeasedUntil; "" for none.
	Instance, Process string
	LeasedUntil       time.Time
}

// Due reports whether the segment has to be synced: it has changed, or the last sync is to be
// repeated.
func (r *SegmentSyncRow) Due(now time.Time) bool {
	return (r.Synced < r.Changes || r.Error != "") && !now.Before(r.RetryAt)
}

// ReservesAddress reports whether an IPv4 address of an owner's port is reserved in the inventory
// of its segment: addresses of servers are not, and those of DHCP servers are counted with the
// subnet.
func ReservesAddress(owner string) bool { return !OwnedByServer(owner) && owner != ipam.OwnerDHCP }

// reserved returns the addresses of a port that may be reserved.
func reserved(p Port) []AddressRow {
	if !ReservesAddress(p.DeviceOwner) {
		return nil
	}
	return p.Addresses
}

// MarkSegments notes that what placement and compute have of some segments has to be synced. It
// does nothing where segments are not synced.
func (tx *Tx) MarkSegments(segments ...ID) error {
	if !tx.SyncSegments {
		return nil
	}
	for _, id := range segments {
		if id == "" || slices.Contains(tx.marked, id) {
			continue
		}
		row, err := One[SegmentSyncRow](tx, Where(BySegment, id))
		switch {
		case errors.Is(err, ErrNoRow):
			err = tx.Insert(&SegmentSyncRow{Segment: id, Changes: 1})
		case err == nil:
			if row.Synced == row.Changes {
				row.RetryAt = time.Time{} // what was incomplete does not delay the change
			}
			row.Changes++
			err = tx.Replace(&row)
		}
		if err != nil {
			return err
		}
		tx.marked = append(tx.marked, id)
	}
	return nil
}

// MarkSubnets marks the segments of IPv4 subnets.
func (tx *Tx) MarkSubnets(subnets ...SubnetRow) error {
	for _, s := range subnets {
		if s.IPVersion != 4 {
			continue
		}
		if err := tx.MarkSegments(s.Segment); err != nil {
			return err
		}
	}
	return nil
}

// MarkPort marks the segments on which a port reserves other addresses than before; the port
// before its creation and after its deletion is the zero Port.
func (tx *Tx) MarkPort(before, after Port) error {
	former, current := reserved(before), reserved(after)
	if !tx.SyncSegments || slices.Equal(former, current) {
		return nil
	}
	addresses := slices.Concat(former, current)
	subnets, err := Rows[SubnetRow](tx,
		Where(ByID, IDs(addresses, func(a *AddressRow) ID { return a.Subnet })...))
	if err != nil {
		return err
	}
	return tx.MarkSubnets(subnets...)
}
