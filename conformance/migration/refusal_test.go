package migration

import (
	"fmt"
	"regexp"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/berthcloud/berth/internal/dbtest"
	"github.com/berthcloud/berth/internal/server"
	"github.com/berthcloud/berth/internal/servertest"
)

// The exit codes that berth placement serve --help documents.
const (
	exitUsage    = 2
	exitDatabase = 3
)

// refuseTime bounds how long a start that cannot succeed may take.
const refuseTime = 40 * time.Second

// A refusal is a database, or a way to name one, that Berth cannot use.
type refusal struct {
	name string
	// url spoils the database and returns how the settings name it.
	url  func(db *database) string
	code int
	says map[string][]string // by the name of the engine; "" for both
}

var refusals = []refusal{
	{
		"NoURL", func(db *database) string { return "placement on " + db.server.Address() }, exitUsage,
		map[string][]string{"": {"[placement_database] connection"}},
	},
	{"UnknownDriver", func(db *database) string {
		_, rest, _ := strings.Cut(db.url, ":")
		return "oracle+cx_oracle:" + rest
	}, exitUsage, map[string][]string{"": {
		"[placement_database] connection", "want one of the dialects sqlite, mysql, mariadb, postgresql",
	}}},
	{"WrongPassword", func(db *database) string {
		d := db.name
		d.Password = "guessed"
		return d.URL(db.server.Address())
	}, exitDatabase, map[string][]string{"": {"check user and password in [placement_database] connection"}}},
	{"UnknownDatabase", func(db *database) string {
		d := db.name
		d.Name = "nowhere"
		return d.URL(db.server.Address())
	}, exitDatabase, map[string][]string{
		"MariaDB":    {"nowhere", "grant the user all privileges"}, // the server does not reveal that it exists
		"PostgreSQL": {"nowhere", "create the database first"},
	}},
	{
		"NoSuchHost", func(db *database) string { return db.name.URL("db.invalid:3306") }, exitDatabase,
		map[string][]string{"": {"db.invalid"}},
	},
	{"UnknownRevision", func(db *database) string {
		db.filled()
		db.exec("UPDATE alembic_version SET version_num = 'ffffffffffff'")
		return db.url
	}, exitDatabase, map[string][]string{"": {"unknown revision (ffffffffffff)", target}}},
	{"OlderRevision", func(db *database) string {
		db.filled()
		db.exec("UPDATE alembic_version SET version_num = 'b5c396305c25'")
		return db.url
	}, exitDatabase, map[string][]string{"": {"b5c396305c25", "sync_on_startup"}}},
	{"SomethingElse", func(db *database) string {
		db.exec("CREATE TABLE orders (id INT PRIMARY KEY)", "INSERT INTO orders VALUES (1)")
		return db.url
	}, exitDatabase, map[string][]string{"": {"not a Placement database", "orders"}}},
	{"MayNotCreate", (*database).poor, exitDatabase, map[string][]string{"": {"grant", "create"}}},
	{"MissingCA", func(db *database) string {
		if db.engine.name == "PostgreSQL" {
			return db.url + "?sslmode=verify-full&sslrootcert=/nowhere/ca.pem"
		}
		return db.url + "&ssl_ca=/nowhere/ca.pem"
	}, exitDatabase, map[string][]string{"": {"/nowhere/ca.pem"}}},
}

// TestRefusals starts Berth on databases that it cannot use. It ends with one line that says what
// to do, without writing anything. A sample has each of them on one of the engines.
func TestRefusals(t *testing.T) {
	for _, r := range refusals {
		t.Run(r.name, func(t *testing.T) {
			onSample(t, func(t *testing.T, db *database) {
				url := r.url(db)
				refuse(t, db, url, r.code, append(r.says[""], r.says[db.engine.name]...))
			})
		})
	}
}

// TestReadOnlyServers starts Berth where writes are impossible: on a replica.
func TestReadOnlyServers(t *testing.T) {
	says := []string{"read-only", "name the primary in [placement_database] connection"}
	t.Run("MariaDB", func(t *testing.T) {
		s := dbtest.NewMariaDB(t, dbtest.Fast())
		db := newDatabase(t, engines[0], s)
		db.filled()
		s.Exec(t, "SET GLOBAL read_only = 1")
		refuse(t, db, db.url, exitDatabase, says)
	})
	t.Run("PostgreSQL", func(t *testing.T) {
		r := dbtest.NewReplicated(t, dbtest.Fast())
		db := newDatabase(t, engines[1], r.Primary)
		db.filled()
		refuse(t, db, db.name.URL(r.Standby.Address()), exitDatabase, says)
	})
}

// filled has Berth create its tables.
func (db *database) filled() {
	db.t.Helper()
	db.berth(nil).Stop()
}

