package durability

import (
	"bytes"
	"crypto/sha256"
	"database/sql"
	"encoding/hex"
	"net"
	"os"
	"path/filepath"
	"strings"
	"syscall"
	"testing"

	_ "modernc.org/sqlite" // the driver

	"github.com/berthcloud/berth/internal/rest"
	"github.com/berthcloud/berth/internal/servertest"
)

// TestBrokenDatabase starts the service on files that are no database of Placement: it reports
// that, ends, and leaves them unchanged.
func TestBrokenDatabase(t *testing.T) {
	for _, c := range []struct {
		name  string
		plant func(t *testing.T, path string)
		says  string
	}{
		{"Garbage", func(t *testing.T, path string) {
			write(t, path, bytes.Repeat([]byte("this is not a database\n"), 1000))
		}, "not an sqlite database"},
		{"Directory", func(t *testing.T, path string) {
			if err := os.Mkdir(path, 0o755); err != nil {
				t.Fatal(err)
			}
		}, "directory"},
		{"Truncated", func(t *testing.T, path string) {
			good := database(t)
			write(t, path, good[:len(good)/2])
		}, ""},
		{"FutureRevision", func(t *testing.T, path string) {
			write(t, path, database(t))
			change(t, path, `UPDATE alembic_version SET version_num = 'ffffffffffff'`)
		}, "ffffffffffff"},
	} {
		t.Run(c.name, func(t *testing.T) {
			path := filepath.Join(t.TempDir(), "placement.db")
			c.plant(t, path)
			before := digest(t, path)
			code, out := serve(t, configure(t, path), servertest.FreeAddress(t)).exit()
			if code != exitDatabase {
				t.Errorf("exit code %d, want %d", code, exitDatabase)
			}
			says(t, out, path, c.says)
			if after := digest(t, path); after != before {
				t.Errorf("the file was touched: %s, it was %s", after, before)
			}
		})
	}
}

// TestNoPlaceForDatabase starts the service where it cannot create its file.
func TestNoPlaceForDatabase(t *testing.T) {
	for name, dir := range map[string]string{
		"ReadOnly": "/proc", // no user may create a file there, root included
		"Missing":  filepath.Join(t.TempDir(), "missing"),
	} {
		t.Run(name, func(t *testing.T) {
			path := filepath.Join(dir, "placement.db")
			code, out := serve(t, configure(t, path), servertest.FreeAddress(t)).exit()
			if code != exitDatabase {
				t.Errorf("exit code %d, want %d", code, exitDatabase)
			}
			says(t, out, path, "")
		})
	}
}

// TestDatabaseInUse starts a second service on a database that has one.
func TestDatabaseInUse(t *testing.T) {
	path := filepath.Join(t.TempDir(), "placement.db")
	conf, addr := configure(t, path), servertest.FreeAddress(t)
	first := serve(t, conf, addr)
	first.await(addr)
	c := rest.New("http://"+addr, rest.Newest)
	defer c.Close()
	c.AddProvider(t, provider(1), "", rest.Resources{"VCPU": 1})

	code, out := serve(t, conf, servertest.FreeAddress(t)).exit()
	if code != exitInUse {
		t.Errorf("the second start ends with exit code %d, want %d", code, exitInUse)
	}
	says(t, out, path, "in use")
	c.AddProvider(t, provider(2), "", rest.Resources{"VCPU": 1}) // the first one continues

	first.Signal(syscall.SIGKILL)
	first.exit()
	third := serve(t, conf, addr)
	third.await(addr)
	c.AddProvider(t, provider(3), "", rest.Resources{"VCPU": 1})
	third.Signal(syscall.SIGTERM)
	if code, out := third.exit(); code != 0 {
		t.Errorf("exit code %d after SIGTERM, want 0\n%s", code, out)
	}
}

// TestAddressInUse starts a service on an address that has a listener.
func TestAddressInUse(t *testing.T) {
	addr := servertest.FreeAddress(t)
	l, err := net.Listen("tcp", addr)
	if err != nil {
		t.Fatal(err)
	}
	defer func() { _ = l.Close() }() // no request was sent
	code, out := serve(t, configure(t, filepath.Join(t.TempDir(), "placement.db")), addr).exit()
	if code != exitAddress {
		t.Errorf("exit code %d, want %d", code, exitAddress)
	}
	says(t, out, addr, "in use")
}

