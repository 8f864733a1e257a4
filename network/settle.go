package network

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"time"

	"github.com/berthcloud/berth/network/guarantee"
)

// An attempt is one write of a consumer's allocations to placement. Its maker stores the generation
// of the consumer first: the write can only succeed at that generation, and raises it.
type attempt struct {
	At         time.Time
	Generation int64
	Before     guarantee.Amounts // of what changes
	// Lost says that it has ended and that its result cannot be determined, because others have
	// changed the same allocations since.
	Lost bool `json:",omitempty"`
}

// is reports whether two attempts are the same one.
func (a *attempt) is(other *attempt) bool {
	return other != nil && a.Generation == other.Generation && a.At.Equal(other.At)
}

// attemptTime is how long the maker of an attempt may wait for placement.
const attemptTime = time.Minute

// note stores an attempt, if the intent is unchanged since it was read. There is one attempt at a
// time for a consumer: a second one fails with ErrGeneration, because its write would change what
// the first is settled by. An abandoned attempt is settled first.
func (s *Service) note(ctx context.Context, row IntentRow, a adjustment) error {
	var left []ID
	err := s.update(ctx, func(c *change) (err error) {
		if left, err = c.rivals(row.ID, a.Consumer); err == nil {
			err = c.rewrite(row, a)
		}
		return err
	})
	for _, id := range left {
		if _, _, err := s.settle(ctx, id); err != nil && !errors.Is(err, errUnsettled) {
			return err
		}
	}
	return err
}

// rivals fails with ErrGeneration when there is another attempt for a consumer, and returns the
// intents of abandoned ones.
func (c *change) rivals(own ID, consumer string) (left []ID, err error) {
	rows, err := Rows[IntentRow](c)
	if err != nil {
		return nil, err
	}
	for _, row := range rows {
		a, unreadable := row.adjustment() // Recover logs it
		if unreadable != nil || row.ID == own || a.Consumer != consumer || a.Attempt == nil || a.Attempt.Lost {
			continue
		}
		if err = ErrGeneration; c.at.Sub(a.Attempt.At) >= attemptTime || a.Maker.precedes(c.maker) {
			left = append(left, row.ID)
		}
	}
	return left, err
}

// conclude stores whether an attempt succeeded, unless another worker has done so.
func (s *Service) conclude(ctx context.Context, intent ID, last *attempt, done bool) error {
	row, a, err := s.intent(ctx, intent)
	if err != nil || a.Attempt == nil || !a.Attempt.is(last) {
		return err
	}
	a.Attempt, a.Done = nil, done
	return s.update(ctx, func(c *change) error { return c.rewrite(row, a) })
}

// settled finds out what became of an attempt that was not answered: nil when it took
// place, the cause when it did not and will not.
func (s *Service) settled(ctx context.Context, intent ID, cause error) error {
	_, a, err := s.settle(ctx, intent)
	switch {
	case errors.Is(err, ErrNoRow): // another worker has settled and completed it
		return err
	case err != nil:
		return fmt.Errorf("%w: %w", errUnsettled, cause)
	case a.Done:
		return nil
	}
	return cause
}

// settle finds out what became of the last attempt of an intent, and notes it.
func (s *Service) settle(ctx context.Context, intent ID) (row IntentRow, a adjustment, err error) {
	if row, a, err = s.intent(ctx, intent); err != nil || a.Attempt == nil {
		return row, a, err
	}
	took := false
	err = Swap(ctx, func() (err error) {
		took, err = s.tookPlace(ctx, a)
		return err
	})
	switch {
	case err == nil:
		a.Attempt, a.Done = nil, took
	case errors.Is(err, errUnsettled) && !a.Attempt.Lost:
		a.Attempt.Lost = true
	default:
		return row, a, err
	}
	noted := s.update(ctx, func(c *change) error { return c.rewrite(row, a) })
	if err := firstError(noted, err); err != nil {
		return row, a, err
	}
	return s.intent(ctx, intent)
}

// tookPlace reports whether an attempt took place. One that did not will not any more: it
// may be on its way still, and would then find a consumer of another generation.
func (s *Service) tookPlace(ctx context.Context, a adjustment) (bool, error) {
	if a.Attempt.Lost {
		return false, errUnsettled
	}
	held, err := s.placement.Allocations(ctx, a.Consumer)
	if err != nil {
		return false, err
	}
	now := concerned(held.Providers, a.Differences)
	unchanged := same(now, a.Attempt.Before, nil)
	switch {
	case unchanged && held.Generation != nil && *held.Generation == a.Attempt.Generation:
		return false, s.placement.SetAllocations(ctx, a.Consumer, held) // which raises the generation
	case same(now, a.Attempt.Before, a.Differences):
		return true, nil
	case unchanged, held.Generation == nil:
		return false, nil
	}
	return false, errUnsettled // others have changed the same
}

// intent reads an intent.
func (s *Service) intent(ctx context.Context, id ID) (row IntentRow, a adjustment, err error) {
	err = s.store.View(ctx, func(r Reader) error {
		row, err = One[IntentRow](r, Where(ByID, id))
		return err
	})
	if err == nil {
		a, err = row.adjustment()
	}
	return row, a, err
}

// adjustment reads the body of an intent.
func (i IntentRow) adjustment() (a adjustment, err error) {
	if err := json.Unmarshal(i.Body, &a); err != nil {
		return a, fmt.Errorf("reading an intent: %w", err)
	}
	return a, nil
}

// rewrite replaces the body of an intent. It fails with ErrGeneration when the intent was changed
// since it was read.
func (c *change) rewrite(row IntentRow, a adjustment) error {
	now, err := One[IntentRow](c, Where(ByID, row.ID))
	if err != nil {
		return err
	}
	if !bytes.Equal(now.Body, row.Body) {
		return ErrGeneration
	}
	if row.Body, err = json.Marshal(a); err != nil {
		return err
	}
	return c.Replace(&row)
}

// concerned is the part of amounts that differences are about, zeros included.
func concerned(held map[string]map[string]int64, differences guarantee.Amounts) guarantee.Amounts {
	part := guarantee.Amounts{}
	for provider, classes := range differences {
		part[provider] = map[string]int64{}
		for class := range classes {
			part[provider][class] = held[provider][class]
		}
	}
	return part
}

// same reports whether amounts are others plus differences, where less than
// nothing is nothing.
func same(now, before, differences guarantee.Amounts) bool {
	for provider, classes := range before {
		for class, n := range classes {
			if now[provider][class] != max(0, n+differences[provider][class]) {
				return false
			}
		}
	}
	return true
}
