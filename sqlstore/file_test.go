package sqlstore_test

import (
	"context"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/berthcloud/berth/sqlstore"
)

func mustWrite(tb testing.TB, path, text string, mode os.FileMode) {
	tb.Helper()
	if err := os.WriteFile(path, []byte(text), mode); err != nil {
		tb.Fatal(err)
	}
}

// versioned makes a file that says it is at a revision.
func versioned(revision string) func(testing.TB, string) {
	return func(tb testing.TB, path string) {
		makeFile(tb, path,
			`CREATE TABLE alembic_version (version_num VARCHAR(32) NOT NULL)`,
			fmt.Sprintf(`INSERT INTO alembic_version VALUES ('%s')`, revision))
	}
}

// cutOff makes a good database and takes its last page away.
func cutOff(tb testing.TB, path string) {
	s := open(tb, sqlstore.Options{Path: path})
	if err := s.Close(); err != nil {
		tb.Fatal(err)
	}
	info, err := os.Stat(path)
	if err != nil {
		tb.Fatal(err)
	}
	if err := os.Truncate(path, info.Size()-4096); err != nil {
		tb.Fatal(err)
	}
}

// scribbled makes a good database and overwrites the page with its schema.
func scribbled(tb testing.TB, path string) {
	s := open(tb, sqlstore.Options{Path: path})
	if err := s.Close(); err != nil {
		tb.Fatal(err)
	}
	f, err := os.OpenFile(path, os.O_RDWR, 0)
	if err != nil {
		tb.Fatal(err)
	}
	defer f.Close()
	if _, err := f.WriteAt([]byte(strings.Repeat("garbage ", 400)), 100); err != nil {
		tb.Fatal(err)
	}
}

func TestUnusableFilesAreRefusedAndLeftAlone(t *testing.T) {
	for _, test := range []struct {
		claim string
		make  func(tb testing.TB, path string)
		want  string
	}{
		{
			"Text", func(tb testing.TB, p string) { mustWrite(tb, p, "[DEFAULT]\ndebug = true\n", 0o600) },
			"not an SQLite database",
		},
		{
			"LongText", func(tb testing.TB, p string) { mustWrite(tb, p, strings.Repeat("x", 9999), 0o600) },
			"not an SQLite database",
		},
		{"CutOff", cutOff, "cut off"},
		{"Scribbled", scribbled, "malformed"},
		{"ReadOnly", func(tb testing.TB, p string) { mustWrite(tb, p, "", 0o444) }, "read-only"},
		{"Unreadable", func(tb testing.TB, p string) { mustWrite(tb, p, "", 0o200) }, "cannot be read"},
		{
			"SomethingElses", func(tb testing.TB, p string) { makeFile(tb, p, "CREATE TABLE songs (id INTEGER)") },
			"table songs",
		},
		{
			"UnknownRevision", versioned("0123456789ab"),
			"unknown revision (0123456789ab); known are b4ed3a175331, 611cd6dffd7b",
		},
		{"NoRevision", func(tb testing.TB, p string) {
			makeFile(tb, p, `CREATE TABLE alembic_version (version_num VARCHAR(32) NOT NULL)`)
		}, "names no revision"},
		{"OldRevision", versioned("b5c396305c25"), "revision b5c396305c25, older than 422ece571366"},
		{"MissingTables", versioned("422ece571366"), "table resource_classes is not as the revision says"},
	} {
		t.Run(test.claim, func(t *testing.T) {
			path := filepath.Join(t.TempDir(), "placement.db")
			test.make(t, path)
			refused(t, path, test.want)
		})
	}
}

// refused checks that a file is refused with a text and not touched.
func refused(t *testing.T, path, want string) {
	t.Helper()
	before := contents(t, path)
	s, err := sqlstore.Open(context.Background(), sqlstore.Options{Path: path})
	if err == nil {
		_ = s.Close()
		t.Fatalf("Open(%s) = nil, want an error", path)
	}
	if !strings.Contains(err.Error(), want) || !strings.Contains(err.Error(), path) {
		t.Errorf("Open() = %q, want it to say %q and the path", err, want)
	}
	if strings.Contains(err.Error(), "\n") {
		t.Errorf("Open() = %q, want one line", err)
	}
	if diff := cmp.Diff(before, contents(t, path)); diff != "" {
		t.Errorf("the file was changed (-was +is):\n%.500s", diff)
	}
	if remaining, _ := filepath.Glob(path + "*"); len(remaining) != 1 {
		t.Errorf("files left: %v, want only the database", remaining)
	}
}

