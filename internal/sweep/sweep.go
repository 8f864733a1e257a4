// Package sweep lets a test that has too many cases for each run take a sample of them: the same
// one in every run, unless -sweep.seed says otherwise. Every night takes another one, with several
// times as many cases (-sweep.times), and -sweep.all takes all, which is hours of work. Only tests
// import it.
package sweep

import (
	"flag"
	"hash/fnv"
	"testing"

	"github.com/berthcloud/berth/internal/racetest"
)

var (
	all   = flag.Bool("sweep.all", false, "take all cases of sweeps, instead of samples")
	times = flag.Int("sweep.times", 1, "take samples with so many times as many cases")
	seed  = flag.Uint64("sweep.seed", 1, "take another sample; successive numbers have all cases in the end")
)

// Nightly skips a test unless there is a flag for more than every run has. It is for those that
// fail only when something else than this project changes, such as Debian's services, and for
// combinations of which each part is tested in every run.
func Nightly(t testing.TB) {
	t.Helper()
	if !*all && *times <= 1 {
		t.Skip("runs with -sweep.times=2 or more, as every night")
	}
}

// Every returns the first case of a sample that has one of n cases, and how far it is from each to
// the next; with -sweep.times the sample has one of fewer. Tests with different names begin with
// different cases. It writes how to repeat the sample, or to take all cases, to the log of the
// test.
func Every(t testing.TB, n int) (first, step int) {
	t.Helper()
	if *all {
		return 0, 1
	}
	n = max(1, n/max(1, *times))
	t.Logf("one of %d cases: -sweep.seed=%d -sweep.times=%d repeats this sample, -sweep.all takes all", n, *seed, *times)
	name := fnv.New64a()
	_, _ = name.Write([]byte(t.Name()))
	return int((name.Sum64()%uint64(n) + *seed) % uint64(n)), n
}

// Sample returns a sample of a list that has one of n of its cases, at least one, in the order of
// the list.
func Sample[T any](t testing.TB, cases []T, n int) (sample []T) {
	t.Helper()
	first, step := Every(t, n)
	for at := first % min(step, max(1, len(cases))); at < len(cases); at += step {
		sample = append(sample, cases[at])
	}
	return sample
}

// Raced returns a list, and of its cases under the race detector the sample that has one of n. It
// is for tests whose cases are alike in what is concurrent.
func Raced[T any](t testing.TB, cases []T, n int) []T {
	t.Helper()
	if racetest.Enabled {
		return Sample(t, cases, n)
	}
	return cases
}
