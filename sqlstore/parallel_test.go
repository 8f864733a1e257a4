package sqlstore

import (
	"context"
	"path/filepath"
	"testing"
	"time"

	"github.com/berthcloud/berth/placement"
	"github.com/berthcloud/berth/sqlstore/engine"
	"github.com/berthcloud/berth/sqlstore/sqlconn"
)

func openFileStore(t *testing.T, readers int) *Store {
	t.Helper()
	s, err := Open(t.Context(), engine.Options{
		Path: filepath.Join(t.TempDir(), "placement.db"), Readers: readers, BusyTimeout: 20 * time.Millisecond,
	})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = s.Close() })
	return s
}

// addProvider returns the error of an Update that adds a provider.
func addProvider(s *Store, name string) error {
	return s.Update(context.Background(), time.Unix(0, 0), func(w placement.Writer) error {
		_, err := w.InsertProvider(placement.ProviderRow{UUID: placement.UUID(name), Name: name})
		return err
	})
}

func providers(t *testing.T, r *sqlconn.Tx) int64 {
	t.Helper()
	n, err := sqlconn.First(r, sqlconn.Integer, `SELECT COUNT(*) FROM resource_providers`)
	if err != nil {
		t.Fatal(err)
	}
	return n
}

// TestParallelReadersSeeTheSame looks at what a reader and its second reader see while somebody
// wants to write, and that writing goes on when they are done.
func TestParallelReadersSeeTheSame(t *testing.T) {
	s := openFileStore(t, 2)
	if err := addProvider(s, "one"); err != nil {
		t.Fatal(err)
	}
	err := s.View(t.Context(), func(rows placement.Reader) error {
		r := rows.(*reader).Tx
		before := providers(t, r)
		second, end, ok := r.Parallel()
		if !ok {
			t.Fatal("there is no second reader")
		}
		if addProvider(s, "two") == nil {
			t.Error("somebody wrote while both read")
		}
		if n := providers(t, second); n != before || providers(t, r) != before {
			t.Errorf("the second sees %d providers, the reader %d and before %d", n, providers(t, r), before)
		}
		end()
		return nil
	})
	if err != nil {
		t.Fatal(err)
	}
	if err := addProvider(s, "three"); err != nil {
		t.Errorf("no write succeeds when both are done: %v", err)
	}
}

// TestNoParallelReaderOfThePast requests a second of a reader that does not see the newest rows,
// which goes on seeing what it saw.
func TestNoParallelReaderOfThePast(t *testing.T) {
	s := openFileStore(t, 2)
	err := s.View(t.Context(), func(rows placement.Reader) error {
		r := rows.(*reader).Tx
		before := providers(t, r)
		if err := addProvider(s, "one"); err != nil {
			t.Fatal(err)
		}
		if _, _, ok := r.Parallel(); ok {
			t.Error("the second would see what the reader does not")
		}
		if n := providers(t, r); n != before {
			t.Errorf("the reader sees %d providers, before %d", n, before)
		}
		return addProvider(s, "two")
	})
	if err != nil {
		t.Fatal(err)
	}
}

// TestParallelReadersDoNotWait has a second only when a connection is free.
func TestParallelReadersDoNotWait(t *testing.T) {
	s := openFileStore(t, 1)
	err := s.View(t.Context(), func(rows placement.Reader) error {
		if _, _, ok := rows.(*reader).Tx.Parallel(); ok {
			t.Error("there is a second reader without a connection")
		}
		return nil
	})
	if err != nil {
		t.Fatal(err)
	}
}

// TestConcurrentReportsFailures runs functions that fail, on either reader.
func TestConcurrentReportsFailures(t *testing.T) {
	good := func(r *sqlconn.Tx) error { return nil }
	bad := func(r *sqlconn.Tx) error { return r.Each(func(*sqlconn.Row) {}, `SELECT nothing`) }
	for name, do := range map[string][2]func(*sqlconn.Tx) error{"one": {bad, good}, "other": {good, bad}} {
		t.Run(name, func(t *testing.T) {
			s := openFileStore(t, 2)
			err := s.View(t.Context(), func(rows placement.Reader) error {
				r := rows.(*reader).Tx
				if r.Concurrently(do[0], do[1]) == nil {
					t.Error("the error is lost")
				}
				if r.Usable() == nil {
					t.Error("the reader goes on")
				}
				return nil
			})
			if err != nil {
				t.Fatal(err)
			}
			if err := addProvider(s, "one"); err != nil {
				t.Errorf("no write succeeds afterwards: %v", err)
			}
		})
	}
}
