package allocations

import (
	"context"
	"errors"
	"time"

	"github.com/berthcloud/berth/internal/backoff"
)

// The number of retries after concurrent changes, and the pauses between them: each is twice as
// long as the one before.
const (
	Pause = 5 * time.Millisecond // the first pause of Retry, unless the caller has another one

	retries   = 10
	doublings = 4
)

// Retry runs change, which reads a generation and writes with it, until it does not fail with
// ErrGeneration, ten times at most. The first pause is about the given time. When ctx ends, the
// last error is returned.
func Retry(ctx context.Context, first time.Duration, change func() error) error {
	for tried := 1; ; tried++ {
		err := change()
		if tried == retries || !errors.Is(err, ErrGeneration) || PauseAfter(ctx, first, tried) != nil {
			return err
		}
	}
}

// PauseAfter waits before a retry that follows so many attempts, from 1 on: about as long as the
// first pause, doubled with each attempt up to sixteen times. The error is that of ctx when it ends
// before.
func PauseAfter(ctx context.Context, first time.Duration, tried int) error {
	return backoff.Sleep(ctx, backoff.Around(first<<min(tried-1, doublings)))
}
