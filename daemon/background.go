package daemon

import (
	"context"
	"time"
)

// Background runs fn in a goroutine until the returned function is called, which cancels the
// context of fn and waits until fn has returned.
func Background(fn func(context.Context)) (end func()) {
	ctx, cancel := context.WithCancel(context.Background())
	done := make(chan struct{})
	go func() {
		defer close(done)
		fn(ctx)
	}()
	return func() {
		cancel()
		<-done
	}
}

// repeat calls fn at once and then once in each interval, until ctx ends.
func repeat(ctx context.Context, interval time.Duration, fn func()) {
	next := time.NewTicker(interval)
	defer next.Stop()
	for {
		fn()
		select {
		case <-ctx.Done():
			return
		case <-next.C:
		}
	}
}

// ticking returns fn with a clock that ticks once in each interval.
func ticking(interval time.Duration, fn func(ctx context.Context, due <-chan time.Time)) func(context.Context) {
	return func(ctx context.Context) {
		tick := time.NewTicker(interval)
		defer tick.Stop()
		fn(ctx, tick.C)
	}
}
