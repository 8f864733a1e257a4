package sqlstore

import (
	"context"
	"database/sql"
	"errors"

	"github.com/berthcloud/berth/placement"
)

// errOver is what a Reader or Writer answers after its function returned.
var errOver = errors.New("sqlstore: used after its transaction")

// A reader answers from the transaction that its session is in. After an error
// that placement.Writer does not declare it refuses everything.
type reader struct {
	ses    *session
	store  *engine         // of a View, nil in an Update
	ctx    context.Context // of the View or Update; fits in no parameter list
	trace  Trace
	over   bool
	broken error // what is answered from now on
	cause  error // the driver's error behind it
	// progress, when not nil, is told how far a picture of everything is;
	// heard, then, of rows as they come.
	progress func(rows, of int64)
	heard    func(rows int)
}

var _ placement.Reader = (*reader)(nil)

// usable returns why nothing can be asked any more, or nil.
func (r *reader) usable() error {
	if r.over {
		return errOver
	}
	if r.broken == nil && r.ctx.Err() != nil {
		r.broken = r.ctx.Err()
	}
	return r.broken
}

// fail notes a driver's error and returns what may leave the package.
func (r *reader) fail(err error) error {
	if err == nil {
		return nil
	}
	r.cause, r.broken = err, r.ses.d.translate("asking the database", err)
	return r.broken
}

// each calls fn with each row of the answer.
func (r *reader) each(fn func(*row), query string, args ...any) error {
	if err := r.usable(); err != nil {
		return err
	}
	var left error // the caller's context ended
	end := r.trace.begin(r.ctx, query)
	err := r.ses.query(func(rows *sql.Rows, w *watch) (err error) {
		left, err = r.walk(rows, w, fn)
		return err
	}, query, args...)
	end(err)
	if err == nil && left != nil {
		return left
	}
	return r.fail(err)
}

// rowsBetween is how many rows are read between two looks at the clock.
const rowsBetween = 1024

// walk reads rows to their end. It looks at the context now and then, since an
// answer may be large, and returns apart from the driver's errors that it ended.
func (r *reader) walk(rows *sql.Rows, w *watch, fn func(*row)) (left, err error) {
	columns, err := rows.Columns()
	if err != nil {
		return nil, err
	}
	one := newRow(len(columns))
	n := 0
	for ; rows.Next(); n++ {
		if err := rows.Scan(one.places...); err != nil {
			return nil, err
		}
		if fn(one); one.err != nil {
			return nil, one.err
		}
		if n%rowsBetween == rowsBetween-1 {
			w.heard()
			r.tell(rowsBetween)
			if left := r.usable(); left != nil {
				return left, nil
			}
		}
	}
	r.tell(n % rowsBetween)
	return nil, rows.Err()
}

func (r *reader) tell(rows int) {
	if r.heard != nil {
		r.heard(rows)
	}
}

// list collects the rows of an answer.
func list[T any](r *reader, read func(*row) T, query string, args ...any) ([]T, error) {
	var all []T
	err := r.each(func(one *row) { all = append(all, read(one)) }, query, args...)
	return all, err
}

// first returns the first row of an answer, ErrNoRow when there is none.
func first[T any](r *reader, read func(*row) T, query string, args ...any) (T, error) {
	all, err := list(r, read, query, args...)
	if err == nil && len(all) == 0 {
		err = placement.ErrNoRow
	}
	if err != nil {
		var none T
		return none, err
	}
	return all[0], nil
}

// exists reports whether an answer has a row.
func (r *reader) exists(query string, args ...any) (bool, error) {
	found := false
	err := r.each(func(*row) { found = true }, query, args...)
	return found, err
}

// integer reads the first column of a row.
func integer(one *row) int64 { return one.int(0) }
