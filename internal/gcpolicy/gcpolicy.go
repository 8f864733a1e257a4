// Package gcpolicy sets how much the heap of a service may grow between two garbage collections,
// unless the operator has set GOGC or GOMEMLIMIT.
package gcpolicy

import (
	"context"
	"runtime"
	"runtime/debug"
	"runtime/metrics"
)

// Go's collector lets a heap double, whatever its size. A service with little live memory would run
// it many times a second under load, and one with the snapshot of a big cloud would need twice that
// memory.
const (
	spareHeap     = 128 << 20 // for requests between two collections
	leastGCGrowth = 40        // but at least this percentage of a big heap
	mostGCGrowth  = 400       // and at most this one of a small heap
)

// gcGrowth returns the percentage by which a heap with live bytes in use may grow.
func gcGrowth(live uint64) int {
	return int(min(max(100*spareHeap/max(live, 1), leastGCGrowth), mostGCGrowth))
}

// Start gives free memory back to the system, and from then on sets after each collection how
// much the heap may grow until the next. It ends when stop is called. With GOGC or GOMEMLIMIT set
// it does nothing.
func Start(getenv func(string) string) (stop func()) {
	if getenv("GOGC") != "" || getenv("GOMEMLIMIT") != "" {
		return func() {}
	}
	ctx, cancel := context.WithCancel(context.Background())
	done := make(chan struct{})
	go func() {
		defer close(done)
		debug.FreeOSMemory()
		growth := debug.SetGCPercent(gcGrowth(liveHeap()))
		defer debug.SetGCPercent(growth)
		for afterGC(ctx) {
			debug.SetGCPercent(gcGrowth(liveHeap()))
		}
	}()
	return func() {
		cancel()
		<-done
	}
}

// liveHeap returns how much the last collection found in use.
func liveHeap() uint64 {
	sample := []metrics.Sample{{Name: "/gc/heap/live:bytes"}}
	metrics.Read(sample)
	return sample[0].Value.Uint64()
}

// afterGC waits for the next collection, and returns false when ctx ends before.
func afterGC(ctx context.Context) bool {
	collected := make(chan struct{})
	// An unreachable object is collected by the next collection. It contains a pointer, since
	// objects without pointers may share an allocation.
	sentinel := &struct{ self *byte }{new(byte)}
	runtime.AddCleanup(sentinel, func(c chan struct{}) { close(c) }, collected)
	select {
	case <-collected:
		return true
	case <-ctx.Done():
		return false
	}
}
