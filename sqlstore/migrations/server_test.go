package migrations_test

import (
	"bytes"
	"database/sql"
	"net/url"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/go-sql-driver/mysql"
	_ "github.com/jackc/pgx/v5/stdlib"

	"github.com/berthcloud/berth/internal/dbtest"
	"github.com/berthcloud/berth/internal/upstreamtest"
	"github.com/berthcloud/berth/sqlstore/migrations"
)

func TestMain(m *testing.M) {
	code := m.Run()
	dbtest.Stop()
	os.Exit(code)
}

// A server is a database server to run the statements on.
type server struct {
	name    string // of the folder
	start   func(testing.TB) *dbtest.Server
	driver  string
	source  func(*url.URL) string
	catalog func(*testing.T, *sql.DB) catalog
}

var servers = []server{
	{"mysql", dbtest.MariaDB, "mysql", mysqlSource, mysqlCatalog},
	{"postgresql", dbtest.PostgreSQL, "pgx", postgresSource, postgresCatalog},
}

// mysqlSource is without several statements in one, as the store is.
func mysqlSource(u *url.URL) string {
	c := mysql.NewConfig()
	c.User = u.User.Username()
	c.Passwd, _ = u.User.Password()
	c.Net, c.Addr, c.DBName = "tcp", u.Host, strings.TrimPrefix(u.Path, "/")
	c.InterpolateParams = true
	return c.FormatDSN()
}

func postgresSource(u *url.URL) string {
	return (&url.URL{Scheme: "postgres", User: u.User, Host: u.Host, Path: u.Path, RawQuery: "sslmode=disable"}).String()
}

// onServers runs a test on each kind of server.
func onServers(t *testing.T, test func(t *testing.T, s server)) {
	t.Helper()
	for _, s := range servers {
		t.Run(s.name, func(t *testing.T) { test(t, s) })
	}
}

// database makes an empty database and returns one connection to it and its
// SQLAlchemy URL.
func (s server) database(t *testing.T) (*sql.DB, string) {
	t.Helper()
	address := s.start(t).NewDatabase(t)
	u, err := url.Parse(address)
	if err != nil {
		t.Fatal(err)
	}
	db, err := sql.Open(s.driver, s.source(u))
	if err != nil {
		t.Fatal(err)
	}
	db.SetMaxOpenConns(1)
	t.Cleanup(func() { _ = db.Close() })
	return db, address
}

// at makes a database by the steps up to a revision.
func (s server) at(t *testing.T, revision string) (*sql.DB, string) {
	t.Helper()
	db, address := s.database(t)
	steps := chain(t, s.name, "")
	rest := chain(t, s.name, revision)
	run(t, db, steps[:len(steps)-len(rest)]...)
	run(t, db, migrations.VersionTable, `INSERT INTO alembic_version (version_num) VALUES ('`+revision+`')`)
	return db, address
}

func run(t *testing.T, db *sql.DB, statements ...string) {
	t.Helper()
	for _, s := range statements {
		if _, err := db.Exec(s); err != nil {
			t.Fatalf("%s: %v", s, err)
		}
	}
}

// upstream runs Debian's placement-manage on a database.
func upstream(t *testing.T, address string, args ...string) string {
	t.Helper()
	needUpstream(t)
	return output(t, exec.Command(tool, append([]string{"--config-file", configFor(t, address)}, args...)...))
}

// stopAt is a placement-manage that goes no further than a revision.
const stopAt = `
import sys
from oslo_config import cfg
from placement import conf, db_api
from placement.db.sqlalchemy import migration
config = cfg.ConfigOpts()
conf.register_opts(config)
config(["--config-file", sys.argv[1]], project="placement")
db_api.configure(config)
migration.upgrade(sys.argv[2])
`

// upstreamTo has upstream bring a database to a revision.
func upstreamTo(t *testing.T, address, revision string) {
	t.Helper()
	needUpstream(t)
	output(t, exec.Command(upstreamtest.Python, "-c", stopAt, configFor(t, address), revision))
}

const tool = "/usr/bin/placement-manage"

func needUpstream(t *testing.T) {
	t.Helper()
	upstreamtest.Need(t, "placement-api python3-pymysql python3-psycopg2", tool)
}

func configFor(t *testing.T, address string) string {
	t.Helper()
	path := filepath.Join(t.TempDir(), "placement.conf")
	text := "[placement_database]\nconnection = " + strings.ReplaceAll(address, "$", "$$") + "\n"
	if err := os.WriteFile(path, []byte(text), 0o600); err != nil {
		t.Fatal(err)
	}
	return path
}

// output runs a program, a minute at most.
func output(t *testing.T, cmd *exec.Cmd) string {
	t.Helper()
	var out bytes.Buffer
	cmd.Stdout, cmd.Stderr = &out, &out
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	end := time.AfterFunc(time.Minute, func() { _ = cmd.Process.Kill() })
	defer end.Stop()
	if err := cmd.Wait(); err != nil {
		t.Fatalf("%v: %v\n%s", cmd.Args, err, out.String())
	}
	return out.String()
}
