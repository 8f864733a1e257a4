package sqlstore_test

import (
	"bytes"
	"context"
	"errors"
	"log/slog"
	"os"
	"path/filepath"
	"runtime"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"github.com/berthcloud/berth/fault"
	"github.com/berthcloud/berth/internal/logtest"
	"github.com/berthcloud/berth/placement"
	"github.com/berthcloud/berth/sqlstore"
	"github.com/berthcloud/berth/sqlstore/sqlconn"
)

// rename fails the test when a file cannot be renamed.
func rename(tb testing.TB, from, to string) {
	tb.Helper()
	if err := os.Rename(from, to); err != nil {
		tb.Fatal(err)
	}
}

func remove(tb testing.TB, names ...string) {
	tb.Helper()
	for _, name := range names {
		if err := os.Remove(name); err != nil {
			tb.Fatal(err)
		}
	}
}

// classes counts the ids of those that were added.
var classes atomic.Int64

// addClass writes something small.
func addClass(s *sqlstore.Store, name string, meanwhile func()) error {
	return s.Update(context.Background(), time.Now(), func(w placement.Writer) error {
		err := w.InsertClass(placement.ClassID(10_000+classes.Add(1)), name)
		if meanwhile != nil {
			meanwhile()
		}
		return err
	})
}

func TestLostFiles(t *testing.T) {
	for claim, lose := range map[string]func(t *testing.T, path string){
		"Removed":      func(t *testing.T, p string) { remove(t, p) },
		"AllRemoved":   func(t *testing.T, p string) { remove(t, p, p+"-wal", p+"-shm", p+".lock") },
		"LogRemoved":   func(t *testing.T, p string) { remove(t, p+"-wal") },
		"IndexRemoved": func(t *testing.T, p string) { remove(t, p+"-shm") },
		"Replaced": func(t *testing.T, p string) {
			mustWrite(t, p+".new", contents(t, p), 0o600)
			rename(t, p+".new", p)
		},
		"LogReplaced": func(t *testing.T, p string) {
			mustWrite(t, p+".new", contents(t, p+"-wal"), 0o600)
			rename(t, p+".new", p+"-wal")
		},
		"DirectoryRenamed": func(t *testing.T, p string) { rename(t, filepath.Dir(p), filepath.Dir(p)+"2") },
		"DirectoryIsAFile": func(t *testing.T, p string) {
			rename(t, filepath.Dir(p), filepath.Dir(p)+"2")
			mustWrite(t, filepath.Dir(p), "", 0o600)
		},
	} {
		for when, during := range map[string]bool{"Between": false, "DuringAWrite": true} {
			t.Run(claim+"/"+when, func(t *testing.T) {
				dir := filepath.Join(t.TempDir(), "d")
				if err := os.Mkdir(dir, 0o700); err != nil {
					t.Fatal(err)
				}
				path := filepath.Join(dir, "placement.db")
				var log bytes.Buffer
				s := open(t, sqlstore.Options{Path: path, Logger: slog.New(slog.NewTextHandler(&log, nil))})
				if err := addClass(s, "CUSTOM_BEFORE", nil); err != nil {
					t.Fatal(err)
				}
				if during {
					lost(t, "the Update that was under way", addClass(s, "CUSTOM_AFTER", func() { lose(t, path) }))
				} else {
					lose(t, path)
				}
				lost(t, "Update", addClass(s, "CUSTOM_LATER", nil))
				lost(t, "View", s.View(context.Background(), func(placement.Reader) error { return nil }))
				lost(t, "Usable", s.Usable())
				if err := s.Close(); err != nil {
					t.Errorf("Close() = %v", err)
				}
				if n := strings.Count(log.String(), "level=ERROR"); n != 1 || !strings.Contains(log.String(), path) ||
					!strings.Contains(log.String(), "stop the service") {
					t.Errorf("the log has %d errors, want one with the file and what to do:\n%s", n, log.String())
				}
			})
		}
	}
}

// lost checks that an error says that the store has lost its file.
func lost(t *testing.T, what string, err error) {
	t.Helper()
	if kind, code := fault.Of(err); !errors.Is(err, sqlstore.ErrFileLost) || kind != fault.Unavailable ||
		code != sqlconn.CodeUnavailable {
		t.Errorf("%s: %v, want ErrFileLost and an Unavailable fault", what, err)
	}
}

