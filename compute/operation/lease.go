package operation

import (
	"context"
	"log/slog"
	"sync"
	"time"
)

// A lease is that of operations that were taken together. It is renewed while they are worked on,
// and their context ends with it.
type lease struct {
	single bool                 // it is that of one operation
	now    func() time.Duration // as Runner.Elapsed
	lasts  time.Duration
	cancel context.CancelFunc
	keeper sync.WaitGroup

	mu    sync.Mutex // guards until
	until time.Duration
}

type leaseKey struct{}

// hold renews the lease of operations that were taken at a time, of those that are unfinished,
// until it is ended, and returns the context in which they are worked on.
func (r *Runner[C, J]) hold(
	ctx context.Context, taken time.Duration, single bool, unfinished func() []J,
) (context.Context, *lease) {
	l := &lease{single: single, now: r.Elapsed, lasts: r.Lease, until: taken + r.Lease}
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
			jobs := unfinished()
			if len(jobs) == 0 {
				return
			}
			began := l.now()
			renewed, err := r.Renew(ctx, jobs)
			switch {
			case err == nil && renewed > 0:
				l.extend(began)
			case err != nil && ctx.Err() == nil:
				r.Log.WarnContext(ctx, "the leases of operations cannot be renewed", slog.Any("", jobs[0]), "operations", len(jobs),
					"error", err)
			}
			if Leased(ctx) != nil {
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

func (l *lease) extend(from time.Duration) {
	l.mu.Lock()
	defer l.mu.Unlock()
	l.until = max(l.until, from+l.lasts)
}

// Leased returns why the worker in whose context it is called may not send a request that changes
// something: ErrLost when less than a quarter of its lease is left, so that another worker may have
// the operation before the request takes effect, or the context's error. It is nil outside of
// operations.
func Leased(ctx context.Context) error {
	l, _ := ctx.Value(leaseKey{}).(*lease)
	if l != nil {
		l.mu.Lock()
		defer l.mu.Unlock()
		if l.now()+l.lasts/4 >= l.until {
			return ErrLost
		}
	}
	return ctx.Err()
}

// extending runs a commit, which renews the lease of its operation from when it begins.
func extending(ctx context.Context, commit func() error) error {
	l, _ := ctx.Value(leaseKey{}).(*lease)
	if l == nil {
		return commit()
	}
	began := l.now()
	err := commit()
	if err == nil && l.single { // the commit renewed that of no other operation
		l.extend(began)
	}
	return err
}
