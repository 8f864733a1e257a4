package sqlstore_test

import (
	"context"
	"database/sql"
	"errors"
	"io"
	"os"
	"path/filepath"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"go.uber.org/goleak"

	"github.com/berthcloud/berth/internal/dbtest"
	"github.com/berthcloud/berth/placement"
	"github.com/berthcloud/berth/placement/placementtest"
	"github.com/berthcloud/berth/sqlstore"
)

func TestMain(m *testing.M) {
	goleak.VerifyTestMain(stopping{m}, goleak.IgnoreTopFunction("github.com/berthcloud/berth/internal/process.KeepThread"))
}

// stopping stops the servers that tests share before leaks are looked for.
type stopping struct{ *testing.M }

func (m stopping) Run() int {
	defer dbtest.Stop()
	return m.M.Run()
}

var now = time.Date(2026, 11, 20, 12, 0, 0, 123456000, time.UTC)

func openTemp(tb testing.TB) *sqlstore.Store {
	return open(tb, sqlstore.Options{Path: filepath.Join(tb.TempDir(), "placement.db")})
}

func TestStoreInFile(t *testing.T) {
	placementtest.TestStore(t, func(t *testing.T) placement.Store { return openTemp(t) })
}

func TestStoreInMemory(t *testing.T) {
	placementtest.TestStore(t, func(t *testing.T) placement.Store {
		return open(t, sqlstore.Options{Path: sqlstore.Memory})
	})
}

func TestEnsureStandard(t *testing.T) {
	s := openTemp(t)
	names := func() (classes, traits []placement.Named) {
		t.Helper()
		err := s.View(context.Background(), func(r placement.Reader) (err error) {
			if classes, err = r.Classes(); err == nil {
				traits, err = r.Traits()
			}
			return err
		})
		if err != nil {
			t.Fatal(err)
		}
		return classes, traits
	}
	// One class and one trait are there already and keep what they have.
	err := s.Update(context.Background(), now, func(w placement.Writer) error {
		_, err := w.InsertTrait("COMPUTE_NODE")
		return errors.Join(err, w.InsertClass(2, "DISK_GB"))
	})
	if err != nil {
		t.Fatal(err)
	}
	for range 2 {
		if err := placement.EnsureStandard(context.Background(), s, now.Add(time.Hour)); err != nil {
			t.Fatalf("EnsureStandard() = %v", err)
		}
		classes, traits := names()
		if len(classes) != 21 || len(traits) != 377 {
			t.Fatalf("%d classes and %d traits, want 21 and 377", len(classes), len(traits))
		}
		for i, c := range classes {
			if c.ID != int32(i) || c.Name != placement.StandardClasses[i] {
				t.Errorf("class %d is %v, want %s", i, c, placement.StandardClasses[i])
			}
		}
		want := placement.Named{ID: 1, Name: "COMPUTE_NODE", Modified: now}
		if diff := cmp.Diff(want, traits[0]); diff != "" {
			t.Errorf("the trait that was there (-want +got):\n%s", diff)
		}
	}
}

// addProvider writes one root provider.
func addProvider(s *sqlstore.Store, name string) error {
	return s.Update(context.Background(), now, func(w placement.Writer) error {
		_, err := w.InsertProvider(placement.ProviderRow{UUID: placement.UUID(name), Name: name})
		return err
	})
}

func providerNames(tb testing.TB, s *sqlstore.Store) []string {
	tb.Helper()
	var names []string
	err := s.View(context.Background(), func(r placement.Reader) error {
		all, err := r.TreeRows(nil)
		for _, p := range all.Providers {
			names = append(names, p.Name)
		}
		return err
	})
	if err != nil {
		tb.Fatalf("View() = %v", err)
	}
	return names
}

func TestRowsSurviveReopening(t *testing.T) {
	path := filepath.Join(t.TempDir(), "odd name?#%.db")
	for i, want := range [][]string{{"a"}, {"a", "b"}, {"a", "b", "c"}} {
		s := open(t, sqlstore.Options{Path: path})
		if err := addProvider(s, want[i]); err != nil {
			t.Fatal(err)
		}
		if diff := cmp.Diff(want, providerNames(t, s)); diff != "" {
			t.Errorf("providers (-want +got):\n%s", diff)
		}
		if err := s.Close(); err != nil {
			t.Errorf("Close() = %v", err)
		}
		if err := s.Close(); err != nil {
			t.Errorf("second Close() = %v", err)
		}
	}
	remaining, err := filepath.Glob(filepath.Join(filepath.Dir(path), "*"))
	if err != nil || len(remaining) != 1 {
		t.Errorf("after Close there are %v, want the database alone (%v)", remaining, err)
	}
}