// TestWrongUse runs the program with invalid arguments and settings.
func TestWrongUse(t *testing.T) {
	bad := filepath.Join(t.TempDir(), "bad.conf")
	write(t, bad, []byte("[api]\nauth_strategy = pony\n[placement]\nallocation_conflict_retry_count = many\n"))
	for _, c := range []struct {
		name string
		args []string
		says []string
	}{
		{"Flag", []string{"placement", "serve", "--pony"}, []string{"--pony"}},
		{"Command", []string{"pony"}, []string{"pony"}},
		{
			"NoFile", []string{"placement", "serve", "--config", "/nowhere/placement.conf"}, []string{"/nowhere/placement.conf"},
		},
		{
			"Settings",
			[]string{"placement", "serve", "--config", bad},
			[]string{"auth_strategy", "allocation_conflict_retry_count"},
		},
	} {
		t.Run(c.name, func(t *testing.T) {
			code, out := start(t, c.args...).exit()
			if code != exitUsage {
				t.Errorf("%v: exit code %d, want %d", c.args, code, exitUsage)
			}
			for _, s := range c.says {
				says(t, out, s, "")
			}
		})
	}
}

// TestHelpListsExitCodes checks that the help documents the exit codes of these tests.
func TestHelpListsExitCodes(t *testing.T) {
	code, out := start(t, "placement", "serve", "--help").exit()
	if code != 0 {
		t.Errorf("exit code %d, want 0", code)
	}
	_, list, ok := strings.Cut(out, "Exit codes:")
	if !ok {
		t.Fatalf("no list of exit codes in\n%s", out)
	}
	for n := range exitAddress + 1 {
		if !strings.Contains(list, "\n  "+string(rune('0'+n))+"  ") {
			t.Errorf("exit code %d is not listed", n)
		}
	}
}

// says reports an error unless a message names its subject and the reason, without the traces of a
// crash.
func says(t *testing.T, out, about, what string) {
	t.Helper()
	for _, s := range []string{about, what} {
		if !strings.Contains(strings.ToLower(out), strings.ToLower(s)) {
			t.Errorf("the message does not say %q:\n%s", s, out)
		}
	}
	if strings.Contains(out, "goroutine ") {
		t.Errorf("a stack is shown:\n%s", out)
	}
}

// database returns a sound one with a provider in it.
func database(t *testing.T) []byte {
	t.Helper()
	path := filepath.Join(t.TempDir(), "sound.db")
	addr := servertest.FreeAddress(t)
	p := serve(t, configure(t, path), addr)
	p.await(addr)
	c := rest.New("http://"+addr, rest.Newest)
	defer c.Close()
	c.AddProvider(t, provider(0), "", rest.Resources{"VCPU": 1})
	p.Signal(syscall.SIGTERM)
	if code, out := p.exit(); code != 0 {
		t.Fatalf("exit code %d after SIGTERM, want 0\n%s", code, out)
	}
	text, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	return text
}

func change(t *testing.T, path, statement string) {
	t.Helper()
	db, err := sql.Open("sqlite", path)
	if err != nil {
		t.Fatal(err)
	}
	if _, err := db.Exec(statement); err != nil {
		t.Fatal(err)
	}
	if err := db.Close(); err != nil {
		t.Fatal(err)
	}
}

func write(t *testing.T, path string, text []byte) {
	t.Helper()
	if err := os.WriteFile(path, text, 0o600); err != nil {
		t.Fatal(err)
	}
}

// digest returns the hash of a file's content, or what it is instead.
func digest(t *testing.T, path string) string {
	t.Helper()
	info, err := os.Stat(path)
	if err != nil {
		t.Fatal(err)
	}
	if info.IsDir() {
		return "directory"
	}
	text, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	sum := sha256.Sum256(text)
	return hex.EncodeToString(sum[:])
}
