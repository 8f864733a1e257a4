package sqlconn_test

import (
	"context"
	"errors"
	"log/slog"
	"os"
	"path/filepath"
	"slices"
	"testing"
	"testing/synctest"
	"time"

	"github.com/berthcloud/berth/sqlstore/sqlconn"
	"github.com/berthcloud/berth/sqlstore/sqlconn/sqlconntest"
)

// things is a schema with one table.
func things() sqlconn.Schema {
	return sqlconn.Schema{
		Look: func(context.Context, *sqlconn.Session) error { return nil },
		Prepare: func(_ context.Context, ses *sqlconn.Session) error {
			return ses.Do("CREATE TABLE IF NOT EXISTS things (id INTEGER PRIMARY KEY)")
		},
	}
}

// newDatabase returns one that is closed with the test.
func newDatabase(t *testing.T, source sqlconn.Source) *sqlconn.Database {
	t.Helper()
	source.Logger = slog.New(slog.DiscardHandler)
	if source.Step == nil {
		source.Step = func(string) {}
	}
	d := sqlconn.NewDatabase(source)
	t.Cleanup(func() { d.Close() })
	return d
}

// count returns how many things there are.
func count(t *testing.T, ses *sqlconn.Session) int64 {
	t.Helper()
	n, err := sqlconn.First(ses.Tx(t.Context()), sqlconn.Integer, "SELECT COUNT(*) FROM things")
	if err != nil {
		t.Fatal(err)
	}
	return n
}

// TestDatabaseInAFile opens a file twice, and with its content removed. Only one session writes.
func TestDatabaseInAFile(t *testing.T) {
	path := filepath.Join(t.TempDir(), "a.db")
	d := newDatabase(t, sqlconn.Source{Path: path})
	writer, readers, err := d.Open(t.Context(), things(), 2)
	if err != nil || len(readers) != 2 {
		t.Fatalf("%d readers, %v", len(readers), err)
	}
	if err := writer.Do("INSERT INTO things DEFAULT VALUES"); err != nil {
		t.Fatal(err)
	}
	for _, ses := range readers {
		if count(t, ses) != 1 || ses.Do("DELETE FROM things") == nil {
			t.Error("a session that reads sees nothing, or writes")
		}
	}
	if err := d.Files().Check(); err != nil || d.Files() == nil {
		t.Errorf("the files are %v, %v", d.Files(), err)
	}
	link := path + ".link"
	if err := os.Symlink(path, link); err != nil {
		t.Fatal(err)
	}
	_, _, err = newDatabase(t, sqlconn.Source{Path: link}).Open(t.Context(), things(), 1)
	if !errors.Is(err, sqlconn.ErrInUse) {
		t.Errorf("opened by another name: %v", err)
	}
	for want, empty := range []bool{true, false} {
		if err := d.Close(); err != nil {
			t.Fatal(err)
		}
		d = newDatabase(t, sqlconn.Source{Path: path, Empty: empty})
		if writer, _, err = d.Open(t.Context(), things(), 1); err != nil {
			t.Fatal(err)
		}
		if n := count(t, writer); n != int64(want) {
			t.Errorf("emptied: %v: %d things, want %d", empty, n, want)
		}
		if err := writer.Do("INSERT INTO things DEFAULT VALUES"); err != nil {
			t.Fatal(err)
		}
	}
}

// TestFailedOpeningsChangeNothing has the schema refuse a file: it is as it was, and not locked.
func TestFailedOpeningsChangeNothing(t *testing.T) {
	path := filepath.Join(t.TempDir(), "a.db")
	d := newDatabase(t, sqlconn.Source{Path: path})
	if _, _, err := d.Open(t.Context(), things(), 1); err != nil {
		t.Fatal(err)
	}
	if err := d.Close(); err != nil {
		t.Fatal(err)
	}
	before, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	refused := errors.New("refused")
	fail := func(context.Context, *sqlconn.Session) error { return refused }
	looking, preparing := things(), things()
	looking.Look, looking.Prepare = fail, func(context.Context, *sqlconn.Session) error {
		t.Error("prepared in spite of it")
		return nil
	}
	preparing.Prepare = fail
	for name, schema := range map[string]sqlconn.Schema{"Look": looking, "Prepare": preparing} {
		if _, _, err := newDatabase(t, sqlconn.Source{Path: path}).Open(t.Context(), schema, 1); !errors.Is(err, refused) {
			t.Errorf("%s fails: Open returns %v", name, err)
		}
		after, err := os.ReadFile(path)
		if err != nil || !slices.Equal(before, after) {
			t.Errorf("%s fails: the file has changed, %v", name, err)
		}
		if names, _ := filepath.Glob(path + "?*"); len(names) != 0 {
			t.Errorf("%s fails: %v are there", name, names)
		}
	}
	if _, _, err := newDatabase(t, sqlconn.Source{Path: path}).Open(t.Context(), things(), 1); err != nil {
		t.Errorf("opened after that: %v", err)
	}
}

