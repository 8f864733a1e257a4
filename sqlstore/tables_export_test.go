package sqlstore

import (
	"context"
	"testing"
)

// SmallPages makes pages of 200 rows for a test, so that a small world has several.
func SmallPages(tb testing.TB) {
	before := pageRows
	pageRows = 200
	tb.Cleanup(func() { pageRows = before })
}

// Exec runs statements in one transaction, each with its values.
func (t *Tables) Exec(ctx context.Context, statements ...[]any) error {
	return t.write(ctx, func(w *tx) error {
		for _, s := range statements {
			if _, err := w.exec(s[0].(string), s[1:]...); err != nil {
				return err
			}
		}
		return nil
	})
}

// Numbers returns the first column of an answer.
func (t *Tables) Numbers(ctx context.Context, query string) (all []int64, err error) {
	err = t.read(ctx, func(r *tx) error {
		all, err = list(r, integer, query)
		return err
	})
	return all, err
}
