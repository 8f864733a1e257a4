package dbtest_test

import (
	"context"
	"errors"
	"flag"
	"net"
	"os"
	"strings"
	"testing"
	"time"

	"github.com/berthcloud/berth/internal/dbtest"
)

func TestMain(m *testing.M) {
	if start := os.Getenv(victim); start != "" {
		beVictim(start)
	}
	flag.Parse()
	if testing.Short() { // nearly all of them start servers
		return
	}
	code := m.Run()
	dbtest.Stop()
	os.Exit(code)
}

// kinds are the servers without replication.
var kinds = []struct {
	name   string
	shared func(testing.TB) *dbtest.Server
	new    func(testing.TB, ...dbtest.Option) *dbtest.Server
	scheme string

	databases string // counts the databases of a name
	sleep     string // keeps the table locked for a minute
	sleepers  string // counts such statements
}{
	{
		"MariaDB", dbtest.MariaDB, dbtest.NewMariaDB, "mysql+pymysql://",
		"SELECT count(*) FROM information_schema.schemata WHERE schema_name = ",
		"SELECT sleep(60) FROM held",
		"SELECT count(*) FROM information_schema.processlist WHERE info LIKE '%FROM held' AND user = ",
	},
	{
		"PostgreSQL", dbtest.PostgreSQL, dbtest.NewPostgreSQL, "postgresql+psycopg2://",
		"SELECT count(*) FROM pg_database WHERE datname = ",
		"SELECT pg_sleep(60) FROM held",
		"SELECT count(*) FROM pg_stat_activity WHERE query LIKE '%FROM held' AND usename = ",
	},
}

func TestDatabasesAreEmptyAndApart(t *testing.T) {
	for _, k := range kinds {
		t.Run(k.name, func(t *testing.T) {
			t.Parallel()
			s := k.shared(t)
			a, b := s.CreateDatabase(t), s.CreateDatabase(t)
			do(t, a, s, "CREATE TABLE berths (n INT PRIMARY KEY)")
			do(t, a, s, "INSERT INTO berths VALUES (7)")
			if got := query(t, a, s, "SELECT n FROM berths"); got != "7" {
				t.Errorf("the row reads %q, want 7", got)
			}
			do(t, b, s, "CREATE TABLE berths (n INT PRIMARY KEY)") // not replicated yet
			foreign := a
			foreign.User, foreign.Password = b.User, b.Password
			if err := foreign.Exec(s.Address(), "SELECT 1 FROM berths"); err == nil {
				t.Error("one database's account reads another database")
			}
			foreign = a
			foreign.Password = b.Password
			if err := foreign.Exec(s.Address(), "SELECT 1"); err == nil {
				t.Error("an account is admitted with a wrong password")
			}
		})
	}
}

// TestDatabasesAreDropped has an open connection to the database.
func TestDatabasesAreDropped(t *testing.T) {
	for _, k := range kinds {
		t.Run(k.name, func(t *testing.T) {
			s := k.shared(t)
			var d dbtest.Database
			t.Run("Test", func(t *testing.T) {
				d = s.CreateDatabase(t)
				if got := s.Text(t, k.databases+"'"+d.Name+"'"); got != "1" {
					t.Fatalf("%s databases are called %s, want 1", got, d)
				}
				do(t, d, s, "CREATE TABLE held (n INT)")
				do(t, d, s, "INSERT INTO held VALUES (1)")
				go func() { _ = d.Exec(s.Address(), k.sleep) }()
				waitFor(t, "the table to be held", func() bool {
					return s.Text(t, k.sleepers+"'"+d.User+"'") != "0"
				})
			})
			if got := s.Text(t, k.databases+"'"+d.Name+"'"); got != "0" {
				t.Errorf("%s databases are called %s after the test, want none", got, d)
			}
		})
	}
}

func TestURLs(t *testing.T) {
	for _, k := range kinds {
		t.Run(k.name, func(t *testing.T) {
			s := k.shared(t)
			d := s.CreateDatabase(t)
			for _, want := range []string{k.scheme, d.User + ":" + d.Password + "@127.0.0.1:1/" + d.Name} {
				if got := d.URL("127.0.0.1:1"); !strings.Contains(got, want) {
					t.Errorf("URL = %q, want %q in it", got, want)
				}
			}
			for _, want := range []string{"@/" + d.Name + "?", "host=a:1&host=b:2"} {
				if got := d.URL("a:1", "b:2"); !strings.Contains(got, want) {
					t.Errorf("URL = %q, want %q in it", got, want)
				}
			}
			if got := s.NewDatabase(t); !strings.Contains(got, "@"+s.Address()+"/") {
				t.Errorf("NewDatabase = %q, want the address %s in it", got, s.Address())
			}
		})
	}
}

func TestServersAreShared(t *testing.T) {
	for _, k := range kinds {
		if a, b := k.shared(t), k.shared(t); a != b {
			t.Errorf("%s: two calls give the servers at %s and %s, want one", k.name, a.Address(), b.Address())
		}
	}
}

