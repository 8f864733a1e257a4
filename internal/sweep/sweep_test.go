package sweep_test

import (
	"flag"
	"slices"
	"strconv"
	"testing"

	"github.com/berthcloud/berth/internal/sweep"
)

func set(t *testing.T, name, value string) {
	t.Helper()
	before := flag.Lookup(name).Value.String()
	if err := flag.Set(name, value); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = flag.Set(name, before) })
}

// Successive seeds have all cases, each of them once.
func TestSample(t *testing.T) {
	set(t, "sweep.all", "false")
	set(t, "sweep.times", "1")
	cases := []string{"a", "b", "c", "d", "e", "f", "g"}
	for _, n := range []int{1, 3, 7} {
		var got []string
		for seed := range n {
			set(t, "sweep.seed", strconv.Itoa(seed))
			sample := sweep.Sample(t, cases, n)
			if again := sweep.Sample(t, cases, n); !slices.Equal(sample, again) {
				t.Errorf("the samples of seed %d are %q and %q", seed, sample, again)
			}
			got = append(got, sample...)
		}
		slices.Sort(got)
		if !slices.Equal(got, cases) {
			t.Errorf("one of %d cases: seeds 0 to %d have %q, want %q", n, n-1, got, cases)
		}
	}
}

// A sample has a case wherever there is one.
func TestSampleOfFew(t *testing.T) {
	set(t, "sweep.all", "false")
	set(t, "sweep.times", "1")
	for seed := range 9 {
		set(t, "sweep.seed", strconv.Itoa(seed))
		if got := sweep.Sample(t, []string{"a", "b"}, 9); len(got) != 1 {
			t.Errorf("seed %d has %q of two cases", seed, got)
		}
		if got := sweep.Sample(t, []string(nil), 9); len(got) != 0 {
			t.Errorf("seed %d has %q of no cases", seed, got)
		}
	}
}

// A night has more cases of each sweep, all of them where they are few.
func TestTimes(t *testing.T) {
	set(t, "sweep.all", "false")
	set(t, "sweep.times", "4")
	cases := make([]int, 48)
	for n, want := range map[int]int{1: 48, 3: 48, 4: 48, 8: 24, 16: 12, 48: 4} {
		if got := len(sweep.Sample(t, cases, n)); got != want {
			t.Errorf("one of %d cases, 4 times: %d of %d, want %d", n, got, len(cases), want)
		}
	}
}

func TestAll(t *testing.T) {
	set(t, "sweep.all", "true")
	if got := sweep.Sample(t, []int{1, 2, 3}, 3); !slices.Equal(got, []int{1, 2, 3}) {
		t.Errorf("all cases are %v", got)
	}
	if first, step := sweep.Every(t, 4); first != 0 || step != 1 {
		t.Errorf("all cases begin with %d, and %d later is the next", first, step)
	}
}