// Of Updates that share a commit none is acknowledged.
func TestLostFileUnderABatch(t *testing.T) {
	path := filepath.Join(t.TempDir(), "placement.db")
	s := open(t, sqlstore.Options{Path: path, MaxBatchTime: time.Hour, Logger: logtest.Logger()})
	const others = 5
	results := make(chan error, others)
	err := addClass(s, "CUSTOM_A", func() {
		for i := range others {
			go func() { results <- addClass(s, "CUSTOM_B"+string(rune('A'+i)), nil) }()
		}
		for s.Waiting() < others {
			runtime.Gosched()
		}
		remove(t, path)
	})
	lost(t, "the first Update", err)
	for range others {
		lost(t, "an Update behind it", <-results)
	}
}

// Once lost, a store does not go on with the file that is under the name, whichever it is; and
// its end touches neither that file nor the lock of who has it open.
func TestLostFileThatComesBack(t *testing.T) {
	path := filepath.Join(t.TempDir(), "placement.db")
	s := open(t, sqlstore.Options{Path: path})
	if err := addClass(s, "CUSTOM_BEFORE", nil); err != nil {
		t.Fatal(err)
	}
	rename(t, path, path+".old")
	lost(t, "Update", addClass(s, "CUSTOM_LATER", nil))
	rename(t, path+".old", path)
	lost(t, "Update with the file back", addClass(s, "CUSTOM_LATER", nil))

	rename(t, path, path+".old")
	remove(t, path+"-wal", path+"-shm", path+".lock")
	next := open(t, sqlstore.Options{Path: path})
	if err := addClass(next, "CUSTOM_NEXT", nil); err != nil {
		t.Fatal(err)
	}
	before := contents(t, path) + contents(t, path+"-wal")
	if err := s.Close(); err != nil {
		t.Error(err)
	}
	if after := contents(t, path) + contents(t, path+"-wal"); after != before {
		t.Error("the end of a store that lost its file changed the file in its place")
	}
	if _, err := sqlstore.Open(context.Background(), sqlstore.Options{Path: path}); !errors.Is(err, sqlstore.ErrInUse) {
		t.Errorf("Open() next to the next store = %v, want ErrInUse", err)
	}
	if err := addClass(next, "CUSTOM_LAST", nil); err != nil {
		t.Error(err)
	}
}

// A symbolic link that is made to lead elsewhere is another database at the next start.
func TestLostLink(t *testing.T) {
	dir := t.TempDir()
	link := filepath.Join(dir, "link.db")
	if err := os.Symlink(filepath.Join(dir, "a.db"), link); err != nil {
		t.Fatal(err)
	}
	mustWrite(t, filepath.Join(dir, "a.db"), "", 0o600)
	s := open(t, sqlstore.Options{Path: link})
	if err := addClass(s, "CUSTOM_BEFORE", nil); err != nil {
		t.Fatal(err)
	}
	mustWrite(t, filepath.Join(dir, "b.db"), "", 0o600)
	if err := os.Symlink(filepath.Join(dir, "b.db"), link+".new"); err != nil {
		t.Fatal(err)
	}
	rename(t, link+".new", link)
	lost(t, "Update", addClass(s, "CUSTOM_LATER", nil))
}

// What was committed before its log was removed is in the file after an orderly end.
func TestLostLogIsFolded(t *testing.T) {
	path := filepath.Join(t.TempDir(), "placement.db")
	s := open(t, sqlstore.Options{Path: path})
	if err := addClass(s, "CUSTOM_BEFORE", nil); err != nil {
		t.Fatal(err)
	}
	remove(t, path+"-wal")
	lost(t, "Update", addClass(s, "CUSTOM_LATER", nil))
	if err := s.Close(); err != nil {
		t.Fatal(err)
	}
	again := open(t, sqlstore.Options{Path: path})
	if n, err := again.Count(context.Background(),
		`SELECT COUNT(*) FROM resource_classes WHERE name = 'CUSTOM_BEFORE'`); n != 1 || err != nil {
		t.Errorf("the class is there %d times, %v", n, err)
	}
}
