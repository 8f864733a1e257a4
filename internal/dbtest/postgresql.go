package dbtest

import (
	"cmp"
	"context"
	"fmt"
	"net/url"
	"path/filepath"
	"strconv"
	"syscall"
	"time"

	"github.com/jackc/pgx/v5/pgconn"
)

// postgreSQL is PostgreSQL's server.
type postgreSQL struct{}

func (postgreSQL) name() string               { return "PostgreSQL" }
func (postgreSQL) packages() string           { return "postgresql" }
func (postgreSQL) account() string            { return "postgres" }
func (postgreSQL) stopSignal() syscall.Signal { return syscall.SIGINT }

// dropSignal lets the server reap its children: in a container without an init process, they would
// remain as zombies.
func (postgreSQL) dropSignal() syscall.Signal { return syscall.SIGQUIT }

func (postgreSQL) program() (string, error) {
	return newest("postgres", "/usr/lib/postgresql/*/bin", "/usr/pgsql-*/bin", "/usr/bin")
}

// tool returns the path of a program in the server's package.
func (p postgreSQL) tool(name string) (string, error) {
	server, err := p.program()
	return filepath.Join(filepath.Dir(server), name), err
}

func (p postgreSQL) initialise(data, password string) error {
	initdb, err := p.tool("initdb")
	if err != nil {
		return err
	}
	return withSecretFile(p, filepath.Dir(data), password, func(path string) error {
		cmd, err := command(p, data, initdb, "--pgdata="+data, "--username="+administrator, "--pwfile="+path,
			"--auth=scram-sha-256", "--encoding=UTF8", "--locale=C.UTF-8", "--no-sync")
		if err != nil {
			return err
		}
		return run(cmd)
	})
}

func (p postgreSQL) arguments(data string, port int) []string {
	args := []string{"-D", data, "-p", strconv.Itoa(port), "-h", "127.0.0.1"}
	for _, s := range []struct{ name, value string }{
		{"unix_socket_directories", ""},
		{"max_connections", "200"},
		{"shared_buffers", "32MB"},
		{"dynamic_shared_memory_type", "mmap"}, // files in the data directory: those in /dev/shm outlive a killed server
		{"log_timezone", "UTC"},
		{"timezone", "UTC"},
	} {
		args = append(args, p.setting(s.name, s.value)...)
	}
	return args
}

func (postgreSQL) setting(name, value string) []string { return []string{"-c", name + "=" + value} }

func (p postgreSQL) slack() []string {
	return []string{"-c", "fsync=off", "-c", "full_page_writes=off"}
}

func (postgreSQL) open(ctx context.Context, address string, d Database) (session, error) {
	dsn := url.URL{
		Scheme: "postgres", User: url.UserPassword(d.User, d.Password), Host: address, Path: "/" + cmp.Or(d.Name, "postgres"),
		RawQuery: "sslmode=disable&connect_timeout=5",
	}
	conn, err := pgconn.Connect(ctx, dsn.String())
	if err != nil {
		return nil, err
	}
	return postgresSession{conn}, nil
}

type postgresSession struct{ conn *pgconn.PgConn }

func (s postgresSession) close() {
	ctx, cancel := context.WithTimeout(context.Background(), time.Second)
	defer cancel()
	_ = s.conn.Close(ctx)
}

func (s postgresSession) exec(ctx context.Context, statement string) error {
	_, err := s.conn.Exec(ctx, statement).ReadAll()
	return err
}

func (s postgresSession) text(ctx context.Context, query string) (string, error) {
	results, err := s.conn.Exec(ctx, query).ReadAll()
	if err != nil || len(results) == 0 || len(results[0].Rows) == 0 {
		return "", err
	}
	return string(results[0].Rows[0][0]), nil
}

func (postgreSQL) create(d Database) []string {
	return []string{
		fmt.Sprintf("CREATE ROLE %s LOGIN PASSWORD '%s'", d.User, d.Password),
		fmt.Sprintf("CREATE DATABASE %s OWNER %s TEMPLATE template0", d.Name, d.User),
	}
}

func (postgreSQL) drop(d Database) []string {
	return []string{
		fmt.Sprintf("DROP DATABASE %s WITH (FORCE)", d.Name),
		"DROP ROLE " + d.User,
	}
}

func (postgreSQL) url(d Database, addresses []string) string {
	return sqlalchemyURL("postgresql+psycopg2", d, addresses, url.Values{})
}
