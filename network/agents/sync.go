package agents

import (
	"cmp"
	"context"
	"reflect"
	"slices"
	"time"

	"github.com/berthcloud/berth/guarantee"

	"github.com/berthcloud/berth/network"
)

// Synced stores the result of an attempt to bring an agent's devices into placement. It ignores an
// agent whose record was deleted. An attempt that fails as the one before did writes nothing.
func (s *Service) Synced(ctx context.Context, id network.ID, r network.SyncResult) error {
	changes := false
	err := s.db.View(ctx, func(v network.Reader) (err error) {
		_, changes, err = synced(s.db.Rules, v, id, r, s.db.Rules.Now())
		return err
	})
	if err != nil || !changes {
		return err
	}
	return s.db.Update(ctx, func(tx *network.Tx) error {
		row, changes, err := synced(tx.Rules, tx, id, r, tx.At)
		if err != nil || !changes {
			return err
		}
		return tx.Replace(&row)
	})
}

// synced returns an agent's record with a result in it, and whether it differs.
func synced(rules network.Rules, v network.Reader, id network.ID, r network.SyncResult, at time.Time) (row network.AgentRow, changes bool, err error) {
	rows, err := network.Rows[network.AgentRow](v, network.Where(network.ByID, id))
	if err != nil || len(rows) == 0 {
		return row, false, err
	}
	row = rows[0]
	now, err := stateOf(rules, row)
	recordResult(&row, r, now, at)
	if err == nil && reflect.DeepEqual(now, r.State) {
		conclude(&row, r, at)
	} // the agent has reported other devices since, whose sync follows
	return row, !reflect.DeepEqual(row, rows[0]), nil
}

// recordResult stores what an attempt left in placement, where now is the desired state.
func recordResult(a *network.AgentRow, r network.SyncResult, now guarantee.State, at time.Time) {
	left := slices.DeleteFunc(slices.Clone(a.Hypervisors), func(name string) bool { return slices.Contains(r.Cleared, name) })
	a.Hypervisors = sortedSet(left, r.State.Hypervisors(), now.Hypervisors())
	if r.Failure == "" {
		a.Kept = r.Kept
	} else {
		a.Kept = sortedSet(a.Kept, r.Kept) // it may not have come to all
	}
}

// conclude writes down how an attempt ended.
func conclude(a *network.AgentRow, r network.SyncResult, at time.Time) {
	a.Synced, a.SyncError = network.SyncFailed, r.Failure
	if r.Failure == "" {
		a.Synced, a.SyncedAt = network.SyncDone, at
	}
}

// lookAgain is the interval between checks whether devices that an agent does not have any more can
// be removed.
const lookAgain = 5 * time.Minute

// leavesDevices reports whether placement may have devices that an agent does not have any more, and
// whether they are due for a check.
func leavesDevices(a *network.AgentRow, now guarantee.State) bool {
	return (len(a.Kept) > 0 || len(a.Hypervisors) > len(now.Hypervisors())) && a.HeartbeatAt.Sub(a.SyncedAt).Abs() >= lookAgain
}

// sortedSet returns what is in some lists in order, each once.
func sortedSet[E cmp.Ordered](lists ...[]E) []E {
	all := slices.Concat(lists...)
	slices.Sort(all)
	return slices.Compact(all)
}
