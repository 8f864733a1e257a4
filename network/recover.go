package network

import (
	"bytes"
	"context"
	"errors"
	"slices"
	"time"

	"github.com/berthcloud/berth/allocations"
)

// A maker is a process that has begun with an intent.
type maker struct {
	Instance string // as in Settings
	Process  ID     // another one after each start
}

// precedes reports whether a process has been replaced by another one, and so has ended.
func (m maker) precedes(other maker) bool {
	return m.Instance != "" && m.Instance == other.Instance && m.Process != other.Process
}

// Recover completes or takes back unfinished intents: those of processes that this one has
// replaced, and those that are older than the given time. A worker that still works on one of them
// fails at its next write. It returns the number of intents that are left; the log has the reasons.
func (s *Service) Recover(ctx context.Context, older time.Duration) (left int, err error) {
	rows, err := s.intents(ctx)
	if err != nil {
		return 0, err
	}
	rows = slices.DeleteFunc(rows, func(row IntentRow) bool { return !s.abandoned(row, older) })
	for _, row := range rows { // before any of them changes what another compares with
		_ = s.settle(ctx, row.ID) // the error is read again below
	}
	for _, row := range rows {
		if err := s.finish(ctx, row.ID); err != nil {
			s.log.WarnContext(ctx, "an intent is not finished", "kind", row.Kind, "port", row.About, "since", row.CreatedAt, "error", err)
			left++
		}
	}
	return left, nil
}

// Settle completes what is under way with the allocations of a server: releases of ports that were deleted or got
// a smaller policy. It is a conflict, PortBeingChanged, while a request changes them. After it nothing takes effect that
// was requested before.
func (s *Service) Settle(ctx context.Context, server string) error {
	if s.placement == nil {
		return nil
	}
	err := allocations.Retry(ctx, swapPause, func() error {
		var under []IntentRow
		err := s.store.View(ctx, func(r Reader) (err error) {
			under, err = disturbing(r, "", server)
			return err
		})
		if err == nil && len(under) > 0 {
			err = s.await(ctx, under)
		}
		return err
	})
	if errors.Is(err, allocations.ErrGeneration) {
		err = beingChanged("The allocations of server %s are being changed by another request.", server)
	}
	return err
}

// Unfinished returns the number of intents whose changes in placement are not made yet, or not
// known to be.
func (s *Service) Unfinished(ctx context.Context) (int, error) {
	rows, err := s.intents(ctx)
	return len(rows), err
}

// intents returns all that there are.
func (s *Service) intents(ctx context.Context) (rows []IntentRow, err error) {
	err = s.store.View(ctx, func(r Reader) error {
		rows, err = Rows[IntentRow](r)
		return err
	})
	return rows, err
}

// abandoned reports whether no process works on an intent any more: its maker has ended, or it is too old. One from the future was made before
// the clock was set back, and its age is unknown; a maker that still works on it notices.
func (rs *rules) abandoned(row IntentRow, older time.Duration) bool {
	a, err := row.adjustment()
	return rs.now().Sub(row.CreatedAt).Abs() >= older || err == nil && a.Maker.precedes(rs.maker)
}

// finish takes back a policy intent that was carried out, and completes a release intent. It
// ignores an intent that another worker has finished.
func (s *Service) finish(ctx context.Context, intent ID) error {
	err := allocations.Retry(ctx, swapPause, func() error {
		c, r := s.adjustmentOf(intent)
		is, err := c.Settle(ctx)
		switch {
		case err != nil:
			return err
		case r.row.Kind == intentPolicy && is.Done:
			return s.toRelease(ctx, r.row, r.a)
		case r.row.Kind == intentPolicy:
			return s.update(ctx, func(c *change) error { return c.removeUnchanged(r.row) })
		}
		return nil
	})
	if err == nil {
		err = s.release(ctx, intent)
	}
	if errors.Is(err, ErrNoRow) {
		return nil
	}
	return err
}

// toRelease turns a policy intent that was carried out into a release intent for what was claimed, which
// is then completed.
func (s *Service) toRelease(ctx context.Context, row IntentRow, a adjustment) error {
	row.Kind = intentRelease
	back := adjustment{Consumer: a.Consumer, Differences: a.Differences.Negated(), Maker: s.maker}
	return s.update(ctx, func(c *change) error {
		_, err := c.rewrite(row, back)
		return err
	})
}

// release completes an intent that releases a port's allocation. It ignores an intent that another
// worker has completed.
func (s *Service) release(ctx context.Context, intent ID) error {
	_, err := s.adjust(ctx, intent)
	switch {
	case errors.Is(err, ErrNoRow):
		return nil
	case err != nil && !noAllocations(err):
		return err
	}
	return s.update(ctx, func(c *change) error {
		_, err := c.Remove(&IntentRow{}, Where(ByID, intent))
		return err
	})
}

// removeUnchanged removes an intent. It fails with ErrGeneration when the intent was changed since
// it was read.
func (c *change) removeUnchanged(row IntentRow) error {
	now, err := One[IntentRow](c, Where(ByID, row.ID))
	if err != nil {
		return err
	}
	if !bytes.Equal(now.Body, row.Body) {
		return allocations.ErrGeneration
	}
	_, err = c.Remove(&IntentRow{}, Where(ByID, row.ID))
	return err
}
