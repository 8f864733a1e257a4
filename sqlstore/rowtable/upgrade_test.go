package rowtable_test

import (
	"context"
	"database/sql"
	"errors"
	"fmt"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/berthcloud/berth/network"
	"github.com/berthcloud/berth/network/networktest"
	"github.com/berthcloud/berth/sqlstore"
	"github.com/berthcloud/berth/sqlstore/migrations"
	"github.com/berthcloud/berth/sqlstore/rowtable"
)

// The versions of a later program: a column with values, which are counted up so that a second run
// would show, and an index.
var (
	addColumn  = `ALTER TABLE networks ADD COLUMN runs INTEGER`
	fillColumn = `UPDATE networks SET runs = COALESCE(runs, 0) + 1`
	addIndex   = `CREATE INDEX networks_runs_idx ON networks (runs)`
	later      = [][]string{{addColumn, fillColumn}, {addIndex}}
	laterIs    = migrations.NetworkVersion + len(later)
)

// withNetwork makes a database of this version with one network.
func withNetwork(t *testing.T, opts sqlstore.Options) *networktest.Net {
	t.Helper()
	one := networktest.VLAN("n", "physnet0", 7)
	s, err := rowtable.OpenNetwork(context.Background(), opts)
	if err != nil {
		t.Fatal(err)
	}
	networktest.Add(t, s, one)
	if err := s.Close(); err != nil {
		t.Fatal(err)
	}
	return one
}

// failsToOpen opens the database with scripts that do not get through, and returns why.
func failsToOpen(t *testing.T, opts sqlstore.Options, scripts ...[]string) string {
	t.Helper()
	s, err := rowtable.OpenLaterNetwork(context.Background(), opts, scripts...)
	if err == nil {
		_ = s.Close()
		t.Fatalf("a program with %q opened the database", scripts)
	}
	return err.Error()
}

// upgraded opens the database with the later program and checks that all of it is there, once.
func upgraded(t *testing.T, opts sqlstore.Options, want *networktest.Net) {
	t.Helper()
	s, err := rowtable.OpenLaterNetwork(context.Background(), opts, later...)
	if err != nil {
		t.Fatal(err)
	}
	defer s.Close()
	if diff := cmp.Diff(want, readNet(t, s)); diff != "" {
		t.Errorf("the network (-written +read):\n%s", diff)
	}
	var version, runs int
	err = s.OnWriter(func(conn *sql.Conn) error {
		if err := conn.QueryRowContext(t.Context(), `SELECT version FROM berth_network`).Scan(&version); err != nil {
			return err
		}
		if err := conn.QueryRowContext(t.Context(), `SELECT runs FROM networks`).Scan(&runs); err != nil {
			return err
		}
		_, err := conn.ExecContext(t.Context(), addIndex)
		if err == nil {
			return fmt.Errorf("%s: there was no such index", addIndex)
		}
		return nil
	})
	if err != nil || version != laterIs || runs != 1 {
		t.Errorf("the tables are of version %d, and the column was filled %d times: %v", version, runs, err)
	}
}

// TestNetworkTablesAreUpgraded goes from this version over the next one to the one behind it, and
// only when that is allowed.
func TestNetworkTablesAreUpgraded(t *testing.T) {
	t.Parallel()
	onAllForNetwork(t, func(t *testing.T, opts sqlstore.Options) {
		one := withNetwork(t, opts)
		want := fmt.Sprintf("of version %d, older than %d: allow the upgrade", migrations.NetworkVersion, laterIs)
		if got := failsToOpen(t, opts, later...); !strings.Contains(got, want) {
			t.Errorf("without leave: %s, want %q", got, want)
		}
		opts.Sync = true
		upgraded(t, opts, one)
		upgraded(t, opts, one) // there is nothing left to do
		refusedByNetwork(t, opts, "newer than")
	})
}

// TestInterruptedUpgradesGoOn interrupts the upgrade within each version. A server that commits
// each statement by itself has the first ones then; the version that was completed is not run
// again.
func TestInterruptedUpgradesGoOn(t *testing.T) {
	t.Parallel()
	const end = `SELECT interrupted`
	for name, scripts := range map[string][][]string{
		"InTheFirstVersion":  {{addColumn, end}, {addIndex}},
		"InTheSecondVersion": {{addColumn, fillColumn}, {addIndex, end}},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			onAllForNetwork(t, func(t *testing.T, opts sqlstore.Options) {
				one := withNetwork(t, opts)
				opts.Sync = true
				failsToOpen(t, opts, scripts...)
				upgraded(t, opts, one)
			})
		})
	}
}

// TestRowsThatAnUpgradeForbidsStopIt has two networks with one name where the next version wants
// names to be unique: a server says of the index what it says of a row that is there.
func TestRowsThatAnUpgradeForbidsStopIt(t *testing.T) {
	t.Parallel()
	onAllForNetwork(t, func(t *testing.T, opts sqlstore.Options) {
		s, err := rowtable.OpenNetwork(context.Background(), opts)
		if err != nil {
			t.Fatal(err)
		}
		networktest.Add(t, s, networktest.VLAN("n", "physnet0", 7))
		networktest.Add(t, s, networktest.VLAN("m", "physnet0", 8))
		if err := s.Close(); err != nil {
			t.Fatal(err)
		}
		opts.Sync = true
		failsToOpen(t, opts, []string{
			`ALTER TABLE networks ADD COLUMN twin INTEGER`,
			`UPDATE networks SET twin = 1`,
			`CREATE UNIQUE INDEX networks_twin_uq ON networks (twin)`,
		})
	})
}

// TestOpenToIsFilled goes from the version in which it could not be looked for what is for all
// projects: rows that existed are found as those that are written since.
func TestOpenToIsFilled(t *testing.T) {
	t.Parallel()
	onAllForNetwork(t, func(t *testing.T, opts sqlstore.Options) {
		s, err := rowtable.OpenNetwork(t.Context(), opts)
		if err != nil {
			t.Fatal(err)
		}
		for i, name := range []string{"own", "shared", "external"} {
			net := networktest.VLAN(name, "physnet0", 7+i)
			net.Network.Shared, net.Network.External = name == "shared", name == "external"
			networktest.Add(t, s, net)
		}
		drop := []string{"DROP INDEX networks_open_to_idx", "DROP INDEX policies_open_to_idx"}
		if s.Dialect().Name == "mysql" {
			drop = []string{"DROP INDEX networks_open_to_idx ON networks", "DROP INDEX policies_open_to_idx ON policies"}
		}
		err = s.OnWriter(func(conn *sql.Conn) error {
			var all error
			for _, statement := range append(drop, `ALTER TABLE networks DROP COLUMN open_to`,
				`ALTER TABLE policies DROP COLUMN open_to`, `ALTER TABLE ports DROP COLUMN trusted`,
				`UPDATE berth_network SET version = 2`) {
				_, err := conn.ExecContext(t.Context(), statement)
				all = errors.Join(all, err)
			}
			return all
		})
		if err := errors.Join(err, s.Close()); err != nil {
			t.Fatal(err)
		}
		opts.Sync = true
		again := openNetwork(t, opts)
		var names []string
		err = again.View(t.Context(), func(r network.Reader) error {
			open, err := network.Rows[network.NetworkRow](r, network.Where(network.ByOpenTo, network.AllProjects))
			for _, n := range open {
				names = append(names, n.Name)
			}
			return err
		})
		if slices.Sort(names); err != nil || !slices.Equal(names, []string{"external", "shared"}) {
			t.Errorf("open to all are %q, %v, want the shared one and the external one", names, err)
		}
	})
}
