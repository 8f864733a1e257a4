package instances

import (
	"database/sql"
	"net/url"
	"strings"
	"testing"

	"github.com/go-sql-driver/mysql"
	_ "github.com/jackc/pgx/v5/stdlib" // the driver

	"github.com/berthcloud/berth/internal/dbtest"
)

// openRows opens a database at a server's address, to read the rows directly.
func openRows(t *testing.T, d dbtest.Database, address string) *sql.DB {
	t.Helper()
	driver, dsn := "pgx", (&url.URL{
		Scheme: "postgres", User: url.UserPassword(d.User, d.Password), Host: address, Path: "/" + d.Name,
	}).String()
	if strings.HasPrefix(d.URL(address), "mysql") {
		cfg := mysql.NewConfig()
		cfg.User, cfg.Passwd, cfg.DBName = d.User, d.Password, d.Name
		cfg.Net, cfg.Addr = "tcp", address
		driver, dsn = "mysql", cfg.FormatDSN()
	}
	db, err := sql.Open(driver, dsn)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if err := db.Close(); err != nil {
			t.Log(err)
		}
	})
	return db
}

// sums returns the used amounts of each provider according to the rows.
func sums(t *testing.T, db *sql.DB) map[string]int {
	t.Helper()
	rows, err := db.Query(`
SELECT p.uuid, SUM(a.used)
FROM allocations a
JOIN resource_providers p ON p.id = a.resource_provider_id
GROUP BY p.uuid`)
	if err != nil {
		t.Fatal(err)
	}
	defer func() { _ = rows.Close() }() // Err has the error
	all := map[string]int{}
	for rows.Next() {
		var uuid string
		var used int
		if err := rows.Scan(&uuid, &used); err != nil {
			t.Fatal(err)
		}
		all[uuid] = used
	}
	if err := rows.Err(); err != nil {
		t.Fatal(err)
	}
	return all
}

// change runs a statement and returns how many rows it met.
func change(t *testing.T, db *sql.DB, statement string, args ...any) int {
	t.Helper()
	res, err := db.Exec(statement, args...)
	if err != nil {
		t.Fatal(err)
	}
	n, err := res.RowsAffected()
	if err != nil {
		t.Fatal(err)
	}
	return int(n)
}
