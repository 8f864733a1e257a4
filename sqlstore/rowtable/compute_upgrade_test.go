package rowtable_test

import (
	"database/sql"
	"encoding/json"
	"errors"
	"fmt"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/berthcloud/berth/compute"
	"github.com/berthcloud/berth/compute/computetest"
	"github.com/berthcloud/berth/sqlstore"
	"github.com/berthcloud/berth/sqlstore/rowtable"
)

// TestOperationsAreUpgraded goes from the version in which operations were no lists of steps: each
// is at a step of its list afterwards that does, or undoes, what was left to do, and hosts are to
// have the servers that they had.
func TestOperationsAreUpgraded(t *testing.T) {
	onAllForNetwork(t, func(t *testing.T, opts sqlstore.Options) {
		s, err := rowtable.OpenCompute(t.Context(), opts)
		if err != nil {
			t.Fatal(err)
		}
		type at struct{ kind, step string }
		cases := []struct {
			at
			want   string
			hosted bool
		}{
			{at{"", ""}, "", true},
			{at{"boot", "claim"}, "claim false ", false},
			{at{"boot", "host"}, "host false ", true},
			{at{"boot", "next"}, "host true claim", false},
			{at{"boot", "undo"}, "host true ", false},
			{at{"delete", "host"}, "host true ", true},
			{at{"delete", "unbind"}, "host true ", false},
			{at{"attach", "bind"}, "bind false ", true},
			{at{"attach", "undo"}, "host true ", true},
			{at{"detach", "host"}, "host true ", true},
			{at{"detach", "unbind"}, "bind true ", true},
			{at{"detach", "release"}, "claim true ", true},
			{at{"power", "host"}, "host false ", true},
		}
		name := func(i int) string { return fmt.Sprint("vm", i) }
		for i, c := range cases {
			computetest.Add(t, s, computetest.Server(name(i), "cn1"))
			if c.kind != "" {
				computetest.Add(t, s, &compute.OperationRow{
					ID: computetest.ID("op" + name(i)), Server: computetest.ID(name(i)), Kind: c.kind, Step: c.step,
					Body: []byte(`{}`),
				})
			}
		}
		remaining := computetest.ID("left")
		err = s.OnWriter(func(conn *sql.Conn) error {
			var all error
			for _, statement := range append(dropColumns(s),
				`DROP TABLE hosted`, `ALTER TABLE server_ports DROP COLUMN unplugged`, `ALTER TABLE operations DROP COLUMN back`,
				`ALTER TABLE operations DROP COLUMN back_to`, `ALTER TABLE operations DROP COLUMN awaits`,
				`ALTER TABLE operations DROP COLUMN reservation`,
				`ALTER TABLE servers DROP COLUMN image_meta`, `ALTER TABLE migrations DROP COLUMN former`,
				`ALTER TABLE flavors DROP COLUMN number`, `DELETE FROM counters WHERE name = 'flavors'`,
				`INSERT INTO leftovers (id, server, host) VALUES ('`+string(remaining)+`', '`+string(remaining)+`', 'cn2')`,
				`UPDATE berth_compute SET version = 5`,
			) {
				_, err := conn.ExecContext(t.Context(), statement)
				all = errors.Join(all, err)
			}
			return all
		})
		if err != nil {
			t.Fatal(err)
		}
		if err := s.Close(); err != nil {
			t.Fatal(err)
		}
		opts.Sync = true
		again := openCompute(t, opts)
		for i, c := range cases {
			rows := computetest.Read[compute.OperationRow](t, again, compute.Where(compute.ByServer, computetest.ID(name(i))))
			got := ""
			if len(rows) > 0 {
				got = fmt.Sprint(rows[0].Step, " ", rows[0].Back, " ", rows[0].UndoTo)
			}
			hosted := computetest.Read[compute.HostedRow](t, again, compute.Where(compute.ByServer, computetest.ID(name(i))))
			if got != c.want || (len(hosted) > 0) != c.hosted {
				t.Errorf("%s/%s is at %q, want %q; hosts are to have %+v", c.kind, c.step, got, c.want, hosted)
			}
		}
		want := []compute.HostedRow{{Server: remaining, Host: "cn2", DesiredState: compute.DesiredAbsent, Event: remaining}}
		diff := cmp.Diff(want, computetest.Read[compute.HostedRow](t, again, compute.Where(compute.ByServer, remaining)))
		if diff != "" {
			t.Errorf("what a host is to destroy (-want +got):\n%s", diff)
		}
	})
}

