// Package backoff waits between attempts.
package backoff

import (
	"context"
	"math/rand/v2"
	"time"
)

// Sleep waits, or returns early with the error of ctx. A time that is not positive is no wait.
func Sleep(ctx context.Context, d time.Duration) error {
	if d <= 0 {
		return ctx.Err()
	}
	timer := time.NewTimer(d)
	defer timer.Stop()
	select {
	case <-timer.C:
	case <-ctx.Done():
	}
	return ctx.Err()
}

// Around returns a random time between half and one and a half of d, which must be positive:
// callers that failed together do not try again together.
func Around(d time.Duration) time.Duration { return d/2 + rand.N(d) }
