package load_test

import (
	"testing"
	"time"

	"github.com/berthcloud/berth/bench/load"
)

func TestTimesAt(t *testing.T) {
	upTo := func(n int) (all load.Times) {
		for i := range n {
			all = append(all, time.Duration(i+1))
		}
		return all
	}
	for _, c := range []struct {
		n    int
		p    float64
		want time.Duration
	}{
		{0, 0.5, 0},
		{1, 0, 1},
		{1, 0.99, 1},
		{4, 0.5, 2},
		{5, 0.5, 3},
		{100, 0.99, 99},
		{100, 0.991, 100},
		{1000, 0.99, 990},
		{1000, 1, 1000},
		{10, 0.1, 1},
	} {
		if got := upTo(c.n).At(c.p); got != c.want {
			t.Errorf("of 1 to %d, At(%v) = %d, want %d", c.n, c.p, got, c.want)
		}
	}
}
