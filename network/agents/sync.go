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

// RecordSync stores the result of a sync of an agent's devices to placement. It ignores an agent
// whose record was deleted. A sync that fails as the one before did writes nothing.
func (s *Service) RecordSync(ctx context.Context, id network.ID, r network.SyncResult) error {
	changes := false
	err := s.db.View(ctx, func(v network.Reader) (err error) {
		_, changes, err = withResult(s.db.Rules, v, id, r, s.db.Rules.Now())
		return err
	})
	if err != nil || !changes {
		return err
	}
	return s.db.Update(ctx, func(tx *network.Tx) error {
		row, changes, err := withResult(tx.Rules, tx, id, r, tx.At)
		if err != nil || !changes {
			return err
		}
		return tx.Replace(&row)
	})
}

// withResult returns an agent's record with a result in it, and whether it differs.
func withResult(
	rules network.Rules, v network.Reader, id network.ID, r network.SyncResult, at time.Time,
) (row network.AgentRow, changes bool, err error) {
	rows, err := network.Rows[network.AgentRow](v, network.Where(network.ByID, id))
	if err != nil || len(rows) == 0 {
		return row, false, err
	}
	row = rows[0]
	desired, err := stateOf(rules, row)
	recordProviders(&row, r, desired)
	if err == nil && reflect.DeepEqual(desired, r.State) {
		recordOutcome(&row, r, at)
	} // the agent has reported other devices since, whose sync follows
	return row, !reflect.DeepEqual(row, rows[0]), nil
}

// recordProviders stores which providers placement may have of the agent after a sync.
func recordProviders(a *network.AgentRow, r network.SyncResult, desired guarantee.State) {
	remaining := slices.DeleteFunc(slices.Clone(a.Hypervisors),
		func(name string) bool { return slices.Contains(r.Cleared, name) })
	a.Hypervisors = sortedSet(remaining, r.State.Hypervisors(), desired.Hypervisors())
	if r.Failure == "" {
		a.Kept = r.Kept
	} else {
		a.Kept = sortedSet(a.Kept, r.Kept) // it may not have come to all
	}
}

// recordOutcome stores how a sync ended.
func recordOutcome(a *network.AgentRow, r network.SyncResult, at time.Time) {
	a.Synced, a.SyncError = network.SyncFailed, r.Failure
	if r.Failure == "" {
		a.Synced, a.SyncedAt = network.SyncDone, at
	}
}

// removalInterval is the interval between checks whether devices that an agent does not have any
// more can be removed.
const removalInterval = 5 * time.Minute

// removalDue reports whether placement may have devices that an agent does not have any more, and
// whether they are due for a check.
func removalDue(a *network.AgentRow, desired guarantee.State) bool {
	return (len(a.Kept) > 0 || len(a.Hypervisors) > len(desired.Hypervisors())) &&
		a.HeartbeatAt.Sub(a.SyncedAt).Abs() >= removalInterval
}

// sortedSet returns what is in some lists in order, each once.
func sortedSet[E cmp.Ordered](lists ...[]E) []E {
	all := slices.Concat(lists...)
	slices.Sort(all)
	return slices.Compact(all)
}
