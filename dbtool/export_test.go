package dbtool

import (
	"context"
	"testing"

	"github.com/berthcloud/berth/sqlstore/sqlconn"
)

// SmallPages makes pages of 200 rows for a test, so that a small cloud has several.
func SmallPages(tb testing.TB) {
	before := pageRows
	pageRows = 200
	tb.Cleanup(func() { pageRows = before })
}

// Exec runs statements in one transaction, each with its values.
func (t *Tables) Exec(ctx context.Context, statements ...[]any) error {
	return t.Write(ctx, func(w *sqlconn.Tx) error {
		for _, s := range statements {
			if _, err := w.Exec(s[0].(string), s[1:]...); err != nil {
				return err
			}
		}
		return nil
	})
}

// Numbers returns the first column of an answer.
func (t *Tables) Numbers(ctx context.Context, query string) (all []int64, err error) {
	err = t.Read(ctx, func(r *sqlconn.Tx) error {
		all, err = sqlconn.List(r, sqlconn.Integer, query)
		return err
	})
	return all, err
}
