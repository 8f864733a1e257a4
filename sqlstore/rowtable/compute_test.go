package rowtable_test

import (
	"context"
	"database/sql"
	"path/filepath"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/berthcloud/berth/compute"
	"github.com/berthcloud/berth/compute/computetest"
	"github.com/berthcloud/berth/sqlstore"
	"github.com/berthcloud/berth/sqlstore/rowtable"
)

// openCompute opens a store of the compute service, which ends with the test.
func openCompute(tb testing.TB, opts sqlstore.Options) *rowtable.ComputeStore {
	tb.Helper()
	s, err := rowtable.OpenCompute(context.Background(), opts)
	if err != nil {
		tb.Fatalf("OpenCompute: %v", err)
	}
	tb.Cleanup(func() {
		if err := s.Close(); err != nil {
			tb.Errorf("Close: %v", err)
		}
	})
	return s
}

func TestComputeStoreInFile(t *testing.T) {
	computetest.TestStore(t, func(t *testing.T) []compute.Store {
		return []compute.Store{openCompute(t, sqlstore.Options{Path: filepath.Join(t.TempDir(), "compute.db")})}
	})
}

func TestComputeStoreInMemory(t *testing.T) {
	computetest.TestStore(t, func(t *testing.T) []compute.Store {
		return []compute.Store{openCompute(t, sqlstore.Options{Path: sqlstore.Memory})}
	})
}

// TestComputeStoreOnServers runs the suite with two instances on each server, which
// all its tests share: making the tables takes longer than they do.
func TestComputeStoreOnServers(t *testing.T) {
	onNetworkServers(t, func(t *testing.T, urls []string) {
		var stores []compute.Store
		var last *rowtable.ComputeStore
		for _, url := range urls {
			last = openCompute(t, sqlstore.Options{Server: server(t, url)})
			stores = append(stores, last)
		}
		computetest.TestStore(t, func(t *testing.T) []compute.Store {
			if err := last.Empty(context.Background()); err != nil {
				t.Fatal(err)
			}
			return stores
		})
	})
}

// TestComputeTablesAreAlike holds the tables of every database to those that the
// rows are kept in, with their columns.
func TestComputeTablesAreAlike(t *testing.T) {
	onAllForNetwork(t, func(t *testing.T, opts sqlstore.Options) {
		s := openCompute(t, opts)
		err := s.OnWriter(func(conn *sql.Conn) error {
			for name, want := range s.Tables() {
				got, err := columnsOf(conn, name)
				if err != nil {
					return err
				}
				if diff := cmp.Diff(want, got); diff != "" {
					t.Errorf("columns of %s (-Go +database):\n%s", name, diff)
				}
			}
			return nil
		})
		if err != nil {
			t.Fatal(err)
		}
	})
}

// TestComputeFieldsHaveIndexes wants an index that begins with each column that rows
// are looked for by.
func TestComputeFieldsHaveIndexes(t *testing.T) {
	s := openCompute(t, sqlstore.Options{Path: filepath.Join(t.TempDir(), "compute.db")})
	indexed, err := indexedColumns(s.OnWriter)
	if err != nil {
		t.Fatal(err)
	}
	for _, column := range s.Searchable() {
		if !strings.Contains(indexed, " "+column+" ") {
			t.Errorf("no index begins with %s", column)
		}
	}
}

// indexedColumns are the first columns of all indexes, with a space around each.
func indexedColumns(onWriter func(func(*sql.Conn) error) error) (indexed string, err error) {
	err = onWriter(func(conn *sql.Conn) error {
		return conn.QueryRowContext(context.Background(), `
SELECT ' ' || group_concat(m.name || '.' || c.name, ' ') || ' '
FROM sqlite_master m, pragma_index_list(m.name) i, pragma_index_info(i.name) c
WHERE m.type = 'table' AND c.seqno = 0`).Scan(&indexed)
	})
	return indexed, err
}

// TestComputeRefusesOtherDatabases opens what belongs to something else.
func TestComputeRefusesOtherDatabases(t *testing.T) {
	dir := t.TempDir()
	network := filepath.Join(dir, "network.db")
	if err := openNetwork(t, sqlstore.Options{Path: network}).Close(); err != nil {
		t.Fatal(err)
	}
	nova := filepath.Join(dir, "nova.db")
	makeFile(t, nova, `CREATE TABLE alembic_version (version_num TEXT)`, `CREATE TABLE instances (id TEXT)`)
	for _, path := range []string{network, nova} {
		before := contents(t, path)
		s, err := rowtable.OpenCompute(context.Background(), sqlstore.Options{Path: path})
		if err == nil {
			_ = s.Close()
		}
		if err == nil || !strings.Contains(err.Error(), "not a database of Berth's compute service") {
			t.Errorf("OpenCompute(%s) = %v, want a refusal", path, err)
		}
		if contents(t, path) != before {
			t.Errorf("%s was changed", path)
		}
	}
}
