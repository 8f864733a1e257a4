package sqlconn

import (
	"cmp"
	"context"
	"database/sql"
	"database/sql/driver"
	"errors"
	"strings"
	"time"
)

// What a transaction sends to a server goes in few round trips:
// statements without an answer worth waiting for are put off and go with the
// next one, and several queries, or several changes, are sent
// together. A server runs the statements of a round trip in order and stops at the
// first that fails.
//
// A node of a Galera cluster does not: it may roll a transaction back, for one of
// another node's, between two statements of a round trip, and run the rest of them
// outside of any. There each statement goes alone, and has that error itself.

// A Statement is one with its values.
type Statement struct {
	Query string
	Args  []any
}

// A Question is a statement whose rows are read.
type Question struct {
	Statement
	Each func(*Row)
}

// Later puts off a statement without values or rows until the next is sent. What
// comes of it is the error of that one.
func (s *Session) Later(query string) error {
	if !s.Pipelined() {
		return s.Do(query)
	}
	s.put = append(s.put, query)
	return nil
}

// Opening says that the next round trip is the first of a transaction, or of a reading without one.
// When it finds that the connection was lost while it was idle, it is sent again on a new one.
func (s *Session) Opening() { s.opening = true }

// Begin connects and begins a transaction.
func (s *Session) Begin(ctx context.Context, statement string) error {
	if err := s.Connect(ctx); err != nil {
		return err
	}
	s.put, s.opening = nil, true
	return s.Do(statement)
}

// BeginLater is Begin for a statement that is put off until the next one where the session sends
// several at once.
func (s *Session) BeginLater(ctx context.Context, statement string) error {
	if !s.Pipelined() {
		return s.Begin(ctx, statement)
	}
	if err := s.Connect(ctx); err != nil {
		return err
	}
	s.put, s.opening = append(s.put[:0], statement), true
	return nil
}

// Untouched reports whether a transaction was begun of which the server does not
// know yet.
func (s *Session) Untouched() bool { return s.opening }

// Forget drops what was put off.
func (s *Session) Forget() { s.put, s.opening = nil, false }

// Flush sends what was put off.
func (s *Session) Flush() error {
	if len(s.put) == 0 {
		return nil
	}
	last := len(s.put) - 1
	query := s.put[last]
	s.put = s.put[:last]
	return s.Do(query)
}

// joined is a statement behind those that were put off.
func (s *Session) joined(query string) string {
	if len(s.put) == 0 {
		return query
	}
	return strings.Join(s.put, ";\n") + ";\n" + query
}

// pipeline is how the session sends several statements at once, nil when it does
// not.
func (s *Session) pipeline() pipeline {
	if s.place.Single {
		return nil
	}
	return s.dialect.pipeline
}

// Pipelined reports whether several statements go in one round trip.
func (s *Session) Pipelined() bool { return s.pipeline() != nil }

// DoAll runs several statements, which are one text, in one round trip.
func (s *Session) DoAll(text string, args ...any) error {
	return s.attempt(func(w *watch) (bool, error) {
		_, err := s.pipeline().exec(w.ctx, s, text, args)
		return err == nil, err
	})
}

// Script runs statements without values or rows in their order, in one round trip where the session
// sends several at once. Otherwise it reports how many have run after each. Any number of them may
// have run when it fails.
func (s *Session) Script(statements []string, report func(done int)) error {
	if s.Pipelined() {
		return s.DoAll(strings.Join(statements, ";\n"))
	}
	for i, statement := range statements {
		if err := s.Do(statement); err != nil {
			return err
		}
		report(i + 1)
	}
	return nil
}

// attempt sends statements, with what was put off, and watches over it. Send says
// whether there was any answer. The first round trip of a transaction is sent once more, on a new
// connection, when the server had closed the old one while it was idle: nothing of it has run.
func (s *Session) attempt(send func(*watch) (answered bool, err error)) error {
	if s.conn == nil {
		return sql.ErrConnDone
	}
	var start time.Time
	if s.opening {
		start = time.Now()
	}
	w := s.watch()
	answered, err := send(w)
	err = s.ended(w, err)
	if err != nil && s.opening && !answered && s.dead && !s.Fresh(start) {
		if lost := s.Connect(context.Background()); lost != nil || len(s.put) > 0 && !s.Pipelined() {
			s.Forget()
			return cmp.Or(lost, err)
		}
		w := s.watch()
		_, err = send(w)
		err = s.ended(w, err)
	}
	s.Forget()
	return err
}

// queryAll sends several queries at once. Without a pipeline they are sent one after the other, and
// the first error ends it.
func (s *Session) queryAll(questions []Question) error {
	if !s.Pipelined() {
		for _, q := range questions {
			err := s.query(func(rows *sql.Rows, _ *watch) error { return walk(rows, q.Each) }, q.Query, q.Args...)
			if err != nil {
				return err
			}
		}
		return nil
	}
	return s.attempt(func(w *watch) (bool, error) { return s.pipeline().queryAll(w.ctx, s, questions) })
}

// walk calls fn with all rows of an answer.
func walk(rows *sql.Rows, fn func(*Row)) error {
	columns, err := rows.Columns()
	if err != nil {
		return err
	}
	one := newRow(columns, nil)
	for rows.Next() {
		if err := rows.Scan(one.places...); err != nil {
			return err
		}
		if fn(one); one.Err != nil {
			return one.Err
		}
	}
	return rows.Err()
}

// Change makes several changes at once and returns how many rows each changed.
// On a server all are made when one changes less than it should, and none after
// one that fails.
func (s *Session) Change(changes []Statement) (counts []int64, err error) {
	if s.Pipelined() {
		err = s.attempt(func(w *watch) (answered bool, err error) {
			counts, err = s.pipeline().change(w.ctx, s, changes)
			return counts != nil, err
		})
		return counts, err
	}
	for _, c := range changes {
		result, err := s.Exec(c.Query, c.Args...)
		if err != nil {
			return counts, err
		}
		n, err := result.RowsAffected()
		if err != nil {
			return counts, err
		}
		counts = append(counts, n)
	}
	return counts, nil
}

// pipeline is how a server's driver sends statements in one round trip with, and
// behind, what the session has put off.
type pipeline interface {
	// exec runs a statement, or several that are one text; the result is the
	// last one's.
	exec(ctx context.Context, s *Session, query string, args []any) (sql.Result, error)
	rows(ctx context.Context, s *Session, query string, args []any) (*sql.Rows, error)
	queryAll(ctx context.Context, s *Session, questions []Question) (answered bool, err error)
	change(ctx context.Context, s *Session, changes []Statement) ([]int64, error)
}

// driverValues turns arguments into what drivers take, as database/sql does. Batches go around
// database/sql, which otherwise converts them.
func driverValues(args []any) ([]driver.NamedValue, error) {
	named := make([]driver.NamedValue, len(args))
	for i, a := range args {
		v, err := driver.DefaultParameterConverter.ConvertValue(a)
		if err != nil {
			return nil, err
		}
		named[i] = driver.NamedValue{Ordinal: i + 1, Value: v}
	}
	return named, nil
}

// errPipeline says that a driver is not what it is believed to be.
var errPipeline = errors.New("sqlstore: the driver cannot send several statements at once")
