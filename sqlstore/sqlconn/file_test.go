package sqlconn

import (
	"bytes"
	"context"
	"database/sql"
	"errors"
	"io/fs"
	"log/slog"
	"os"
	"path/filepath"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/berthcloud/berth/fault"
)

// newFile makes a database with a table and returns its path.
func newFile(t *testing.T) string {
	t.Helper()
	path := filepath.Join(t.TempDir(), "a.db")
	db, err := sql.Open("sqlite", SQLiteURI(path, "rwc", WriterPragmas(time.Second)...))
	if err == nil {
		_, err = db.Exec("CREATE TABLE a (b INTEGER)")
	}
	if err == nil {
		err = db.Close()
	}
	if err != nil {
		t.Fatal(err)
	}
	return path
}

func write(t *testing.T, path, content string) {
	t.Helper()
	if err := os.WriteFile(path, []byte(content), 0o600); err != nil {
		t.Fatal(err)
	}
}

// TestLockFile locks a database twice, also with what a crash or a person leaves behind.
func TestLockFile(t *testing.T) {
	path := filepath.Join(t.TempDir(), "a.db")
	write(t, path+".lock", "4711\n") // of a process that crashed
	release, err := LockFile(path)
	if err != nil {
		t.Fatal(err)
	}
	_, err = LockFile(path)
	if !errors.Is(err, ErrInUse) || !strings.Contains(err.Error(), "process ") || strings.Contains(err.Error(), "4711") {
		t.Errorf("the second time: %v", err)
	}
	release()
	if _, err := os.Stat(path + ".lock"); !errors.Is(err, fs.ErrNotExist) {
		t.Errorf("the lock file after its release: %v", err)
	}
	first, err := LockFile(path)
	if err != nil {
		t.Fatalf("after the release: %v", err)
	}
	if err := os.Remove(path + ".lock"); err != nil {
		t.Fatal(err)
	}
	second, err := LockFile(path)
	if err != nil {
		t.Fatalf("after somebody removed the lock file: %v", err)
	}
	first()
	if _, err := LockFile(path); !errors.Is(err, ErrInUse) {
		t.Errorf("the first release took the lock of the second: %v", err)
	}
	second()
	if _, err := LockFile(filepath.Join(path, "none", "b.db")); err == nil {
		t.Error("a file without a directory is locked")
	}
}

func TestCheckPlace(t *testing.T) {
	dir := t.TempDir()
	at := func(name string) string { return filepath.Join(dir, name) }
	write(t, at("good"), "")
	write(t, at("readonly"), "")
	write(t, at("unreadable"), "")
	if err := errors.Join(os.Chmod(at("readonly"), 0o400), os.Chmod(at("unreadable"), 0o200), os.Mkdir(at("dir"), 0o700),
		syscall.Mkfifo(at("fifo"), 0o600)); err != nil {
		t.Fatal(err)
	}
	for name, want := range map[string]string{
		"good": "", "missing": "", "dir": "directory", "fifo": "not a plain file", "readonly": "read-only",
		"unreadable": "cannot be read",
	} {
		err := CheckPlace(at(name))
		if (err == nil) != (want == "") || err != nil && !strings.Contains(err.Error(), want) {
			t.Errorf("%s: %v, want %q", name, err, want)
		}
	}
}

// TestCheckFile looks at files that are no whole database.
func TestCheckFile(t *testing.T) {
	path := newFile(t)
	whole, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	longer := bytes.Clone(whole)
	longer[31]++ // a page more than there is
	for _, c := range []struct {
		name, content string
		wal           string
		empty         bool
		want          string
	}{
		{"whole", string(whole), "", false, ""},
		{"empty", "", "", true, ""},
		{"short", "SQLite", "", false, "not an SQLite database"},
		{"other", strings.Repeat("other ", 99), "", false, "not an SQLite database"},
		{"cut off", string(whole[:len(whole)-1]), "", false, "cut off"},
		{"ahead of its file", string(longer), "", false, "cut off"},
		{"ahead of its file, with a log", string(longer), "log", false, ""},
	} {
		path := filepath.Join(t.TempDir(), "b.db")
		write(t, path, c.content)
		if c.wal != "" {
			write(t, path+"-wal", c.wal)
		}
		empty, err := CheckFile(path)
		if empty != c.empty || (err == nil) != (c.want == "") || err != nil && !strings.Contains(err.Error(), c.want) {
			t.Errorf("%s: empty %v, %v; want %v, %q", c.name, empty, err, c.empty, c.want)
		}
	}
	if empty, err := CheckFile(filepath.Join(t.TempDir(), "missing")); !empty || err != nil {
		t.Errorf("missing: empty %v, %v", empty, err)
	}
}

// TestReadOnlyURI reads a database from a directory in which nothing may be made.
func TestReadOnlyURI(t *testing.T) {
	path := newFile(t)
	if uri := ReadOnlyURI(path); !strings.Contains(uri, "immutable") {
		t.Errorf("%s: nobody has it open", uri)
	}
	db, err := sql.Open("sqlite", ReadOnlyURI(path))
	if err != nil {
		t.Fatal(err)
	}
	defer db.Close()
	var n int
	if err := db.QueryRow("SELECT COUNT(*) FROM a").Scan(&n); err != nil {
		t.Error(err)
	}
	if _, err := db.Exec("INSERT INTO a VALUES (1)"); err == nil {
		t.Error("it can be written")
	}
	files, err := filepath.Glob(path + "*")
	if len(files) != 1 || err != nil {
		t.Errorf("there are %v, %v", files, err)
	}
	write(t, path+"-wal", "")
	if uri := ReadOnlyURI(path); strings.Contains(uri, "immutable") {
		t.Errorf("%s: somebody may have it open", uri)
	}
}

