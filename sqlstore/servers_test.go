package sqlstore_test

import (
	"context"
	"net"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/berthcloud/berth/config"
	"github.com/berthcloud/berth/fault"
	"github.com/berthcloud/berth/internal/dbtest"
	"github.com/berthcloud/berth/placement"
	"github.com/berthcloud/berth/placement/placementtest"
	"github.com/berthcloud/berth/sqlstore"
)

// server describes the database that a URL names.
func server(tb testing.TB, url string) *sqlstore.Server {
	tb.Helper()
	c, err := config.ParseConnection(url)
	if err != nil {
		tb.Fatalf("ParseConnection: %v", err)
	}
	s := &sqlstore.Server{
		Dialect: sqlstore.MySQL,
		User:    c.User, Password: c.Password.Reveal(), Database: c.Database, Params: c.Query,
		Retries: 20, RetryInterval: 250 * time.Millisecond,
	}
	if c.Dialect == config.PostgreSQL {
		s.Dialect = sqlstore.PostgreSQL
	}
	for _, h := range c.Hosts {
		s.Hosts = append(s.Hosts, net.JoinHostPort(h.Name, strconv.Itoa(h.Port)))
	}
	return s
}

// A kind is a kind of server that tests run on.
type kind struct {
	name string
	// url makes a new database and returns its URL.
	url func(testing.TB) string
}

// kinds are all of them. The shared servers are quick and not durable.
var kinds = []kind{
	{"MariaDB", func(tb testing.TB) string { return dbtest.MariaDB(tb).NewDatabase(tb) }},
	{"PostgreSQL", func(tb testing.TB) string { return dbtest.PostgreSQL(tb).NewDatabase(tb) }},
	{"Galera", func(tb testing.TB) string { return dbtest.Galera(tb).NewDatabase(tb) }},
}

// needServers skips a test that needs a database server under -short.
func needServers(tb testing.TB) {
	tb.Helper()
	if testing.Short() {
		tb.Skip("needs database servers: not under -short")
	}
}

// onServers runs a test on every kind of server, on all at once.
func onServers(t *testing.T, test func(t *testing.T, url string)) {
	needServers(t)
	for _, k := range kinds {
		t.Run(k.name, func(t *testing.T) {
			t.Parallel()
			test(t, k.url(t))
		})
	}
}

func TestStoreOnServers(t *testing.T) {
	needServers(t)
	for _, k := range kinds {
		t.Run(k.name, func(t *testing.T) {
			t.Parallel()
			testStore(t, k.url)
		})
	}
	t.Run("PostgreSQLWithStandby", func(t *testing.T) {
		t.Parallel()
		pair := dbtest.NewReplicated(t, dbtest.Synchronous(), dbtest.Fast())
		testStore(t, func(tb testing.TB) string { return pair.NewDatabase(tb) })
	})
}

// testStore runs the suite with a database for each test.
func testStore(t *testing.T, url func(testing.TB) string) {
	placementtest.TestStore(t, func(t *testing.T) placement.Store {
		return open(t, sqlstore.Options{Server: server(t, url(t))})
	})
}

// wantAway checks that an error is the one of a database that cannot be used.
func wantAway(t *testing.T, what string, err error) {
	t.Helper()
	if kind, _ := fault.Of(err); kind != fault.Unavailable {
		t.Errorf("%s = %v, want Unavailable", what, err)
	}
}

// TestHalfCopiedDatabaseIsRefused opens what `berth db copy` is not done with.
func TestHalfCopiedDatabaseIsRefused(t *testing.T) {
	onAll(t, func(t *testing.T, opts sqlstore.Options) {
		s := open(t, opts)
		do(t, s, `CREATE TABLE berth_copy (id INTEGER)`)
		if err := s.Close(); err != nil {
			t.Fatal(err)
		}
		_, err := sqlstore.Open(context.Background(), opts)
		if err == nil || !strings.Contains(err.Error(), "berth db copy --resume") {
			t.Errorf("Open = %v, want what to do about it", err)
		}
	})
}

// TestOwnTablesThatWereBegunAreFinished opens a database where Berth's own tables were
// being made by an instance that was killed, or is still at it: where each statement is
// committed alone, there may be some of the tables, without a version.
func TestOwnTablesThatWereBegunAreFinished(t *testing.T) {
	onServers(t, func(t *testing.T, url string) {
		opts := sqlstore.Options{Server: server(t, url)}
		for _, begun := range [][]string{
			{`DELETE FROM berth_version`},
			{`DELETE FROM berth_version`, `DROP TABLE berth_holds`, `DROP TABLE berth_changes`},
		} {
			s := open(t, opts)
			do(t, s, begun...)
			if err := s.Close(); err != nil {
				t.Fatal(err)
			}
			again, err := sqlstore.Open(context.Background(), opts)
			if err != nil {
				t.Fatalf("after %q: Open = %v", begun, err)
			}
			if err := again.Close(); err != nil {
				t.Error(err)
			}
		}
	})
}
