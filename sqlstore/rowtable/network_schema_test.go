package rowtable_test

import (
	"context"
	"database/sql"
	"errors"
	"fmt"
	"path/filepath"
	"strings"
	"sync"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/berthcloud/berth/network/networktest"
	"github.com/berthcloud/berth/sqlstore"
	"github.com/berthcloud/berth/sqlstore/migrations"
	"github.com/berthcloud/berth/sqlstore/rowtable"
)

// onAllForNetwork runs a test on a file and on every kind of server.
func onAllForNetwork(t *testing.T, test func(t *testing.T, opts sqlstore.Options)) {
	t.Run("File", func(t *testing.T) { test(t, sqlstore.Options{Path: filepath.Join(t.TempDir(), "network.db")}) })
	t.Run("Server", func(t *testing.T) {
		onNetworkServers(t, func(t *testing.T, urls []string) { test(t, sqlstore.Options{Server: server(t, urls[0])}) })
	})
}

// columnsAre checks that a database has these columns in its tables.
func columnsAre(t *testing.T, onWriter func(func(*sql.Conn) error) error, tables map[string][]string) {
	t.Helper()
	got := map[string][]string{}
	err := onWriter(func(conn *sql.Conn) error {
		for name := range tables {
			rows, err := conn.QueryContext(context.Background(), `SELECT * FROM `+name+` WHERE 1 = 0`)
			if err != nil {
				return err
			}
			got[name], err = rows.Columns()
			if err := errors.Join(err, rows.Close()); err != nil {
				return err
			}
		}
		return nil
	})
	if diff := cmp.Diff(tables, got); err != nil || diff != "" {
		t.Errorf("columns of the tables (-Go +database), %v:\n%s", err, diff)
	}
}

// TestNetworkTablesAreAlike holds the tables of every database to those that the
// rows are kept in, with their columns.
func TestNetworkTablesAreAlike(t *testing.T) {
	onAllForNetwork(t, func(t *testing.T, opts sqlstore.Options) {
		s := openNetwork(t, opts)
		tables := s.Tables()
		tables["security_groups"] = append(tables["security_groups"], "default_of")
		columnsAre(t, s.OnWriter, tables)
	})
}

// indexesBegin checks that an index of a file begins with each of the columns.
func indexesBegin(t *testing.T, onWriter func(func(*sql.Conn) error) error, columns []string) {
	t.Helper()
	var indexed string
	err := onWriter(func(conn *sql.Conn) error {
		return conn.QueryRowContext(context.Background(), `
SELECT ' ' || group_concat(m.name || '.' || c.name, ' ') || ' '
FROM sqlite_master m, pragma_index_list(m.name) i, pragma_index_info(i.name) c
WHERE m.type = 'table' AND c.seqno = 0`).Scan(&indexed)
	})
	if err != nil {
		t.Fatal(err)
	}
	for _, column := range columns {
		if !strings.Contains(indexed, " "+column+" ") {
			t.Errorf("no index begins with %s", column)
		}
	}
}

// TestNetworkFieldsHaveIndexes wants an index that begins with each column that rows
// are looked for by.
func TestNetworkFieldsHaveIndexes(t *testing.T) {
	s := openNetwork(t, sqlstore.Options{Path: filepath.Join(t.TempDir(), "network.db")})
	indexesBegin(t, s.OnWriter, s.Searchable())
}

// refusedByNetwork checks that a database is refused, and why.
func refusedByNetwork(t *testing.T, opts sqlstore.Options, want string) {
	t.Helper()
	s, err := rowtable.OpenNetwork(context.Background(), opts)
	if err == nil {
		_ = s.Close()
	}
	if err == nil || !strings.Contains(err.Error(), want) || strings.Contains(err.Error(), "\n") {
		t.Errorf("OpenNetwork = %v, want a line that says %q", err, want)
	}
}

func TestForeignDatabasesAreNotForTheNetwork(t *testing.T) {
	path := filepath.Join(t.TempDir(), "other.db")
	for name, statements := range map[string][]string{
		"Neutron": {
			`CREATE TABLE alembic_version (version_num TEXT)`, `INSERT INTO alembic_version VALUES ('682c319773d7')`,
			`CREATE TABLE networks (id TEXT)`,
		},
		"Other": {`CREATE TABLE pets (name TEXT)`},
	} {
		t.Run(name, func(t *testing.T) {
			path := path + name
			makeFile(t, path, statements...)
			before := contents(t, path)
			refusedByNetwork(t, sqlstore.Options{Path: path}, "not a database of Berth's network service")
			if contents(t, path) != before {
				t.Error("the file was changed")
			}
		})
	}
}

