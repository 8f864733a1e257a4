package engine_test

import (
	"context"
	"errors"
	"io/fs"
	"os"
	"path/filepath"
	"testing"
	"testing/synctest"

	"github.com/berthcloud/berth/sqlstore/engine"
	"github.com/berthcloud/berth/sqlstore/migrations"
	"github.com/berthcloud/berth/sqlstore/sqlconn"
	"github.com/berthcloud/berth/sqlstore/sqlconn/sqlconntest"
)

// openTool opens a tool, which is closed with the test.
func openTool(t *testing.T, opts engine.Options, access engine.Access) *engine.Tool {
	t.Helper()
	tool, err := engine.OpenTool(t.Context(), opts, access, hooks().Schema)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { tool.Close() })
	return tool
}

// wantTool looks at the names of things by a tool.
func wantTool(t *testing.T, tool *engine.Tool, want int64) {
	t.Helper()
	err := tool.Read(t.Context(), func(r *sqlconn.Tx) error {
		n, err := sqlconn.First(r, sqlconn.Integer, "SELECT COUNT(*) FROM things")
		if n != want {
			t.Errorf("%d things, want %d", n, want)
		}
		return err
	})
	if err != nil {
		t.Error(err)
	}
}

// insertThing is the function of a tool's Write.
func insertThing(w *sqlconn.Tx) error {
	_, err := w.Exec("INSERT INTO things (name) VALUES ('x')")
	return err
}

// TestToolsOnFiles opens files that are missing, in use and read-only, for each access.
func TestToolsOnFiles(t *testing.T) {
	path := filepath.Join(t.TempDir(), "a.db")
	opts := engine.Options{Path: path}
	for _, access := range []engine.Access{engine.Look, engine.ReadAlone, engine.Change} {
		if _, err := engine.OpenTool(t.Context(), opts, access, hooks().Schema); !errors.Is(err, fs.ErrNotExist) {
			t.Errorf("access %d of no file: %v", access, err)
		}
	}
	tool := openTool(t, opts, engine.Make)
	if err := tool.Read(t.Context(), insertThing); tool.Exists() || tool.Server() || tool.File() != path || err == nil {
		t.Errorf("before it is made: exists %v, on a server %v, at %s, read with %v",
			tool.Exists(), tool.Server(), tool.File(), err)
	}
	if _, err := os.Stat(path); !errors.Is(err, fs.ErrNotExist) {
		t.Errorf("opening has made the file: %v", err)
	}
	if err := tool.Use(t.Context(), hooks().Schema.Prepare); err != nil || !tool.Exists() {
		t.Fatalf("the file is made: %v, %v", tool.Exists(), err)
	}
	if err := tool.Write(t.Context(), insertThing); err != nil {
		t.Fatal(err)
	}
	if err := engine.New(opts, hooks()).Open(t.Context()); !errors.Is(err, sqlconn.ErrInUse) {
		t.Errorf("a service opens the file meanwhile: %v", err)
	}
	if err := tool.Close(); err != nil {
		t.Fatal(err)
	}

	e := open(t, opts, hooks())
	for _, access := range []engine.Access{engine.ReadAlone, engine.Change, engine.Make} {
		if _, err := engine.OpenTool(t.Context(), opts, access, hooks().Schema); !errors.Is(err, sqlconn.ErrInUse) {
			t.Errorf("access %d while a service runs: %v", access, err)
		}
	}
	look := openTool(t, opts, engine.Look)
	wantTool(t, look, 1)
	if err := look.Write(t.Context(), insertThing); err == nil {
		t.Error("a tool that looks has written")
	}
	look.Close()
	e.Close()

	if err := os.Chmod(path, 0o444); err != nil {
		t.Fatal(err)
	}
	wantTool(t, openTool(t, opts, engine.Look), 1)
	if _, err := engine.OpenTool(t.Context(), opts, engine.Change, hooks().Schema); err == nil {
		t.Error("a file that may not be written is opened for a change")
	}
	if names, _ := filepath.Glob(path + "?*"); len(names) != 0 {
		t.Errorf("tools leave %v", names)
	}
	memory := engine.Options{Path: engine.Memory}
	if _, err := engine.OpenTool(t.Context(), memory, engine.Look, hooks().Schema); err == nil {
		t.Error("a database in memory is opened")
	}
}

