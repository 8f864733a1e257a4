package sqlstore

import (
	"cmp"
	"context"
	"database/sql"
	"database/sql/driver"
	"errors"
	"strings"
	"time"
)

// What a transaction sends to a server goes in few packets, each a round trip:
// statements without an answer worth waiting for are put off and go with the
// next one, and several questions, or several changes, are asked and made
// together. A server runs the statements of a packet in order and stops at the
// first that fails.
//
// A node of a Galera cluster does not: it may roll a transaction back, for one of
// another node's, between two statements of a packet, and run the rest of them
// outside of any. There each statement goes alone, and has that error itself.

// A statement is one with its values.
type statement struct {
	query string
	args  []any
}

// A question is a statement whose rows are read.
type question struct {
	statement
	each func(*row)
}

// later puts off a statement without values or rows until the next is sent. What
// comes of it is told then.
func (s *session) later(query string) error {
	if !s.pipelined() {
		return s.do(query)
	}
	s.put = append(s.put, query)
	return nil
}

// beginLater is later for the statement that begins a transaction. When the next
// packet finds that the connection was lost while it was idle, it is sent again
// on a new one. It is for sessions that have packets.
func (s *session) beginLater(query string) {
	s.put, s.opening = append(s.put[:0], query), true
}

// untouched reports whether a transaction was begun of which the server does not
// know yet.
func (s *session) untouched() bool { return s.opening }

// forget drops what was put off.
func (s *session) forget() { s.put, s.opening = nil, false }

// flush sends what was put off.
func (s *session) flush() error {
	if len(s.put) == 0 {
		return nil
	}
	last := len(s.put) - 1
	query := s.put[last]
	s.put = s.put[:last]
	return s.do(query)
}

// joined is a statement behind those that were put off.
func (s *session) joined(query string) string {
	if len(s.put) == 0 {
		return query
	}
	return strings.Join(s.put, ";\n") + ";\n" + query
}

// packets is how the session sends several statements at once, nil when it does
// not.
func (s *session) packets() packets {
	if s.single {
		return nil
	}
	return s.d.packets
}

// pipelined reports whether several statements go in one packet.
func (s *session) pipelined() bool { return s.packets() != nil }

// doAll runs several statements, which are one text, in one packet.
func (s *session) doAll(text string, args ...any) error {
	return s.attempt(func(w *watch) (bool, error) {
		_, err := s.packets().exec(w.ctx, s, text, args)
		return err == nil, err
	})
}

// attempt sends a packet, with what was put off, and watches over it. Send says
// whether there was any answer.
func (s *session) attempt(send func(*watch) (answered bool, err error)) error {
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
	if err != nil && s.opening && !answered && s.dead && !s.fresh(start) {
		if lost := s.connect(context.Background()); lost != nil || !s.pipelined() {
			s.forget()
			return cmp.Or(lost, err)
		}
		w := s.watch()
		_, err = send(w)
		err = s.ended(w, err)
	}
	s.forget()
	return err
}

// ask asks several questions at once.
func (s *session) ask(questions []question) error {
	if !s.pipelined() {
		for _, q := range questions {
			if err := s.query(func(rows *sql.Rows, _ *watch) error { return walk(rows, q.each) }, q.query, q.args...); err != nil {
				return err
			}
		}
		return nil
	}
	return s.attempt(func(w *watch) (bool, error) { return s.packets().ask(w.ctx, s, questions) })
}

// walk calls fn with all rows of an answer.
func walk(rows *sql.Rows, fn func(*row)) error {
	columns, err := rows.Columns()
	if err != nil {
		return err
	}
	one := newRow(len(columns))
	for rows.Next() {
		if err := rows.Scan(one.places...); err != nil {
			return err
		}
		if fn(one); one.err != nil {
			return one.err
		}
	}
	return rows.Err()
}

// change makes several changes at once and returns how many rows each changed.
// On a server all are made when one changes less than it should, and none after
// one that fails.
func (s *session) change(changes []statement) (counts []int64, err error) {
	if s.pipelined() {
		err = s.attempt(func(w *watch) (answered bool, err error) {
			counts, err = s.packets().change(w.ctx, s, changes)
			return counts != nil, err
		})
		return counts, err
	}
	for _, c := range changes {
		result, err := s.exec(c.query, c.args...)
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

// packets is how a server's driver sends statements in one packet with, and
// behind, what the session has put off.
type packets interface {
	// exec runs a statement, or several that are one text; the result is the
	// last one's.
	exec(ctx context.Context, s *session, query string, args []any) (sql.Result, error)
	rows(ctx context.Context, s *session, query string, args []any) (*sql.Rows, error)
	ask(ctx context.Context, s *session, questions []question) (answered bool, err error)
	change(ctx context.Context, s *session, changes []statement) ([]int64, error)
}

// values turns arguments into what drivers take, as database/sql does.
func values(args []any) ([]driver.NamedValue, error) {
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

// errPacket says that a driver is not what it is believed to be.
var errPacket = errors.New("sqlstore: the driver cannot send several statements at once")
