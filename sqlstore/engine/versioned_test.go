package engine

import (
	"context"
	"database/sql"
	"errors"
	"fmt"
	"strings"
	"testing"

	"github.com/berthcloud/berth/sqlstore/migrations"
	"github.com/berthcloud/berth/sqlstore/sqlconn"
)

// memorySession returns a transaction outside of any on a new database in memory.
func memoryTx(t *testing.T) *sqlconn.Tx {
	t.Helper()
	db, err := sql.Open("sqlite", Memory)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = db.Close() })
	db.SetMaxOpenConns(1)
	ses := sqlconn.NewSession(sqlconn.SQLiteDialect, db.Conn)
	t.Cleanup(ses.Close)
	if err := ses.Connect(t.Context()); err != nil {
		t.Fatal(err)
	}
	return ses.Tx(context.Background())
}

// laterOwn are Berth's own tables of a later program, with a script for each further version.
func laterOwn(scripts ...string) VersionedTables {
	v := OwnTables()
	v.Version += len(scripts)
	v.Script = func(database string, version int) ([]string, error) {
		if n := version - migrations.OwnVersion; n > 0 {
			return strings.Split(scripts[n-1], ";"), nil
		}
		return migrations.OwnScript(database, version)
	}
	return v
}

const (
	addOrigin  = "ALTER TABLE berth_writers ADD COLUMN origin INTEGER"
	addRuns    = "ALTER TABLE berth_writers ADD COLUMN runs INTEGER"
	fillRuns   = "UPDATE berth_writers SET runs = COALESCE(runs, 0) + 1"
	interrupts = "SELECT interrupted"
)

// TestUpgradesOfVersionedTables goes from each version that a database may be at to the newest,
// with each script run once.
func TestUpgradesOfVersionedTables(t *testing.T) {
	for from := range 4 {
		t.Run(fmt.Sprint("From", from), func(t *testing.T) {
			r := memoryTx(t)
			all := []string{addOrigin, addRuns + ";" + fillRuns}
			var steps []string
			opts := Options{Step: func(text string) { steps = append(steps, text) }}.WithDefaults()
			if from > 0 {
				if err := laterOwn(all[:from-1]...).Upgrade(r, 0, opts, sqlconn.Naming{}); err != nil {
					t.Fatal(err)
				}
				if _, err := r.Exec("INSERT INTO berth_writers (id, created_at, beat_at) VALUES (1, '', '')"); err != nil {
					t.Fatal(err)
				}
			}
			before := len(steps)
			if err := laterOwn(all...).Upgrade(r, from, opts, sqlconn.Naming{}); err != nil {
				t.Fatalf("Upgrade(%d) = %v", from, err)
			}
			version, err := OwnVersion(r)
			if err != nil || version != 3 {
				t.Errorf("the version is %d, %v, want 3", version, err)
			}
			counts, err := sqlconn.List(r, sqlconn.Integer, "SELECT runs FROM berth_writers WHERE origin IS NULL")
			want := "[1]" // the row got the value once
			if from == 0 {
				want = "[]"
			}
			if from == 3 {
				want = "[0]" // the row came after the script
			}
			if got := fmt.Sprint(counts); err != nil || got != want {
				t.Errorf("runs are %s, %v, want %s", got, err, want)
			}
			if (len(steps) > before) != (from < 3) {
				t.Errorf("from version %d the steps %q are reported", from, steps[before:])
			}
		})
	}
}

// TestInterruptedUpgradesKeepWholeVersions has the second of two further versions fail.
func TestInterruptedUpgradesKeepWholeVersions(t *testing.T) {
	r := memoryTx(t)
	opts := Options{}.WithDefaults()
	if err := laterOwn().Upgrade(r, 0, opts, sqlconn.Naming{}); err != nil {
		t.Fatal(err)
	}
	err := laterOwn(addOrigin, interrupts).Upgrade(r, 1, opts, sqlconn.Naming{})
	if !errors.Is(err, ErrCreating) || !strings.Contains(err.Error(), "berth_ tables, version 3") {
		t.Errorf("Upgrade = %v, want ErrCreating about version 3", err)
	}
	if version, err := OwnVersion(r); err != nil || version != 2 {
		t.Errorf("the version is %d, %v, want the 2 that was completed", version, err)
	}
	if err := laterOwn(addOrigin, addRuns).Upgrade(r, 2, opts, sqlconn.Naming{}); err != nil {
		t.Errorf("Upgrade from there = %v", err)
	}
}

// TestOwnVersionsAreChecked looks at databases whose own tables are older and newer than the
// program's.
func TestOwnVersionsAreChecked(t *testing.T) {
	const older = "its berth_ tables are of version 1, older than 2: allow the upgrade (sync_on_startup)"
	for _, tc := range []struct {
		name          string
		made, program VersionedTables
		sync          bool
		want          string
	}{
		{"the same", laterOwn(), laterOwn(), false, ""},
		{"older", laterOwn(), laterOwn(addOrigin), false, older},
		{"older, and an upgrade is allowed", laterOwn(), laterOwn(addOrigin), true, ""},
		{"newer", laterOwn(addOrigin), laterOwn(), true, "of version 2, newer than the 1 of this program: upgrade all"},
	} {
		t.Run(tc.name, func(t *testing.T) {
			r := memoryTx(t)
			if err := tc.made.Upgrade(r, 0, Options{}.WithDefaults(), sqlconn.Naming{}); err != nil {
				t.Fatal(err)
			}
			opts := Options{OwnTables: tc.program, Sync: tc.sync}
			at, err := ownVersion(r, opts, sqlconn.Naming{Allow: "sync_on_startup"})
			if (err == nil) != (tc.want == "") || err != nil && !strings.Contains(err.Error(), tc.want) {
				t.Errorf("ownVersion = %v, want %q", err, tc.want)
			}
			if err == nil && at != tc.made.Version {
				t.Errorf("the version is %d, want %d", at, tc.made.Version)
			}
		})
	}
}
