package network

import (
	"context"
	"reflect"
	"slices"
	"time"

	"github.com/berthcloud/berth/guarantee"
)

// A SyncResult is how an attempt to bring an agent's devices into placement ended.
type SyncResult struct {
	// State is the desired state of placement.
	State guarantee.State
	// Failure names the provider and says what placement said of the first call
	// that failed, in one line of 500 bytes at most. "" says that all calls
	// succeeded.
	Failure string
	// Kept are the names of providers that the agent does not have any more and
	// that stay because something is allocated on them. They are no failure.
	Kept []string
	// Cleared are hypervisors that are not in State and below which nothing of the agent's is left.
	Cleared []string
}

// Synced stores the result of an attempt to bring an agent's devices into placement. It ignores an
// agent whose record was deleted. An attempt that fails as the one before did writes nothing.
func (s *Service) Synced(ctx context.Context, id ID, r SyncResult) error {
	changes := false
	err := s.store.View(ctx, func(v Reader) (err error) {
		_, changes, err = s.synced(v, id, r, s.now())
		return err
	})
	if err != nil || !changes {
		return err
	}
	return s.update(ctx, func(c *change) error {
		row, changes, err := s.synced(c, id, r, c.at)
		if err != nil || !changes {
			return err
		}
		return c.Replace(&row)
	})
}

// synced returns an agent's record with a result in it, and whether it differs.
func (rs *rules) synced(v Reader, id ID, r SyncResult, at time.Time) (row AgentRow, changes bool, err error) {
	rows, err := Rows[AgentRow](v, Where(ByID, id))
	if err != nil || len(rows) == 0 {
		return row, false, err
	}
	row = rows[0]
	now, err := rs.State(row)
	row.note(r, now, at)
	if err == nil && reflect.DeepEqual(now, r.State) {
		row.conclude(r, at)
	} // the agent has reported other devices since, whose sync follows
	return row, !reflect.DeepEqual(row, rows[0]), nil
}

// note stores what an attempt left in placement, where now is the desired state.
func (a *AgentRow) note(r SyncResult, now guarantee.State, at time.Time) {
	left := slices.DeleteFunc(slices.Clone(a.Hypervisors), func(name string) bool { return slices.Contains(r.Cleared, name) })
	a.Hypervisors = sortedSet(left, r.State.Hypervisors(), now.Hypervisors())
	if r.Failure == "" {
		a.Kept = r.Kept
	} else {
		a.Kept = sortedSet(a.Kept, r.Kept) // it may not have come to all
	}
}

// conclude writes down how an attempt ended.
func (a *AgentRow) conclude(r SyncResult, at time.Time) {
	a.Synced, a.SyncError = SyncFailed, r.Failure
	if r.Failure == "" {
		a.Synced, a.SyncedAt = SyncDone, at
	}
}

// lookAgain is the interval between checks whether devices that an agent does not have any more can
// be removed.
const lookAgain = 5 * time.Minute

// leaves reports whether placement may have devices that an agent does not have any more, and
// whether they are due for a check.
func (a *AgentRow) leaves(now guarantee.State) bool {
	return (len(a.Kept) > 0 || len(a.Hypervisors) > len(now.Hypervisors())) && a.HeartbeatAt.Sub(a.SyncedAt).Abs() >= lookAgain
}
