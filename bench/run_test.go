package main

import (
	"context"
	"io"
	"testing"
)

// noisy is a work whose first measurements are too slow.
type noisy struct{ slow, times int }

func (n *noisy) measure(*lab) (figures, error) {
	n.times++
	if n.times <= n.slow {
		return figures{{"cpu / canned", 9, ratio}}, nil
	}
	return figures{{"cpu / canned", 1, ratio}}, nil
}

func TestTry(t *testing.T) {
	for _, c := range []struct {
		name  string
		short bool
		slow  int
		want  outcome
		times int
	}{
		{"ok", true, 0, reached, 1},
		{"noise", true, shortTries - 1, reached, shortTries},
		{"slow each time", true, shortTries, short, shortTries},
		{"the whole table", false, 1, short, 1},
	} {
		t.Run(c.name, func(t *testing.T) {
			l := &lab{options: options{short: c.short}, ctx: context.Background(), log: io.Discard}
			n := &noisy{slow: c.slow}
			got := l.try(row{"noisy", "noise", n, []bar{atMost("cpu / canned", 2)}})
			if got.Outcome != c.want || n.times != c.times {
				t.Errorf("%s after %d times, want %s after %d", got.Outcome, n.times, c.want, c.times)
			}
		})
	}
}
