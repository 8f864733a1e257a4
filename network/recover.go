package network

import (
	"bytes"
	"context"
	"errors"
	"slices"
	"time"
)

// A maker is a process that has begun with an intent.
type maker struct {
	Instance string // as in Settings
	Process  ID     // another one after each start
}

// precedes reports whether a process has been followed by another one, and so is gone.
func (m maker) precedes(other maker) bool {
	return m.Instance != "" && m.Instance == other.Instance && m.Process != other.Process
}

// Recover carries out or takes back what was left half done: intents of processes that
// this one has followed, and those older than so long. Who is at work on one of them still
// is refused when it comes to an end. It returns how many are left, of which the log says
// why.
func (s *Service) Recover(ctx context.Context, older time.Duration) (left int, err error) {
	rows, err := s.intents(ctx)
	if err != nil {
		return 0, err
	}
	rows = slices.DeleteFunc(rows, func(row IntentRow) bool { return !s.abandoned(row, older) })
	for _, row := range rows { // before any of them changes what another compares with
		_, _, _ = s.settle(ctx, row.ID) // an error comes again
	}
	for _, row := range rows {
		if err := s.finish(ctx, row.ID); err != nil {
			s.log.WarnContext(ctx, "an intent is not finished", "kind", row.Kind, "port", row.About, "since", row.CreatedAt, "error", err)
			left++
		}
	}
	return left, nil
}

// Unfinished returns how many changes in placement are written down and not made yet, or
// not known to be.
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

// abandoned reports whether nobody is at work on an intent any more.
func (s *Service) abandoned(row IntentRow, older time.Duration) bool {
	a, err := row.adjustment()
	return s.now().Sub(row.CreatedAt) >= older || err == nil && a.Maker.precedes(s.maker)
}

// finish takes back an intent about a policy if it was carried out, and completes one
// about a release. One that somebody else has finished is gone.
func (s *Service) finish(ctx context.Context, intent ID) error {
	err := Swap(ctx, func() error {
		row, a, err := s.settle(ctx, intent)
		switch {
		case err != nil:
			return err
		case row.Kind == intentPolicy && a.Done:
			return s.turn(ctx, row, a)
		case row.Kind == intentPolicy:
			return s.update(ctx, func(c *change) error { return c.removeUnchanged(row) })
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

// turn turns an intent about a policy that was carried out into one that releases what
// was taken: from here on it is completed.
func (s *Service) turn(ctx context.Context, row IntentRow, a adjustment) error {
	row.Kind = intentRelease
	back := adjustment{Consumer: a.Consumer, Differences: inverse(a.Differences), Maker: s.maker}
	return s.update(ctx, func(c *change) error { return c.rewrite(row, back) })
}

// release completes an intent that frees what a port held. One that somebody else has
// completed is gone.
func (s *Service) release(ctx context.Context, intent ID) error {
	_, err := s.adjust(ctx, intent)
	switch {
	case errors.Is(err, ErrNoRow):
		return nil
	case err != nil && !gone(err):
		return err
	}
	return s.update(ctx, func(c *change) error {
		_, err := c.Remove(&IntentRow{}, Where(ByID, intent))
		return err
	})
}

// removeUnchanged removes an intent. It fails with ErrGeneration when somebody has been at
// work on it since it was read.
func (c *change) removeUnchanged(row IntentRow) error {
	now, err := One[IntentRow](c, Where(ByID, row.ID))
	if err != nil {
		return err
	}
	if !bytes.Equal(now.Body, row.Body) {
		return ErrGeneration
	}
	_, err = c.Remove(&IntentRow{}, Where(ByID, row.ID))
	return err
}