// A copy of the files, taken at any moment, is what a crash would leave.
func TestAcknowledgedRowsAreInTheFiles(t *testing.T) {
	dir := t.TempDir()
	path := filepath.Join(dir, "placement.db")
	s := open(t, sqlstore.Options{Path: path})
	var want []string
	for _, name := range []string{"a", "b", "c", "d"} {
		if err := addProvider(s, name); err != nil {
			t.Fatal(err)
		}
		want = append(want, name)
		crash := filepath.Join(dir, "crash-"+name+".db")
		copyFile(t, path, crash)
		copyFile(t, path+"-wal", crash+"-wal")
		after := open(t, sqlstore.Options{Path: crash})
		if diff := cmp.Diff(want, providerNames(t, after)); diff != "" {
			t.Errorf("providers after the crash (-want +got):\n%s", diff)
		}
		if err := addProvider(after, "more"); err != nil {
			t.Errorf("writing after the crash: %v", err)
		}
	}
}

// What other programs wrote is read as it is, also where they wrote nothing.
func TestRowsOfOthersAreRead(t *testing.T) {
	path := fresh(t)
	makeFile(t, path,
		`INSERT INTO traits (id, name, created_at, updated_at) VALUES
			(1, 'A', '2026-01-02 03:04:05.678901', NULL),
			(2, 'B', '2025-01-02 03:04:05', '2026-01-02 03:04:05'),
			(3, 'C', NULL, '2026-01-02T03:04:05Z'),
			(4, 'D', NULL, NULL)`,
		`INSERT INTO resource_providers (id, uuid) VALUES (7, 'a')`)
	s := open(t, sqlstore.Options{Path: path})
	whole := time.Date(2026, 1, 2, 3, 4, 5, 0, time.UTC)
	err := s.View(context.Background(), func(r placement.Reader) error {
		traits, err := r.Traits()
		want := []placement.Named{
			{ID: 1, Name: "A", Modified: whole.Add(678901 * time.Microsecond)},
			{ID: 2, Name: "B", Modified: whole},
			{ID: 3, Name: "C", Modified: whole},
			{ID: 4, Name: "D"},
		}
		if diff := cmp.Diff(want, traits); diff != "" {
			t.Errorf("Traits (-want +got):\n%s", diff)
		}
		p, err2 := r.Provider("a")
		if diff := cmp.Diff(placement.ProviderRow{ID: 7, UUID: "a", Root: 7}, p); diff != "" {
			t.Errorf("Provider (-want +got):\n%s", diff)
		}
		return errors.Join(err, err2)
	})
	if err != nil {
		t.Fatal(err)
	}
	err = s.Update(context.Background(), now, func(w placement.Writer) error { return w.BumpProvider(7, 0) })
	if err != nil {
		t.Errorf("BumpProvider of a provider without a generation = %v", err)
	}
}

// Times are written as SQLAlchemy writes them.
func TestTimesAreUpstreamsText(t *testing.T) {
	s := openTemp(t)
	if err := addProvider(s, "a"); err != nil {
		t.Fatal(err)
	}
	err := s.OnWriter(func(conn *sql.Conn) error {
		var got string
		err := conn.QueryRowContext(context.Background(),
			`SELECT created_at || ' ' || typeof(created_at) FROM resource_providers`).Scan(&got)
		if want := "2026-11-20 12:00:00.123456 text"; got != want {
			t.Errorf("created_at is %q, want %q", got, want)
		}
		return err
	})
	if err != nil {
		t.Error(err)
	}
}

func copyFile(tb testing.TB, from, to string) {
	tb.Helper()
	src, err := os.Open(from)
	if err != nil {
		tb.Fatal(err)
	}
	defer src.Close()
	dst, err := os.Create(to)
	if err != nil {
		tb.Fatal(err)
	}
	if _, err := io.Copy(dst, src); err != nil {
		tb.Fatal(err)
	}
	if err := dst.Close(); err != nil {
		tb.Fatal(err)
	}
}
