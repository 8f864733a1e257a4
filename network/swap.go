package network

import (
	"context"
	"errors"
	"math/rand/v2"
	"time"
)

// The number of retries after concurrent changes, and the pauses between them: each is twice as
// long as the one before.
const (
	swaps       = 10
	swapLongest = 4 // doublings
)

var swapPause = 5 * time.Millisecond // tests have less time

// Swap runs change, which reads a generation and writes with it, until it does not fail with
// ErrGeneration, ten times at most. Implementations of Placement use it. When ctx ends, the last
// error is returned.
func Swap(ctx context.Context, change func() error) error {
	for tried := 1; ; tried++ {
		err := change()
		if tried == swaps || !errors.Is(err, ErrGeneration) || !pause(ctx, swapPause<<min(tried-1, swapLongest)) {
			return err
		}
	}
}

// pause waits for a random time around about, so that requests that collided do not collide again,
// and reports whether ctx is still alive.
func pause(ctx context.Context, about time.Duration) bool {
	timer := time.NewTimer(about/2 + rand.N(about))
	defer timer.Stop()
	select {
	case <-timer.C:
		return true
	case <-ctx.Done():
		return false
	}
}
