package server

import (
	"os"
	"path/filepath"
	"testing"

	"github.com/berthcloud/berth/internal/dbtest"
	"github.com/berthcloud/berth/internal/servertest"
)

// A DatabaseKind is a kind of database.
type DatabaseKind string

// The kinds.
const (
	SQLite     DatabaseKind = "sqlite"
	MariaDB    DatabaseKind = "mariadb"
	Galera     DatabaseKind = "galera"     // three nodes
	PostgreSQL DatabaseKind = "postgresql" // with a standby
)

// ChosenDatabase returns the kind in the environment variable BERTH_TEST_DATABASE, by default
// SQLite, and ends the test for an unknown kind. Services use it unless their options have a
// database.
func ChosenDatabase(t testing.TB) DatabaseKind {
	t.Helper()
	switch k := DatabaseKind(os.Getenv("BERTH_TEST_DATABASE")); k {
	case "":
		return SQLite
	case SQLite, MariaDB, Galera, PostgreSQL:
		return k
	default:
		t.Fatalf("BERTH_TEST_DATABASE=%s: want %s, %s, %s or %s", k, SQLite, MariaDB, Galera, PostgreSQL)
		return ""
	}
}

// A Database is the SQLAlchemy URL of one database as each service takes it.
type Database struct {
	Berth    string // every server of it
	Upstream string // one server: upstream's drivers do not try another
}

// NewDatabase creates an empty database that is removed at the end of the test, on a server that
// the tests of the process share.
func NewDatabase(t testing.TB, kind DatabaseKind) Database {
	t.Helper()
	switch kind {
	case MariaDB:
		url := dbtest.MariaDB(t).NewDatabase(t)
		return Database{url, url}
	case Galera:
		c := dbtest.Galera(t)
		d := c.CreateDatabase(t)
		return Database{d.URL(c.Addresses()...), d.URL(c.Nodes[0].Address())}
	case PostgreSQL:
		r := replicated(t)
		d := r.CreateDatabase(t)
		return Database{d.URL(r.Addresses()...) + "&target_session_attrs=read-write", d.URL(r.Primary.Address())}
	default:
		url := sqliteURL(servertest.Dir(t))
		return Database{url, url}
	}
}

func sqliteURL(dir string) string { return "sqlite:///" + filepath.Join(dir, "placement.db") }

// connection returns the database of a service: the one that the options name,
// or a fresh one, which for SQLite is a file in dir.
func connection(t testing.TB, opts Options, dir string) Database {
	t.Helper()
	if opts.Database != "" {
		return Database{opts.Database, opts.Database}
	}
	kind := ChosenDatabase(t)
	if kind == SQLite {
		return Database{sqliteURL(dir), sqliteURL(dir)}
	}
	return NewDatabase(t, kind)
}