// dropColumns are the statements that undo versions 9 to 17.
func dropColumns(s *rowtable.ComputeStore) (all []string) {
	for index, table := range map[string]string{
		"servers_owner_idx": "servers", "servers_busy_host_idx": "servers", "servers_amounts_idx": "servers",
		"servers_lower_hostname_idx": "servers",
		"operations_claim_host_idx":  "operations", "operations_ready_idx": "operations",
		"operations_reservation_idx": "operations",
		"migrations_status_idx":      "migrations",
	} {
		all = append(all, dropIndex(s, index, table))
	}
	return append(append(all, dropAssignments...),
		`ALTER TABLE services DROP COLUMN start_error`, `ALTER TABLE nodes DROP COLUMN additions`,
		`ALTER TABLE nodes DROP COLUMN topology`,
		`ALTER TABLE servers DROP COLUMN lower_hostname`, `ALTER TABLE servers DROP COLUMN busy_host`,
		`ALTER TABLE operations DROP COLUMN ready`,
		`ALTER TABLE servers DROP COLUMN vcpus`, `ALTER TABLE servers DROP COLUMN memory_mb`,
		`ALTER TABLE operations DROP COLUMN queue`, `ALTER TABLE operations DROP COLUMN aborted`,
		`ALTER TABLE operations DROP COLUMN claim_host`, `ALTER TABLE operations DROP COLUMN devices`)
}

// dropAssignments are the statements that undo version 16.
var dropAssignments = []string{
	`ALTER TABLE hosted DROP COLUMN assignment`, `ALTER TABLE operations DROP COLUMN assignment`,
	`ALTER TABLE nodes DROP COLUMN assignable`,
}

func dropIndex(s *rowtable.ComputeStore, index, table string) string {
	if s.Dialect().Name == "mysql" {
		index += " ON " + table
	}
	return "DROP INDEX " + index
}

// TestAmountsAndClaimsAreFilled goes from the version in which they were in flavors and bodies
// only: rows that existed have them in the columns as those that are written since.
func TestAmountsAndClaimsAreFilled(t *testing.T) {
	onAllForNetwork(t, func(t *testing.T, opts sqlstore.Options) {
		s, err := rowtable.OpenCompute(t.Context(), opts)
		if err != nil {
			t.Fatal(err)
		}
		bodies := []string{
			`{}`, `{"claim":null,"devices":null}`, `{"claim":{"Host":"cn \"ü\"","Node":"x"}}`,
			`{"claim":{"Host":"cn2"},"devices":{"p1":{"slot":"0000:81:00.1","vendor":""},"p2":{"slot":"0000:81:00.2",` +
				`"vendor":""}}}`,
		}
		for i, body := range bodies {
			row := computetest.Server(fmt.Sprint("vm", i), "cn1")
			row.Flavor = computetest.Flavor("f", int64(1)<<(8*i), int64(3)<<(8*i), 0).Keep()
			if i == 0 {
				row.Flavor = nil
			}
			row.Task = []string{"", compute.Spawning}[i%2]
			computetest.Add(t, s, row, &compute.OperationRow{
				ID: computetest.ID(fmt.Sprint("op", i)), Server: row.ID, Kind: "boot", Step: "claim", Body: []byte(body),
				Worker: []string{"", "w"}[i%2], Awaits: []compute.ID{"", "e"}[i/2],
			})
		}
		err = s.OnWriter(func(conn *sql.Conn) error {
			var all error
			for _, statement := range append(dropColumns(s), `UPDATE berth_compute SET version = 8`) {
				_, err := conn.ExecContext(t.Context(), statement)
				all = errors.Join(all, err)
			}
			return all
		})
		if err != nil {
			t.Fatal(err)
		}
		if err := s.Close(); err != nil {
			t.Fatal(err)
		}
		opts.Sync = true
		again := openCompute(t, opts)
		got := map[string]string{}
		for i, row := range computetest.Read[compute.OperationRow](t, again) {
			for _, host := range []string{"", `cn "ü"`, "cn2"} {
				found := computetest.Read[compute.OperationRow](t, again, compute.Where(compute.ByID, row.ID),
					compute.Where(compute.ByHost, host))
				if len(found) > 0 != (host == row.ClaimHost()) {
					t.Errorf("operation %d, of %q, is found by the host %q: %v", i, row.ClaimHost(), host, len(found) > 0)
				}
			}
		}
		err = again.OnWriter(func(conn *sql.Conn) error {
			rows, err := conn.QueryContext(t.Context(), `SELECT body, COALESCE(devices, '') FROM operations`)
			if err != nil {
				return err
			}
			for rows.Next() {
				var body, devices string
				if err := rows.Scan(&body, &devices); err != nil {
					return err
				}
				got[body] = devices
			}
			return errors.Join(rows.Err(), rows.Close())
		})
		if err != nil {
			t.Fatal(err)
		}
		for _, body := range bodies {
			want := (&compute.OperationRow{Body: []byte(body)}).ChosenDevices()
			var devices, chosen any
			_, _ = json.Unmarshal([]byte(got[body]), &devices), json.Unmarshal([]byte(want), &chosen)
			if diff := cmp.Diff(chosen, devices); diff != "" {
				t.Errorf("the devices of %s (-want +got):\n%s", body, diff)
			}
		}
		err = again.View(t.Context(), func(r compute.Reader) error {
			vcpus, err := r.Sum(&compute.ServerRow{}, compute.VCPUs)
			memory, err2 := r.Sum(&compute.ServerRow{}, compute.MemoryMB)
			if want := int64(0x01010100); vcpus != want || memory != 3*want {
				t.Errorf("servers have %d CPUs and %d MB, want %d and %d", vcpus, memory, want, 3*want)
			}
			ready, err3 := compute.Rows[compute.OperationSummary](r, compute.Where(compute.ByReady, "ready"))
			if len(ready) != 1 || ready[0].Server != computetest.ID("vm0") {
				t.Errorf("ready are %v, want that of vm0", ready)
			}
			busy, err4 := r.CountEach(&compute.ServerRow{}, compute.ByBusyHost)
			if diff := cmp.Diff(map[string]int64{"cn1": 2}, busy); diff != "" {
				t.Errorf("busy servers (-want +got):\n%s", diff)
			}
			return errors.Join(err, err2, err3, err4)
		})
		if err != nil {
			t.Error(err)
		}
	})
}

