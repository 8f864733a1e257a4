package sqlstore_test

import (
	"path/filepath"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/berthcloud/berth/bench/worlds"
	"github.com/berthcloud/berth/placement"
	"github.com/berthcloud/berth/sqlstore"
)

// TestPictureOfEverythingIsThatOfAllRoots reads a world as a whole, on one connection
// and on two, and tree by tree, which are different statements.
func TestPictureOfEverythingIsThatOfAllRoots(t *testing.T) {
	store := open(t, sqlstore.Options{Path: savedWorld(t, worlds.Flat(510, 1))}) // more than a statement asks for
	var whole, beside, parts placement.Picture
	err := store.View(t.Context(), func(r placement.Reader) (err error) {
		if whole, err = r.Picture(nil); err != nil {
			return err
		}
		if parts, err = r.Picture(rootsOf(whole)); err != nil {
			return err
		}
		beside, err = sqlstore.PictureBeside(r)
		return err
	})
	if err != nil {
		t.Fatal(err)
	}
	if n := len(whole.Providers); n != 510 {
		t.Fatalf("%d providers were read, want 510", n)
	}
	beside.FoldCase, beside.FoldLike = whole.FoldCase, whole.FoldLike
	for name, pic := range map[string]placement.Picture{"everything": whole, "everything on two connections": beside} {
		if diff := cmp.Diff(parts, pic); diff != "" {
			t.Errorf("pictures of all roots and of %s (-roots +everything):\n%.2000s", name, diff)
		}
	}
}

// rootsOf lists the roots of all trees.
func rootsOf(pic placement.Picture) (roots []int64) {
	for _, p := range pic.Providers {
		if p.ID == p.Root {
			roots = append(roots, p.ID)
		}
	}
	return roots
}

func savedWorld(tb testing.TB, w *worlds.World) (file string) {
	tb.Helper()
	file = filepath.Join(tb.TempDir(), "world.db")
	if err := w.Save(tb.Context(), file); err != nil {
		tb.Fatal(err)
	}
	return file
}

// BenchmarkPictureOfEverything reads all rows of 10,000 hosts with bandwidth.
func BenchmarkPictureOfEverything(b *testing.B) {
	w := worlds.Bandwidth(10_000, 1)
	store := open(b, sqlstore.Options{Path: savedWorld(b, w)})
	b.ReportAllocs()
	for b.Loop() {
		err := store.View(b.Context(), func(r placement.Reader) error {
			_, err := r.Picture(nil)
			return err
		})
		if err != nil {
			b.Fatal(err)
		}
	}
	b.ReportMetric(float64(b.Elapsed().Nanoseconds())/float64(b.N*w.Providers()), "ns/provider")
}
