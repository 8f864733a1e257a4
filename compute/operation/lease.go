package operation

import (
	"context"
	"sync"
	"time"
)

// A lease is that of operations that were taken together. It is renewed while they are worked on, and
// their context ends with it.
type lease struct {
	now    func() time.Time
	lasts  time.Duration
	cancel context.CancelFunc
	keeper sync.WaitGroup

	mu    sync.Mutex // guards until
	until time.Time
}

type leaseKey struct{}

// hold renews the lease of operations until it is ended, and returns the context in which they are worked
// on.
func (r *Runner[C, J]) hold(ctx context.Context, jobs []J) (context.Context, *lease) {
	l := &lease{now: r.Now, lasts: r.Lease}
	l.until = l.now().Add(l.lasts)
	ctx, l.cancel = context.WithCancel(ctx)
	ctx = context.WithValue(ctx, leaseKey{}, l)
	l.keeper.Go(func() {
		tick := time.NewTicker(r.Lease / 4)
		defer tick.Stop()
		for {
			select {
			case <-ctx.Done():
				return
			case <-tick.C:
			}
			began, renewed := l.now(), true
			for _, j := range jobs {
				if err := j.Renew(ctx); err != nil && ctx.Err() == nil {
					r.Log.WarnContext(ctx, "the lease of an operation cannot be renewed", "operation", j, "error", err)
					renewed = false
				}
			}
			if renewed {
				l.extend(began)
			}
			if Held(ctx) != nil {
				l.cancel()
			}
		}
	})
	return ctx, l
}

// end stops the renewal.
func (l *lease) end() {
	l.cancel()
	l.keeper.Wait()
}

func (l *lease) extend(from time.Time) {
	l.mu.Lock()
	defer l.mu.Unlock()
	if until := from.Add(l.lasts); until.After(l.until) {
		l.until = until
	}
}

// Held returns why the worker in whose context it is called may not go on: ErrLost when its lease has
// expired, so that another worker may have the operation, or the context's error. It is nil outside of operations.
func Held(ctx context.Context) error {
	l, _ := ctx.Value(leaseKey{}).(*lease)
	if l != nil {
		l.mu.Lock()
		defer l.mu.Unlock()
		if !l.now().Before(l.until) {
			return ErrLost
		}
	}
	return ctx.Err()
}

// extend notes that a commit has renewed the lease.
func extend(ctx context.Context, err error) {
	if l, _ := ctx.Value(leaseKey{}).(*lease); l != nil && err == nil {
		l.extend(l.now())
	}
}
