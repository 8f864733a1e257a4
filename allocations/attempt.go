package allocations

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"time"

	"github.com/berthcloud/berth/fault"
)

// An Attempt is one write of allocations. It is stored before the write is sent, as JSON: its names
// are not to change.
type Attempt struct {
	At time.Time `json:"at"`
	// Generation is the one that the consumer must have for the write to take place.
	Generation int64 `json:"generation"`
	// Before is what the consumer had of what changes.
	Before Amounts `json:"before"`
	// Lost says that the attempt has ended and that its outcome cannot be determined.
	Lost bool `json:"lost,omitempty"`
}

// Is reports whether two attempts are the same one; nil is none.
func (a *Attempt) Is(other *Attempt) bool {
	return a != nil && other != nil && a.Generation == other.Generation && a.At.Equal(other.At)
}

// An Outcome is what became of an attempt.
type Outcome int

// The outcomes of an attempt. One that is NotDone will not take place later.
const (
	NotDone Outcome = iota
	Done
	Unknown
)

// ErrEnded says that another worker has taken over or completed a change.
var ErrEnded = errors.New("allocations: another worker has the change, or has completed it")

// A State is what a Record has of a change.
type State struct {
	Consumer    string
	Differences Amounts
	// Attempt is the last one, nil when there was none and when its outcome is known. Done says
	// that the change has been made.
	Attempt *Attempt
	Done    bool
}

// A Record stores the attempts at one change, in the database of a service. Its methods return
// ErrEnded when the change is not the caller's any more.
type Record interface {
	// Load returns what is stored.
	Load(ctx context.Context) (State, error)
	// Note stores a new attempt. It returns ErrGeneration when the record was changed since Load,
	// and while there is another attempt at the allocations of the consumer.
	Note(ctx context.Context, a Attempt) error
	// Result stores the outcome of the last attempt; with Unknown the attempt stays and is Lost. It
	// returns ErrGeneration when the record was changed since Load.
	Result(ctx context.Context, o Outcome) error
}

// A Change adds differences to the allocations of a consumer, once however often it is tried.
type Change struct {
	Placement Placement
	Record    Record
	// Apply returns amounts after the change; nil means Amounts.Add.
	Apply func(allocated, differences Amounts) (Amounts, error)
	Now   func() time.Time
	Pause time.Duration // see Retry; 0 means Pause
}

// Make makes the change, unless the record says that it is done. It retries while the allocations
// change concurrently, and determines the outcome of an attempt that is not answered. It returns
// its last attempt, which Result has not got when it succeeded, and nil for none. After an error
// other than ErrUnsettled the change has not taken place and will not.
func (c *Change) Make(ctx context.Context) (last *Attempt, err error) {
	err = Retry(ctx, cmp.Or(c.Pause, Pause), func() (err error) {
		last, err = c.try(ctx, last)
		return err
	})
	if err != nil && !errors.Is(err, ErrUnsettled) {
		_ = conclude(context.WithoutCancel(ctx), c.Record, last, NotDone) // what is not stored is found out again
	}
	return last, err
}

// try makes an attempt. Refused is the caller's previous one, which had no effect; any other one in
// the record is settled first.
func (c *Change) try(ctx context.Context, refused *Attempt) (*Attempt, error) {
	state, err := c.Record.Load(ctx)
	if err == nil && state.Attempt != nil && !state.Attempt.Is(refused) {
		state, err = c.Settle(ctx)
	}
	if err != nil || state.Done {
		return nil, err
	}
	consumer, err := c.Placement.Allocations(ctx, state.Consumer)
	if err != nil {
		return refused, err
	}
	apply := c.Apply
	if apply == nil {
		apply = Amounts.Add
	}
	next, err := apply(consumer.Amounts, state.Differences)
	if err != nil {
		return refused, err
	}
	if consumer.Generation == nil {
		return refused, noGeneration(state.Consumer)
	}
	a := Attempt{At: c.Now(), Generation: *consumer.Generation, Before: consumer.Amounts.Concerned(state.Differences)}
	if err := c.Record.Note(ctx, a); err != nil {
		return refused, err
	}
	consumer.Amounts = next
	err = c.Placement.SetAllocations(ctx, state.Consumer, consumer)
	if unanswered(err) {
		err = settled(err, func() (bool, error) {
			st, err := c.Settle(ctx)
			return st.Done, err
		})
	}
	return &a, err
}

