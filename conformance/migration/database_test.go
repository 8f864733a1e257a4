package migration

import (
	"context"
	"database/sql"
	"fmt"
	"strings"
	"testing"
	"time"

	_ "github.com/go-sql-driver/mysql" // the drivers
	_ "github.com/jackc/pgx/v5/stdlib"

	"github.com/berthcloud/berth/internal/dbtest"
	"github.com/berthcloud/berth/internal/server"
	"github.com/berthcloud/berth/internal/sweep"
)

// An engine is a server for placement's database.
type engine struct {
	name   string
	server func(testing.TB) *dbtest.Server
	driver string
	dsn    func(address string, d dbtest.Database) string

	// schema is a query for the columns, keys and indexes of the tables, a line each, that all
	// begin with the name of the table.
	schema string
}

var engines = []engine{
	{
		name: "MariaDB", server: dbtest.MariaDB, driver: "mysql",
		dsn: func(address string, d dbtest.Database) string {
			return fmt.Sprintf("%s:%s@tcp(%s)/%s?timeout=5s&readTimeout=30s", d.User, d.Password, address, d.Name)
		},
		schema: `
SELECT CONCAT_WS(' ', table_name, 'column', column_name, column_type, is_nullable, COALESCE(column_default, '-'), extra, collation_name)
FROM information_schema.columns
WHERE table_schema = DATABASE()
UNION ALL
SELECT CONCAT_WS(' ', table_name, 'index', index_name, seq_in_index, column_name, non_unique)
FROM information_schema.statistics
WHERE table_schema = DATABASE()
UNION ALL
SELECT CONCAT_WS(' ', table_name, constraint_type, constraint_name)
FROM information_schema.table_constraints
WHERE table_schema = DATABASE()
ORDER BY 1`,
	},
	{
		name: "PostgreSQL", server: dbtest.PostgreSQL, driver: "pgx",
		dsn: func(address string, d dbtest.Database) string {
			return fmt.Sprintf("postgres://%s:%s@%s/%s?sslmode=disable&connect_timeout=5", d.User, d.Password, address, d.Name)
		},
		schema: `
SELECT CONCAT_WS(' ', table_name, 'column', column_name, data_type, character_maximum_length, is_nullable, column_default)
FROM information_schema.columns
WHERE table_schema = 'public'
UNION ALL
SELECT CONCAT_WS(' ', tablename, indexdef)
FROM pg_indexes
WHERE schemaname = 'public'
UNION ALL
SELECT CONCAT_WS(' ', conrelid::regclass, contype, pg_get_constraintdef(oid))
FROM pg_constraint
WHERE connamespace = 'public'::regnamespace
ORDER BY 1`,
	},
}

// A database is one that services of a test use. The test reads only what the services' APIs do not
// return.
type database struct {
	t      *testing.T
	engine engine
	server *dbtest.Server
	name   dbtest.Database
	url    string
	sql    *sql.DB
}

// onEach runs fn with an empty database of each engine.
func onEach(t *testing.T, fn func(t *testing.T, db *database)) {
	for _, e := range engines {
		t.Run(e.name, func(t *testing.T) { fn(t, newDatabase(t, e, e.server(t))) })
	}
}

// onSample is onEach in which a sample has one of the engines.
func onSample(t *testing.T, fn func(t *testing.T, db *database)) {
	for _, e := range sweep.Sample(t, engines, len(engines)) {
		t.Run(e.name, func(t *testing.T) { fn(t, newDatabase(t, e, e.server(t))) })
	}
}

func newDatabase(t *testing.T, e engine, s *dbtest.Server) *database {
	t.Helper()
	d := s.CreateDatabase(t)
	db := &database{t: t, engine: e, server: s, name: d, url: d.URL(s.Address())}
	var err error
	if db.sql, err = sql.Open(e.driver, e.dsn(s.Address(), d)); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if err := db.sql.Close(); err != nil {
			t.Log(err)
		}
	})
	return db
}

func (db *database) exec(statements ...string) {
	db.t.Helper()
	for _, s := range statements {
		if _, err := db.sql.ExecContext(db.soon(), s); err != nil {
			db.t.Fatalf("%s: %v", s, err)
		}
	}
}

// lines returns the first column of a query's rows.
func (db *database) lines(query string) []string {
	db.t.Helper()
	rows, err := db.sql.QueryContext(db.soon(), query)
	if err != nil {
		db.t.Fatalf("%s: %v", query, err)
	}
	defer rows.Close() // read to the end
	var all []string
	for rows.Next() {
		var line string
		if err := rows.Scan(&line); err != nil {
			db.t.Fatal(err)
		}
		all = append(all, line)
	}
	if err := rows.Err(); err != nil {
		db.t.Fatal(err)
	}
	return all
}

// soon returns a context with the time-out of a statement.
func (db *database) soon() context.Context {
	ctx, cancel := context.WithTimeout(context.Background(), 30*time.Second)
	db.t.Cleanup(cancel)
	return ctx
}

// schema returns how the tables are, upstream's or Berth's own.
func (db *database) schema(own bool) []string {
	db.t.Helper()
	var lines []string
	for _, line := range db.lines(db.engine.schema) {
		if strings.HasPrefix(line, "berth_") == own {
			lines = append(lines, line)
		}
	}
	return lines
}

// contents returns the tables with the number of their rows.
func (db *database) contents() map[string]string {
	db.t.Helper()
	counts := map[string]string{}
	for _, line := range db.lines(db.engine.schema) {
		table, _, _ := strings.Cut(line, " ")
		if _, ok := counts[table]; !ok {
			counts[table] = db.lines("SELECT CAST(COUNT(*) AS CHAR(20)) FROM " + table)[0]
		}
	}
	return counts
}

// berth starts Berth on the database.
func (db *database) berth(config map[string]map[string]string) *server.Server {
	db.t.Helper()
	return server.StartBerth(db.t, server.Options{Database: db.url, Config: config})
}

// upstream starts upstream's service on the database.
func (db *database) upstream() *server.Server {
	db.t.Helper()
	return server.StartUpstream(db.t, server.Options{Database: db.url, Processes: 2})
}
