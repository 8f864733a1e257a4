package intents

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"time"

	"github.com/berthcloud/berth/allocations"
	"github.com/berthcloud/berth/rows"
)

// attemptTime is how long the owner of an attempt may wait for placement.
const attemptTime = time.Minute

// A record stores the attempts at an intent in its row.
type record struct {
	n    *Intents
	id   string
	row  Row  // as it was read or written last
	body body // of the row
}

var _ allocations.Record = (*record)(nil)

// change returns the change of an intent.
func (n *Intents) change(intent string) *allocations.Change {
	return n.changeOf(&record{n: n, id: intent})
}

func (n *Intents) changeOf(r *record) *allocations.Change {
	return &allocations.Change{Placement: n.placement, Record: r, Now: n.now, Pause: n.pause}
}

// update runs fn in a transaction with its time, in seconds as rows have it.
func (n *Intents) update(ctx context.Context, fn func(rows.Writer, time.Time) error) error {
	at := n.now().UTC().Truncate(time.Second)
	return n.store.Update(ctx, at, func(w rows.Writer) error { return fn(w, at) })
}

// Load reads the intent.
func (r *record) Load(ctx context.Context) (allocations.State, error) {
	err := r.n.store.View(ctx, func(v rows.Reader) (err error) {
		r.row, err = rows.One[Row](v, rows.Where(byID, r.id))
		return err
	})
	if err == nil {
		r.body, err = r.row.decode()
	}
	b := r.body
	return allocations.State{
		Consumer: b.Consumer, Differences: b.Differences, Attempt: b.Attempt, Done: b.Done,
	}, ended(err)
}

// Note stores an attempt. There is one attempt at a time for a consumer: a second one fails with
// ErrGeneration, because its write would change what the outcome of the first is determined by. An
// abandoned attempt is settled first.
func (r *record) Note(ctx context.Context, a allocations.Attempt) error {
	next := r.body
	next.Attempt = &a
	var abandoned []string
	err := r.write(ctx, next, func(w rows.Writer, at time.Time) (err error) {
		abandoned, err = r.n.otherAttempts(w, at, r.id, r.body.Consumer)
		return err
	})
	for _, id := range abandoned {
		if err := r.n.settle(ctx, id); err != nil && !errors.Is(err, allocations.ErrUnsettled) {
			return err
		}
	}
	return err
}

// Result stores the outcome of the last attempt.
func (r *record) Result(ctx context.Context, o allocations.Outcome) error {
	next := r.body
	next.Attempt, next.Done = nil, o == allocations.Done
	if o == allocations.Unknown {
		lost := *r.body.Attempt
		lost.Lost = true
		next.Attempt = &lost
	}
	return r.write(ctx, next, func(rows.Writer, time.Time) error { return nil })
}

// write replaces the body of the intent, if it is unchanged and the check passes.
func (r *record) write(ctx context.Context, next body, check func(rows.Writer, time.Time) error) error {
	row := r.row
	err := r.n.update(ctx, func(w rows.Writer, at time.Time) (err error) {
		if err = check(w, at); err == nil {
			row, err = rewrite(w, r.row, next)
		}
		return err
	})
	if err == nil {
		r.row, r.body = row, next
	}
	return ended(err)
}

// ended marks the error of an intent that another worker has completed.
func ended(err error) error {
	if errors.Is(err, rows.ErrNoRow) {
		return fmt.Errorf("%w: %w", allocations.ErrEnded, err)
	}
	return err
}

// otherAttempts fails with ErrGeneration when there is another attempt for a consumer, and returns
// the intents of abandoned ones.
func (n *Intents) otherAttempts(r rows.Reader, at time.Time, own, consumer string) (abandoned []string, err error) {
	all, err := rows.All[Row](r)
	if err != nil {
		return nil, err
	}
	for _, row := range all {
		b, unreadable := row.decode() // Recover logs it
		if unreadable != nil || row.ID == own || b.Consumer != consumer || b.Attempt == nil || b.Attempt.Lost {
			continue
		}
		if err = allocations.ErrGeneration; at.Sub(b.Attempt.At).Abs() >= attemptTime || b.Maker.replacedBy(n.owner) {
			abandoned = append(abandoned, row.ID)
		}
	}
	return abandoned, err
}

// settle determines the outcome of the last attempt at an intent, and stores it.
func (n *Intents) settle(ctx context.Context, intent string) error {
	_, err := n.change(intent).Settle(ctx)
	return err
}

// decode reads the body of an intent.
func (i Row) decode() (b body, err error) {
	if err := json.Unmarshal(i.Body, &b); err != nil {
		return b, fmt.Errorf("reading an intent: %w", err)
	}
	return b, nil
}

// unchanged fails with ErrGeneration when an intent was changed since it was read.
func unchanged(r rows.Reader, row Row) error {
	current, err := rows.One[Row](r, rows.Where(byID, row.ID))
	if err == nil && !bytes.Equal(current.Body, row.Body) {
		err = allocations.ErrGeneration
	}
	return err
}

// rewrite replaces the body of an unchanged intent, and returns the new row.
func rewrite(w rows.Writer, row Row, b body) (Row, error) {
	if err := unchanged(w, row); err != nil {
		return row, err
	}
	var err error
	if row.Body, err = json.Marshal(b); err != nil {
		return row, err
	}
	return row, w.Replace(&row)
}

// A Status is what is known of an intent.
type Status struct {
	Server      string
	Differences allocations.Amounts
	// Attempt is the last attempt, nil when there was none or when its outcome is known. Done says
	// that it succeeded, Unanswered that no client waits for its answer any more.
	Attempt    *allocations.Attempt
	Done       bool
	Unanswered bool
	// Instance is that of the process that began it. Abandoned says that it does not work on it any
	// more, so that another one completes it.
	Instance  string
	Abandoned bool
}

// Status returns what is known of an intent.
func (n *Intents) Status(row Row) (Status, error) {
	b, err := row.decode()
	if err != nil {
		return Status{}, err
	}
	return Status{
		Server: b.Consumer, Differences: b.Differences, Attempt: b.Attempt, Done: b.Done,
		Unanswered: b.Attempt != nil && (b.Attempt.Lost || n.now().Sub(b.Attempt.At).Abs() >= attemptTime),
		Instance:   b.Maker.Instance, Abandoned: n.abandoned(row, attemptTime),
	}, nil
}
