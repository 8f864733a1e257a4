package rowtable_test

import (
	"context"
	"path/filepath"
	"testing"

	"github.com/berthcloud/berth/internal/dbtest"
	"github.com/berthcloud/berth/network"
	"github.com/berthcloud/berth/network/networktest"
	"github.com/berthcloud/berth/sqlstore"
	"github.com/berthcloud/berth/sqlstore/rowtable"
)

// openNetwork opens a store of the network service, which ends with the test.
func openNetwork(tb testing.TB, opts sqlstore.Options) *rowtable.NetworkStore {
	tb.Helper()
	s, err := rowtable.OpenNetwork(context.Background(), opts)
	if err != nil {
		tb.Fatalf("OpenNetwork: %v", err)
	}
	tb.Cleanup(func() {
		if err := s.Close(); err != nil {
			tb.Errorf("Close: %v", err)
		}
	})
	return s
}

func TestNetworkStoreInFile(t *testing.T) {
	networktest.TestStore(t, func(t *testing.T) []network.Store {
		return []network.Store{openNetwork(t, sqlstore.Options{Path: filepath.Join(t.TempDir(), "network.db")})}
	})
}

func TestNetworkStoreInMemory(t *testing.T) {
	networktest.TestStore(t, func(t *testing.T) []network.Store {
		return []network.Store{openNetwork(t, sqlstore.Options{Path: sqlstore.Memory})}
	})
}

// networkURLs make a new database and return the URLs by which instances know it,
// two nodes of a cluster where there is one.
var networkURLs = map[string]func(testing.TB) []string{
	"MariaDB":    func(tb testing.TB) []string { return twice(dbtest.MariaDB(tb).NewDatabase(tb)) },
	"PostgreSQL": func(tb testing.TB) []string { return twice(dbtest.PostgreSQL(tb).NewDatabase(tb)) },
	"Galera": func(tb testing.TB) []string {
		cluster := dbtest.Galera(tb)
		db := cluster.CreateDatabase(tb)
		return []string{db.URL(cluster.Addresses()[0]), db.URL(cluster.Addresses()[1])}
	},
}

func twice(url string) []string { return []string{url, url} }

// onNetworkServers runs a test on every kind of server, on all at once.
func onNetworkServers(t *testing.T, test func(t *testing.T, urls []string)) {
	needServers(t)
	for name, urls := range networkURLs {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			test(t, urls(t))
		})
	}
}

// TestNetworkStoreOnServers runs the suite with two instances on each server, which
// all its tests share: making the tables takes longer than they do.
func TestNetworkStoreOnServers(t *testing.T) {
	onNetworkServers(t, func(t *testing.T, urls []string) {
		var stores []network.Store
		var last *rowtable.NetworkStore
		for _, url := range urls {
			last = openNetwork(t, sqlstore.Options{Server: server(t, url)})
			stores = append(stores, last)
		}
		networktest.TestStore(t, func(t *testing.T) []network.Store {
			if err := last.Empty(context.Background()); err != nil {
				t.Fatal(err)
			}
			return stores
		})
	})
}
