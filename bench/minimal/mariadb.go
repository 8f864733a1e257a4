package minimal

import (
	"context"
	"database/sql"
	"errors"
	"time"

	_ "github.com/go-sql-driver/mysql" // registers "mysql"
)

// MariaDB returns transactions per second of so many clients, each with a
// connection and providers of its own, so that none waits for another's lock. A
// transaction is four round trips: there is no BEGIN.
func MariaDB(ctx context.Context, dsn string, n int, span time.Duration) (rate float64, err error) {
	db, err := sql.Open("mysql", dsn)
	if err != nil {
		return 0, err
	}
	defer func() { err = errors.Join(err, db.Close()) }()
	b, err := read(ctx, db)
	if err != nil {
		return 0, err
	}
	sessions, commits := make([]session, n), make([]*sql.Stmt, n)
	for i := range sessions {
		if sessions[i], err = prepare(ctx, db); err != nil {
			return 0, err
		}
		conn := sessions[i].conn
		if _, err := conn.ExecContext(ctx, `SET autocommit = 0`); err != nil {
			return 0, err
		}
		if commits[i], err = conn.PrepareContext(ctx, `COMMIT`); err != nil {
			return 0, err
		}
	}
	next := make([]int, n)
	return clients(n, span, func(client int) error {
		p := &b.providers[(client+n*next[client])%(len(b.providers)/n*n)]
		next[client]++
		if err := sessions[client].write(ctx, &b, p); err != nil {
			return err
		}
		_, err := commits[client].ExecContext(ctx)
		return err
	})
}
