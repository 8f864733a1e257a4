package network

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"time"

	"github.com/berthcloud/berth/allocations"
)

// attemptTime is how long the maker of an attempt may wait for placement.
const attemptTime = time.Minute

// An intentRecord stores the attempts at an adjustment in its intent.
type intentRecord struct {
	s   *Service
	id  ID
	row IntentRow  // as it was read or written last
	a   adjustment // its body
}

var _ allocations.Record = (*intentRecord)(nil)

// Load reads the intent.
func (r *intentRecord) Load(ctx context.Context) (allocations.State, error) {
	err := r.s.store.View(ctx, func(v Reader) (err error) {
		r.row, err = One[IntentRow](v, Where(ByID, r.id))
		return err
	})
	if err == nil {
		r.a, err = r.row.adjustment()
	}
	return allocations.State{Consumer: r.a.Consumer, Differences: r.a.Differences, Attempt: r.a.Attempt, Done: r.a.Done}, ended(err)
}

// Note stores an attempt. There is one attempt at a time for a consumer: a second one fails with
// ErrGeneration, because its write would change what the first is settled by. An abandoned attempt is
// settled first.
func (r *intentRecord) Note(ctx context.Context, a allocations.Attempt) error {
	next := r.a
	next.Attempt = &a
	var left []ID
	err := r.write(ctx, next, func(c *change) (err error) {
		left, err = c.rivals(r.id, r.a.Consumer)
		return err
	})
	for _, id := range left {
		if err := r.s.settle(ctx, id); err != nil && !errors.Is(err, allocations.ErrUnsettled) {
			return err
		}
	}
	return err
}

// Result stores the outcome of the last attempt.
func (r *intentRecord) Result(ctx context.Context, o allocations.Outcome) error {
	next := r.a
	next.Attempt, next.Done = nil, o == allocations.Done
	if o == allocations.Unknown {
		lost := *r.a.Attempt
		lost.Lost = true
		next.Attempt = &lost
	}
	return r.write(ctx, next, func(*change) error { return nil })
}

// write replaces the body of the intent, if it is unchanged and the check passes.
func (r *intentRecord) write(ctx context.Context, next adjustment, check func(*change) error) error {
	row := r.row
	err := r.s.update(ctx, func(c *change) (err error) {
		if err = check(c); err == nil {
			row, err = c.rewrite(r.row, next)
		}
		return err
	})
	if err == nil {
		r.row, r.a = row, next
	}
	return ended(err)
}

// ended marks the error of an intent that another worker has completed.
func ended(err error) error {
	if errors.Is(err, ErrNoRow) {
		return fmt.Errorf("%w: %w", allocations.ErrEnded, err)
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
		if err = allocations.ErrGeneration; c.at.Sub(a.Attempt.At).Abs() >= attemptTime || a.Maker.precedes(c.maker) {
			left = append(left, row.ID)
		}
	}
	return left, err
}

// settle determines the outcome of the last attempt of an intent, and stores it.
func (s *Service) settle(ctx context.Context, intent ID) error {
	c, _ := s.adjustmentOf(intent)
	_, err := c.Settle(ctx)
	return err
}

// adjustment reads the body of an intent.
func (i IntentRow) adjustment() (a adjustment, err error) {
	if err := json.Unmarshal(i.Body, &a); err != nil {
		return a, fmt.Errorf("reading an intent: %w", err)
	}
	return a, nil
}

// rewrite replaces the body of an intent and returns the new row. It fails with ErrGeneration when the
// intent was changed since it was read.
func (c *change) rewrite(row IntentRow, a adjustment) (IntentRow, error) {
	now, err := One[IntentRow](c, Where(ByID, row.ID))
	if err != nil {
		return row, err
	}
	if !bytes.Equal(now.Body, row.Body) {
		return row, allocations.ErrGeneration
	}
	if row.Body, err = json.Marshal(a); err != nil {
		return row, err
	}
	return row, c.Replace(&row)
}
