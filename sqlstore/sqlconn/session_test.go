package sqlconn

import (
	"context"
	"database/sql"
	"errors"
	"fmt"
	"path/filepath"
	"slices"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/berthcloud/berth/fault"
)

// newSession returns a session on a database in memory with a table of two rows.
func newSession(t *testing.T) *Session {
	t.Helper()
	db, err := sql.Open("sqlite", ":memory:?_pragma=foreign_keys(1)")
	if err != nil {
		t.Fatal(err)
	}
	db.SetMaxOpenConns(1)
	d := *SQLiteDialect
	s := NewSession(&d, db.Conn)
	t.Cleanup(func() { s.Close(); db.Close() })
	if err := s.Connect(context.Background()); err != nil {
		t.Fatal(err)
	}
	err = s.Script([]string{
		"CREATE TABLE things (id INTEGER PRIMARY KEY, name TEXT UNIQUE, parent INTEGER REFERENCES things (id))",
		"INSERT INTO things VALUES (1, 'a', NULL), (2, 'b', 1)",
	}, func(int) {})
	if err != nil {
		t.Fatal(err)
	}
	return s
}

func newTx(s *Session) *Tx { return s.Tx(context.Background()) }

func names(t *Tx) ([]string, error) {
	return List(t, func(row *Row) string { return row.Text(0) }, "SELECT name FROM things ORDER BY name")
}

// TestTxEndsWithAnError uses a transaction after errors: it refuses everything, with the first one.
func TestTxEndsWithAnError(t *testing.T) {
	s := newSession(t)
	tx := newTx(s)
	_, first := tx.Exec("INSERT INTO nowhere VALUES (1)")
	if first == nil || tx.cause == nil {
		t.Fatalf("%v, cause %v", first, tx.cause)
	}
	_, exec := tx.Exec("DELETE FROM things")
	_, query := names(tx)
	_, _, insert := tx.Insert("INSERT INTO things (name) VALUES ('c')")
	_, _, try := tx.Try(false, "INSERT INTO things (name) VALUES ('c')", nil)
	for i, err := range []error{exec, query, insert, try, tx.QueryAll(nil)} {
		if !errors.Is(err, tx.broken) {
			t.Errorf("statement %d: %v, want %v", i, err, tx.broken)
		}
	}
	if got, err := names(newTx(s)); err != nil || len(got) != 2 {
		t.Errorf("there are %v, %v", got, err)
	}
	over := newTx(s)
	over.End()
	if _, err := names(over); !errors.Is(err, errOver) {
		t.Errorf("after its end: %v", err)
	}
}

// TestTxEndsWithItsContext ends a context before a statement and among the rows of one.
func TestTxEndsWithItsContext(t *testing.T) {
	s := newSession(t)
	ctx, cancel := context.WithCancel(context.Background())
	tx := s.Tx(ctx)
	read := 0
	err := tx.Each(func(*Row) {
		if read++; read == 10 {
			cancel()
		}
	}, "WITH RECURSIVE n (i) AS (SELECT 1 UNION ALL SELECT i + 1 FROM n WHERE i < 100000) SELECT i FROM n")
	if !errors.Is(err, context.Canceled) || read != rowsBetween {
		t.Errorf("%v after %d rows, want %d", err, read, rowsBetween)
	}
	if tx.cause != nil {
		t.Errorf("the end of a context is an error of the database: %v", tx.cause)
	}
	if _, err := names(tx); !errors.Is(err, context.Canceled) {
		t.Errorf("after it: %v", err)
	}
	if _, err := names(newTx(s)); err != nil {
		t.Errorf("another transaction of the session: %v", err)
	}
}

// TestInsertAndTry meet unique values, and go on.
func TestInsertAndTry(t *testing.T) {
	tx := newTx(newSession(t))
	if id, clash, err := tx.Insert("INSERT INTO things (name) VALUES (?)", "c"); id != 3 || clash || err != nil {
		t.Errorf("Insert: %d, %v, %v", id, clash, err)
	}
	if _, clash, err := tx.Insert("INSERT INTO things (name) VALUES (?)", "a"); !clash || err != nil {
		t.Errorf("Insert of a name that is taken: %v, %v", clash, err)
	}
	for _, guard := range []bool{false, true} {
		if guard {
			if err := tx.session.Do("BEGIN"); err != nil {
				t.Fatal(err)
			}
		}
		n, clash, err := tx.Try(guard, "UPDATE things SET name = ? WHERE id = 2", []any{"a"})
		if n != 0 || !clash || err != nil {
			t.Errorf("Try with a guard (%v), of a name that is taken: %d, %v, %v", guard, n, clash, err)
		}
		n, clash, err = tx.Try(guard, "UPDATE things SET name = ? WHERE id = 2", []any{"free"})
		if n != 1 || clash || err != nil {
			t.Errorf("Try with a guard (%v): %d, %v, %v", guard, n, clash, err)
		}
	}
	if err := tx.session.Do("COMMIT"); err != nil {
		t.Fatal(err)
	}
	if err := tx.Change("DELETE FROM things WHERE id = 99"); !errors.Is(err, ErrNoRow) {
		t.Errorf("Change of nothing: %v", err)
	}
	if err := tx.Usable(); err != nil {
		t.Errorf("the transaction is not usable: %v", err)
	}
	_, clash, err := tx.Try(false, "INSERT INTO things (name, parent) VALUES ('d', 99)", nil)
	if clash || err == nil || tx.Usable() == nil {
		t.Errorf("Try of a row without its parent: %v, %v", clash, err)
	}
}