func TestCreateFile(t *testing.T) {
	path := filepath.Join(t.TempDir(), "a.db")
	if err := CreateFile(path); err != nil {
		t.Fatal(err)
	}
	info, err := os.Stat(path)
	if err != nil || info.Mode().Perm()&0o007 != 0 {
		t.Errorf("others may use it: %v, %v", info.Mode(), err)
	}
	write(t, path, "content")
	if err := CreateFile(path); err != nil {
		t.Fatal(err)
	}
	if content, err := os.ReadFile(path); string(content) != "content" || err != nil {
		t.Errorf("a file that is there has %q, %v", content, err)
	}
	if err := CreateFile(filepath.Join(path, "b")); err == nil {
		t.Error("a file is made in a file")
	}
}

// TestOpenFiles removes and replaces files that are open: the first loss stays, and is logged once.
func TestOpenFiles(t *testing.T) {
	for _, c := range []struct {
		name string
		lose func(path string) error
		want string
	}{
		{"removed", os.Remove, "removed"},
		{"replaced", func(path string) error {
			return errors.Join(os.Rename(path, path+".old"), os.WriteFile(path, nil, 0o600))
		}, "replaced"},
	} {
		t.Run(c.name, func(t *testing.T) {
			var log bytes.Buffer
			path := newFile(t)
			link := filepath.Join(t.TempDir(), "link")
			if err := os.Symlink(path, link); err != nil {
				t.Fatal(err)
			}
			f, err := WatchFiles(link, path, slog.New(slog.NewTextHandler(&log, nil)))
			if err != nil || f.Check() != nil || f.Known() != nil {
				t.Fatalf("%v; %v, %v", err, f.Check(), f.Known())
			}
			if err := c.lose(path); err != nil {
				t.Fatal(err)
			}
			if err := f.Known(); err != nil {
				t.Errorf("Known looks for the file: %v", err)
			}
			for range 2 {
				err := f.Check()
				if kind, _ := fault.Of(err); !errors.Is(err, ErrFileLost) || kind != fault.Unavailable ||
					!strings.Contains(err.Error(), c.want) {
					t.Errorf("Check: %v", err)
				}
			}
			if n := strings.Count(log.String(), "level=ERROR"); n != 1 {
				t.Errorf("logged %d times:\n%s", n, &log)
			}
			_ = os.Remove(path)
			if _, err := os.Stat(path + ".old"); err == nil {
				_ = os.Rename(path+".old", path)
			} else {
				write(t, path, "")
			}
			if f.Check() == nil || f.Known() == nil {
				t.Error("a file that is back is not lost any more")
			}
		})
	}
	var none *OpenFiles
	if none.Check() != nil || none.Known() != nil || none.Tight() {
		t.Error("there is something about no files")
	}
	if _, err := WatchFiles("missing", "missing", slog.New(slog.DiscardHandler)); !errors.Is(err, fs.ErrNotExist) {
		t.Errorf("of a missing file: %v", err)
	}
}

// TestLinksThatLeadElsewhere has the name in the settings lead to another file.
func TestLinksThatLeadElsewhere(t *testing.T) {
	path, other := newFile(t), newFile(t)
	link := filepath.Join(t.TempDir(), "link")
	if err := os.Symlink(path, link); err != nil {
		t.Fatal(err)
	}
	f, err := WatchFiles(link, path, slog.New(slog.DiscardHandler))
	if err != nil {
		t.Fatal(err)
	}
	if err := errors.Join(os.Remove(link), os.Symlink(other, link)); err != nil {
		t.Fatal(err)
	}
	if err := f.Check(); !errors.Is(err, ErrFileLost) {
		t.Errorf("Check: %v", err)
	}
}

// TestTakeWriteLock takes the right to write for a reader, which keeps it from others and changes
// nothing.
func TestTakeWriteLock(t *testing.T) {
	path := newFile(t)
	ctx := context.Background()
	session := func(pragmas ...string) *Session {
		db, err := sql.Open("sqlite", SQLiteURI(path, "rw", pragmas...))
		if err != nil {
			t.Fatal(err)
		}
		s := NewSession(SQLiteDialect, db.Conn)
		t.Cleanup(func() { s.Close(); db.Close() })
		if err := s.Connect(ctx); err != nil {
			t.Fatal(err)
		}
		return s
	}
	reader, writer := session(BusyPragma(0), "query_only(1)"), session(BusyPragma(0))
	begin := func() {
		t.Helper()
		if err := errors.Join(reader.Do("BEGIN DEFERRED"), reader.Do("DELETE FROM a WHERE 0")); err == nil {
			t.Fatal("a session that only reads writes")
		}
		_, err := First(reader.Tx(ctx), Integer, "SELECT COUNT(*) FROM a")
		if err != nil {
			t.Fatal(err)
		}
	}
	const still = "UPDATE a SET b = b WHERE 0"
	begin()
	if !reader.TakeWriteLock(still) {
		t.Error("nobody writes, and it is not still")
	}
	if err := writer.Do("INSERT INTO a VALUES (1)"); !SQLiteDialect.Unavailable(err) {
		t.Errorf("another one writes meanwhile: %v", err)
	}
	if err := reader.Do("DELETE FROM a"); err == nil {
		t.Error("the reader may write")
	}
	if err := reader.Do("ROLLBACK"); err != nil {
		t.Fatal(err)
	}
	begin()
	if err := writer.Do("INSERT INTO a VALUES (1)"); err != nil {
		t.Fatal(err)
	}
	if reader.TakeWriteLock(still) {
		t.Error("there is something newer than what was read")
	}
}