func TestUnusablePlacesAreRefused(t *testing.T) {
	dir := t.TempDir()
	for path, want := range map[string]string{
		dir:                                 "is a directory",
		filepath.Join(dir, "no", "x.db"):    "directory " + filepath.Join(dir, "no"),
		filepath.Join("/dev", "null"):       "not a plain file",
		filepath.Join(dir, "fine") + "\x00": "invalid argument",
	} {
		_, err := sqlstore.Open(context.Background(), sqlstore.Options{Path: path})
		if err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("Open(%q) = %v, want it to say %q", path, err, want)
		}
	}
}

func TestSecondBerthIsRefused(t *testing.T) {
	dir := t.TempDir()
	path := filepath.Join(dir, "placement.db")
	link := filepath.Join(dir, "link.db")
	if err := os.Symlink(path, link); err != nil {
		t.Fatal(err)
	}
	s := open(t, sqlstore.Options{Path: path})
	for _, name := range []string{path, link} {
		_, err := sqlstore.Open(context.Background(), sqlstore.Options{Path: name})
		want := fmt.Sprintf("in use by another berth (process %d)", os.Getpid())
		if err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("Open(%s) = %v, want it to say %q", name, err, want)
		}
	}
	if err := addProvider(s, "a"); err != nil {
		t.Errorf("the first one: %v", err)
	}
	if err := s.Close(); err != nil {
		t.Fatal(err)
	}
	open(t, sqlstore.Options{Path: link})
}

// The child of this test opens the database and is killed.
func TestLockEndsWithItsProcess(t *testing.T) {
	if path := os.Getenv("BERTH_TEST_HOLD"); path != "" {
		open(t, sqlstore.Options{Path: path})
		fmt.Println("held")
		select {}
	}
	path := filepath.Join(t.TempDir(), "placement.db")
	child := exec.Command(os.Args[0], "-test.run=^TestLockEndsWithItsProcess$")
	child.Env = append(os.Environ(), "BERTH_TEST_HOLD="+path)
	out, err := child.StdoutPipe()
	if err != nil {
		t.Fatal(err)
	}
	if err := child.Start(); err != nil {
		t.Fatal(err)
	}
	if _, err := out.Read(make([]byte, 5)); err != nil {
		t.Fatal(err)
	}
	_, err = sqlstore.Open(context.Background(), sqlstore.Options{Path: path})
	if want := fmt.Sprintf("process %d", child.Process.Pid); err == nil || !strings.Contains(err.Error(), want) {
		t.Errorf("Open() next to the child = %v, want it to say %q", err, want)
	}
	if err := child.Process.Kill(); err != nil {
		t.Fatal(err)
	}
	_ = child.Wait()
	open(t, sqlstore.Options{Path: path})
}

// Emptying is for whoever has the database to itself: the file of a running
// berth stays as it is.
func TestEmptying(t *testing.T) {
	path := filepath.Join(t.TempDir(), "placement.db")
	s := open(t, sqlstore.Options{Path: path})
	if err := addProvider(s, "a"); err != nil {
		t.Fatal(err)
	}
	opts := sqlstore.Options{Path: path, Empty: true}
	if _, err := sqlstore.Open(context.Background(), opts); !errors.Is(err, sqlstore.ErrInUse) {
		t.Errorf("Open() = %v next to another berth, want ErrInUse", err)
	}
	if diff := cmp.Diff([]string{"a"}, providerNames(t, s)); diff != "" {
		t.Errorf("providers after the refusal (-want +got):\n%s", diff)
	}
	if err := s.Close(); err != nil {
		t.Fatal(err)
	}
	if names := providerNames(t, open(t, opts)); len(names) != 0 {
		t.Errorf("an emptied database has providers %v", names)
	}
}