// TestQueries reads by all ways that there are.
func TestQueries(t *testing.T) {
	tx := newTx(newSession(t))
	if got, err := First(tx, Integer, "SELECT id FROM things WHERE name = ?", "b"); got != 2 || err != nil {
		t.Errorf("First: %d, %v", got, err)
	}
	if _, err := First(tx, Integer, "SELECT id FROM things WHERE name = 'z'"); !errors.Is(err, ErrNoRow) {
		t.Errorf("First of nothing: %v", err)
	}
	for name, want := range map[string]bool{"things": true, "others": false} {
		if got, err := tx.HasTable(name); got != want || err != nil {
			t.Errorf("HasTable(%s): %v, %v", name, got, err)
		}
	}
	var all []int64
	each := func(row *Row) { all = append(all, row.Int(0)) }
	err := tx.QueryAll([]Question{
		{Statement{Query: "SELECT id FROM things WHERE name = ?", Args: []any{"b"}}, each},
		{Statement{Query: "SELECT id FROM things ORDER BY id"}, each},
	})
	if diff := cmp.Diff([]int64{2, 1, 2}, all); diff != "" || err != nil {
		t.Errorf("QueryAll: %v (-want +got)\n%s", err, diff)
	}
	counts, err := tx.session.Change([]Statement{
		{Query: "UPDATE things SET name = name || 'x'"}, {Query: "DELETE FROM things WHERE id = 99"},
	})
	if diff := cmp.Diff([]int64{2, 0}, counts); diff != "" || err != nil {
		t.Errorf("Change: %v (-want +got)\n%s", err, diff)
	}
	n, err := tx.Answered([]string{"SELECT 1", "SELECT 2", "SELECT 3 FROM nowhere"})
	if n != 2 || err == nil {
		t.Errorf("Answered: %d, %v", n, err)
	}
}

// TestLists uses many keys, in chunks of few lengths.
func TestLists(t *testing.T) {
	for n, want := range map[int][]int{0: nil, 1: {1}, 3: {4}, 4: {4}, 300: {500}, 501: {500, 1}} {
		keys := make([]int, n)
		for i := range keys {
			keys[i] = i % 501
		}
		slices.Reverse(keys)
		var lengths []int
		seen := make(map[any]bool)
		err := InList(keys, func(marks string, args []any) error {
			lengths = append(lengths, len(args))
			if got := 1 + (len(marks)-1)/3; got != len(args) {
				t.Errorf("%d marks for %d values", got, len(args))
			}
			for _, a := range args {
				seen[a] = true
			}
			return nil
		})
		if diff := cmp.Diff(want, lengths); diff != "" || err != nil || len(seen) != n {
			t.Errorf("%d keys: %d were in the statements, %v (-want +got)\n%s", n, len(seen), err, diff)
		}
	}
	failed := errors.New("failed")
	if err := InList([]int{1}, func(string, []any) error { return failed }); !errors.Is(err, failed) {
		t.Errorf("InList: %v", err)
	}
	if got := Distinct(Padded([]string{"b", "a", "b", "c", "d", "e"})); got != 5 {
		t.Errorf("%d distinct values, want 5", got)
	}
	if got := Tuples(2, 3); got != "(?, ?, ?), (?, ?, ?)" {
		t.Errorf("Tuples: %s", got)
	}
	tx := newTx(newSession(t))
	ids, err := ListIn(tx, Integer, "SELECT id FROM things WHERE name IN (", []string{"b", "z", "a"}, ") ORDER BY id")
	if diff := cmp.Diff([]int64{1, 2}, ids); diff != "" || err != nil {
		t.Errorf("ListIn: %v (-want +got)\n%s", err, diff)
	}
	n, err := ExecIn(tx, "UPDATE things SET parent = ? WHERE id IN (", []int64{1, 2, 3}, ")", 1)
	if n != 2 || err != nil {
		t.Errorf("ExecIn: %d, %v", n, err)
	}
}