// TestToolsThatOnlyReadAFile keep services from it and do not write.
func TestToolsThatOnlyReadAFile(t *testing.T) {
	path := filepath.Join(t.TempDir(), "a.db")
	opts := engine.Options{Path: path}
	open(t, opts, hooks()).Close()
	tool := openTool(t, opts, engine.ReadAlone)
	wantTool(t, tool, 0)
	if err := tool.Write(t.Context(), insertThing); err == nil {
		t.Error("it has written")
	}
	if err := engine.New(opts, hooks()).Open(t.Context()); !errors.Is(err, sqlconn.ErrInUse) {
		t.Errorf("a service opens the file meanwhile: %v", err)
	}
}

// TestToolsOnServers makes the tables of a server while a service runs, and writes.
func TestToolsOnServers(t *testing.T) {
	s := sqlconntest.New(t)
	tool := openTool(t, engine.Options{Server: s.Options()}, engine.Make)
	version := func(want int) {
		t.Helper()
		err := tool.Read(t.Context(), func(r *sqlconn.Tx) error {
			from, to, err := tool.OwnUpgrade(r)
			if from != want || to != migrations.OwnVersion {
				t.Errorf("own tables go from %d to %d, want %d to %d", from, to, want, migrations.OwnVersion)
			}
			return err
		})
		if err != nil {
			t.Error(err)
		}
	}
	version(0)
	if err := tool.PrepareServer(t.Context()); err != nil {
		t.Fatal(err)
	}
	version(migrations.OwnVersion)
	if !tool.Exists() || !tool.Server() || tool.File() != "" || tool.Where() != "test on this machine" {
		t.Errorf("exists %v, on a server %v, %q at %q", tool.Exists(), tool.Server(), tool.File(), tool.Where())
	}
	e := onServer(t, s)
	if err := tool.Write(t.Context(), insertThing); err != nil {
		t.Fatal(err)
	}
	wantThings(t, e, "x")
	failed := errors.New("failed")
	err := tool.Write(t.Context(), func(w *sqlconn.Tx) error {
		_, _ = w.Exec("DELETE FROM things")
		return failed
	})
	if !errors.Is(err, failed) {
		t.Errorf("Write returns %v", err)
	}
	wantTool(t, tool, 1)
	ctx, cancel := context.WithCancel(t.Context())
	err = tool.Write(ctx, func(w *sqlconn.Tx) error {
		_, err := w.Exec("DELETE FROM things")
		cancel()
		return err
	})
	if !errors.Is(err, context.Canceled) {
		t.Errorf("Write returns %v after the end of its context", err)
	}
	wantTool(t, tool, 1)
}

// TestToolsRunAgain has transactions of a tool collide: Attempt runs them again, Write does not,
// and neither does so after the function's own errors.
func TestToolsRunAgain(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s := sqlconntest.New(t)
		tool := openTool(t, engine.Options{Server: s.Options()}, engine.Change)
		if err := tool.PrepareServer(t.Context()); err != nil {
			t.Fatal(err)
		}
		runs := 0
		counted := func(w *sqlconn.Tx) error {
			runs++
			return insertThing(w)
		}
		s.SetFault(once("INSERT INTO things", true, sqlconntest.ErrCollision))
		if err := tool.Write(t.Context(), counted); err == nil || runs != 1 {
			t.Errorf("Write ran %d times, %v", runs, err)
		}
		s.SetFault(once("INSERT INTO things", true, sqlconntest.ErrCollision))
		runs = 0
		if err := tool.Attempt(t.Context(), counted); err != nil || runs != 2 {
			t.Errorf("Attempt ran %d times, %v", runs, err)
		}
		wantTool(t, tool, 1)
		runs = 0
		err := tool.Attempt(t.Context(), func(*sqlconn.Tx) error {
			runs++
			return fs.ErrInvalid
		})
		if !errors.Is(err, fs.ErrInvalid) || runs != 1 {
			t.Errorf("after the function's error it ran %d times, %v", runs, err)
		}
		s.SetFault(always("INSERT INTO things", sqlconntest.ErrCollision))
		if err := tool.Attempt(t.Context(), counted); err == nil {
			t.Error("Attempt succeeds in spite of collisions")
		}
	})
}
