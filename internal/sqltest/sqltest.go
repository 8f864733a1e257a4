// Package sqltest has tests of stores run on every kind of database server.
package sqltest

import (
	"context"
	"database/sql"
	"fmt"
	"net"
	"os"
	"path/filepath"
	"strconv"
	"testing"
	"time"

	"golang.org/x/sys/unix"

	"github.com/berthcloud/berth/config"
	"github.com/berthcloud/berth/fault"
	"github.com/berthcloud/berth/internal/dbtest"
	"github.com/berthcloud/berth/internal/sweep"
	"github.com/berthcloud/berth/sqlstore"
	"github.com/berthcloud/berth/sqlstore/migrations"
	"github.com/berthcloud/berth/sqlstore/sqlconn"
)

// Server describes the database that a URL names.
func Server(tb testing.TB, url string) *sqlconn.Server {
	tb.Helper()
	c, err := config.ParseConnection(url)
	if err != nil {
		tb.Fatalf("ParseConnection: %v", err)
	}
	s := &sqlconn.Server{
		Dialect: sqlconn.MySQL,
		User:    c.User, Password: c.Password.Reveal(), Database: c.Database, Params: c.Query,
		Retries: 20, RetryInterval: 250 * time.Millisecond,
	}
	if c.Dialect == config.PostgreSQL {
		s.Dialect = sqlconn.PostgreSQL
	}
	for _, h := range c.Hosts {
		s.Hosts = append(s.Hosts, net.JoinHostPort(h.Name, strconv.Itoa(h.Port)))
	}
	return s
}

// A Kind is a kind of server that tests run on.
type Kind struct {
	Name string
	// URL makes a new database and returns its URL.
	URL func(testing.TB) string
}

// Kinds are MariaDB, PostgreSQL and Galera. The shared servers are quick and not durable.
var Kinds = []Kind{
	{"MariaDB", func(tb testing.TB) string { return dbtest.MariaDB(tb).NewDatabase(tb) }},
	{"PostgreSQL", func(tb testing.TB) string { return dbtest.PostgreSQL(tb).NewDatabase(tb) }},
	{"Galera", func(tb testing.TB) string { return dbtest.Galera(tb).NewDatabase(tb) }},
}

// Need skips a test that needs a database server under -short.
func Need(tb testing.TB) {
	tb.Helper()
	if testing.Short() {
		tb.Skip("needs database servers: not under -short")
	}
}

// OnServers runs a test on every kind of server, on all at once. A sample has Galera every third
// time.
func OnServers(t *testing.T, test func(t *testing.T, url string)) {
	t.Helper()
	Need(t)
	for _, k := range append(Kinds[:2:2], sweep.Sample(t, Kinds[2:], 3)...) {
		t.Run(k.Name, func(t *testing.T) {
			t.Parallel()
			test(t, k.URL(t))
		})
	}
}

// SmallDisk returns a directory on a file system of so many KiB, which only root can mount: for
// others the test is skipped.
func SmallDisk(t *testing.T, kib int) string {
	t.Helper()
	if os.Getuid() != 0 {
		t.Skip("NOT TESTED without root: a disk that is full")
	}
	dir := t.TempDir()
	if err := unix.Mount("berth-test", dir, "tmpfs", 0, fmt.Sprintf("size=%dk", kib)); err != nil {
		t.Fatalf("a small file system cannot be mounted: %v", err)
	}
	t.Cleanup(func() {
		if err := unix.Unmount(dir, 0); err != nil {
			t.Error(err)
		}
	})
	return dir
}

// MakeFile writes an SQLite database with the given statements.
func MakeFile(tb testing.TB, path string, statements ...string) {
	tb.Helper()
	db, err := sql.Open("sqlite", "file:"+path)
	if err != nil {
		tb.Fatal(err)
	}
	defer db.Close()
	for _, s := range statements {
		if _, err := db.Exec(s); err != nil {
			tb.Fatalf("%s: %v", s, err)
		}
	}
}

// Contents returns what is in a file.
func Contents(t testing.TB, path string) string {
	t.Helper()
	text, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	return string(text)
}

// WantUnavailable checks that an error is the one of a database that cannot be used.
func WantUnavailable(t testing.TB, what string, err error) {
	t.Helper()
	if kind, _ := fault.Of(err); kind != fault.Unavailable {
		t.Errorf("%s = %v, want Unavailable", what, err)
	}
}

// Old returns the path of an SQLite database at an older revision of placement's schema, made by
// the first steps of the chain.
func Old(t testing.TB, revision string, more ...string) string {
	t.Helper()
	path := filepath.Join(t.TempDir(), "old.db")
	script, err := migrations.Script("sqlite", "b4ed3a175331")
	if err != nil {
		t.Fatal(err)
	}
	MakeFile(t, path, append(append(script, migrations.VersionTable,
		fmt.Sprintf(`INSERT INTO alembic_version VALUES ('%s')`, revision)), more...)...)
	return path
}

// Open opens placement's store. It is closed at the end of the test.
func Open(tb testing.TB, opts sqlstore.Options) *sqlstore.Store {
	tb.Helper()
	s, err := sqlstore.Open(context.Background(), opts)
	if err != nil {
		tb.Fatalf("Open(%q) = %v", opts.Path, err)
	}
	tb.Cleanup(func() { _ = s.Close() })
	return s
}
