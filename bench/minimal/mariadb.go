package minimal

import (
	"context"
	"database/sql"
	"errors"
	"time"

	_ "github.com/go-sql-driver/mysql" // registers "mysql"
)

// MariaDB returns transactions per second of n clients, each with its own connection and providers,
// so that none waits for another's lock. Claims and releases alternate; each is four round trips:
// there is no BEGIN.
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
	sessions := make([]committing, n)
	for i := range sessions {
		if sessions[i], err = prepareCommitting(ctx, db); err != nil {
			return 0, err
		}
	}
	next := make([]int, n)
	return clients(n, span, func(client int) error {
		p := &b.providers[(client+n*(next[client]/2))%(len(b.providers)/n*n)]
		next[client]++
		if err := sessions[client].write(ctx, &b, p); err != nil {
			return err
		}
		_, err := sessions[client].commit.ExecContext(ctx)
		return err
	})
}

// A committing session begins a transaction with its first statement.
type committing struct {
	session
	commit *sql.Stmt
}

func prepareCommitting(ctx context.Context, db *sql.DB) (c committing, err error) {
	if c.session, err = prepare(ctx, db); err != nil {
		return c, err
	}
	if _, err = c.conn.ExecContext(ctx, `SET autocommit = 0`); err != nil {
		return c, err
	}
	c.commit, err = c.conn.PrepareContext(ctx, `COMMIT`)
	return c, err
}
