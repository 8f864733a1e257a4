package dbtool_test

import (
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/berthcloud/berth/dbtool"
	"github.com/berthcloud/berth/internal/sqltest"
	"github.com/berthcloud/berth/sqlstore"
)

// A server by itself takes writes and has no standby; a node of Galera says how many there are, and that it is up to date.
func TestReplication(t *testing.T) {
	needServers(t)
	for _, k := range sqltest.Kinds {
		t.Run(k.Name, func(t *testing.T) {
			tables, err := dbtool.OpenTables(t.Context(), sqlstore.Options{Server: server(t, k.URL(t))}, dbtool.Look)
			if err != nil {
				t.Fatal(err)
			}
			defer tables.Close()
			got, err := tables.Replication(t.Context())
			if err != nil {
				t.Fatal(err)
			}
			var want dbtool.Replication
			if k.Name == "Galera" {
				if got.Cluster == nil || got.Cluster.Size < 1 {
					t.Fatalf("the cluster is %+v", got.Cluster)
				}
				want.Cluster = &dbtool.Cluster{Size: got.Cluster.Size, Status: "Primary", State: "Synced"}
			}
			if diff := cmp.Diff(want, got); diff != "" {
				t.Errorf("replication (-want +got):\n%s", diff)
			}
		})
	}
}
