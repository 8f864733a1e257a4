package dbtool_test

import (
	"errors"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/berthcloud/berth/dbtool"
	"github.com/berthcloud/berth/placement"
	"github.com/berthcloud/berth/sqlstore"
	"github.com/berthcloud/berth/sqlstore/engine"
	"github.com/berthcloud/berth/sqlstore/migrations"
)

func uninstall(t *testing.T, url string, force bool) error {
	t.Helper()
	_, err := with(t, url, dbtool.Change, func(tb *dbtool.Tables) (any, error) {
		return nil, tb.Uninstall(t.Context(), force)
	})
	return err
}

func own(t *testing.T, url string) []dbtool.TableCount {
	t.Helper()
	all, err := with(t, url, dbtool.Look, func(tb *dbtool.Tables) ([]dbtool.TableCount, error) {
		return tb.Own(t.Context())
	})
	if err != nil {
		t.Fatalf("Own: %v", err)
	}
	return all
}

// writeNow has a store write something, as of now.
func writeNow(t *testing.T, s *sqlstore.Store, trait string) {
	t.Helper()
	err := s.Update(t.Context(), time.Now(), func(w placement.Writer) error {
		_, err := w.InsertTrait(trait)
		return err
	})
	if err != nil {
		t.Fatal(err)
	}
}

func TestUninstallLeavesWhatUpstreamMakes(t *testing.T) {
	onPlaces(t, func(t *testing.T, url string) {
		inhabit(t, synced(t, url), 30, 30)
		before := dump(t, url)
		s := open(t, at(t, url))
		writeNow(t, s, "CUSTOM_NEW")
		if s.Shared() {
			if err := uninstall(t, url, false); !errors.Is(err, dbtool.ErrAlive) {
				t.Errorf("Uninstall next to a store that wrote = %v, want ErrAlive", err)
			}
			if got := own(t, url); len(got) != 4 {
				t.Errorf("after the refusal the tables %v are there, want 4", got)
			}
		}
		_ = s.Close() // in order: no transaction has to wait
		execute(t, url, `DELETE FROM traits WHERE name = 'CUSTOM_NEW'`)
		if err := uninstall(t, url, false); err != nil {
			t.Fatalf("Uninstall: %v", err)
		}
		if diff := cmp.Diff([]dbtool.TableCount(nil), own(t, url)); diff != "" {
			t.Errorf("tables left (-want +got):\n%s", diff)
		}
		if got := dump(t, url); got != before {
			t.Errorf("the rest changed: %s", firstDifference(before, got))
		}
		writeNow(t, open(t, at(t, url)), "CUSTOM_NEWER") // a berth on it afterwards
	})
}

func TestUninstallByForce(t *testing.T) {
	needServers(t)
	url := synced(t, places[1].url(t))
	s := open(t, at(t, url))
	writeNow(t, s, "CUSTOM_NEW")
	_ = s.Close()
	if err := uninstall(t, url, true); err != nil {
		t.Errorf("Uninstall: %v", err)
	}
	if got := own(t, url); len(got) > 0 {
		t.Errorf("tables left: %v", got)
	}
}

func TestVersion(t *testing.T) {
	onPlaces(t, func(t *testing.T, url string) {
		synced(t, url)
		v, err := with(t, url, dbtool.Look, func(tb *dbtool.Tables) (dbtool.Version, error) {
			return tb.Version(t.Context())
		})
		if err != nil {
			t.Fatal(err)
		}
		want := dbtool.Version{
			Server: v.Server, Revision: "422ece571366", Standing: dbtool.StandsCurrent, Release: "Xena (6.0)", Own: 1,
		}
		if at(t, url).Server == nil {
			want.Own = 0
		}
		if diff := cmp.Diff(want, v); diff != "" || v.Server == "" {
			t.Errorf("Version of %q (-want +got):\n%s", v.Server, diff)
		}
	})
}

func TestSyncDoesWhatItPlans(t *testing.T) {
	onPlaces(t, func(t *testing.T, url string) {
		do := func(sync bool) dbtool.Upgrade {
			u, err := with(t, url, dbtool.Make, func(tb *dbtool.Tables) (dbtool.Upgrade, error) {
				if sync {
					return tb.Sync(t.Context())
				}
				return tb.Plan(t.Context())
			})
			if err != nil {
				t.Fatal(err)
			}
			return u
		}
		planned := do(false)
		if diff := cmp.Diff(planned, do(true)); diff != "" || len(planned.Steps) != 4 {
			t.Errorf("Sync differs from the plan %+v (-plan +sync):\n%s", planned, diff)
		}
		want := dbtool.Upgrade{From: "422ece571366", Steps: []string{}}
		if at(t, url).Server != nil {
			want.OwnFrom, want.OwnTo = migrations.OwnVersion, migrations.OwnVersion
		}
		for _, sync := range []bool{false, true} {
			if diff := cmp.Diff(want, do(sync)); diff != "" {
				t.Errorf("once more, Sync is %v (-want +got):\n%s", sync, diff)
			}
		}
	})
}

// TestSyncUpgradesOwnTables has a later program's Sync meet tables of this one, and the other way
// round.
func TestSyncUpgradesOwnTables(t *testing.T) {
	needServers(t)
	for _, p := range places[1:] {
		t.Run(p.name, func(t *testing.T) {
			url := synced(t, p.url(t))
			later := at(t, url)
			later.OwnTables = engine.OwnTables()
			later.OwnTables.Version++
			later.OwnTables.Script = func(string, int) ([]string, error) {
				return []string{`ALTER TABLE berth_writers ADD COLUMN runs INTEGER`}, nil
			}
			for n, want := range []dbtool.Upgrade{
				{OwnFrom: migrations.OwnVersion, OwnTo: later.OwnTables.Version},
				{OwnFrom: later.OwnTables.Version, OwnTo: later.OwnTables.Version},
			} {
				tables, err := dbtool.OpenTables(t.Context(), later, dbtool.Make)
				if err != nil {
					t.Fatal(err)
				}
				got, err := tables.Sync(t.Context())
				if err != nil || got.OwnFrom != want.OwnFrom || got.OwnTo != want.OwnTo || got.Own() != (n == 0) {
					t.Errorf("Sync = %+v, %v, want %+v", got, err, want)
				}
				if err := tables.Close(); err != nil {
					t.Error(err)
				}
			}
			_, err := with(t, url, dbtool.Make, func(tb *dbtool.Tables) (dbtool.Upgrade, error) { return tb.Sync(t.Context()) })
			if err == nil || !strings.Contains(err.Error(), "newer than the 1 of this program") {
				t.Errorf("Sync of an older program = %v, want an error about newer tables", err)
			}
		})
	}
}
