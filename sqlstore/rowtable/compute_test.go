package rowtable_test

import (
	"context"
	"path/filepath"
	"strings"
	"testing"

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
		columnsAre(t, s.OnWriter, s.Tables())
	})
}

// TestComputeFieldsHaveIndexes wants an index that begins with each column that rows
// are looked for by.
func TestComputeFieldsHaveIndexes(t *testing.T) {
	s := openCompute(t, sqlstore.Options{Path: filepath.Join(t.TempDir(), "compute.db")})
	indexesBegin(t, s.OnWriter, s.Searchable())
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
