package sqlstore_test

import (
	"context"
	"errors"
	"strings"
	"sync"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/berthcloud/berth/sqlstore"
	"github.com/berthcloud/berth/sqlstore/engine"
	"github.com/berthcloud/berth/sqlstore/migrations"
)

// The versions of Berth's own tables that later programs have: a column with values, which are
// counted up so that a second run would show, and an index.
var (
	addRuns  = `ALTER TABLE berth_writers ADD COLUMN runs INTEGER`
	fillRuns = `UPDATE berth_writers SET runs = COALESCE(runs, 0) + 1`
	addIndex = `CREATE INDEX berth_writers_runs_idx ON berth_writers (runs)`
)

// later are the options of a program that has these scripts for the versions after this one's.
func later(opts sqlstore.Options, scripts ...[]string) sqlstore.Options {
	tables := engine.OwnTables()
	tables.Version += len(scripts)
	tables.Script = func(database string, version int) ([]string, error) {
		if n := version - migrations.OwnVersion; n > 0 {
			return scripts[n-1], nil
		}
		return migrations.OwnScript(database, version)
	}
	opts.OwnTables = tables
	return opts
}

// openFails returns why a database is not opened.
func openFails(t *testing.T, opts sqlstore.Options) string {
	t.Helper()
	s, err := sqlstore.Open(context.Background(), opts)
	if err == nil {
		_ = s.Close()
		t.Fatal("Open() = nil, want an error")
	}
	return err.Error()
}

// TestOwnTablesAreUpgradedWhileOlderInstancesRun is a rolling upgrade: an instance of this program
// runs on while a later program upgrades the tables, and both see each other's writes afterwards.
func TestOwnTablesAreUpgradedWhileOlderInstancesRun(t *testing.T) {
	onServers(t, func(t *testing.T, url string) {
		opts := sqlstore.Options{Server: server(t, url)}
		older := open(t, opts)
		first := serve(t, older)
		host(t)(first, 1)
		newer := later(opts, []string{addRuns, fillRuns}, []string{addIndex})
		if got := openFails(t, newer); !strings.Contains(got, "its berth_ tables are of version 1, older than 3: allow") {
			t.Errorf("without leave: %s", got)
		}
		newer.Sync = true
		second := serve(t, open(t, newer))
		for i, claim := range []error{
			claimVCPU(first, "a", "h1", 1), claimVCPU(second, "b", "h1", 1),
			claimVCPU(first, "c", "h1", 1),
		} {
			if claim != nil {
				t.Errorf("claim %d: %v", i, claim)
			}
			if diff := cmp.Diff(states(t, first), states(t, second)); diff != "" {
				t.Errorf("after claim %d the instances differ (-older +newer):\n%s", i, diff)
			}
		}
		if got := states(t, second)["h1"].Used[0]; got != 3 {
			t.Errorf("%d are used, want 3", got)
		}
		if n, err := older.Count(context.Background(), `SELECT MAX(runs) FROM berth_writers`); err != nil || n != 1 {
			t.Errorf("the column was filled %d times, %v, want 1", n, err)
		}
		older.CleanLog() // what an older program changes of its row
		if err := older.Close(); err != nil {
			t.Error(err)
		}
		const want = "its berth_ tables are of version 3, newer than the 1 of this program: upgrade all instances"
		if got := openFails(t, opts); !strings.Contains(got, want) {
			t.Errorf("an older program starts: %s, want %q", got, want)
		}
		if got := openFails(t, newerSync(opts)); !strings.Contains(got, want) {
			t.Errorf("an older program that may upgrade starts: %s, want %q", got, want)
		}
	})
}

// newerSync are options that allow upgrades.
func newerSync(opts sqlstore.Options) sqlstore.Options {
	opts.Sync = true
	return opts
}

// TestInterruptedUpgradesOfOwnTablesGoOn interrupts the upgrade within each version.
func TestInterruptedUpgradesOfOwnTablesGoOn(t *testing.T) {
	const end = `SELECT interrupted`
	onServers(t, func(t *testing.T, url string) {
		opts := sqlstore.Options{Server: server(t, url), Sync: true}
		s := open(t, opts)
		if err := errors.Join(addProvider(s, "a"), s.Close()); err != nil {
			t.Fatal(err)
		}
		for _, scripts := range [][][]string{{{addRuns, end}, {addIndex}}, {{addRuns, fillRuns}, {addIndex, end}}} {
			if got := openFails(t, later(opts, scripts...)); !strings.Contains(got, "berth_ tables, version") {
				t.Errorf("the interrupted upgrade says %q", got)
			}
		}
		again := open(t, later(opts, []string{addRuns, fillRuns}, []string{addIndex}))
		if diff := cmp.Diff([]string{"a"}, providerNames(t, again)); diff != "" {
			t.Errorf("providers (-want +got):\n%s", diff)
		}
		if n, err := again.Count(context.Background(), `SELECT version FROM berth_version`); err != nil || n != 3 {
			t.Errorf("the version is %d, %v, want 3", n, err)
		}
	})
}

// TestInstancesUpgradeTogether starts several instances of a later program at once.
func TestInstancesUpgradeTogether(t *testing.T) {
	onServers(t, func(t *testing.T, url string) {
		opts := sqlstore.Options{Server: server(t, url), Sync: true}
		if err := open(t, opts).Close(); err != nil {
			t.Fatal(err)
		}
		newer := later(opts, []string{addRuns}, []string{addIndex})
		var all sync.WaitGroup
		for range 4 {
			all.Go(func() {
				s, err := sqlstore.Open(context.Background(), newer)
				if err != nil {
					t.Errorf("Open: %v", err)
					return
				}
				_ = s.Close()
			})
		}
		all.Wait()
	})
}

// TestFilesHaveNoOwnTables opens a file with this program and with a later one: there is nothing to
// upgrade.
func TestFilesHaveNoOwnTables(t *testing.T) {
	opts := sqlstore.Options{Path: fresh(t)}
	s := open(t, later(opts, []string{addRuns}))
	n, err := s.Count(context.Background(), `SELECT COUNT(*) FROM sqlite_master WHERE name LIKE 'berth%'`)
	if err != nil || n != 0 {
		t.Errorf("the file has %d tables of Berth's own, %v, want none", n, err)
	}
}
