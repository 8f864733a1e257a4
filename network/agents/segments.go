package agents

import (
	"bytes"

	"github.com/berthcloud/berth/network"
	"github.com/berthcloud/berth/network/binding"
)

// Connected returns whether an agent is connected to a segment: one that is on a physical network.
// Agents that are dead or disabled are connected too.
func Connected(rules network.Rules, a network.AgentRow) func(network.SegmentRow) bool {
	connectivity := binding.ConnectivityOf(rules.BindingAgent(a))
	return func(s network.SegmentRow) bool {
		return s.PhysicalNetwork != "" && connectivity.Segment(network.BindingSegment(s))
	}
}

// markReached marks the segments that an agent is connected to and was not before, or the other way
// round; the agent without a record is the zero row.
func markReached(tx *network.Tx, before, after network.AgentRow) error {
	if !tx.SyncSegments || before.Type == after.Type && bytes.Equal(before.Configurations, after.Configurations) {
		return nil
	}
	syncs, err := network.Rows[network.SegmentSyncRow](tx)
	if err != nil || len(syncs) == 0 {
		return err
	}
	ids := network.IDs(syncs, func(r *network.SegmentSyncRow) network.ID { return r.Segment })
	segments, err := network.Rows[network.SegmentRow](tx, network.Where(network.ByID, ids...))
	if err != nil {
		return err
	}
	former, current := Connected(tx.Rules, before), Connected(tx.Rules, after)
	for _, s := range segments {
		if former(s) == current(s) {
			continue
		}
		if err := tx.MarkSegments(s.ID); err != nil {
			return err
		}
	}
	return nil
}
