package dbtest

import (
	"context"
	"database/sql"
	"errors"
	"fmt"
	"net/url"
	"path/filepath"
	"strconv"
	"strings"
	"syscall"
	"time"

	"github.com/go-sql-driver/mysql"
)

// mariaDB is MariaDB's server, with the character set that Debian configures.
type mariaDB struct{}

func (mariaDB) name() string               { return "MariaDB" }
func (mariaDB) packages() string           { return "mariadb-server" }
func (mariaDB) account() string            { return "mysql" }
func (mariaDB) stopSignal() syscall.Signal { return syscall.SIGTERM }

func (mariaDB) dropSignal() syscall.Signal { return syscall.SIGKILL }

func (mariaDB) program() (string, error) { return newest("mariadbd", "/usr/sbin", "/usr/libexec") }

// redoLog is smaller than the default, which would be most of the data that is copied for each
// server.
const redoLog = "--innodb-log-file-size=16M"

func (m mariaDB) initialise(data, password string) error {
	installer, err := newest("mariadb-install-db", "/usr/bin")
	if err != nil {
		return err
	}
	admin := fmt.Sprintf("FLUSH PRIVILEGES;\n"+
		"CREATE USER '%[1]s'@'127.0.0.1' IDENTIFIED BY '%[2]s';\n"+
		"GRANT ALL ON *.* TO '%[1]s'@'127.0.0.1' WITH GRANT OPTION;\n", administrator, password)
	return withSecretFile(m, filepath.Dir(data), admin, func(path string) error {
		cmd, err := command(m, data, installer, "--no-defaults", "--datadir="+data, "--skip-test-db",
			"--skip-name-resolve", "--extra-file="+path, redoLog)
		if err != nil {
			return err
		}
		return run(cmd)
	})
}

func (mariaDB) arguments(data string, port int) []string {
	return []string{
		"--no-defaults", "--datadir=" + data, "--tmpdir=" + data,
		"--bind-address=127.0.0.1", "--port=" + strconv.Itoa(port),
		"--socket=socket", "--pid-file=pid", // in the data directory: paths of sockets must be short
		"--skip-name-resolve", "--max-connections=400", redoLog, "--innodb-buffer-pool-size=64M",
		"--character-set-server=utf8mb4", "--collation-server=utf8mb4_general_ci",
		"--innodb-flush-log-at-trx-commit=1",
	}
}

func (mariaDB) setting(name, value string) []string { return []string{"--" + name + "=" + value} }

func (mariaDB) slack() []string {
	return []string{"--innodb-flush-log-at-trx-commit=2", "--innodb-flush-method=nosync", "--innodb-doublewrite=0"}
}

func (mariaDB) open(ctx context.Context, address string, d Database) (session, error) {
	c := mysql.NewConfig()
	c.Net, c.Addr = "tcp", address
	c.User, c.Passwd, c.DBName = d.User, d.Password, d.Name
	c.Timeout, c.ReadTimeout, c.WriteTimeout = 5*time.Second, queryTime, queryTime
	c.Logger = &mysql.NopLogger{}
	connector, err := mysql.NewConnector(c)
	if err != nil {
		return nil, err
	}
	db := sql.OpenDB(connector)
	conn, err := db.Conn(ctx)
	if err != nil {
		db.Close()
		return nil, err
	}
	return mariaSession{db, conn}, nil
}

type mariaSession struct {
	db   *sql.DB
	conn *sql.Conn
}

func (s mariaSession) close() {
	s.conn.Close()
	s.db.Close()
}

func (s mariaSession) exec(ctx context.Context, statement string) error {
	_, err := s.conn.ExecContext(ctx, statement)
	return err
}

func (s mariaSession) text(ctx context.Context, query string) (string, error) {
	var value sql.NullString
	err := s.conn.QueryRowContext(ctx, query).Scan(&value)
	if errors.Is(err, sql.ErrNoRows) {
		err = nil
	}
	return value.String, err
}

func (mariaDB) create(d Database) []string {
	return []string{
		"CREATE DATABASE " + d.Name,
		fmt.Sprintf("CREATE USER '%s'@'127.0.0.1' IDENTIFIED BY '%s'", d.User, d.Password),
		fmt.Sprintf("GRANT ALL ON `%s`.* TO '%s'@'127.0.0.1'", strings.ReplaceAll(d.Name, "_", `\_`), d.User),
	}
}

func (mariaDB) drop(d Database) []string {
	return []string{
		fmt.Sprintf("DROP USER '%s'@'127.0.0.1'", d.User),
		"KILL HARD USER " + d.User, // an open transaction would block the next one
		"SET SESSION lock_wait_timeout = 10",
		"DROP DATABASE " + d.Name,
	}
}

func (mariaDB) url(d Database, addresses []string) string {
	return sqlalchemyURL("mysql+pymysql", d, addresses, url.Values{"charset": {"utf8mb4"}})
}
