package sqlconn

import (
	"context"
	"database/sql"
	"fmt"
)

// NewDialer returns the dialer of a server and its dialect. It fails when the settings are wrong,
// without connecting.
func NewDialer(server Server) (*Dialect, Dialer, error) {
	if server.Dialer != nil {
		d, dialer := server.Dialer()
		return d, dialer, nil
	}
	switch server.Dialect {
	case MySQL:
		dial, err := newMySQLDialer(server)
		if err != nil {
			return MySQLDialect, nil, err
		}
		return MySQLDialect, dial, nil
	case PostgreSQL:
		dial, err := newPostgresDialer(server)
		if err != nil {
			return PostgreSQLDialect, nil, err
		}
		return PostgreSQLDialect, dial, nil
	}
	return SQLiteDialect, nil, fmt.Errorf("there is no dialect %q", server.Dialect)
}

// IdleForLong makes a server accept transactions without statements for any time.
func IdleForLong(ctx context.Context, d *Dialect, conn *sql.Conn) error {
	if d == PostgreSQLDialect {
		_, err := conn.ExecContext(ctx, "SET idle_in_transaction_session_timeout = 0")
		return err
	}
	_, err := conn.ExecContext(ctx, "SET SESSION idle_transaction_timeout = 0")
	if mysqlCode(err) == 1193 {
		return nil // only MariaDB has it
	}
	return err
}
