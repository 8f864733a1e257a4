// Package growthtest holds work to growth near linear: a list of four times the length may
// cost about four times as much, not sixteen. It is not a benchmark: it compares a function
// with itself in one process, in processor time, and says nothing of how fast either is.
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

// short is the processor time below which a measurement says nothing. A list whose long form
// takes less is linear as far as anybody can notice.
const short = 20 * time.Millisecond

// rounds is how often a measurement that is over the limit is repeated: each length keeps the
// least of its times, which is the one that other work on the machine disturbed least.
const rounds = 10

// NearLinear fails the test when work, called with a list of 8*n items, takes more than 32
// times the processor time that it takes with n items. work has to do the same for each
// length, without calling t. The processor time is that of the whole process, so tests that
// call NearLinear must not be parallel. Under the race detector, which has a price of its
// own for each access, work is only called.
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

// growth says what was measured.
func growth(n int, few, many time.Duration) string {
	return fmt.Sprintf("%d items take %v of processor time and %d items %v, %.0f times as much; near linear is up to %d times",
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
