package sqlstore_test

import (
	"path/filepath"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/berthcloud/berth/internal/clouds"
	"github.com/berthcloud/berth/placement"
	"github.com/berthcloud/berth/sqlstore"
)

// TestRowsOfEverythingAreThoseOfAllRoots reads a snapshot as a whole, on one connection
// and on two, and tree by tree, which are different statements.
func TestRowsOfEverythingAreThoseOfAllRoots(t *testing.T) {
	store := open(t, sqlstore.Options{Path: savedSnapshot(t, clouds.Flat(510, 1))}) // more than a statement requests
	var whole, concurrent, parts placement.TreeRows
	err := store.View(t.Context(), func(r placement.Reader) (err error) {
		if whole, err = r.TreeRows(nil); err != nil {
			return err
		}
		if parts, err = r.TreeRows(rootsOf(whole)); err != nil {
			return err
		}
		concurrent, err = sqlstore.ConcurrentTreeRows(r)
		return err
	})
	if err != nil {
		t.Fatal(err)
	}
	if n := len(whole.Providers); n != 510 {
		t.Fatalf("%d providers were read, want 510", n)
	}
	concurrent.FoldCase, concurrent.FoldLike = whole.FoldCase, whole.FoldLike
	for name, all := range map[string]placement.TreeRows{
		"everything": whole, "everything on two connections": concurrent,
	} {
		if diff := cmp.Diff(parts, all); diff != "" {
			t.Errorf("snapshots of all roots and of %s (-roots +everything):\n%.2000s", name, diff)
		}
	}
}

// rootsOf lists the roots of all trees.
func rootsOf(all placement.TreeRows) (roots []int64) {
	for _, p := range all.Providers {
		if p.ID == p.Root {
			roots = append(roots, p.ID)
		}
	}
	return roots
}

func savedSnapshot(tb testing.TB, w *clouds.Cloud) (file string) {
	tb.Helper()
	file = filepath.Join(tb.TempDir(), "snapshot.db")
	if err := w.Save(tb.Context(), file); err != nil {
		tb.Fatal(err)
	}
	return file
}

// BenchmarkRowsOfEverything reads all rows of 10,000 hosts with bandwidth.
func BenchmarkRowsOfEverything(b *testing.B) {
	w := clouds.Bandwidth(10_000, 1)
	store := open(b, sqlstore.Options{Path: savedSnapshot(b, w)})
	b.ReportAllocs()
	for b.Loop() {
		err := store.View(b.Context(), func(r placement.Reader) error {
			_, err := r.TreeRows(nil)
			return err
		})
		if err != nil {
			b.Fatal(err)
		}
	}
	b.ReportMetric(float64(b.Elapsed().Nanoseconds())/float64(b.N*w.Providers()), "ns/provider")
}
