package sqlstore_test

import (
	"context"
	"strings"
	"testing"

	"github.com/berthcloud/berth/internal/dbtest"
	"github.com/berthcloud/berth/internal/sqltest"
	"github.com/berthcloud/berth/internal/sweep"
	"github.com/berthcloud/berth/placement"
	"github.com/berthcloud/berth/placement/placementtest"
	"github.com/berthcloud/berth/sqlstore"
)

// What tests of stores have in common.
var (
	server      = sqltest.Server
	kinds       = sqltest.Kinds
	needServers = sqltest.Need
	onServers   = sqltest.OnServers
	wantAway    = sqltest.WantUnavailable
	makeFile    = sqltest.MakeFile
	contents    = sqltest.Contents
	old         = sqltest.Old
	open        = sqltest.Open
)

// TestStoreOnServers runs the suite of stores on each kind of server. A sample has one of those
// that have several nodes.
func TestStoreOnServers(t *testing.T) {
	needServers(t)
	for _, k := range kinds[:2] {
		t.Run(k.Name, func(t *testing.T) {
			t.Parallel()
			testStore(t, k.URL)
		})
	}
	nodes := []string{"Galera", "PostgreSQLWithStandby"}
	for _, name := range sweep.Sample(t, nodes, len(nodes)) {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			url := kinds[2].URL
			if name != kinds[2].Name {
				pair := dbtest.NewReplicated(t, dbtest.Synchronous(), dbtest.Fast())
				url = func(tb testing.TB) string { return pair.NewDatabase(tb) }
			}
			testStore(t, url)
		})
	}
}

// testStore runs the suite with a database for each test.
func testStore(t *testing.T, url func(testing.TB) string) {
	placementtest.TestStore(t, func(t *testing.T) placement.Store {
		return open(t, sqlstore.Options{Server: server(t, url(t))})
	})
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
