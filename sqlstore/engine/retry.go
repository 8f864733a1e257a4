package engine

import (
	"context"
	"math/rand/v2"
	"time"
)

// attempts is how often a transaction that collided with another program's is
// run in all, at least; on a server the time decides.
const attempts = 3

// backoff is how long to wait before the n-th further attempt: a little longer
// each time, up to half a second, with a random part. For n of 1 it is between 10 and 20 ms.
func backoff(n int) time.Duration {
	wait := min(10*time.Millisecond<<min(n, 10), 500*time.Millisecond)
	return wait/2 + rand.N(wait/2)
}

// sleep waits, or returns early with the error of ctx.
func sleep(ctx context.Context, d time.Duration) error {
	wait := time.NewTimer(d)
	defer wait.Stop()
	select {
	case <-wait.C:
		return ctx.Err()
	case <-ctx.Done():
		return ctx.Err()
	}
}
