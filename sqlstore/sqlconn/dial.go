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

// idleForLong makes a server accept transactions without statements for any time.
func (d *Dialect) idleForLong(ctx context.Context, conn *sql.Conn) error {
	if d.unlimitedIdle == "" {
		return nil
	}
	_, err := conn.ExecContext(ctx, d.unlimitedIdle)
	if mysqlCode(err) == 1193 {
		return nil // only MariaDB has it
	}
	return err
}
