package network

import (
	"context"
	"encoding/json"
	"fmt"
	"time"
)

// Recover carries out or takes back what earlier processes left half done: intents
// older than so long, which nobody can be working on any more. It returns how many
// are left, of which the log says why.
func (s *Service) Recover(ctx context.Context, older time.Duration) (left int, err error) {
	var rows []IntentRow
	err = s.store.View(ctx, func(r Reader) error {
		rows, err = Rows[IntentRow](r)
		return err
	})
	if err != nil {
		return 0, err
	}
	for _, row := range rows {
		if s.now().Sub(row.CreatedAt) < older {
			continue
		}
		if err := s.finish(ctx, row); err != nil {
			s.log.WarnContext(ctx, "an intent is not finished", "kind", row.Kind, "port", row.About, "since", row.CreatedAt, "error", err)
			left++
		}
	}
	return left, nil
}

// finish takes back an intent about a policy, and completes one about a release.
func (s *Service) finish(ctx context.Context, row IntentRow) error {
	if row.Kind == intentPolicy {
		return s.undo(ctx, row)
	}
	return s.release(ctx, row)
}

// release completes an intent that frees what a port held.
func (s *Service) release(ctx context.Context, row IntentRow) error {
	var a adjustment
	if err := json.Unmarshal(row.Body, &a); err != nil {
		return fmt.Errorf("reading an intent: %w", err)
	}
	taken, err := s.tookPlace(ctx, a)
	if err != nil {
		return err
	}
	if !taken {
		if err := s.adjust(ctx, row); err != nil && !gone(err) {
			return err
		}
	}
	return s.update(ctx, func(c *change) error {
		_, err := c.Remove(&IntentRow{}, Where(ByID, row.ID))
		return err
	})
}
