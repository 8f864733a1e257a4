package minimal_test

import (
	"context"
	"database/sql"
	"net/url"
	"path/filepath"
	"testing"
	"time"

	"github.com/berthcloud/berth/bench/minimal"
	"github.com/berthcloud/berth/internal/clouds"
	"github.com/berthcloud/berth/internal/dbtest"
)

func TestMain(m *testing.M) {
	defer dbtest.Stop()
	m.Run()
}

// countRows counts the results of transactions: generations, consumers, allocations.
func countRows(t *testing.T, driver, dsn string) (n [3]int) {
	t.Helper()
	db, err := sql.Open(driver, dsn)
	if err != nil {
		t.Fatal(err)
	}
	defer db.Close()
	for i, query := range []string{
		`SELECT SUM(generation) FROM resource_providers`, `SELECT COUNT(*) FROM consumers`,
		`SELECT COUNT(*) FROM allocations`,
	} {
		if err := db.QueryRow(query).Scan(&n[i]); err != nil {
			t.Fatal(err)
		}
	}
	return n
}

// check compares the counts: each transaction is a generation, and each unreleased claim a consumer
// and three allocations.
func check(t *testing.T, before, after [3]int, rate float64, err error) {
	t.Helper()
	done, remaining := after[0]-before[0], after[1]-before[1]
	if err != nil || rate <= 0 || done == 0 {
		t.Fatalf("%d transactions, %v a second, %v", done, rate, err)
	}
	if remaining < 0 || remaining > done || after[2]-before[2] != 3*remaining || (done-remaining)%2 != 0 {
		t.Errorf("generations, consumers, allocations were %v and are %v", before, after)
	}
}

func TestSQLite(t *testing.T) {
	file := filepath.Join(t.TempDir(), "placement.db")
	if err := clouds.Flat(20, 1).Save(context.Background(), file); err != nil {
		t.Fatal(err)
	}
	before := countRows(t, "sqlite", file)
	rate, err := minimal.SQLite(context.Background(), file, 4, 50*time.Millisecond)
	check(t, before, countRows(t, "sqlite", file), rate, err)
}

func TestMariaDB(t *testing.T) {
	database := dbtest.MariaDB(t).NewDatabase(t)
	u, err := url.Parse(database)
	if err != nil {
		t.Fatal(err)
	}
	if err := clouds.Flat(20, 1).SaveTo(context.Background(), database); err != nil {
		t.Fatal(err)
	}
	dsn := u.User.String() + "@tcp(" + u.Host + ")" + u.Path
	before := countRows(t, "mysql", dsn)
	rate, err := minimal.MariaDB(context.Background(), dsn, 3, 50*time.Millisecond)
	check(t, before, countRows(t, "mysql", dsn), rate, err)
}

func TestEmptyDatabasesAreRefused(t *testing.T) {
	file := filepath.Join(t.TempDir(), "none.db")
	if _, err := minimal.SQLite(context.Background(), file, 1, time.Second); err == nil {
		t.Error("no error without tables")
	}
}
