package network

import (
	"context"
	"errors"
	"math/rand/v2"
	"time"
)

// How often somebody else's change is made room for, and how long is waited
// between: a little at first, twice as long each time.
const (
	swaps       = 10
	swapLongest = 4 // doublings
)

var swapPause = 5 * time.Millisecond // tests have less time

// Swap runs change, which reads a generation and writes with it, until it does not fail
// with ErrGeneration, or has done so ten times. It is for those who implement
// Placement. When ctx ends, the last error is returned.
func Swap(ctx context.Context, change func() error) error {
	for tried := 1; ; tried++ {
		err := change()
		if tried == swaps || !errors.Is(err, ErrGeneration) || !pause(ctx, swapPause<<min(tried-1, swapLongest)) {
			return err
		}
	}
}

// pause waits for about so long, so that those who failed together do not come back
// together, and reports whether ctx has not ended meanwhile.
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
