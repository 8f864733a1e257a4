// Package watch is the services' common part of long polling by hosts: an answer is delayed until
// there is a change. The services define changes and which hosts they concern.
package watch

import (
	"context"
	"log/slog"
	"time"
)

// Interval is the interval of checks for changes by other instances.
const Interval = 2 * time.Second

// Await returns the result of look as soon as it is a change, and after wait, or when ended is
// closed, in any case. It calls look at once and after each value on changed. When ctx ends first
// it returns the reason.
func Await[T any](ctx context.Context, wait time.Duration, changed, ended <-chan struct{}, look func() (now T, isNew bool, err error)) (T, error) {
	timer := time.NewTimer(wait)
	defer timer.Stop()
	for {
		now, isNew, err := look()
		if err != nil || isNew {
			return now, err
		}
		select {
		case <-changed:
		case <-timer.C:
			return now, nil
		case <-ended:
			return now, nil
		case <-ctx.Done():
			var none T
			return none, ctx.Err()
		}
	}
}

// Follow calls notify when other instances have changed something, until ctx ends. Count is the
// number of their changes.
func Follow(ctx context.Context, count func(context.Context) (int64, error), notify func(), log *slog.Logger) {
	tick := time.NewTicker(Interval)
	defer tick.Stop()
	var seen int64
	for {
		n, err := count(ctx)
		switch {
		case err != nil && ctx.Err() == nil:
			log.WarnContext(ctx, "it cannot be seen what other instances change", "error", err)
		case err == nil && n > seen:
			seen = n
			notify()
		}
		select {
		case <-ctx.Done():
			return
		case <-tick.C:
		}
	}
}
