package sqlstore

import (
	"errors"

	"github.com/berthcloud/berth/placement"
)

// A reader reads placement's rows in a transaction. After an error that placement.Writer
// does not declare it refuses everything.
type reader struct {
	*tx
	// progress, when not nil, is told how far a picture of everything is.
	progress func(rows, of int64)
}

var _ placement.Reader = (*reader)(nil)

// first returns the first row of an answer, ErrNoRow when there is none.
func first[T any](r *reader, read func(*row) T, query string, args ...any) (T, error) {
	v, err := firstRow(r.tx, read, query, args...)
	return v, noRow(err)
}

// noRow turns the engine's error for a missing row into placement's.
func noRow(err error) error {
	if errors.Is(err, errNoRow) {
		return placement.ErrNoRow
	}
	return err
}

// uuid reads a UUID.
func uuid(one *row, i int) placement.UUID { return placement.UUID(one.text(i)) }

// generation reads a generation.
func generation(one *row, i int) placement.Generation { return placement.Generation(one.int(i)) }