// poor creates a database like upstream's and returns the URL of an account that may only change
// rows.
func (db *database) poor() string {
	db.t.Helper()
	db.filled()
	db.exec("DROP TABLE berth_changes", "DROP TABLE berth_writers", "DROP TABLE berth_version")
	account := db.server.CreateDatabase(db.t)
	if db.engine.name == "PostgreSQL" {
		db.exec("GRANT SELECT, INSERT, UPDATE, DELETE ON ALL TABLES IN SCHEMA public TO "+account.User,
			"GRANT USAGE ON ALL SEQUENCES IN SCHEMA public TO "+account.User)
		db.t.Cleanup(func() { // or the account could not be dropped
			db.exec("REVOKE ALL ON ALL TABLES IN SCHEMA public FROM "+account.User,
				"REVOKE ALL ON ALL SEQUENCES IN SCHEMA public FROM "+account.User)
		})
	} else {
		db.server.Exec(db.t,
			fmt.Sprintf("GRANT SELECT, INSERT, UPDATE, DELETE ON `%s`.* TO '%s'@'127.0.0.1'", db.name.Name, account.User))
	}
	account.Name = db.name.Name
	return account.URL(db.server.Address())
}

// refuse is refuseWith for settings that name the database alone.
func refuse(t *testing.T, db *database, url string, code int, says []string) {
	t.Helper()
	refuseWith(t, db, url, retries("0", "0"), code, says)
}

// refuseWith starts Berth, which must end with a code and one line that contains all of says, and
// leave the database unchanged.
func refuseWith(t *testing.T, db *database, url string, config map[string]map[string]string, code int, says []string) {
	t.Helper()
	schema, rows := db.everything(), db.contents()
	got, out := db.serve(url, config)
	if got != code {
		t.Errorf("exit code %d, want %d", got, code)
	}
	lines := messages(out)
	want := 1
	if code == exitUsage {
		want++ // mistakes in settings have a headline
	}
	if len(lines) != want || !strings.HasPrefix(lines[0], "berth: ") {
		t.Errorf("%d lines besides the log, want %d:\n%s", len(lines), want, strings.Join(lines, "\n"))
	}
	for _, s := range says {
		if !strings.Contains(strings.ToLower(out), strings.ToLower(s)) {
			t.Errorf("it does not say %q:\n%s", s, strings.Join(lines, "\n"))
		}
	}
	if strings.Contains(out, db.name.Password) || strings.Contains(out, "guessed") {
		t.Errorf("the password is shown:\n%s", out)
	}
	if d := cmp.Diff(schema, db.everything()) + cmp.Diff(rows, db.contents()); d != "" {
		t.Errorf("the database was changed (-before +after):\n%s", d)
	}
}

func (db *database) everything() []string {
	db.t.Helper()
	return append(db.schema(false), db.schema(true)...)
}

// retries are settings for how long to wait for a server.
func retries(n, interval string) map[string]map[string]string {
	return map[string]map[string]string{"placement_database": {"max_retries": n, "retry_interval": interval}}
}

// serve runs Berth until it refuses to serve.
func (db *database) serve(url string, config map[string]map[string]string) (code int, out string) {
	db.t.Helper()
	conf := server.ConfigFile(db.t, url, config)
	return server.Run(db.t, refuseTime, server.Berth(db.t), "placement", "serve", "--config", conf,
		"--listen", servertest.FreeAddress(db.t))
}

var logged = regexp.MustCompile(`^\d{4}-\d\d-\d\d `)

// messages returns the lines that are not of the log.
func messages(out string) []string {
	var lines []string
	for line := range strings.Lines(out) {
		if !logged.MatchString(line) {
			lines = append(lines, strings.TrimRight(line, "\n"))
		}
	}
	return lines
}

// TestServerIsDown starts Berth before its database server: it waits as long as it is configured
// to, logs that, and continues when the server answers.
func TestServerIsDown(t *testing.T) {
	onEach(t, func(t *testing.T, db *database) {
		proxy := dbtest.NewProxy(t, db.server.Address())
		proxy.Cut()
		begin := time.Now()
		code, out := db.serve(db.name.URL(proxy.Address()), retries("2", "1"))
		took := time.Since(begin)
		if code != exitDatabase || took < 2*time.Second || took > 10*time.Second {
			t.Errorf("exit code %d after %v, want %d after about two seconds", code, took, exitDatabase)
		}
		if n := strings.Count(out, "cannot be reached yet"); n != 2 {
			t.Errorf("it says %d times that it waits, want 2:\n%s", n, out)
		}
		if lines := messages(out); len(lines) != 1 || !strings.Contains(lines[0], proxy.Address()) {
			t.Errorf("it does not end with one line that names %s:\n%s", proxy.Address(), strings.Join(lines, "\n"))
		}

		heal := time.AfterFunc(1500*time.Millisecond, proxy.Heal)
		defer heal.Stop()
		server.StartBerth(t, server.Options{Database: db.name.URL(proxy.Address()), Config: retries("-1", "1")})
	})
}