// TestRows reads values of all types, the wrong ones included.
func TestRows(t *testing.T) {
	tx := newTx(newSession(t))
	err := tx.Each(func(row *Row) {
		at := time.Date(2026, 1, 2, 3, 4, 5, 0, time.UTC)
		if !row.Null(0) || row.Text(0) != "" || row.Int(0) != 0 || row.Float(0) != 0 || !row.Time(0).IsZero() {
			t.Error("NULL is not the zero value")
		}
		if row.Text(1) != "7" || row.Int(1) != 7 || row.Float(1) != 7 {
			t.Errorf("a text of a number: %q, %d, %v", row.Text(1), row.Int(1), row.Float(1))
		}
		if row.Text(2) != "8" || row.Int(2) != 8 || row.Float(3) != 1.5 || row.Int(3) != 1 {
			t.Errorf("numbers: %q, %d, %v, %d", row.Text(2), row.Int(2), row.Float(3), row.Int(3))
		}
		if !row.Time(4).Equal(at) {
			t.Errorf("a time: %v", row.Time(4))
		}
		if row.Err != nil {
			t.Errorf("all are right: %v", row.Err)
		}
	}, "SELECT NULL, '7', 8, 1.5, '2026-01-02 03:04:05.000000'")
	if err != nil {
		t.Error(err)
	}
	for name, read := range map[string]func(*Row){
		"number": func(row *Row) { row.Int(0) },
		"float":  func(row *Row) { row.Float(0) },
		"time":   func(row *Row) { row.Time(0) },
	} {
		if err := newTx(tx.session).Each(read, "SELECT 'x'"); err == nil {
			t.Errorf("x is read as a %s", name)
		}
	}
}

// TestParallelReadersAreOptional runs two functions without a second connection, and with one whose
// function panics.
func TestParallelReadersAreOptional(t *testing.T) {
	tx := newTx(newSession(t))
	var order []string
	add := func(name string, err error) func(*Tx) error {
		return func(*Tx) error { order = append(order, name); return err }
	}
	failed := errors.New("failed")
	if err := tx.Concurrently(add("a", nil), add("b", nil)); err != nil {
		t.Error(err)
	}
	if err := tx.Concurrently(add("c", failed), add("d", nil)); !errors.Is(err, failed) {
		t.Error(err)
	}
	if diff := cmp.Diff([]string{"a", "b", "c"}, order); diff != "" {
		t.Errorf("(-want +got)\n%s", diff)
	}
	ended := 0
	tx.startParallel = func(*Tx) (*Tx, func(), bool) { return newTx(newSession(t)), func() { ended++ }, true }
	second := func(other *Tx) error {
		_, err := other.Exec("INSERT INTO nowhere VALUES (1)")
		return err
	}
	if err := tx.Concurrently(func(*Tx) error { return nil }, second); err == nil || tx.cause == nil {
		t.Errorf("an error of the second: %v, cause %v", err, tx.cause)
	}
	func() {
		defer func() {
			if recover() == nil {
				t.Error("a panic of the second is lost")
			}
		}()
		_ = tx.Concurrently(func(*Tx) error { return nil }, func(*Tx) error { panic("planted") })
	}()
	if ended != 2 {
		t.Errorf("%d of 2 parallel readers ended", ended)
	}
}

// TestTracing wants the end of each statement that began.
func TestTracing(t *testing.T) {
	tx := newTx(newSession(t))
	var log []string
	tx.trace = func(_ context.Context, statement string) func(error) {
		return func(err error) { log = append(log, fmt.Sprint(statement, " ", err != nil)) }
	}
	_, _ = tx.Exists("SELECT 1")
	_, _ = tx.Answered([]string{"SELECT 2", "SELECT 3"})
	_, _ = tx.Exec("nonsense")
	if diff := cmp.Diff([]string{"SELECT 1 false", "SELECT 3 false", "SELECT 2 false", "nonsense true"}, log); diff != "" {
		t.Errorf("(-want +got)\n%s", diff)
	}
}

