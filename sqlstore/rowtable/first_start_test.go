package rowtable_test

import (
	"context"
	"io"
	"path"
	"testing"

	"github.com/berthcloud/berth/internal/dbtest"
	"github.com/berthcloud/berth/internal/sqltest"
	"github.com/berthcloud/berth/sqlstore"
	"github.com/berthcloud/berth/sqlstore/rowtable"
)

// TestStartsTakeFewRoundTrips counts how often a start waits for the network, as the test of the
// same name does for placement. A node of Galera gets each statement of the scripts by itself.
func TestStartsTakeFewRoundTrips(t *testing.T) {
	for service, start := range map[string]func(sqlstore.Options) (io.Closer, error){
		"network": func(opts sqlstore.Options) (io.Closer, error) {
			return rowtable.OpenNetwork(context.Background(), opts)
		},
		"compute": func(opts sqlstore.Options) (io.Closer, error) {
			return rowtable.OpenCompute(context.Background(), opts)
		},
	} {
		t.Run(service, func(t *testing.T) {
			sqltest.OnServers(t, func(t *testing.T, url string) {
				where := server(t, url)
				proxy := dbtest.NewProxy(t, where.Hosts[0])
				where.Hosts = []string{proxy.Address()}
				for _, name := range []string{"the first start", "the next start"} {
					before := proxy.RoundTrips()
					s, err := start(sqlstore.Options{Server: where})
					if err != nil {
						t.Fatal(err)
					}
					if err := s.Close(); err != nil {
						t.Fatal(err)
					}
					n := proxy.RoundTrips() - before
					most := map[string]int{"MariaDB": 20, "PostgreSQL": 25, "Galera": 120}[path.Base(t.Name())]
					t.Logf("%s: %d round trips", name, n)
					if n > most {
						t.Errorf("%s takes %d round trips, want %d at most", name, n, most)
					}
				}
			})
		})
	}
}
