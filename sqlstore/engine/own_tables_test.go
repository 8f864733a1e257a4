package engine

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"testing"
	"testing/synctest"

	"github.com/berthcloud/berth/fault"
)

// TestAmongRivals prepares tables with errors that other instances cause, and others.
func TestAmongRivals(t *testing.T) {
	creating := fmt.Errorf("%w: duplicate entry", ErrCreating)
	busy := fault.New(fault.Unavailable, "", "deadlock")
	foreign := Foreign("it has a table x")
	other := errors.New("no permission")
	for _, tc := range []struct {
		name   string
		errs   []error
		tries  int
		result error
	}{
		{"at once", nil, 1, nil},
		{"tables exist", []error{creating}, 2, nil},
		{"tables appear", []error{foreign}, 2, nil},
		{"a deadlock, then tables exist", []error{busy, creating}, 3, nil},
		{"tables exist, then something else", []error{creating, other}, 3, nil},
		{"no permission", []error{other}, 1, other},
		{"for ever", slices.Repeat([]error{creating}, 2*schemaTries), schemaTries, creating},
	} {
		synctest.Test(t, func(t *testing.T) {
			tries := 0
			err := amongRivals(context.Background(), func() error {
				if tries++; tries > len(tc.errs) {
					return nil
				}
				return tc.errs[tries-1]
			})
			if !errors.Is(err, tc.result) || (err == nil) != (tc.result == nil) || tries != tc.tries {
				t.Errorf("%s: %v after %d tries, want %v after %d", tc.name, err, tries, tc.result, tc.tries)
			}
		})
	}
}