// TestSessionsConnectAgain makes a session's connection unusable in all ways that there are.
func TestSessionsConnectAgain(t *testing.T) {
	db, err := sql.Open("sqlite", SQLiteURI(filepath.Join(t.TempDir(), "a"), "rwc"))
	if err != nil {
		t.Fatal(err)
	}
	defer db.Close()
	ctx := context.Background()
	dials := 0
	s := &Session{dialect: SQLiteDialect, epoch: new(atomic.Int64), open: func(ctx context.Context) (*sql.Conn, error) {
		dials++
		return db.Conn(ctx)
	}}
	defer s.Close()
	if err := s.Do("SELECT 1"); !errors.Is(err, sql.ErrConnDone) {
		t.Errorf("without a connection: %v", err)
	}
	connect := func(why string, want int) {
		t.Helper()
		if err := s.Connect(ctx); err != nil || dials != want {
			t.Errorf("%s: %d connections, %v; want %d", why, dials, err, want)
		}
	}
	connect("at first", 1)
	connect("again", 1)
	s.epoch.Add(1)
	connect("after a take-over", 2)
	s.dead = true
	connect("after an error", 3)
	s.lifetime = time.Nanosecond
	connect("after its lifetime", 4)
	s.lifetime = 0
	s.Close()
	connect("after Close", 5)
}

// TestPreparedStatementsAreBounded runs more different statements than a connection keeps.
func TestPreparedStatementsAreBounded(t *testing.T) {
	s := newSession(t)
	for i := range maxReady + 10 {
		if err := s.Do(fmt.Sprintf("UPDATE things SET id = id WHERE id = %d", i)); err != nil {
			t.Fatal(err)
		}
	}
	if n := len(s.ready); n > maxReady || n == 0 {
		t.Errorf("%d statements are prepared", n)
	}
}

// TestSilentDatabases has a statement take longer than the database may be silent.
func TestSilentDatabases(t *testing.T) {
	s := newSession(t)
	s.responseTimeout = 20 * time.Millisecond
	s.dialect.Lost = func(err error) bool { return errors.Is(err, ErrSilent) }
	tx := newTx(s)
	_, err := tx.Exists(`
WITH RECURSIVE n (i) AS (SELECT 1 UNION ALL SELECT i + 1 FROM n)
SELECT i FROM n WHERE i < 0`)
	if kind, _ := fault.Of(err); kind != fault.Unavailable || !errors.Is(tx.cause, ErrSilent) || !s.dead {
		t.Errorf("%v, cause %v, the session is dead: %v", err, tx.cause, s.dead)
	}
}

// TestPools borrows more sessions than there are.
func TestPools(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		ctx := context.Background()
		closing := make(chan struct{})
		a, b := &Session{}, &Session{}
		p := NewPool([]*Session{a, b}, 1, time.Minute, closing)
		first, err := p.Borrow(ctx)
		if err != nil || first != b {
			t.Fatalf("Borrow: %v", err)
		}
		second, ok := p.BorrowIdle()
		if !ok || second != a {
			t.Fatal("there is no idle session")
		}
		if _, ok := p.BorrowIdle(); ok {
			t.Error("a third session is idle")
		}
		start := time.Now()
		_, err = p.Borrow(ctx)
		if _, code := fault.Of(err); code != CodeBusy || time.Since(start) != time.Minute {
			t.Errorf("Borrow waits %v: %v", time.Since(start), err)
		}
		short, cancel := context.WithTimeout(ctx, time.Second)
		defer cancel()
		if _, err := p.Borrow(short); !errors.Is(err, context.DeadlineExceeded) {
			t.Errorf("Borrow with a context that ends: %v", err)
		}
		time.AfterFunc(time.Second, func() { p.GiveBack(second) })
		if got, err := p.Borrow(ctx); got != second || err != nil {
			t.Errorf("Borrow of one that comes back: %v", err)
		}
		time.AfterFunc(time.Second, func() { close(closing) })
		_, err = p.Borrow(ctx)
		if kind, _ := fault.Of(err); kind != fault.Unavailable {
			t.Errorf("Borrow while the store is closed: %v", err)
		}
		p.GiveBack(first)
		_, err = p.Borrow(ctx)
		if kind, _ := fault.Of(err); kind != fault.Unavailable {
			t.Errorf("Borrow after the store is closed: %v", err)
		}
		if got := p.Own(); got != first {
			t.Error("Own does not wait for what is there")
		}
		p.GiveBack(first)
		time.AfterFunc(time.Second, func() { p.GiveBack(second) })
		p.Drain()
	})
}

// TestPoolsKeepFewConnections gives back more connections than stay open.
func TestPoolsKeepFewConnections(t *testing.T) {
	sessions := []*Session{newSession(t), newSession(t), newSession(t)}
	p := NewPool(slices.Clone(sessions), 2, 0, nil)
	for range sessions {
		p.Own()
	}
	for _, s := range sessions {
		p.GiveBack(s)
	}
	open := 0
	for _, s := range sessions {
		if s.conn != nil {
			open++
		}
	}
	if open != 2 {
		t.Errorf("%d connections are open, want 2", open)
	}
	if got := p.Own(); got.conn == nil {
		t.Error("one without a connection is lent first")
	}
}