// TestFlavorsGetNumbers goes from the version in which flavors had no numbers: those that exist get
// them in their order, and the next one gets the next.
func TestFlavorsGetNumbers(t *testing.T) {
	onAllForNetwork(t, func(t *testing.T, opts sqlstore.Options) {
		s, err := rowtable.OpenCompute(t.Context(), opts)
		if err != nil {
			t.Fatal(err)
		}
		for i, id := range []compute.ID{"c", "a", "b"} {
			at := computetest.Now.Add(time.Duration(i/2) * time.Second) // the first two at the same time
			computetest.Add(t, s, &compute.FlavorRow{ID: id, Name: string(id), CreatedAt: at, UpdatedAt: at})
		}
		err = s.OnWriter(func(conn *sql.Conn) error {
			var all error
			statements := append(dropColumns(s), `ALTER TABLE flavors DROP COLUMN number`,
				`UPDATE berth_compute SET version = 7`)
			for _, statement := range statements {
				_, err := conn.ExecContext(t.Context(), statement)
				all = errors.Join(all, err)
			}
			return all
		})
		if err != nil {
			t.Fatal(err)
		}
		if err := s.Close(); err != nil {
			t.Fatal(err)
		}
		opts.Sync = true
		again := openCompute(t, opts)
		got := map[compute.ID]int64{}
		for _, row := range computetest.Read[compute.FlavorRow](t, again) {
			got[row.ID] = row.Number
		}
		if diff := cmp.Diff(map[compute.ID]int64{"a": 1, "c": 2, "b": 3}, got); diff != "" {
			t.Errorf("numbers of flavors (-want +got):\n%s", diff)
		}
		want := []compute.CounterRow{{Name: "flavors", Last: 3}}
		if diff := cmp.Diff(want, computetest.Read[compute.CounterRow](t, again)); diff != "" {
			t.Errorf("counters (-want +got):\n%s", diff)
		}
	})
}

