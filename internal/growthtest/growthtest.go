// Package growthtest checks that work grows near linearly: a list of eight times the length may
// cost about eight times as much, not sixty-four. It is not a benchmark: it compares the processor
// times of one function in one process, and does not report absolute speed.
package growthtest

import (
	"fmt"
	"syscall"
	"testing"
	"time"

	"github.com/berthcloud/berth/internal/racetest"
)

// factor is how many times longer the long list is than the short one, and most is how many
// times the processor time it may take: between linear growth (8), which caches and the
// garbage collector make up to twice that, and quadratic growth (64).
const (
	factor = 8
	most   = 32
)

// short is the processor time below which a measurement is not significant. A list whose long form
// takes less counts as linear.
const short = 20 * time.Millisecond

// rounds is how often a measurement over the limit is repeated: the least time of each length
// counts, which other load on the machine has disturbed least.
const rounds = 10

// NearLinear fails the test when work, called with a list of 8*n items, takes more than 32 times
// the processor time that it takes with n items. work must be repeatable for each length and must
// not call t. The processor time is that of the whole process, so tests that call NearLinear must
// not be parallel. Under the race detector, whose overhead depends on the accesses, work is only
// called.
func NearLinear(t *testing.T, n int, work func(n int)) {
	t.Helper()
	if racetest.Enabled {
		work(n)
		return
	}
	few, many := time.Duration(1<<62), time.Duration(1<<62)
	for range rounds {
		few = min(few, spent(func() { work(n) }))
		many = min(many, spent(func() { work(factor * n) }))
		if many < short || many < most*few {
			return
		}
	}
	t.Error(growth(n, few, many))
}

// growth formats a measurement.
func growth(n int, few, many time.Duration) string {
	return fmt.Sprintf(
		"%d items take %v of processor time and %d items %v, %.0f times as much; near linear is up to %d times",
		n, few, factor*n, many, float64(many)/float64(max(few, 1)), most)
}

// spent is the processor time, in user and kernel mode, that the process uses while f runs.
func spent(f func()) time.Duration {
	before := used()
	f()
	return used() - before
}

func used() time.Duration {
	var usage syscall.Rusage
	if err := syscall.Getrusage(syscall.RUSAGE_SELF, &usage); err != nil {
		panic(err)
	}
	return time.Duration(usage.Utime.Nano() + usage.Stime.Nano())
}
