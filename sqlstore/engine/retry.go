package engine

import (
	"context"
	"math/rand/v2"
	"time"
)

// attempts is how often a transaction that collided with another program's is
// run in all, at least; on a server the time decides.
const attempts = 3

// maxAttempts bounds what a time bounds already. It only keeps loops finite should the clock stand
// still.
const maxAttempts = 1000

// retry calls attempt again, with pauses, while it says so, until a time is over, most attempts
// were made or ctx has ended. It returns the last error.
func retry(ctx context.Context, limit time.Duration, most int, attempt func() (retryable bool, err error)) error {
	until := time.Now().Add(limit)
	for n := 1; ; n++ {
		retryable, err := attempt()
		if !retryable || n >= most || time.Now().After(until) || sleep(ctx, backoff(n)) != nil {
			return err
		}
	}
}

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