// noGeneration is the fault of a placement service that answers allocations without
// consumer_generation, which it has since microversion 1.28. Without a generation the outcome of a
// write could not be determined.
func noGeneration(consumer string) error {
	return fault.New(fault.Unavailable, "", "placement does not return the generation of consumer %s", consumer)
}

// unanswered reports whether the write that an error is of may have taken place. ErrGeneration and
// ErrCapacity are answers that refuse the write. Any other error, a fault that was answered
// included, does not prove that nothing was written.
func unanswered(err error) bool {
	return err != nil && !errors.Is(err, ErrGeneration) && !errors.Is(err, ErrCapacity)
}

// settled settles an attempt that was not answered. It returns nil when the attempt took place, the
// cause when it did not.
func settled(cause error, settle func() (done bool, err error)) error {
	done, err := settle()
	switch {
	case errors.Is(err, ErrEnded):
		return err
	case err != nil:
		return fmt.Errorf("%w: %w", ErrUnsettled, cause)
	case done:
		return nil
	}
	return cause
}

// Conclude stores the outcome of an attempt, unless another worker has done so or made another one.
func (c *Change) Conclude(ctx context.Context, a *Attempt, o Outcome) error {
	return conclude(ctx, c.Record, a, o)
}

// conclude is Change.Conclude for any Record. An error of it does not matter to callers that are
// answered already: the attempt is settled by the next caller that loads the record.
func conclude(ctx context.Context, r Record, a *Attempt, o Outcome) error {
	state, err := r.Load(ctx)
	if err != nil || !state.Attempt.Is(a) {
		return err
	}
	return r.Result(ctx, o)
}

// Settle determines the outcome of the last attempt in the record, stores it, and returns the
// record. It returns ErrUnsettled when the outcome is unknown.
func (c *Change) Settle(ctx context.Context) (State, error) {
	state, err := c.Record.Load(ctx)
	if err != nil || state.Attempt == nil {
		return state, err
	}
	if state.Attempt.Lost {
		return state, ErrUnsettled
	}
	var o Outcome
	err = Retry(ctx, cmp.Or(c.Pause, Pause), func() (err error) {
		o, err = c.outcome(ctx, state)
		return err
	})
	if err != nil {
		return state, err
	}
	if err := c.Record.Result(ctx, o); err != nil {
		return state, err
	}
	if o == Unknown {
		return state, ErrUnsettled
	}
	state.Attempt, state.Done = nil, o == Done
	return state, nil
}

// outcome determines what became of an attempt. One that has not taken place does not any more: its
// request may be on its way still, and finds a consumer of another generation.
func (c *Change) outcome(ctx context.Context, state State) (Outcome, error) {
	consumer, err := c.Placement.Allocations(ctx, state.Consumer)
	if err != nil {
		return Unknown, err
	}
	a, cur := state.Attempt, consumer.Amounts.Concerned(state.Differences)
	unchanged := cur.Equal(a.Before)
	switch {
	case unchanged && consumer.Generation != nil && *consumer.Generation == a.Generation:
		return NotDone, c.Placement.SetAllocations(ctx, state.Consumer, consumer) // which raises the generation
	case cur.Equal(a.after(state.Differences)):
		return Done, nil
	case unchanged, consumer.Generation == nil, *consumer.Generation == a.Generation+1:
		return NotDone, nil
	}
	return Unknown, nil
}

// after is what an attempt leaves of what it changes. Less than nothing is nothing, as in
// Amounts.Add.
func (a *Attempt) after(differences Amounts) Amounts {
	sum := a.Before.Plus(differences)
	for _, classes := range sum {
		for class, n := range classes {
			classes[class] = max(0, n)
		}
	}
	return sum
}