func TestSharedServersAreNotBroken(t *testing.T) {
	s := dbtest.PostgreSQL(t)
	for name, f := range map[string]func(){
		"Kill": s.Kill, "Stop": s.Stop, "Start": s.Start, "Freeze": s.Freeze, "Thaw": s.Thaw,
	} {
		t.Run(name, func(t *testing.T) {
			defer func() {
				if recover() == nil {
					t.Error("it was done to the server of all tests")
				}
			}()
			f()
		})
	}
}

// TestRowsSurvive ends servers in every way after a commit.
func TestRowsSurvive(t *testing.T) {
	t.Parallel()
	for _, k := range kinds {
		for _, mode := range []struct {
			name string
			opts []dbtest.Option
		}{{"Durable", nil}, {"Fast", []dbtest.Option{dbtest.Fast()}}} {
			t.Run(k.name+mode.name, func(t *testing.T) {
				s := k.new(t, mode.opts...)
				d := s.CreateDatabase(t)
				do(t, d, s, "CREATE TABLE berths (n INT PRIMARY KEY)")
				for _, end := range []struct {
					row string
					end func()
				}{
					{"1", s.Kill},
					{"2", s.Stop},
					{"3", func() { s.Freeze(); s.Kill() }},
				} {
					do(t, d, s, "INSERT INTO berths VALUES ("+end.row+")")
					end.end()
					refused(t, s.Address())
					s.Start()
					if got := query(t, d, s, "SELECT max(n) FROM berths"); got != end.row {
						t.Errorf("after end %s the last row is %q", end.row, got)
					}
				}
			})
		}
	}
}

func TestFreeze(t *testing.T) {
	t.Parallel()
	for _, k := range kinds {
		t.Run(k.name, func(t *testing.T) {
			s := k.new(t, dbtest.Fast())
			d := s.CreateDatabase(t)
			s.Freeze()
			ctx, cancel := context.WithTimeout(t.Context(), 300*time.Millisecond)
			defer cancel()
			if got, err := d.Text(ctx, s.Address(), "SELECT 1"); err == nil {
				t.Errorf("a frozen server answers %q", got)
			}
			conn, err := net.DialTimeout("tcp", s.Address(), time.Second)
			if err != nil {
				t.Fatalf("a frozen server's kernel accepts connections: %v", err)
			}
			conn.Close()
			s.Thaw()
			if got := query(t, d, s, "SELECT 1"); got != "1" {
				t.Errorf("the thawed server answers %q, want 1", got)
			}
		})
	}
}

func TestDurability(t *testing.T) {
	t.Parallel()
	for _, c := range []struct {
		name, query   string
		new           func(testing.TB, ...dbtest.Option) *dbtest.Server
		durable, fast string
	}{
		{"MariaDB", "SELECT @@innodb_flush_log_at_trx_commit", dbtest.NewMariaDB, "1", "2"},
		{"PostgreSQL", "SHOW fsync", dbtest.NewPostgreSQL, "on", "off"},
	} {
		t.Run(c.name, func(t *testing.T) {
			if got := c.new(t).Text(t, c.query); got != c.durable {
				t.Errorf("%s = %s, want %s", c.query, got, c.durable)
			}
			if got := c.new(t, dbtest.Fast()).Text(t, c.query); got != c.fast {
				t.Errorf("%s = %s with Fast, want %s", c.query, got, c.fast)
			}
		})
	}
}

func TestSetting(t *testing.T) {
	t.Parallel()
	s := dbtest.NewMariaDB(t, dbtest.Fast(), dbtest.Setting("max_connections", "17"))
	if got := s.Text(t, "SELECT @@max_connections"); got != "17" {
		t.Errorf("max_connections = %s, want 17", got)
	}
	s = dbtest.NewPostgreSQL(t, dbtest.Fast(), dbtest.Setting("max_connections", "17"))
	if got := s.Text(t, "SHOW max_connections"); got != "17" {
		t.Errorf("max_connections = %s, want 17", got)
	}
}

func do(t testing.TB, d dbtest.Database, s *dbtest.Server, statement string) {
	t.Helper()
	if err := d.Exec(s.Address(), statement); err != nil {
		t.Fatalf("%s: %v", statement, err)
	}
}

func query(t testing.TB, d dbtest.Database, s *dbtest.Server, query string) string {
	t.Helper()
	got, err := d.Text(t.Context(), s.Address(), query)
	if err != nil {
		t.Fatalf("%s: %v", query, err)
	}
	return got
}

// refused expects that an address has no listener.
func refused(t testing.TB, address string) {
	t.Helper()
	conn, err := net.DialTimeout("tcp", address, time.Second)
	if err == nil {
		conn.Close()
		t.Errorf("somebody still listens at %s", address)
	}
	if errors.Is(err, os.ErrDeadlineExceeded) {
		t.Errorf("%s does not refuse connections, it does not answer", address)
	}
}

// waitFor waits until a condition is true.
func waitFor(t testing.TB, what string, so func() bool) {
	t.Helper()
	for range 1000 {
		if so() {
			return
		}
		time.Sleep(10 * time.Millisecond)
	}
	t.Fatalf("waited 10 s for %s", what)
}
