package rowtable_test

import (
	"database/sql"
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

// TestOperationsAreUpgraded goes from the version in which operations were no lists of steps: each is at a step of its
// list afterwards that does, or undoes, what was left to do, and hosts are to have the servers that they had.
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
				computetest.Add(t, s, &compute.OperationRow{ID: computetest.ID("op" + name(i)), Server: computetest.ID(name(i)), Kind: c.kind, Step: c.step, Body: []byte(`{}`)})
			}
		}
		left := computetest.ID("left")
		err = s.OnWriter(func(conn *sql.Conn) error {
			var all error
			for _, statement := range []string{
				`DROP TABLE hosted`, `ALTER TABLE server_ports DROP COLUMN unplugged`, `ALTER TABLE operations DROP COLUMN back`,
				`ALTER TABLE operations DROP COLUMN back_to`, `ALTER TABLE operations DROP COLUMN awaits`, `ALTER TABLE operations DROP COLUMN reservation`,
				`ALTER TABLE servers DROP COLUMN image_meta`, `ALTER TABLE migrations DROP COLUMN former`,
				`ALTER TABLE flavors DROP COLUMN number`, `DELETE FROM counters WHERE name = 'flavors'`,
				`INSERT INTO leftovers (id, server, host) VALUES ('` + string(left) + `', '` + string(left) + `', 'cn2')`, `UPDATE berth_compute SET version = 5`,
			} {
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
				got = fmt.Sprint(rows[0].Step, " ", rows[0].Back, " ", rows[0].Until)
			}
			hosted := computetest.Read[compute.HostedRow](t, again, compute.Where(compute.ByServer, computetest.ID(name(i))))
			if got != c.want || (len(hosted) > 0) != c.hosted {
				t.Errorf("%s/%s is at %q, want %q; hosts are to have %+v", c.kind, c.step, got, c.want, hosted)
			}
		}
		want := []compute.HostedRow{{Server: left, Host: "cn2", Wish: compute.WishGone, Event: left}}
		if diff := cmp.Diff(want, computetest.Read[compute.HostedRow](t, again, compute.Where(compute.ByServer, left))); diff != "" {
			t.Errorf("what a host is to destroy (-want +got):\n%s", diff)
		}
	})
}

// TestFlavorsGetNumbers goes from the version in which flavors had no numbers: those that exist get them in their
// order, and the next one gets the next.
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
			for _, statement := range []string{`ALTER TABLE flavors DROP COLUMN number`, `UPDATE berth_compute SET version = 7`} {
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
