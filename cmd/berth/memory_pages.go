package main

import (
	"context"
	"log/slog"
	"time"

	"github.com/berthcloud/berth/hugepages"
)

// pagesInterval is between two looks at what of the heap is new: each tree that is
// written to is another one, which may be anywhere.
const pagesInterval = 10 * time.Minute

// keepOnHugePages puts what is in the heap on huge pages, now and every ten minutes
// until ctx ends or the system turns out not to do it.
func keepOnHugePages(ctx context.Context, log *slog.Logger) {
	again := time.NewTicker(pagesInterval)
	defer again.Stop()
	for {
		begin := time.Now()
		bytes, err := hugepages.Collapse(ctx)
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
