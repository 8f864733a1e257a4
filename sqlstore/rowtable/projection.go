package rowtable

import (
	"fmt"

	"github.com/berthcloud/berth/rows"
	"github.com/berthcloud/berth/sqlstore/sqlconn"
)

// A projection reads some columns of a table that has rows of another type. It has no rows of its own: it cannot be written.
type projection[T any] struct{ *table[T] }

// project returns the projection of a table.
func project[T any](name string, key []string, columns ...column[T]) projection[T] {
	return projection[T]{newTable(name, key, nil, columns...)}
}

func (p projection[T]) insert(*sqlconn.Tx, any) error { return p.refusal() }

func (p projection[T]) replace(*sqlconn.Tx, any) error { return p.refusal() }

func (p projection[T]) remove(*sqlconn.Tx, []rows.Match) (int, error) { return 0, p.refusal() }

func (p projection[T]) refusal() error {
	var row T
	return fmt.Errorf("sqlstore: %T has not all of a row of %s, and is not written", row, p.name)
}