// TestEachStoreRefusesTheOthersDatabase opens placement's as the network's and the
// other way round, and leaves both alone.
func TestEachStoreRefusesTheOthersDatabase(t *testing.T) {
	t.Run("PlacementIsNotTheNetwork", func(t *testing.T) {
		onAllForNetwork(t, func(t *testing.T, opts sqlstore.Options) {
			open(t, opts).Close()
			refusedByNetwork(t, opts, "not a database of Berth's network service")
			open(t, opts)
		})
	})
	t.Run("TheNetworkIsNotPlacement", func(t *testing.T) {
		onAllForNetwork(t, func(t *testing.T, opts sqlstore.Options) {
			openNetwork(t, opts).Close()
			if _, err := sqlstore.Open(context.Background(), opts); err == nil {
				t.Error("Open of the network's database = nil, want an error")
			}
			openNetwork(t, opts)
		})
	})
}

// setVersion has the tables claim to be of a version.
func setVersion(t *testing.T, s *rowtable.NetworkStore, version int) {
	t.Helper()
	err := s.OnWriter(func(conn *sql.Conn) error {
		_, err := conn.ExecContext(context.Background(), fmt.Sprintf(`UPDATE berth_network SET version = %d`, version))
		return err
	})
	if err != nil {
		t.Fatal(err)
	}
}

func TestNetworkTablesOfANewerVersionAreRefused(t *testing.T) {
	onAllForNetwork(t, func(t *testing.T, opts sqlstore.Options) {
		s := openNetwork(t, opts)
		setVersion(t, s, migrations.NetworkVersion+1)
		if err := s.Close(); err != nil {
			t.Fatal(err)
		}
		refusedByNetwork(t, opts, "newer than")
	})
}

// TestTablesOfNoReleaseAreRefused opens tables with versions from before the first release, whether
// an upgrade is allowed.
func TestTablesOfNoReleaseAreRefused(t *testing.T) {
	onAllForNetwork(t, func(t *testing.T, opts sqlstore.Options) {
		opts.Sync = true
		s := openNetwork(t, opts)
		setVersion(t, s, migrations.RowsFirst["network"]-1)
		if err := s.Close(); err != nil {
			t.Fatal(err)
		}
		refusedByNetwork(t, opts,
			"of version 1, which no release had and this program does not upgrade: name an empty database")
	})
}

func TestNetworkRowsSurviveReopening(t *testing.T) {
	onAllForNetwork(t, func(t *testing.T, opts sqlstore.Options) {
		want := networktest.VLAN("n", "physnet0", 7)
		s := openNetwork(t, opts)
		networktest.Add(t, s, want)
		if err := s.Close(); err != nil {
			t.Fatal(err)
		}
		if diff := cmp.Diff(want, readNet(t, openNetwork(t, opts))); diff != "" {
			t.Errorf("the network (-written +read):\n%s", diff)
		}
	})
}

func TestNetworkInstancesStartTogether(t *testing.T) {
	onNetworkServers(t, func(t *testing.T, urls []string) {
		var all sync.WaitGroup
		for i := range 4 {
			all.Go(func() {
				s, err := rowtable.OpenNetwork(context.Background(), sqlstore.Options{Server: server(t, urls[i%2])})
				if err != nil {
					t.Errorf("OpenNetwork: %v", err)
					return
				}
				defer s.Close()
				networktest.Add(t, s, networktest.NewPolicy(fmt.Sprint("p", i)))
			})
		}
		all.Wait()
	})
}

// TestNetworkTablesThatWereBegunAreFinished begins to make the tables where a
// server commits each of them, and lets the store go on from there.
func TestNetworkTablesThatWereBegunAreFinished(t *testing.T) {
	needServers(t)
	script, err := migrations.RowsScript("network", "mysql", migrations.RowsFirst["network"], "utf8mb4_nopad_bin")
	if err != nil {
		t.Fatal(err)
	}
	url := networkURLs["MariaDB"](t)[0]
	for _, n := range []int{1, 30} {
		s := openNetwork(t, sqlstore.Options{Server: server(t, url)})
		err := s.OnWriter(func(conn *sql.Conn) error { return begunTables(conn, s.Tables(), script[:n]) })
		if err != nil {
			t.Fatal(err)
		}
		networktest.Add(t, openNetwork(t, sqlstore.Options{Server: server(t, url)}), networktest.VLAN("n", "physnet0", 7))
	}
}

// begunTables replaces all tables by those of the first statements.
func begunTables(conn *sql.Conn, tables map[string][]string, statements []string) error {
	drop := []string{"SET foreign_key_checks = 0", "DROP TABLE berth_network, berth_turn"}
	for name := range tables {
		drop = append(drop, "DROP TABLE "+name)
	}
	for _, st := range append(drop, statements...) {
		if _, err := conn.ExecContext(context.Background(), st); err != nil {
			return fmt.Errorf("%s: %w", st, err)
		}
	}
	return nil
}

// TestNetworkNeedsItsTurn removes the row that instances wait for each other at.
func TestNetworkNeedsItsTurn(t *testing.T) {
	path := filepath.Join(t.TempDir(), "network.db")
	if err := openNetwork(t, sqlstore.Options{Path: path}).Close(); err != nil {
		t.Fatal(err)
	}
	makeFile(t, path, `DELETE FROM berth_turn`)
	refusedByNetwork(t, sqlstore.Options{Path: path}, "berth_turn has no row")
}
