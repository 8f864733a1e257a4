package operation

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"sync"
	"sync/atomic"
	"time"
)

// A Runner carries out operations. Its fields are not to change while it is used. Its methods may
// be called concurrently.
type Runner[C any, J Job[C]] struct {
	Lists map[string]List[J, C] // by kind
	// Take takes the lease of an operation that is due, with those that are carried out together with
	// it; none when none is due.
	Take func(context.Context) ([]J, error)
	// Renew renews the leases of operations that were taken together, in one transaction, and returns
	// how many of them their worker still has. The others have ended, wait, or are lost.
	Renew func(context.Context, []J) (int, error)
	// Lease is how long a lease lasts: longer than a request takes.
	Lease time.Duration
	// Places is the number of workers.
	Places int
	// Look is the interval of looking for operations that are due, besides when Due has a value.
	Look time.Duration
	Due  <-chan struct{}
	// Elapsed is the time since some moment, which does not depend on what the clock of the machine is
	// set to.
	Elapsed func() time.Duration
	Log     *slog.Logger
	// Context returns the context for the next step of an operation; nil: that of the worker. Those of
	// operations that are carried out together are alike.
	Context func(context.Context, J) context.Context
	// Again reports of an error of a step with NoRetry that the step had no effect, and is carried out
	// again while Finish may wait; nil: of none.
	Again func(error) bool
}

// Run carries out operations until ctx ends. It returns when all workers have stopped.
func (r *Runner[C, J]) Run(ctx context.Context) {
	var running sync.WaitGroup
	defer running.Wait()
	places := make(chan struct{}, r.Places)
	tick := time.NewTicker(r.Look)
	defer tick.Stop()
	for {
		for more := true; more && ctx.Err() == nil; {
			places <- struct{}{} // before the lease begins, which would otherwise expire while it waits
			began := r.Elapsed()
			jobs, err := r.Take(ctx)
			if err != nil && ctx.Err() == nil {
				r.Log.ErrorContext(ctx, "operations cannot be read", "error", err)
			}
			if more = err == nil && len(jobs) > 0; !more {
				<-places
				continue
			}
			running.Go(func() {
				r.carryOut(ctx, began, jobs, places)
				<-places
			})
		}
		select {
		case <-ctx.Done():
			return
		case <-r.Due:
		case <-tick.C:
		}
	}
}

// RunDue carries out all operations that are due, one after the other.
func (r *Runner[C, J]) RunDue(ctx context.Context) error {
	for {
		began := r.Elapsed()
		jobs, err := r.Take(ctx)
		if err != nil || len(jobs) == 0 {
			return err
		}
		r.carryOut(ctx, began, jobs, nil)
	}
}

// Finish carries out an operation that the caller has had the lease of since a time, and returns
// the error for which it is undone, ErrLost or ErrReplaced. While a step waits it calls wait, which
// returns when it is worth looking again, or an error to undo the operation. What is left to be
// undone when Finish returns is others' to do.
func (r *Runner[C, J]) Finish(ctx context.Context, since time.Duration, j J, wait func(context.Context) error) error {
	ctx, lease := r.hold(ctx, since, true, func() []J { return []J{j} })
	defer lease.end()
	return r.run(ctx, j, wait)
}

// carryOut works on operations that were taken at a time, until they end, wait, or are lost to
// another worker. After the steps that they have together each goes on for itself, and workers that
// are idle help: places are those of all workers.
func (r *Runner[C, J]) carryOut(ctx context.Context, taken time.Duration, jobs []J, places chan struct{}) {
	var mu sync.Mutex // guards over
	over := make([]bool, len(jobs))
	ctx, lease := r.hold(ctx, taken, len(jobs) == 1, func() (unfinished []J) {
		mu.Lock()
		defer mu.Unlock()
		for i, j := range jobs {
			if !over[i] {
				unfinished = append(unfinished, j)
			}
		}
		return unfinished
	})
	defer lease.end()
	err := r.batch(ctx, jobs)

	var helpers sync.WaitGroup
	defer helpers.Wait()
	var begun atomic.Int64
	var work func(helps bool)
	work = func(helps bool) {
		for i := int(begun.Add(1)) - 1; i < len(jobs); i = int(begun.Add(1)) - 1 {
			if i+1 < len(jobs) {
				select {
				case places <- struct{}{}:
					helpers.Go(func() { work(true) })
				default:
				}
			}
			j := jobs[i]
			if _, shared := r.sharedStep(j); shared && err != nil {
				r.release(ctx, j, err)
			} else if !j.Lost() {
				_ = r.run(ctx, j, nil)
			}
			mu.Lock()
			over[i] = true
			mu.Unlock()
			if helps { // operations that are due and wait for a place come first
				<-places
				select {
				case places <- struct{}{}:
				default:
					return
				}
			}
		}
		if helps {
			<-places
		}
	}
	work(false)
}

// sharedStep is the step that an operation carries out together with others, if it is at one.
func (r *Runner[C, J]) sharedStep(j J) (Step[J, C], bool) {
	step, ok := r.Lists[j.Kind()].At(j.Cursor())
	return step, ok && step.Batch != nil && !j.Cursor().Back && !j.Lost()
}

