package sqlstore

import (
	"context"
	"database/sql"
	"database/sql/driver"
	"strings"

	"github.com/go-sql-driver/mysql"
)

// mysqlPackets joins the statements of a packet to one text, which connections
// that write are set up for.
type mysqlPackets struct{}

func (mysqlPackets) exec(ctx context.Context, s *session, query string, args []any) (sql.Result, error) {
	return s.conn.ExecContext(ctx, s.joined(query), args...)
}

func (mysqlPackets) rows(ctx context.Context, s *session, query string, args []any) (*sql.Rows, error) {
	return s.conn.QueryContext(ctx, s.joined(query), args...)
}

func (mysqlPackets) ask(ctx context.Context, s *session, questions []question) (answered bool, err error) {
	texts, args := make([]string, len(questions)), []any(nil)
	for i, q := range questions {
		texts[i], args = q.query, append(args, q.args...)
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
		if err := walk(rows, q.each); err != nil {
			return true, err
		}
	}
	return true, rows.Err()
}

func (mysqlPackets) change(ctx context.Context, s *session, changes []statement) (counts []int64, err error) {
	texts, args := make([]string, len(changes)), []any(nil)
	for i, c := range changes {
		texts[i], args = c.query, append(args, c.args...)
	}
	named, err := values(args)
	if err != nil {
		return nil, err
	}
	before := len(s.put)
	text := s.joined(strings.Join(texts, ";\n"))
	err = s.conn.Raw(func(c any) error {
		conn, ok := c.(driver.ExecerContext)
		if !ok {
			return errPacket
		}
		result, err := conn.ExecContext(ctx, text, named)
		if err != nil {
			return err
		}
		all, ok := result.(mysql.Result)
		if !ok {
			return errPacket
		}
		counts = all.AllRowsAffected()[before:]
		return nil
	})
	return counts, err
}
