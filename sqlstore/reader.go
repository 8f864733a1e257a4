package sqlstore

import (
	"errors"

	"github.com/berthcloud/berth/placement"
	"github.com/berthcloud/berth/sqlstore/sqlconn"
)

// A reader reads placement's rows in a transaction. After an error that placement.Writer
// does not declare it refuses everything.
type reader struct {
	*sqlconn.Tx
	// progress, when not nil, is called with how many of all rows were read, while all are.
	progress func(rows, values int64)
}

var _ placement.Reader = (*reader)(nil)

// first returns the first row of an answer, ErrNoRow when there is none.
func first[T any](r *reader, read func(*sqlconn.Row) T, query string, args ...any) (T, error) {
	v, err := sqlconn.First(r.Tx, read, query, args...)
	return v, noRow(err)
}

// noRow turns the engine's error for a missing row into placement's.
func noRow(err error) error {
	if errors.Is(err, sqlconn.ErrNoRow) {
		return placement.ErrNoRow
	}
	return err
}

// uuid reads a UUID.
func uuid(one *sqlconn.Row, i int) placement.UUID { return placement.UUID(one.Text(i)) }

// generation reads a generation.
func generation(one *sqlconn.Row, i int) placement.Generation {
	return placement.Generation(one.Int(i))
}