// TestServersThatCannotBeReached tries to connect as often as the settings say, and not at all
// after what will not change.
func TestServersThatCannotBeReached(t *testing.T) {
	for _, tc := range []struct {
		name    string
		retries int
		advice  string
		comes   int // the pause after which the server comes, 0 for never
		opened  bool
		took    time.Duration
	}{
		{"not at once", 0, "", 0, false, 0},
		{"not within the retries", 2, "", 0, false, 20 * time.Second},
		{"within the retries", 2, "", 2, true, 20 * time.Second},
		{"much later, without a bound", -1, "", 99, true, 990 * time.Second},
		{"for a reason that stays", -1, "check the password", 0, false, 0},
	} {
		t.Run(tc.name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				s := sqlconntest.New(t)
				s.Refuse(true)
				s.Dialect().Advice = func(error, sqlconn.Naming) string { return tc.advice }
				options := s.Options()
				options.Retries, options.RetryInterval = tc.retries, 10*time.Second
				if tc.comes > 0 {
					time.AfterFunc(time.Duration(tc.comes)*10*time.Second-time.Second, func() { s.Refuse(false) })
				}
				start := time.Now()
				d := newDatabase(t, sqlconn.Source{Server: options})
				_, readers, err := d.Open(t.Context(), things(), 3)
				if took := time.Since(start); (err == nil) != tc.opened || took != tc.took {
					t.Errorf("opened with %v after %v, want %v after %v", err, took, tc.opened, tc.took)
				}
				if tc.opened && (len(readers) != 3 || s.Dials() != 1) {
					t.Errorf("%d readers, %d connections: those that read are made when they are used", len(readers), s.Dials())
				}
				if err != nil && !errors.Is(err, sqlconntest.ErrRefused) {
					t.Errorf("the error is %v", err)
				}
			})
		})
	}
}

// TestContextsEndConnecting ends the wait for a server.
func TestContextsEndConnecting(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s := sqlconntest.New(t)
		s.Refuse(true)
		options := s.Options()
		options.Retries, options.RetryInterval = -1, time.Hour
		ctx, cancel := context.WithTimeout(t.Context(), time.Minute)
		defer cancel()
		_, _, err := newDatabase(t, sqlconn.Source{Server: options}).Open(ctx, things(), 1)
		if !errors.Is(err, context.DeadlineExceeded) {
			t.Errorf("Open returns %v", err)
		}
	})
}

// TestSessionsFollowAnotherHost makes all connections again once one of them leads to another host.
func TestSessionsFollowAnotherHost(t *testing.T) {
	s := sqlconntest.New(t)
	made := 0
	d := newDatabase(t, sqlconn.Source{Server: s.Options(), Connected: func() { made++ }})
	writer, readers, err := d.Open(t.Context(), things(), 1)
	if err != nil {
		t.Fatal(err)
	}
	if err := readers[0].Connect(t.Context()); err != nil || !writer.Usable() {
		t.Fatalf("%v; the writer is usable: %v", err, writer.Usable())
	}
	s.SetHost("second")
	other := d.NewSession(sqlconn.Reading)
	defer other.Close()
	if err := other.Connect(t.Context()); err != nil {
		t.Fatal(err)
	}
	if writer.Usable() || readers[0].Usable() {
		t.Error("connections to the first host are used")
	}
	if err := writer.Connect(t.Context()); err != nil || !writer.Usable() || made != 4 {
		t.Errorf("%v; the writer is usable: %v; %d connections were made, want 4", err, writer.Usable(), made)
	}
}

// TestSessionsOfTools makes a connection for a tool, which another host does not end.
func TestSessionsOfTools(t *testing.T) {
	s := sqlconntest.New(t)
	d := newDatabase(t, sqlconn.Source{Server: s.Options(), Connected: func() { t.Error("it is counted") }})
	ses, err := d.OpenServer(t.Context(), sqlconn.Writing, sqlconn.Naming{})
	if err != nil {
		t.Fatal(err)
	}
	if ses.Pipelined() {
		t.Error("statements go together to a server that takes them one by one")
	}
	d.RenewConnections()
	if !ses.Usable() {
		t.Error("the connection is to be made again")
	}
	if err := d.Close(); err != nil || ses.Usable() {
		t.Errorf("closed with %v; the session is usable: %v", err, ses.Usable())
	}
}
