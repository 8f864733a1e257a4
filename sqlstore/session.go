package sqlstore

import (
	"context"
	"database/sql"
	"errors"

	"github.com/berthcloud/berth/placement"
)

// A session is one connection with the statements prepared on it. It is used by
// one goroutine at a time. Statements run to their end: a cancelled one would
// take the transaction of others with it, so contexts are looked at in between.
type session struct {
	conn  *sql.Conn
	d     *dialect
	ready map[string]*sql.Stmt
}

func newSession(conn *sql.Conn, d *dialect) *session {
	return &session{conn: conn, d: d, ready: map[string]*sql.Stmt{}}
}

// prepare returns the prepared form of a statement written with ? for values.
// The number of texts is bounded: lists in them have few lengths.
func (s *session) prepare(query string) (*sql.Stmt, error) {
	if st := s.ready[query]; st != nil {
		return st, nil
	}
	st, err := s.conn.PrepareContext(context.Background(), s.d.rebind(query))
	if err != nil {
		return nil, err
	}
	s.ready[query] = st
	return st, nil
}

// do runs a statement without values or rows.
func (s *session) do(query string) error {
	st, err := s.prepare(query)
	if err != nil {
		return err
	}
	_, err = st.Exec()
	return err
}

// close gives the connection up; there is nobody left to hear of an error.
func (s *session) close() {
	for _, st := range s.ready {
		_ = st.Close()
	}
	_ = s.conn.Close()
}

// errOver is what a Reader or Writer answers after its function returned.
var errOver = errors.New("sqlstore: used after its transaction")

// A reader answers from the transaction that its session is in. After an error
// that placement.Writer does not declare it refuses everything.
type reader struct {
	ses    *session
	ctx    context.Context // of the View or Update; fits in no parameter list
	over   bool
	broken error // what is answered from now on
	cause  error // the driver's error behind it
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
	st, err := r.ses.prepare(query)
	if err != nil {
		return r.fail(err)
	}
	rows, err := st.Query(args...)
	if err != nil {
		return r.fail(err)
	}
	defer rows.Close()
	return r.walk(rows, fn)
}

// walk reads rows to their end. It looks at the context now and then, since an
// answer may be large.
func (r *reader) walk(rows *sql.Rows, fn func(*row)) error {
	columns, err := rows.Columns()
	if err != nil {
		return r.fail(err)
	}
	one := newRow(len(columns))
	for n := 0; rows.Next(); n++ {
		if err := rows.Scan(one.places...); err != nil {
			return r.fail(err)
		}
		if fn(one); one.err != nil {
			return r.fail(one.err)
		}
		if n%1024 == 1023 {
			if err := r.usable(); err != nil {
				return err
			}
		}
	}
	return r.fail(rows.Err())
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
