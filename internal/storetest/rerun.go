package storetest

import (
	"context"
	"errors"
	"time"

	"github.com/berthcloud/berth/internal/racetest"
	"github.com/berthcloud/berth/rows"
)

// Rerun returns a Store that runs every function of a View and of an Update twice, as a database
// does that ends a transaction for a deadlock: what the first run of an Update wrote is rolled
// back. The tests of a service on such a Store fail when a function keeps something of its first
// run. Under the race detector, which makes the same tests ten times slower, it returns s.
func Rerun(s rows.Store) rows.Store {
	if racetest.Enabled {
		return s
	}
	return rerun{s}
}

type rerun struct{ rows.Store }

var errRerun = errors.New("storetest: the transaction is rolled back and runs again")

// View runs fn twice on one state.
func (r rerun) View(ctx context.Context, fn func(rows.Reader) error) error {
	return r.Store.View(ctx, func(reader rows.Reader) error {
		if err := fn(reader); err != nil {
			return err
		}
		return fn(reader)
	})
}

// Update runs fn in a transaction that is rolled back, and then in one that is committed.
func (r rerun) Update(ctx context.Context, now time.Time, fn func(rows.Writer) error) error {
	err := r.Store.Update(ctx, now, func(w rows.Writer) error {
		if err := fn(w); err != nil {
			return err
		}
		return errRerun
	})
	if !errors.Is(err, errRerun) {
		return err
	}
	return r.Store.Update(ctx, now, fn)
}
