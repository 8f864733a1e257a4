package sqlconn

import (
	"context"
	"database/sql"
	"database/sql/driver"
	"strings"

	"github.com/go-sql-driver/mysql"
)

// mysqlPipeline joins the statements of a round trip to one text, which connections
// that write are set up for.
type mysqlPipeline struct{}

func (mysqlPipeline) exec(ctx context.Context, s *Session, query string, args []any) (sql.Result, error) {
	return s.conn.ExecContext(ctx, s.joined(query), args...)
}

func (mysqlPipeline) rows(ctx context.Context, s *Session, query string, args []any) (*sql.Rows, error) {
	return s.conn.QueryContext(ctx, s.joined(query), args...)
}

// queryAll reads one result set for each question. Statements that were put off have none and are
// passed over by the driver.
func (mysqlPipeline) queryAll(ctx context.Context, s *Session, questions []Question) (answered bool, err error) {
	texts, args := make([]string, len(questions)), []any(nil)
	for i, q := range questions {
		texts[i], args = q.Query, append(args, q.Args...)
	}
	rows, err := s.conn.QueryContext(ctx, s.joined(strings.Join(texts, ";\n")), args...)
	if err != nil {
		return false, err
	}
	defer rows.Close()
	for i, q := range questions {
		if i > 0 && !rows.NextResultSet() {
			break
		}
		if err := walk(rows, q.Each); err != nil {
			return true, err
		}
	}
	return true, rows.Err()
}

// change needs the driver's own result: database/sql shows the count of one statement. Statements
// that were put off come first in the counts.
func (mysqlPipeline) change(ctx context.Context, s *Session, changes []Statement) (counts []int64, err error) {
	texts, args := make([]string, len(changes)), []any(nil)
	for i, c := range changes {
		texts[i], args = c.Query, append(args, c.Args...)
	}
	named, err := driverValues(args)
	if err != nil {
		return nil, err
	}
	before := len(s.put)
	text := s.joined(strings.Join(texts, ";\n"))
	err = s.conn.Raw(func(c any) error {
		conn, ok := c.(driver.ExecerContext)
		if !ok {
			return errPipeline
		}
		result, err := conn.ExecContext(ctx, text, named)
		if err != nil {
			return err
		}
		all, ok := result.(mysql.Result)
		if !ok {
			return errPipeline
		}
		counts = all.AllRowsAffected()[before:]
		return nil
	})
	return counts, err
}
