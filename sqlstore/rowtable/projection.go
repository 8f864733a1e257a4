package rowtable

import (
	"fmt"
	"slices"

	"github.com/berthcloud/berth/rows"
	"github.com/berthcloud/berth/sqlstore/sqlconn"
)

// A projection reads some columns of a table that has rows of another type. It has no rows of its
// own: it cannot be written.
type projection[T any] struct{ *table[T] }

// project returns the projection of some columns of a table: a row of it has a row of the table, of
// which the other columns are empty. More are columns of the table that such a row has in fields of
// its own.
func project[T, R any](t *table[R], row func(*T) *R, names []string, more ...column[T]) projection[T] {
	columns := make([]column[T], len(names))
	for i, name := range names {
		at := slices.IndexFunc(t.columns, func(c column[R]) bool { return c.name == name })
		c := t.columns[at]
		columns[i] = column[T]{
			name: c.name, by: c.by, sum: c.sum, time: c.time, stamp: c.stamp, null: c.null,
			get: func(r *T) any { return c.get(row(r)) },
			set: func(r *T, values *sqlconn.Row, i int) { c.set(row(r), values, i) },
		}
	}
	key := make([]string, len(t.key))
	for i, c := range t.key {
		key[i] = c.name
	}
	return projection[T]{newTable(t.name, key, columns, more...)}
}

func (p projection[T]) insert(*sqlconn.Tx, any) error { return p.refusal() }

func (p projection[T]) replace(*sqlconn.Tx, any) error { return p.refusal() }

func (p projection[T]) remove(*sqlconn.Tx, []rows.Match) (int, error) { return 0, p.refusal() }

func (p projection[T]) refusal() error {
	var row T
	return fmt.Errorf("sqlstore: %T has not all of a row of %s, and is not written", row, p.name)
}
