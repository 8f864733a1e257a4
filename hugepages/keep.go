package hugepages

import (
	"context"
	"log/slog"
	"time"
)

// pagesInterval is the interval between two passes over new parts of the heap: each modified tree
// is a new allocation, which may be anywhere.
const pagesInterval = 10 * time.Minute

// Keep moves the heap to huge pages, at once and every ten minutes until ctx ends or the
// system turns out not to support it.
func Keep(ctx context.Context, log *slog.Logger) {
	again := time.NewTicker(pagesInterval)
	defer again.Stop()
	for {
		begin := time.Now()
		bytes, err := Collapse(ctx)
		if ctx.Err() != nil {
			return
		}
		log.Debug("memory was put on huge pages", "bytes", bytes, "seconds", time.Since(begin).Seconds(), "error", err)
		if err != nil {
			return
		}
		select {
		case <-ctx.Done():
			return
		case <-again.C:
		}
	}
}