// batch carries out the steps that operations have together, the first ones first: those that are
// ahead, since an earlier worker was interrupted, wait for the others.
func (r *Runner[C, J]) batch(ctx context.Context, jobs []J) error {
	for {
		var step Step[J, C]
		var live []J
		first := -1
		for _, j := range jobs {
			s, shared := r.sharedStep(j)
			i := r.Lists[j.Kind()].index(s.Name)
			switch {
			case !shared:
			case first < 0 || i < first:
				step, live, first = s, []J{j}, i
			case i == first:
				live = append(live, j)
			}
		}
		if len(live) == 0 {
			return nil
		}
		if err := Leased(ctx); err != nil {
			return err
		}
		next, err := step.Batch(r.stepContext(ctx, live[0]), live)
		for i := 0; err == nil && i < len(live); i++ {
			if err = r.move(ctx, live[i], next[i]); errors.Is(err, ErrLost) || errors.Is(err, ErrReplaced) {
				err = nil
			}
		}
		if err != nil && !errors.Is(err, ErrLost) && !errors.Is(err, ErrReplaced) {
			return err
		}
	}
}

// stepContext is the context for the next step of an operation.
func (r *Runner[C, J]) stepContext(ctx context.Context, j J) context.Context {
	if r.Context == nil {
		return ctx
	}
	return r.Context(ctx, j)
}

// errOver says that an operation has ended.
var errOver = errors.New("operation: it is over")

// run takes one step after the other. It returns why the operation was undone.
func (r *Runner[C, J]) run(ctx context.Context, j J, wait func(context.Context) error) (cause error) {
	worker := ctx
	for {
		ctx := r.stepContext(worker, j) // it may have become another operation
		list, at := r.Lists[j.Kind()], j.Cursor()
		once := list.NoRetry != nil && !at.Back
		err := Leased(ctx)
		switch {
		case err != nil:
		case once && wait == nil:
			err = ErrInterrupted
		default:
			err = r.step(ctx, j)
		}
		switch {
		case wait == nil || !once:
		case errors.As(err, new(*Wait)):
			err = wait(ctx)
		case r.Again != nil && r.Again(err) && wait(ctx) == nil:
			err = nil
		}
		switch {
		case err == nil:
			continue
		case errors.Is(err, errOver):
			return cause
		case errors.Is(err, ErrLost):
			return err
		case errors.Is(err, ErrReplaced):
			cause = err
			continue
		case once:
			cause = err
			err = r.move(ctx, j, Next[C]{Back: true, Change: list.NoRetry(j, cause)})
			if err == nil && !errors.As(cause, new(*Unanswered)) || errors.Is(err, ErrReplaced) {
				continue
			}
			err = errors.Join(cause, err)
		}
		r.release(ctx, j, err)
		if cause == nil {
			cause = err
		}
		return cause
	}
}

// step carries out the step that an operation is at, and moves the cursor.
func (r *Runner[C, J]) step(ctx context.Context, j J) error {
	if _, cur := r.sharedStep(j); cur {
		return r.batch(ctx, []J{j})
	}
	at := j.Cursor()
	step, ok := r.Lists[j.Kind()].At(at)
	do := step.Do
	if at.Back {
		do = step.Undo
	}
	var next Next[C]
	var err error
	switch {
	case !ok:
		err = fmt.Errorf("an operation is at %s/%s, which is unknown", j.Kind(), at.Step)
	case do != nil:
		next, err = do(j, ctx)
	}
	if err != nil {
		return err
	}
	return r.move(ctx, j, next)
}

// move commits what follows a step, errOver when nothing does.
func (r *Runner[C, J]) move(ctx context.Context, j J, n Next[C]) error {
	if err := Leased(ctx); err != nil {
		return err // what the step says may come of that
	}
	list, at := r.Lists[j.Kind()], j.Cursor()
	to, over := list.after(at, n)
	if !over && n.Deferred {
		j.Defer(to, n.Change)
		return nil
	}
	if !over {
		return extending(ctx, func() error { return j.Commit(ctx, to, n.Change) })
	}
	changes := []C{n.Change}
	switch end := list.Done; {
	case n.End:
	case at.Back:
		changes = append(changes, list.Undone(j))
	case end != nil:
		changes = append(changes, end(j))
	}
	if err := j.End(ctx, changes...); err != nil {
		return err
	}
	return errOver
}

// release leaves an operation to the worker that takes it next.
func (r *Runner[C, J]) release(ctx context.Context, j J, cause error) {
	if j.Lost() {
		return
	}
	waits := errors.As(cause, new(*Wait))
	if !waits && ctx.Err() == nil {
		r.Log.WarnContext(ctx, "an operation does not go on", "kind", j.Kind(), "step", j.Cursor().Step,
			"back", j.Cursor().Back, slog.Any("", j), "error", cause)
	}
	if err := j.Release(context.WithoutCancel(ctx), cause); err != nil && !errors.Is(err, ErrLost) {
		r.Log.WarnContext(ctx, "the lease of an operation could not be released; it expires", slog.Any("", j), "error", err)
	}
}
