package sqlstore_test

import (
	"context"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/berthcloud/berth/internal/dbtest"
	"github.com/berthcloud/berth/internal/sqltest"
	"github.com/berthcloud/berth/placement"
	"github.com/berthcloud/berth/sqlstore"
)

// renameProvider gives a provider another name, which changes pages that the file has already.
func renameProvider(s *sqlstore.Store, id int64, name string) error {
	return s.Update(context.Background(), now, func(w placement.Writer) error {
		return w.UpdateProvider(placement.ProviderRow{ID: id, Name: name, Root: id})
	})
}

// TestLogDoesNotFillSmallDisk changes the same row far more often than the log of all changes has
// room for.
func TestLogDoesNotFillSmallDisk(t *testing.T) {
	dir := sqltest.SmallDisk(t, 3<<10)
	s := open(t, sqlstore.Options{Path: filepath.Join(dir, "small.db")})
	if err := addProvider(s, "p"); err != nil {
		t.Fatal(err)
	}
	for n := range 3000 {
		if err := renameProvider(s, 1, fmt.Sprint("name", n)); err != nil {
			t.Fatalf("change %d: %v", n, err)
		}
	}
}

// eventually waits until a condition is true.
func eventually(t *testing.T, what string, condition func() bool) {
	t.Helper()
	tick := time.NewTicker(10 * time.Millisecond)
	defer tick.Stop()
	for end := time.After(30 * time.Second); !condition(); {
		select {
		case <-tick.C:
		case <-end:
			t.Fatalf("%s: not after 30 s", what)
		}
	}
}

// TestFullDisk fills the disk below a database: writes fail as unavailable, the store says why,
// reads go on, and the store finds by itself that there is room again.
func TestFullDisk(t *testing.T) {
	dir := sqltest.SmallDisk(t, 4<<10)
	s := open(t, sqlstore.Options{Path: filepath.Join(dir, "full.db")})
	if err := s.Writable(); err != nil {
		t.Errorf("Writable() = %v before the disk is full", err)
	}
	filler := filepath.Join(dir, "filler")
	if err := os.WriteFile(filler, make([]byte, 4<<20), 0o600); err == nil {
		t.Fatal("the disk is not full")
	}
	var err error
	rows := 0
	for ; err == nil && rows < 20_000; rows++ {
		err = addProvider(s, fmt.Sprintf("%0200d", rows))
	}
	if err == nil {
		t.Fatal("writes succeed on a full disk")
	}
	wantAway(t, fmt.Sprintf("write %d on a full disk", rows), err)
	if why := s.Writable(); why == nil || !strings.Contains(why.Error(), "no room") {
		t.Errorf("Writable() = %v on a full disk, want that there is no room", why)
	}
	if n := len(providerNames(t, s)); n != rows-1 {
		t.Errorf("%d providers are read, want %d", n, rows-1)
	}
	if err := os.Remove(filler); err != nil {
		t.Fatal(err)
	}
	eventually(t, "the store finds that there is room", func() bool { return s.Writable() == nil })
	if err := addProvider(s, "after"); err != nil {
		t.Errorf("a write after there was room again: %v", err)
	}
}

// TestServerWithoutRoom has servers refuse writes as they do when their disk is full, and when they
// take no writes.
func TestServerWithoutRoom(t *testing.T) {
	onServers(t, func(t *testing.T, url string) {
		where := server(t, url)
		admin := open(t, sqlstore.Options{Server: server(t, url)})
		s := open(t, sqlstore.Options{Server: where, RetryTime: 300 * time.Millisecond})
		refuse, accept := []string{
			`CREATE TRIGGER full BEFORE INSERT ON berth_changes FOR EACH ROW SIGNAL SQLSTATE 'HY000' SET MYSQL_ERRNO = 1114, ` +
				`MESSAGE_TEXT = 'The table ''berth_changes'' is full'`,
		}, []string{`DROP TRIGGER full`}
		if where.Dialect == sqlstore.PostgreSQL {
			refuse, accept = []string{
				`CREATE FUNCTION full_disk() RETURNS trigger LANGUAGE plpgsql AS $$ BEGIN RAISE EXCEPTION 'could not extend ` +
					`file: No space left on device' USING ERRCODE = '53100'; END $$`,
				`CREATE TRIGGER full_disk BEFORE INSERT ON berth_changes FOR EACH ROW EXECUTE FUNCTION full_disk()`,
			}, []string{`DROP TRIGGER full_disk ON berth_changes`, `DROP FUNCTION full_disk`}
		}
		do(t, admin, refuse...)
		wantAway(t, "a write without room", addProvider(s, "p"))
		if why := s.Writable(); why == nil || !strings.Contains(why.Error(), "no room") {
			t.Errorf("Writable() = %v, want that there is no room", why)
		}
		do(t, admin, accept...)
		eventually(t, "the store finds that there is room", func() bool { return s.Writable() == nil })
		if err := addProvider(s, "p"); err != nil {
			t.Errorf("a write after there was room again: %v", err)
		}
	})
}

// TestServerThatBecomesReadOnly has a primary refuse writes, as an administrator does before a
// switch.
func TestServerThatBecomesReadOnly(t *testing.T) {
	sqltest.Need(t)
	primary := dbtest.NewMariaDB(t, dbtest.Fast())
	s := open(t, sqlstore.Options{Server: server(t, primary.NewDatabase(t)), RetryTime: 300 * time.Millisecond})
	primary.Exec(t, "SET GLOBAL read_only = 1")
	wantAway(t, "a write to a server that is read-only", addProvider(s, "p"))
	if why := s.Writable(); why == nil || !strings.Contains(why.Error(), "read-only") {
		t.Errorf("Writable() = %v, want that it is read-only", why)
	}
	primary.Exec(t, "SET GLOBAL read_only = 0")
	eventually(t, "the store finds that it can write", func() bool { return s.Writable() == nil })
	if err := addProvider(s, "p"); err != nil {
		t.Errorf("a write afterwards: %v", err)
	}
}
