package sqlstore_test

import (
	"context"
	"path"
	"sync"
	"testing"
	"time"

	"github.com/berthcloud/berth/internal/dbtest"
	"github.com/berthcloud/berth/placement"
	"github.com/berthcloud/berth/sqlstore"
)

// TestStartsTakeFewRoundTrips counts how often a start waits for the network: with 300 ms to the
// database, each hundred are half a minute. A node of Galera gets one statement in each, and
// PostgreSQL prepares each.
func TestStartsTakeFewRoundTrips(t *testing.T) {
	onServers(t, func(t *testing.T, url string) {
		where := server(t, url)
		proxy := dbtest.NewProxy(t, where.Hosts[0])
		where.Hosts = []string{proxy.Address()}
		most := map[string][2]int{"MariaDB": {55, 40}, "PostgreSQL": {80, 55}, "Galera": {80, 55}}[path.Base(t.Name())]
		for i, start := range []string{"the first start", "the next start"} {
			var steps []string
			before := proxy.RoundTrips()
			s, err := sqlstore.Open(context.Background(), sqlstore.Options{
				Server: where, Step: func(text string) { steps = append(steps, text) },
			})
			if err != nil {
				t.Fatal(err)
			}
			serve(t, s)
			if err := s.Close(); err != nil {
				t.Fatal(err)
			}
			n := proxy.RoundTrips() - before
			t.Logf("%s: %d round trips; %q", start, n, steps)
			if n > most[i] {
				t.Errorf("%s takes %d round trips, want %d at most", start, n, most[i])
			}
			if len(steps) < 2 {
				t.Errorf("%s reports %q, want what is being done", start, steps)
			}
		}
	})
}

// A rivalStore is one whose Updates have another service write between their reading and their
// writing.
type rivalStore struct {
	placement.Store
	rival func()
}

type rivalWriter struct {
	placement.Writer
	rival func()
}

func (s rivalStore) Update(ctx context.Context, now time.Time, fn func(placement.Writer) error) error {
	return s.Store.Update(ctx, now, func(w placement.Writer) error { return fn(rivalWriter{w, s.rival}) })
}

func (w rivalWriter) Traits() ([]placement.Named, error) {
	all, err := w.Writer.Traits()
	w.rival()
	return all, err
}

// TestStandardNamesWithUpstream has upstream's service, which starts at the same moment, insert
// some of the names that are about to be inserted.
func TestStandardNamesWithUpstream(t *testing.T) {
	onServers(t, func(t *testing.T, url string) {
		s := open(t, sqlstore.Options{Server: server(t, url)})
		other := open(t, sqlstore.Options{Server: server(t, url)})
		upstream := sync.OnceFunc(func() {
			do(t, other,
				"INSERT INTO traits (name) VALUES ('COMPUTE_NODE'), ('CUSTOM_GOLD')",
				"INSERT INTO resource_classes (id, name) VALUES (3, 'PCI_DEVICE')")
		})
		if err := placement.EnsureStandard(context.Background(), rivalStore{s, upstream}, now); err != nil {
			t.Fatalf("EnsureStandard() = %v", err)
		}
		for statement, want := range map[string]int64{
			"SELECT COUNT(*) FROM traits": int64(len(placement.StandardTraits)) +
				1,
			"SELECT COUNT(*) FROM resource_classes":                                      int64(len(placement.StandardClasses)),
			"SELECT COUNT(*) FROM resource_classes WHERE id = 3 AND name = 'PCI_DEVICE'": 1,
		} {
			if n, err := s.Count(context.Background(), statement); n != want || err != nil {
				t.Errorf("%s = %d, %v; want %d", statement, n, err, want)
			}
		}
	})
}
