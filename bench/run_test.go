package main

import (
	"bytes"
	"context"
	"io"
	"strings"
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

// TestPrograms measures a row with two programs, neither of which can be started.
func TestPrograms(t *testing.T) {
	if testing.Short() {
		t.Skip("makes a cloud")
	}
	var out bytes.Buffer
	args := []string{"-short", "-rows", "^none-trait$", "-berth", "/nowhere/one,/nowhere/two"}
	code := run(context.Background(), args, nil, &out, io.Discard)
	text := out.String()
	one, two := strings.Index(text, "/nowhere/one: 10,000 hosts"), strings.Index(text, "/nowhere/two: 10,000 hosts")
	if code != exitShort || one < 0 || two < one || !strings.Contains(text, "2 failed") {
		t.Errorf("exit code %d\n%s", code, text)
	}
}
