package sqlconn

import (
	"context"
	"database/sql"
	"errors"
	"reflect"
	"strings"

	"github.com/jackc/pgx/v5"
	"github.com/jackc/pgx/v5/stdlib"
)

// postgresPipeline sends statements one behind the other without waiting for
// answers. Statements that are new to a connection cost one more round trip, in
// which they are prepared.
type postgresPipeline struct{}

// errNUL says that a text has the byte 0.
var errNUL = errors.New("a text has the byte 0, which PostgreSQL has in no text")

// exec sends the statements in one text, for which there is the simple protocol. A byte 0 would be
// the end of it.
func (postgresPipeline) exec(ctx context.Context, s *Session, query string, args []any) (sql.Result, error) {
	for _, arg := range args {
		// Arguments may be of types of the domain that are texts.
		if v := reflect.ValueOf(arg); v.Kind() == reflect.String && strings.ContainsRune(v.String(), 0) {
			return nil, errNUL
		}
	}
	return s.conn.ExecContext(ctx, s.dialect.rebind(s.joined(query)),
		append([]any{pgx.QueryExecModeSimpleProtocol}, args...)...)
}

// rows sends what waits first: rows need a round trip of their own.
func (postgresPipeline) rows(ctx context.Context, s *Session, query string, args []any) (*sql.Rows, error) {
	if _, err := s.conn.ExecContext(ctx, strings.Join(s.put, ";\n")); err != nil {
		return nil, err
	}
	return s.conn.QueryContext(ctx, s.dialect.rebind(query), args...)
}

// queryAll sends the queries as one batch and reads the answers in order.
func (p postgresPipeline) queryAll(ctx context.Context, s *Session, questions []Question) (answered bool, err error) {
	batch := p.batch(s)
	for _, q := range questions {
		if err := p.queue(batch, s, q.Statement); err != nil {
			return false, err
		}
	}
	err = p.send(ctx, s, batch, func(results pgx.BatchResults) error {
		answered = true
		for _, q := range questions {
			if err := readAll(results, q.Each); err != nil {
				return err
			}
		}
		return nil
	})
	return answered, err
}

// readAll reads the rows of one answer. Values have the types of pgx, which Row reads as well.
func readAll(results pgx.BatchResults, each func(*Row)) error {
	rows, err := results.Query()
	if err != nil {
		return err
	}
	defer rows.Close()
	one := &Row{}
	for rows.Next() {
		if one.values, err = rows.Values(); err != nil {
			return err
		}
		if each(one); one.Err != nil {
			return one.Err
		}
	}
	return rows.Err()
}

// change sends the changes as one batch. After one that fails the server skips the rest, up to the
// end of the batch.
func (p postgresPipeline) change(ctx context.Context, s *Session, changes []Statement) (counts []int64, err error) {
	batch := p.batch(s)
	for _, c := range changes {
		if err := p.queue(batch, s, c); err != nil {
			return nil, err
		}
	}
	err = p.send(ctx, s, batch, func(results pgx.BatchResults) error {
		for range changes {
			tag, err := results.Exec()
			if err != nil {
				return err
			}
			counts = append(counts, tag.RowsAffected())
		}
		return nil
	})
	return counts, err
}

// batch begins a batch with what the session has put off.
func (postgresPipeline) batch(s *Session) *pgx.Batch {
	b := &pgx.Batch{}
	for _, query := range s.put {
		b.Queue(query)
	}
	return b
}

// queue adds a statement.
func (postgresPipeline) queue(b *pgx.Batch, s *Session, st Statement) error {
	named, err := driverValues(st.Args)
	if err != nil {
		return err
	}
	args := make([]any, len(named))
	for i := range named {
		args[i] = named[i].Value
	}
	b.Queue(s.dialect.rebind(st.Query), args...)
	return nil
}

// send sends a batch and reads the answers behind those of what was put off.
func (postgresPipeline) send(ctx context.Context, s *Session, b *pgx.Batch, read func(pgx.BatchResults) error) error {
	return s.conn.Raw(func(c any) error {
		conn, ok := c.(*stdlib.Conn)
		if !ok {
			return errPipeline
		}
		results := conn.Conn().SendBatch(ctx, b)
		err := skip(results, len(s.put))
		if err == nil {
			err = read(results)
		}
		if end := results.Close(); err == nil {
			err = end
		}
		return err
	})
}

// skip reads the answers of the statements that were put off, whose errors are the error of the
// batch.
func skip(results pgx.BatchResults, n int) error {
	for range n {
		if _, err := results.Exec(); err != nil {
			return err
		}
	}
	return nil
}