// TestQueuesAreMoved goes from the version in which what waits for an operation, and that it was
// aborted, was part of its body.
func TestQueuesAreMoved(t *testing.T) {
	onAllForNetwork(t, func(t *testing.T, opts sqlstore.Options) {
		s, err := rowtable.OpenCompute(t.Context(), opts)
		if err != nil {
			t.Fatal(err)
		}
		type want struct {
			queue   string
			aborted bool
		}
		const queue = `[{"kind":"power","body":{"action":"a","verb":"stop"}},{"kind":"detach","body":{"port":"\"ü"}}]`
		bodies := map[string]want{
			`{}`:                                  {},
			`{"action":"a","abort":false}`:        {},
			`{"abort":true}`:                      {aborted: true},
			`{"next":` + queue + `,"abort":true}`: {queue, true},
		}
		for body := range bodies {
			server := computetest.Server(fmt.Sprint("vm", len(body)), "cn1")
			computetest.Add(t, s, server, &compute.OperationRow{
				ID: computetest.ID(fmt.Sprint("op", len(body))), Server: server.ID, Kind: "live", Step: "claim", Body: []byte(body),
			})
		}
		err = s.OnWriter(func(conn *sql.Conn) error {
			var all error
			for _, statement := range append([]string{
				dropIndex(s, "servers_lower_hostname_idx", "servers"), `ALTER TABLE servers DROP COLUMN lower_hostname`,
				`ALTER TABLE operations DROP COLUMN queue`, `ALTER TABLE operations DROP COLUMN aborted`,
				`ALTER TABLE services DROP COLUMN start_error`, `ALTER TABLE nodes DROP COLUMN additions`,
				`ALTER TABLE nodes DROP COLUMN topology`,
				`UPDATE berth_compute SET version = 11`,
			}, dropAssignments...) {
				_, err := conn.ExecContext(t.Context(), statement)
				all = errors.Join(all, err)
			}
			return all
		})
		if err != nil {
			t.Fatal(err)
		}
		if err := s.Close(); err != nil {
			t.Fatal(err)
		}
		opts.Sync = true
		rows := computetest.Read[compute.OperationRow](t, openCompute(t, opts))
		if len(rows) != len(bodies) {
			t.Errorf("there are %d operations, want %d", len(rows), len(bodies))
		}
		for _, row := range rows {
			var got, expected any
			expect := bodies[string(row.Body)]
			_, _ = json.Unmarshal(row.Queue, &got), json.Unmarshal([]byte(expect.queue), &expected)
			if diff := cmp.Diff(expected, got); diff != "" || row.Aborted != expect.aborted {
				t.Errorf("the operation with the body %s is aborted: %v, want %v; what waits for it (-want +got):\n%s", row.Body,
					row.Aborted, expect.aborted, diff)
			}
		}
	})
}

// TestHostnamesAreLowered goes from the version in which servers had no lower-case hostname: those
// that existed are found by it as those that are written since.
func TestHostnamesAreLowered(t *testing.T) {
	onAllForNetwork(t, func(t *testing.T, opts sqlstore.Options) {
		s, err := rowtable.OpenCompute(t.Context(), opts)
		if err != nil {
			t.Fatal(err)
		}
		hostnames := []string{"VM-One", "vm-one", "stra\u00dfe-\u00e9", "server-2"}
		for i, hostname := range hostnames {
			row := computetest.Server(fmt.Sprint("vm", i), "cn1")
			row.Hostname = hostname
			computetest.Add(t, s, row)
		}
		err = s.OnWriter(func(conn *sql.Conn) error {
			var all error
			for _, statement := range append([]string{
				dropIndex(s, "servers_lower_hostname_idx", "servers"), `ALTER TABLE servers DROP COLUMN lower_hostname`,
				`ALTER TABLE services DROP COLUMN start_error`, `ALTER TABLE nodes DROP COLUMN additions`,
				`ALTER TABLE nodes DROP COLUMN topology`,
				`UPDATE berth_compute SET version = 12`,
			}, dropAssignments...) {
				_, err := conn.ExecContext(t.Context(), statement)
				all = errors.Join(all, err)
			}
			return all
		})
		if err != nil {
			t.Fatal(err)
		}
		if err := s.Close(); err != nil {
			t.Fatal(err)
		}
		opts.Sync = true
		again := openCompute(t, opts)
		later := computetest.Server("later", "cn1")
		later.Hostname = "vM-oNE"
		computetest.Add(t, again, later)
		for hostname, want := range map[string]int{"vm-one": 3, "VM-One": 0, "stra\u00dfe-\u00e9": 1, "server-2": 1, "": 0} {
			found := computetest.Read[compute.ServerSummary](t, again, compute.Where(compute.ByHostname, hostname))
			if len(found) != want {
				t.Errorf("%d servers have the hostname %q, want %d: %+v", len(found), hostname, want, found)
			}
		}
	})
}
