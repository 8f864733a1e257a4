package dbtool_test

import (
	"net"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/berthcloud/berth/dbtool"
	"github.com/berthcloud/berth/internal/dbtest"
	"github.com/berthcloud/berth/internal/sqltest"
	"github.com/berthcloud/berth/sqlstore"
)

// A server by itself takes writes and has no standby; a node of Galera says how many there are, and
// that it is up to date.
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
			want := dbtool.Replication{Replicas: -1}
			if k.Name != "PostgreSQL" {
				want.Replicas, want.Grant = 0, got.Grant
				if !strings.HasPrefix(got.Grant, "GRANT REPLICA MONITOR ON *.* TO 'berth_") {
					t.Errorf("the right that is missing: %q", got.Grant)
				}
			}
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

// A replica says what it follows, how far it is, and why it does not go on; the error for a user
// who may not see it names the missing right.
func TestReplica(t *testing.T) {
	needServers(t)
	primary, replica := dbtest.NewReplica(t, dbtest.Fast())
	d := primary.CreateDatabase(t)
	look := func(s *dbtest.Server, row dbtest.Database) (got dbtool.Replication, err error) {
		t.Helper()
		at := server(t, row.URL(s.Address()))
		at.Standby, at.Retries = true, 0
		tables, err := dbtool.OpenTables(t.Context(), sqlstore.Options{Server: at}, dbtool.Look)
		if err != nil {
			return got, err
		}
		defer tables.Close()
		return tables.Replication(t.Context())
	}
	// await looks until the replica is in a state.
	await := func(reached func(r dbtool.Replication) bool) dbtool.Replication {
		t.Helper()
		for end := time.Now().Add(time.Minute); ; time.Sleep(50 * time.Millisecond) {
			got, err := look(replica, d)
			switch {
			case err == nil && reached(got):
				return got
			case time.Now().After(end):
				t.Fatalf("the replica is in the state %+v, %v", got, err)
			}
		}
	}
	following := func(r dbtool.Replication) bool {
		return len(r.Sources) == 1 && r.Sources[0].Receives == "Yes" && r.Sources[0].Applies == "Yes" &&
			r.Sources[0].Behind == 0
	}
	grant := "GRANT REPLICA MONITOR ON *.* TO '" + d.User + "'@'127.0.0.1'"
	if diff := cmp.Diff(dbtool.Replication{ReadOnly: true, Grant: grant, Replicas: 0},
		await(func(dbtool.Replication) bool { return true })); diff != "" {
		t.Errorf("to a user without rights the replica says (-want +got):\n%s", diff)
	}
	replicaOptions := sqlstore.Options{Server: server(t, d.URL(replica.Address()))}
	_, err := dbtool.OpenTables(t.Context(), replicaOptions, dbtool.Look)
	if err == nil || !strings.Contains(err.Error(), "read-only") {
		t.Errorf("opening a replica as any server: %v", err)
	}
	primary.Exec(t, grant)
	await(func(r dbtool.Replication) bool { return r.Grant == "" }) // it has followed
	want := dbtool.Replication{
		ReadOnly: true, Replicas: 0, Sources: []dbtool.Source{{Address: primary.Address(), Receives: "Yes", Applies: "Yes"}},
	}
	if diff := cmp.Diff(want, await(following)); diff != "" {
		t.Errorf("the replica says (-want +got):\n%s", diff)
	}
	got, err := look(primary, d)
	if diff := cmp.Diff(dbtool.Replication{Replicas: 1}, got); diff != "" || err != nil {
		t.Errorf("the primary says %v (-want +got):\n%s", err, diff)
	}

	// A statement takes long on the replica only.
	_, port, _ := net.SplitHostPort(replica.Address())
	primary.Exec(t, "SET binlog_format = STATEMENT", "CREATE DATABASE slow", "CREATE TABLE slow.rows (n INT)",
		"INSERT INTO slow.rows VALUES (IF(@@port = "+port+", SLEEP(3), 0))")
	await(func(r dbtool.Replication) bool { return r.Sources[0].Behind > 0 })
	await(following)

	replica.Exec(t, "STOP SLAVE SQL_THREAD")
	if s := await(func(r dbtool.Replication) bool { return r.Sources[0].Applies == "No" }).Sources[0]; s.Behind != -1 ||
		s.Receives != "Yes" || s.Problem != "" {
		t.Errorf("a replica that was stopped says %+v", s)
	}
	replica.Exec(t, "DROP TABLE slow.rows", "START SLAVE SQL_THREAD")
	primary.Exec(t, "INSERT INTO slow.rows VALUES (1)")
	if s := await(func(r dbtool.Replication) bool {
		return r.Sources[0].Applies == "No" &&
			r.Sources[0].Problem != ""
	}).Sources[0]; !strings.Contains(s.Problem, "Table 'slow.rows' doesn't exist") {
		t.Errorf("a replica that cannot go on says %+v", s)
	}
}

// A standby of PostgreSQL says that it takes no writes, and so does a database that was made
// read-only.
func TestStandby(t *testing.T) {
	needServers(t)
	pair := dbtest.NewReplicated(t, dbtest.Fast())
	d := pair.CreateDatabase(t)
	look := func(s *dbtest.Server) dbtool.Replication {
		t.Helper()
		at := server(t, d.URL(s.Address()))
		at.Standby = true
		tables, err := dbtool.OpenTables(t.Context(), sqlstore.Options{Server: at}, dbtool.Look)
		if err != nil {
			t.Fatal(err)
		}
		defer tables.Close()
		got, err := tables.Replication(t.Context())
		if err != nil {
			t.Fatal(err)
		}
		return got
	}
	if diff := cmp.Diff(dbtool.Replication{ReadOnly: true, Replicas: -1}, look(pair.Standby)); diff != "" {
		t.Errorf("the standby says (-want +got):\n%s", diff)
	}
	if look(pair.Primary).ReadOnly {
		t.Error("the primary says that it takes no writes")
	}
	pair.Primary.Exec(t, "ALTER DATABASE "+d.Name+" SET default_transaction_read_only = on")
	if !look(pair.Primary).ReadOnly {
		t.Error("a database that was made read-only says that it takes writes")
	}
}
