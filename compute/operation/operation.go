// Package operation carries out operations: lists of steps, each with what does it and what undoes
// it. It knows no server and no database. What an operation is, where it is stored and what its
// steps do is its caller's (package compute); here is how they follow each other.
//
// An operation has a cursor, the step that is under way, and a direction:
//
//	         Do            Do            Do
//	first ─────► second ─────► … ─────► last ─────► (done)
//	  │            │             ▲         │
//	  │ Undo       │ Undo        │ again   │ a step fails for good:
//	  ◄────────────◄─────────────┴─────────┘ it and those before it are undone,
//	  │                                      all of them or down to one that is done again
//	  └───► (undone)
//
// An operation may also begin at its end and be undone: a deletion is a creation backwards.
//
//   - The cursor is committed before its step runs, together with what the step before it changed.
//     After a crash another worker carries out the same step again, so that steps begin with a look
//     at what is done.
//   - A worker has a lease of the operation, and a Runner renews it. The context of a step ends
//     with the lease; Leased says whether it has, for callers that are about to send a request.
//   - A step that waits for an event ends with a Wait: the lease is released, and the writer that
//     stores the operation says when the event has occurred, or cannot any more.
//   - A step with another error is carried out again after a delay. When the error is Unanswered, a
//     request may be under way still: as long as a lease, which is longer than a request takes, no
//     worker takes it. Nothing is undone, and nothing else is done, while a request may still take
//     effect.
package operation

import (
	"context"
	"errors"
	"log/slog"
	"slices"
)

// A Cursor is how far an operation is.
type Cursor struct {
	Step string
	// Back says that steps are undone, this one and those before it.
	Back bool
	// UndoTo is the last step that is undone, which is then done again; "" undoes them all.
	UndoTo string
}

// A Next is what follows when a step has been carried out. The zero value goes on.
type Next[C any] struct {
	// Change is written in the same transaction as the cursor.
	Change C
	// Back undoes this step and those before it, down to UndoTo. Only Do may say so.
	Back   bool
	UndoTo string
	// End ends the operation here, whatever steps there are.
	End bool
	// Deferred says that the cursor and Change are written with the next commit, which saves one: the
	// step that follows commits before it requests anything. Until then the operation is at this
	// step, and a worker that takes it over repeats it.
	Deferred bool
}

// A Step is a step of a list. Its functions may run twice, and begin with a look at what is done.
// They return an error when the step is to be carried out again.
type Step[J, C any] struct {
	Name string
	Do   func(J, context.Context) (Next[C], error)
	Undo func(J, context.Context) (Next[C], error) // nil: there is nothing to undo
	// Batch, unless nil, takes the place of Do, for all operations that were taken together and are at
	// this step.
	Batch func(context.Context, []J) ([]Next[C], error)
}

// A List is a kind of operation.
type List[J, C any] struct {
	Steps []Step[J, C]
	// Done and Undone return the change that ends the operation, after that of its last step.
	Done, Undone func(J) C
	// NoRetry, unless nil, says that a step is not tried twice: its error, or the end of its worker,
	// undoes the operation. It returns the change that says so.
	NoRetry func(J, error) C
}

// Last is the cursor of an operation that is to be undone from its end.
func (l List[J, C]) Last() Cursor { return Cursor{Step: l.Steps[len(l.Steps)-1].Name, Back: true} }

// At is the step of a cursor; it is not ok when the list has none of that name.
func (l List[J, C]) At(c Cursor) (s Step[J, C], ok bool) {
	i := l.index(c.Step)
	if i < 0 {
		return s, false
	}
	return l.Steps[i], true
}

func (l List[J, C]) index(step string) int {
	return slices.IndexFunc(l.Steps, func(s Step[J, C]) bool { return s.Name == step })
}

// after is the cursor that follows; over says that none does.
func (l List[J, C]) after(at Cursor, n Next[C]) (to Cursor, over bool) {
	i := l.index(at.Step)
	switch {
	case n.End:
		return at, true
	case !at.Back && n.Back:
		return Cursor{Step: at.Step, Back: true, UndoTo: n.UndoTo}, false
	case !at.Back:
		if i++; i == len(l.Steps) {
			return at, true
		}
		return Cursor{Step: l.Steps[i].Name}, false
	case at.Step == at.UndoTo:
		return Cursor{Step: at.Step}, false
	case i == 0:
		return at, true
	}
	return Cursor{Step: l.Steps[i-1].Name, Back: true, UndoTo: at.UndoTo}, false
}

// The errors of a Job.
var (
	ErrLost     = errors.New("operation: another worker has it")
	ErrReplaced = errors.New("operation: it has become another one")
)

// ErrInterrupted is the error of an operation with NoRetry whose worker has ended.
var ErrInterrupted = errors.New("it was interrupted")

// A Wait is the error of a step that waits for an event.
type Wait struct{ Event string }

// Error says so.
func (w *Wait) Error() string { return "operation: event " + w.Event + " has not occurred yet" }

// Unanswered is the error of a request without an answer: it may take effect later.
type Unanswered struct{ Err error }

// Error is that of the request.
func (u *Unanswered) Error() string { return u.Err.Error() }

// Unwrap returns it.
func (u *Unanswered) Unwrap() error { return u.Err }

// A Job is an operation that a worker has taken. Only its worker uses it, but for LogValue and
// Runner.Renew, which may be called concurrently with all others. Methods other than Kind and
// Cursor return ErrLost when another worker has it.
type Job[C any] interface {
	slog.LogValuer // a group: its attributes become those of the line
	Kind() string
	Cursor() Cursor // as it was committed last
	// Defer has the next Commit or End write a cursor and changes first. Cursor returns it at once.
	Defer(to Cursor, changes ...C)
	// Commit writes a cursor and changes, in their order and in one transaction, and renews the lease.
	// It returns ErrReplaced when the operation has become another one instead: Kind and Cursor say
	// which.
	Commit(ctx context.Context, to Cursor, changes ...C) error
	// End removes the operation, with changes. ErrReplaced is as in Commit.
	End(ctx context.Context, changes ...C) error
	// Release ends the lease. After a *Wait the operation is due when the event has occurred, after an
	// *Unanswered when the time of a lease has passed, after the end of the process at once, and after
	// another cause with a delay.
	Release(ctx context.Context, cause error) error
	// Lost reports whether one of the methods returned ErrLost.
	Lost() bool
}
