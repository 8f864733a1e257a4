package sqlconn

import (
	"context"
	"database/sql"
	"errors"
	"fmt"
	"strconv"
	"strings"
	"sync"
	"time"

	"github.com/jackc/pgx/v5/pgconn"
	"github.com/jackc/pgx/v5/stdlib"
)

// PostgreSQLDialect is PostgreSQL as pgx speaks it.
var PostgreSQLDialect = &Dialect{
	Name:      "postgresql",
	Shared:    true,
	pipeline:  postgresPipeline{},
	Precision: time.Microsecond,
	rebind:    numbered(),
	returning: true,
	Clauses: Clauses{
		Begin:     "BEGIN ISOLATION LEVEL READ COMMITTED READ WRITE",
		BeginRead: "BEGIN ISOLATION LEVEL REPEATABLE READ READ ONLY",
		// It need not keep others from pointing at the row: a foreign key that is
		// checked once more, as it is when a row changes twice, must not wait.
		LockRow: `
FOR NO KEY UPDATE`,
		ShareRow: `
FOR SHARE`,
		Now:     "TIMEZONE('UTC', NOW())",
		HourAgo: "TIMEZONE('UTC', NOW()) - INTERVAL '1 hour'",
		// NOW would be when the transaction began.
		WithClock: "CAST(? AS TEXT) || TO_CHAR(CLOCK_TIMESTAMP() AT TIME ZONE 'UTC', 'YYYY-MM-DD HH24:MI:SS.US')",
		OnConflict: `
ON CONFLICT DO NOTHING`,
		unlimitedIdle: "SET idle_in_transaction_session_timeout = 0",
		Demoted:       "CASE WHEN pg_is_in_recovery() THEN 1 ELSE 0 END",
	},
	Catalog: Catalog{
		hasTable: `
SELECT 1
FROM information_schema.tables
WHERE table_schema = CURRENT_SCHEMA() AND table_name = ?`,
		Tables: `
SELECT table_name
FROM information_schema.tables
WHERE table_schema = CURRENT_SCHEMA() AND table_name NOT LIKE 'berth\_%'
ORDER BY table_name`,
	},
	Errors: Errors{
		Exists:    func(error) bool { return false },
		Duplicate: func(err error) bool { return postgresCode(err) == "23505" },
		Locked:    func(err error) bool { return postgresCode(err) == "55P03" },
		Orphan:    func(err error) bool { return postgresCode(err) == "23503" },
		Retryable: func(err error) bool {
			switch postgresCode(err) {
			case "40001", "40P01", // serialization, deadlock
				"55P03", // lock timeout
				"23503": // another transaction inserted or deleted what a foreign key refers to
				return true
			}
			return false
		},
		Lost: func(err error) bool {
			code := postgresCode(err)
			switch code {
			case "57P01", "57P02", "57P03", "57P05", // shutdown, crash, starting up, idle for too long
				"25P03", // idle in a transaction for too long
				"25006": // read-only: no longer the primary
				return true
			}
			if strings.HasPrefix(code, "08") || errors.Is(err, ErrConnecting) {
				return true
			}
			return code == "" &&
				(connectionFailed(err) || pgconn.SafeToRetry(err) || strings.Contains(err.Error(), "conn closed"))
		},
		Unavailable: func(err error) bool {
			code := postgresCode(err)
			return strings.HasPrefix(code, "53") || strings.HasPrefix(code, "58") || code == "57014"
		},
		Full: func(err error) bool { return postgresCode(err) == "53100" },
		// What the encoding of the database lacks, and the byte 0, which no encoding has.
		Unstorable: func(err error) bool {
			return postgresCode(err) == "22P05" || postgresCode(err) == "22021" || errors.Is(err, errNUL)
		},
		ReadOnly: func(err error) bool {
			return postgresCode(err) == "25006" ||
				errors.Is(err, ErrConnecting) && strings.Contains(err.Error(), readOnlyConnection)
		},
		Advice: func(err error, known Naming) string {
			switch postgresCode(err) {
			case "28P01", "28000":
				return "check user and password in [" + known.Section + "] connection, and the server's pg_hba.conf"
			case "42501":
				return "grant the user the right to create tables, once, for Berth's own: GRANT CREATE ON SCHEMA public TO …"
			case "3D000":
				return "create the database first: CREATE DATABASE " + known.Database
			}
			if strings.Contains(err.Error(), readOnlyConnection) {
				return "this server is read-only: name the primary in [" + known.Section + "] connection"
			}
			return ""
		},
	},
}

// readOnlyConnection is in pgx's error when no host takes writes, which has no type.
const readOnlyConnection = "read only connection"

// postgresCode returns the SQLSTATE in err, empty when there is none.
func postgresCode(err error) string {
	var e *pgconn.PgError
	if errors.As(err, &e) {
		return e.Code
	}
	return ""
}

// numbered returns a function that turns ? into $1, $2 and so on, outside of
// quotes, and remembers what it did: there are few statements.
func numbered() func(string) string {
	var known sync.Map
	return func(query string) string {
		if done, ok := known.Load(query); ok {
			return done.(string)
		}
		var b strings.Builder
		n, quoted := 0, false
		for _, c := range query {
			switch {
			case c == '\'':
				quoted = !quoted
			case c == '?' && !quoted:
				n++
				b.WriteString("$" + strconv.Itoa(n))
				continue
			}
			b.WriteRune(c)
		}
		known.Store(query, b.String())
		return b.String()
	}
}

// A postgresDialer connects to the first of several servers that takes writes;
// pgx looks for it.
type postgresDialer struct{ db *sql.DB }

// Dial connects to the first host that takes writes and sets the time-outs of the session: the
// server itself ends a wait for a lock, and a transaction whose client is silent. Roles make no
// difference.
func (d *postgresDialer) Dial(ctx context.Context, _ Role) (*sql.Conn, Place, error) {
	ctx, cancel := context.WithTimeout(ctx, 4*connectTimeout)
	defer cancel()
	conn, err := d.db.Conn(ctx)
	if err != nil {
		return nil, Place{}, err
	}
	// Several statements in one text need strings of the standard kind.
	if _, err := conn.ExecContext(ctx, fmt.Sprintf(
		"SET standard_conforming_strings = on; SET lock_timeout = %d; SET idle_in_transaction_session_timeout = %d",
		LockWait.Milliseconds(), idleTransaction.Milliseconds())); err != nil {
		_ = conn.Close()
		return nil, Place{}, err
	}
	at := Place{Nowait: true}
	err = conn.Raw(func(c any) error {
		at.Host = c.(*stdlib.Conn).Conn().PgConn().Conn().RemoteAddr().String()
		return nil
	})
	return conn, at, err
}

func (d *postgresDialer) Close() error { return d.db.Close() }
