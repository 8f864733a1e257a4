package failover_test

import (
	"context"
	"errors"
	"slices"
	"testing"

	"github.com/berthcloud/berth/agent/failover"
)

func TestDo(t *testing.T) {
	down := map[string]bool{}
	var tried []string
	call := func(name string) error {
		tried = append(tried, name)
		if down[name] {
			return errors.New(name + " is down")
		}
		return nil
	}
	s := failover.Services[string]{All: []string{"a", "b", "c"}}
	do := func(wantError string, want ...string) {
		t.Helper()
		tried = nil
		text := ""
		if err := s.Do(t.Context(), call); err != nil {
			text = err.Error()
		}
		if text != wantError || !slices.Equal(tried, want) {
			t.Errorf("Do = %q after %v, want %q after %v", text, tried, wantError, want)
		}
	}
	do("", "a")
	down["a"] = true
	do("", "a", "b")
	do("", "b") // that answered last
	down["b"], down["c"] = true, true
	do("address 2 of 3: b is down\naddress 3 of 3: c is down\naddress 1 of 3: a is down", "b", "c", "a")
	down["c"] = false
	do("", "b", "c")
}

// Who ends a call does not want the next service to be tried.
func TestDoEnds(t *testing.T) {
	ctx, cancel := context.WithCancel(t.Context())
	s := failover.Services[string]{All: []string{"a", "b"}}
	n := 0
	err := s.Do(ctx, func(string) error {
		n++
		cancel()
		return context.Canceled
	})
	if !errors.Is(err, context.Canceled) || n != 1 {
		t.Errorf("Do = %v after %d calls, want one", err, n)
	}
}
