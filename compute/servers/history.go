package servers

import (
	"context"
	"time"

	"github.com/berthcloud/berth/compute"
)

const (
	// historyInterval is the interval of removing old records.
	historyInterval = time.Hour
	// historyBatch is the number of records that one transaction removes. Other writers come between
	// two.
	historyBatch = 200
)

// RunHistory removes the records that are older than Settings.History until ctx ends.
func (s *Service) RunHistory(ctx context.Context) {
	if s.rules.Settings.History <= 0 {
		return
	}
	tick := time.NewTicker(historyInterval)
	defer tick.Stop()
	for {
		if removed, err := s.RemoveHistory(ctx); err != nil && ctx.Err() == nil {
			s.rules.Log.WarnContext(ctx, "old records cannot be removed; the next hour retries", "error", err)
		} else if removed > 0 {
			s.rules.Log.InfoContext(ctx, "old records were removed", "records", removed)
		}
		select {
		case <-ctx.Done():
			return
		case <-tick.C:
		}
	}
}

// RemoveHistory removes the records of what ended before the time of Settings.History, and returns
// their number: moves, the usage of deleted servers, and actions with their events. An action that
// has not ended stays, and so do all of a server with which something is under way.
func (s *Service) RemoveHistory(ctx context.Context) (int, error) {
	moves, err := s.removeOld(ctx, &compute.MigrationRow{}, compute.UpdatedAt, removeMoves)
	if err != nil {
		return moves, err
	}
	servers, err := s.removeOld(ctx, &compute.DeletedRow{}, compute.TerminatedAt,
		func(tx *compute.Tx, ids []string) (int, error) {
			return tx.Remove(&compute.DeletedRow{}, compute.Where(compute.ByID, ids...))
		})
	if err != nil {
		return moves + servers, err
	}
	actions, err := s.removeOld(ctx, &compute.ActionRow{}, compute.UpdatedAt, removeActions)
	return moves + servers + actions, err
}

// removeOld has rows of a type removed that are older by a time, one batch after the other. Remove
// returns how many of those with some ids it has removed.
func (s *Service) removeOld(
	ctx context.Context, row any, time compute.Field, remove func(*compute.Tx, []string) (int, error),
) (removed int, err error) {
	before := s.rules.Now().UTC().Add(-s.rules.Settings.History)
	for stay := 0; ; { // those that are not removed are found again, each time
		var ids []string
		err := s.store.View(ctx, func(r compute.Reader) (err error) {
			ids, err = r.Older(row, time, before, stay+historyBatch)
			return err
		})
		if err != nil || len(ids) == stay {
			return removed, err
		}
		n := 0
		err = s.store.Update(ctx, func(tx *compute.Tx) (err error) {
			n, err = remove(tx, ids)
			return err
		})
		if err != nil {
			return removed, err
		}
		removed, stay = removed+n, len(ids)-n
	}
}

// removeMoves removes migrations that are over. An evacuation is not before its source is back:
// until then its row says what is to be released.
func removeMoves(tx *compute.Tx, ids []string) (int, error) {
	rows, err := compute.Rows[compute.MigrationRow](tx, compute.Where(compute.ByID, ids...))
	over := make([]compute.ID, 0, len(rows))
	for _, m := range rows {
		if m.Over() && (m.Type != compute.TypeEvacuate || m.Status != compute.StatusDone) {
			over = append(over, m.ID)
		}
	}
	if err != nil || len(over) == 0 {
		return 0, err
	}
	return tx.Remove(&compute.MigrationRow{}, compute.Where(compute.ByID, over...))
}

// removeActions removes actions that have ended, with their events.
func removeActions(tx *compute.Tx, ids []string) (int, error) {
	rows, err := compute.Rows[compute.ActionRow](tx, compute.Where(compute.ByID, ids...))
	if err != nil {
		return 0, err
	}
	events, err := compute.Rows[compute.EventRow](tx, compute.Where(compute.ByAction, ids...))
	if err != nil {
		return 0, err
	}
	servers := make([]compute.ID, len(rows))
	for i, a := range rows {
		servers[i] = a.Server
	}
	operations, err := compute.Rows[compute.OperationRow](tx, compute.Where(compute.ByServer, servers...))
	if err != nil {
		return 0, err
	}
	underWay := map[compute.ID]bool{} // servers and actions
	for _, op := range operations {
		underWay[op.Server] = true
	}
	for _, e := range events {
		underWay[e.Action] = underWay[e.Action] || e.FinishedAt.IsZero()
	}
	over := make([]compute.ID, 0, len(rows))
	for _, a := range rows {
		if !underWay[a.ID] && !underWay[a.Server] {
			over = append(over, a.ID)
		}
	}
	if len(over) == 0 {
		return 0, nil
	}
	if _, err := tx.Remove(&compute.EventRow{}, compute.Where(compute.ByAction, over...)); err != nil {
		return 0, err
	}
	return tx.Remove(&compute.ActionRow{}, compute.Where(compute.ByID, over...))
}
