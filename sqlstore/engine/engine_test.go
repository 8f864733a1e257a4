package engine_test

import (
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/berthcloud/berth/changelog"
	"github.com/berthcloud/berth/fault"
	"github.com/berthcloud/berth/sqlstore/engine"
	"github.com/berthcloud/berth/sqlstore/sqlconn"
	"github.com/berthcloud/berth/sqlstore/sqlconn/sqlconntest"
)

// hooks are a service with one table, whose Updates note texts.
func hooks() engine.Service[string] {
	return engine.Service[string]{
		Schema: sqlconn.Schema{
			Look: func(context.Context, *sqlconn.Session) error { return nil },
			Prepare: func(_ context.Context, ses *sqlconn.Session) error {
				return ses.Do("CREATE TABLE IF NOT EXISTS things (id INTEGER PRIMARY KEY, name TEXT UNIQUE)")
			},
		},
		Encode:  func(notes []string) (body, note string) { return strings.Join(notes, "+"), strings.Join(notes, "+") },
		Decode:  func(body string) string { return "read " + body },
		Watched: true,
	}
}

// open opens an engine, which is closed with the test.
func open(t *testing.T, opts engine.Options, kind engine.Service[string]) *engine.Engine[string] {
	t.Helper()
	e := engine.New(opts, kind)
	if err := e.Open(t.Context()); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { e.Close() })
	return e
}

// onServer opens an engine on a server of a test's.
func onServer(t *testing.T, s *sqlconntest.Server) *engine.Engine[string] {
	t.Helper()
	return open(t, engine.Options{Server: s.Options()}, hooks())
}

// insert is the function of an Update that inserts a thing and notes its name.
func insert(name string) func(*engine.Tx[string]) error {
	return func(t *engine.Tx[string]) error {
		t.Note(name)
		_, err := t.Exec("INSERT INTO things (name) VALUES (?)", name)
		return err
	}
}

func update(e *engine.Engine[string], fn func(*engine.Tx[string]) error) error {
	return e.Update(context.Background(), time.Now(), fn)
}

// things are the names of all things.
func things(t *testing.T, e *engine.Engine[string]) (names []string) {
	t.Helper()
	err := e.View(context.Background(), func(r *sqlconn.Tx) (err error) {
		read := func(row *sqlconn.Row) string { return row.Text(0) }
		names, err = sqlconn.List(r, read, "SELECT name FROM things ORDER BY name")
		return err
	})
	if err != nil {
		t.Fatal(err)
	}
	return names
}

func wantThings(t *testing.T, e *engine.Engine[string], want ...string) {
	t.Helper()
	if diff := cmp.Diff(want, things(t, e)); diff != "" {
		t.Errorf("things (-want +got)\n%s", diff)
	}
}

// wantUnavailable wants a fault of kind Unavailable.
func wantUnavailable(t *testing.T, what string, err error) {
	t.Helper()
	if kind, _ := fault.Of(err); kind != fault.Unavailable {
		t.Errorf("%s: %v, want an Unavailable fault", what, err)
	}
}

// once returns a fault that fails the first statement that begins with a text.
func once(begin string, ran bool, err error) sqlconntest.Fault {
	var done atomic.Bool
	return func(statement string, r bool) error {
		if r == ran && strings.HasPrefix(strings.TrimSpace(statement), begin) && done.CompareAndSwap(false, true) {
			return err
		}
		return nil
	}
}

// always fails all statements that begin with a text.
func always(begin string, err error) sqlconntest.Fault {
	return func(statement string, _ bool) error {
		if strings.HasPrefix(strings.TrimSpace(statement), begin) {
			return err
		}
		return nil
	}
}

// queued starts Updates that wait while another one runs, and returns what each returned.
func queued(t *testing.T, e *engine.Engine[string], updates ...func() error) []error {
	t.Helper()
	got := make([]error, len(updates))
	entered, release := make(chan struct{}), make(chan struct{})
	var all sync.WaitGroup
	all.Go(func() {
		err := update(e, func(*engine.Tx[string]) error { close(entered); <-release; return nil })
		if err != nil {
			t.Errorf("the Update before: %v", err)
		}
	})
	<-entered
	for i, fn := range updates {
		all.Go(func() { got[i] = fn() })
		synctest.Wait()
	}
	close(release)
	all.Wait()
	return got
}

// TestTransactionsTakePlaceOnce loses the connection before and after each statement of a
// transaction, the commit included: the change is made once, and so is its entry.
func TestTransactionsTakePlaceOnce(t *testing.T) {
	for _, ran := range []bool{false, true} {
		for n := 0; ; n++ {
			reached := false
			synctest.Test(t, func(t *testing.T) {
				s := sqlconntest.New(t)
				e := onServer(t, s)
				if err := update(e, insert("before")); err != nil {
					t.Fatal(err)
				}
				var seen atomic.Int64
				var statement atomic.Value
				s.SetFault(func(text string, r bool) error {
					if r == ran && seen.Add(1) == int64(n+1) {
						statement.Store(text)
						return sqlconntest.ErrLost
					}
					return nil
				})
				err := update(e, insert("x"))
				s.SetFault(nil)
				if reached = statement.Load() != nil; !reached {
					return
				}
				if err != nil {
					t.Errorf("lost at %q (it ran: %v): %v", statement.Load(), ran, err)
				}
				if got := s.Query(t, "SELECT COUNT(*) FROM things WHERE name = 'x'"); got != 1 {
					t.Errorf("lost at %q (it ran: %v): the change was made %d times", statement.Load(), ran, got)
				}
				if got := s.Query(t, "SELECT COUNT(*) FROM berth_changes WHERE body LIKE 'x%'"); got != 1 {
					t.Errorf("lost at %q (it ran: %v): %d entries", statement.Load(), ran, got)
				}
			})
			if !reached {
				if n < 3 {
					t.Errorf("a transaction has %d statements: the test says little", n)
				}
				break
			}
		}
	}
}

// TestUnansweredCommits loses the answer of a commit, and then the server for good, or for a while.
func TestUnansweredCommits(t *testing.T) {
	for _, c := range []struct {
		name       string
		ran        bool
		backAfter  time.Duration
		settled    []bool
		wantThings []string
	}{
		{"TookPlace", true, 5 * time.Second, []bool{true}, []string{"x"}},
		{"DidNot", false, 5 * time.Second, []bool{false}, []string{"x"}}, // it runs again
		{"NotKnown", true, time.Hour, nil, []string{"x"}},
	} {
		t.Run(c.name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				s := sqlconntest.New(t)
				var settled []bool
				unknown := 0
				e := open(t, engine.Options{Server: s.Options(), Metrics: engine.Metrics{
					Settled:   func(committed bool) { settled = append(settled, committed) },
					Unsettled: func() { unknown++ },
				}}, hooks())
				fail := once("COMMIT", c.ran, sqlconntest.ErrLost)
				s.SetFault(func(statement string, ran bool) error {
					err := fail(statement, ran)
					if err != nil {
						s.Refuse(true)
						time.AfterFunc(c.backAfter, func() { s.Refuse(false) })
					}
					return err
				})
				start := time.Now()
				err := update(e, insert("x"))
				switch took := time.Since(start); {
				case c.settled != nil && (err != nil || took < c.backAfter || took > c.backAfter+2*time.Second):
					t.Errorf("Update returns %v after %v", err, took)
				case c.settled == nil && took > 25*time.Second:
					t.Errorf("Update returns after %v", took)
				case c.settled == nil:
					wantUnavailable(t, "Update", err)
				}
				if diff := cmp.Diff(c.settled, settled); diff != "" || (unknown > 0) != (c.settled == nil) {
					t.Errorf("%d commits are not known, settled (-want +got)\n%s", unknown, diff)
				}
				time.Sleep(2 * time.Hour)
				wantThings(t, e, c.wantThings...)
				if err := update(e, insert("y")); err != nil {
					t.Errorf("the next Update: %v", err)
				}
			})
		})
	}
}

// TestCollisionsRunAgain has a server roll transactions back.
func TestCollisionsRunAgain(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s := sqlconntest.New(t)
		e := onServer(t, s)
		for _, statement := range []string{"BEGIN", "INSERT INTO things", "INSERT INTO berth_changes", "COMMIT"} {
			s.SetFault(once(statement, false, sqlconntest.ErrCollision))
			runs := 0
			err := update(e, func(t *engine.Tx[string]) error {
				runs++
				return insert(statement)(t)
			})
			if err != nil || runs != 1 && statement == "BEGIN" || runs != 2 && statement != "BEGIN" {
				t.Errorf("a collision at %s: %v after %d runs", statement, err, runs)
			}
		}
		wantThings(t, e, "BEGIN", "COMMIT", "INSERT INTO berth_changes", "INSERT INTO things")
		s.SetFault(always("INSERT INTO things", sqlconntest.ErrCollision))
		start := time.Now()
		wantUnavailable(t, "collisions without end", update(e, insert("x")))
		if took := time.Since(start); took < 19*time.Second || took > 22*time.Second {
			t.Errorf("an Update is given up after %v, want 20 s", took)
		}
	})
}

// TestErrorsOfFunctionsAreFinal returns an error, panics and ends the goroutine: none runs again,
// and nothing is written.
func TestErrorsOfFunctionsAreFinal(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		e := onServer(t, sqlconntest.New(t))
		refused := errors.New("refused")
		runs := 0
		err := update(e, func(t *engine.Tx[string]) error {
			runs++
			_ = insert("x")(t)
			return refused
		})
		if !errors.Is(err, refused) || runs != 1 {
			t.Errorf("%v after %d runs", err, runs)
		}
		err = update(e, func(t *engine.Tx[string]) error {
			_ = insert("x")(t)
			panic("a planted panic")
		})
		if err == nil || !strings.Contains(err.Error(), "a planted panic") {
			t.Errorf("after a panic: %v", err)
		}
		var used *engine.Tx[string]
		if err := update(e, func(t *engine.Tx[string]) error { used = t; return nil }); err != nil {
			t.Fatal(err)
		}
		if err := insert("x")(used); err == nil {
			t.Error("a transaction is used after its end")
		}
		if names := things(t, e); len(names) > 0 {
			t.Errorf("there are %v", names)
		}
	})
}

// TestOverlookedErrorsRollBack has a function go on after an error of the database.
func TestOverlookedErrorsRollBack(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		e := onServer(t, sqlconntest.New(t))
		err := update(e, func(t *engine.Tx[string]) error {
			_ = insert("x")(t)
			_, _ = t.Exec("INSERT INTO nowhere VALUES (1)")
			return nil
		})
		if err == nil {
			t.Error("the Update is said to have succeeded")
		}
		if names := things(t, e); len(names) > 0 {
			t.Errorf("there are %v", names)
		}
	})
}

// TestUpdatesShareACommit queues Updates of which one is refused.
func TestUpdatesShareACommit(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		var sizes []int
		e := open(t, engine.Options{
			Path: engine.Memory, Metrics: engine.Metrics{Committed: func(n int, _ time.Duration) { sizes = append(sizes, n) }},
		}, hooks())
		refused := errors.New("refused")
		inserting := func(name string) func() error { return func() error { return update(e, insert(name)) } }
		got := queued(t, e, inserting("a"), func() error {
			return update(e, func(t *engine.Tx[string]) error {
				_ = insert("b")(t)
				return refused
			})
		}, inserting("c"))
		if got[0] != nil || !errors.Is(got[1], refused) || got[2] != nil {
			t.Errorf("outcomes %v", got)
		}
		wantThings(t, e, "a", "c")
		if diff := cmp.Diff([]int{4}, sizes); diff != "" {
			t.Errorf("commits (-want +got)\n%s", diff)
		}
	})
}

// TestGroupsJoinInOrder queues requests of two groups, with Updates between.
func TestGroupsJoinInOrder(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		e := onServer(t, sqlconntest.New(t))
		var runs []string
		refused := errors.New("refused")
		newGroup := func(kind string) func(name string) func() error {
			var joined []string
			write := e.Group(func(t *engine.Tx[string]) []error {
				names := joined
				joined = nil
				runs = append(runs, kind+fmt.Sprint(names))
				t.Note(strings.Join(names, "+"))
				errs := make([]error, len(names))
				for i, name := range names {
					if name == "refused" {
						errs[i] = refused
					} else {
						_, errs[i] = t.Exec("INSERT INTO things (name) VALUES (?)", kind+name)
					}
				}
				return errs
			})
			return func(name string) func() error {
				return func() error {
					return write(context.Background(), time.Now(), func() { joined = append(joined, name) })
				}
			}
		}
		a, b := newGroup("a"), newGroup("b")
		single := func() error { return update(e, insert("single")) }
		got := queued(t, e, a("1"), b("1"), single, a("refused"), a("2"), b("refused"))
		for i, err := range got {
			if wantErr := i == 3 || i == 5; (err != nil) != wantErr || err != nil && !errors.Is(err, refused) {
				t.Errorf("request %d: %v", i, err)
			}
		}
		if diff := cmp.Diff([]string{"a[1 refused 2]", "b[1 refused]"}, runs); diff != "" {
			t.Errorf("runs (-want +got)\n%s", diff)
		}
		wantThings(t, e, "a1", "a2", "b1", "single")
	})
}

// TestLocksAreTakenFirst has two Updates of a transaction meet locks of another program: they run
// once more, in a transaction that begins with the locks of both.
func TestLocksAreTakenFirst(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s := sqlconntest.New(t)
		kind := hooks()
		var first []engine.Locks
		kind.TakeLocks = func(_ *sqlconn.Tx, l engine.Locks) { first = append(first, l) }
		e := open(t, engine.Options{Server: s.Options()}, kind)
		fails := 2
		s.SetFault(func(statement string, ran bool) error {
			if fails > 0 && !ran && strings.Contains(statement, "INSERT INTO things") {
				fails--
				return sqlconntest.ErrLocked
			}
			return nil
		})
		needing := func(id int64, name string) func() error {
			return func() error {
				return update(e, func(t *engine.Tx[string]) error {
					t.NeedLocks(engine.Locks{IDs: []int64{id}, UUIDs: []string{name}})
					return insert(name)(t)
				})
			}
		}
		for i, err := range queued(t, e, needing(1, "a"), needing(2, "b")) {
			if err != nil {
				t.Errorf("Update %d: %v", i, err)
			}
		}
		if diff := cmp.Diff([]engine.Locks{{IDs: []int64{1, 2}, UUIDs: []string{"a", "b"}}}, first); diff != "" {
			t.Errorf("locks (-want +got)\n%s", diff)
		}
		wantThings(t, e, "a", "b")
	})
}

// TestLocksThatStayEndAnUpdate has a lock that is not released: each wait delays all others, so
// that the Update gets few.
func TestLocksThatStayEndAnUpdate(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s := sqlconntest.New(t)
		e := onServer(t, s)
		tries := 0
		s.SetFault(func(statement string, ran bool) error {
			if !ran && strings.Contains(statement, "INSERT INTO things") {
				tries++
				time.Sleep(sqlconn.LockWait)
				return sqlconntest.ErrLocked
			}
			return nil
		})
		wantUnavailable(t, "Update", update(e, insert("x")))
		if tries != 2 {
			t.Errorf("it ran %d times, want 2", tries)
		}
	})
}

// TestServerIsAway refuses connections: Updates and Views fail in time, and succeed once it is
// back.
func TestServerIsAway(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s := sqlconntest.New(t)
		e := onServer(t, s)
		f := e.Follow()
		if _, all, err := f.Next(t.Context()); err != nil || !all {
			t.Fatalf("Next: all %v, %v", all, err)
		}
		s.Refuse(true)
		s.SetFault(func(string, bool) error { return sqlconntest.ErrLost })
		view := func() error { return e.View(t.Context(), func(*sqlconn.Tx) error { return nil }) }
		next := func() error { _, _, err := f.Next(t.Context()); return err }
		insertX := func() error { return update(e, insert("x")) }
		for what, fn := range map[string]func() error{"Update": insertX, "View": view, "Next": next} {
			start := time.Now()
			wantUnavailable(t, what, fn())
			if took := time.Since(start); took < 15*time.Second || took > 25*time.Second {
				t.Errorf("%s fails after %v, want 20 s", what, took)
			}
		}
		s.SetFault(nil)
		time.AfterFunc(3*time.Second, func() { s.Refuse(false) })
		if err := insertX(); err != nil {
			t.Errorf("Update while it comes back: %v", err)
		}
		if err := view(); err != nil {
			t.Errorf("View: %v", err)
		}
		notes, all, err := f.Next(t.Context())
		if diff := cmp.Diff([]string{"x"}, notes); diff != "" || all || err != nil {
			t.Errorf("Next: all %v, %v (-want +got)\n%s", all, err, diff)
		}
	})
}

// TestIdleConnectionsAreMadeAgain has the server close all connections while they are idle: nobody
// waits for that, and no function runs twice.
func TestIdleConnectionsAreMadeAgain(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s := sqlconntest.New(t)
		e := onServer(t, s)
		f := e.Follow()
		_, _, err := f.Next(t.Context())
		if err != nil || update(e, insert("a")) != nil {
			t.Fatal(err)
		}
		wantThings(t, e, "a")
		for _, c := range []struct {
			what  string
			begin string
			fn    func() error
		}{
			{"Update", "BEGIN IMMEDIATE", func() error { return update(e, insert("b")) }},
			{"View", "BEGIN DEFERRED", func() error { return e.View(t.Context(), func(*sqlconn.Tx) error { return nil }) }},
			{"Next", "SELECT", func() error { _, _, err := f.Next(t.Context()); return err }},
		} {
			time.Sleep(time.Second) // they are idle
			dials, start := s.Dials(), time.Now()
			s.SetFault(once(c.begin, false, sqlconntest.ErrLost))
			if err := c.fn(); err != nil {
				t.Errorf("%s: %v", c.what, err)
			}
			if took := time.Since(start); took > 0 {
				t.Errorf("%s waits %v", c.what, took)
			}
			if n := s.Dials() - dials; n != 1 {
				t.Errorf("%s makes %d connections, want 1", c.what, n)
			}
		}
		wantThings(t, e, "a", "b")
	})
}

// TestAnotherHostTakesOver has one connection lead to another host: the others are made again too.
func TestAnotherHostTakesOver(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s := sqlconntest.New(t)
		e := onServer(t, s)
		wantThings(t, e)
		s.SetHost("second")
		s.SetFault(once("BEGIN IMMEDIATE", false, sqlconntest.ErrLost))
		dials := s.Dials()
		if err := update(e, insert("a")); err != nil {
			t.Fatal(err)
		}
		wantThings(t, e, "a")
		if n := s.Dials() - dials; n < 2 {
			t.Errorf("%d connections were made, want that of Updates and that of Views", n)
		}
	})
}

// TestTwoStoresFollowEachOther writes by two engines on one database.
func TestTwoStoresFollowEachOther(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s := sqlconntest.New(t)
		a, b := onServer(t, s), onServer(t, s)
		f := a.Follow()
		if _, all, err := f.Next(t.Context()); err != nil || !all {
			t.Fatalf("Next: all %v, %v", all, err)
		}
		appended := a.ChangeLog().Appended()
		for i, e := range []*engine.Engine[string]{a, b} {
			if err := update(e, insert(fmt.Sprint(i))); err != nil {
				t.Fatal(err)
			}
		}
		<-appended
		notes, all, err := f.Next(t.Context())
		slices.Sort(notes)
		if diff := cmp.Diff([]string{"0", "read 1"}, notes); diff != "" || all || err != nil {
			t.Errorf("all %v, %v (-want +got)\n%s", all, err, diff)
		}
		page, err := b.ChangeLog().Read(t.Context(), changelog.Position{}, 9)
		if err != nil || len(page.Entries) != 2 || !b.ChangeLog().Shared() {
			t.Errorf("%d entries, %v", len(page.Entries), err)
		}
	})
}

// TestLogIsCleaned waits until engines have looked after the log, one of which has ended without a
// word: it is deleted when it has been silent for an hour.
func TestLogIsCleaned(t *testing.T) {
	s := sqlconntest.New(t)
	e := onServer(t, s)
	if err := update(e, insert("x")); err != nil {
		t.Fatal(err)
	}
	e.CleanLog()
	if n := s.Query(t, "SELECT COUNT(*) FROM berth_writers"); n != 1 {
		t.Errorf("%d writers, want 1", n)
	}
	other := onServer(t, s)
	if err := update(other, insert("y")); err != nil {
		t.Fatal(err)
	}
	s.Query(t, "UPDATE berth_writers SET beat_at = DATETIME('now', '-2 hours') RETURNING 1")
	s.SetFault(once("DELETE FROM berth_writers", false, sqlconntest.ErrCollision))
	e.CleanLog()
	if n := s.Query(t, "SELECT COUNT(*) FROM berth_writers"); n != 1 {
		t.Errorf("%d writers after one ended, want 1", n)
	}
	if err := update(other, insert("z")); err != nil {
		t.Errorf("an Update of the writer that was deleted: %v", err)
	}
}

// TestFullDisk has no room for writes: the store says so, and finds out by itself when there is.
func TestFullDisk(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s := sqlconntest.New(t)
		e := onServer(t, s)
		if err := e.Writable(); err != nil {
			t.Fatal(err)
		}
		s.SetFault(always("INSERT", sqlconntest.ErrFull))
		wantUnavailable(t, "Update", update(e, insert("x")))
		if err := e.Writable(); err == nil || !strings.Contains(err.Error(), "no room") {
			t.Errorf("Writable: %v", err)
		}
		if names := things(t, e); len(names) > 0 {
			t.Errorf("there are %v", names)
		}
		time.Sleep(3 * time.Second)
		if err := e.Writable(); err == nil {
			t.Error("Writable while there is no room")
		}
		s.SetFault(nil)
		time.Sleep(3 * time.Second)
		if err := e.Writable(); err != nil {
			t.Errorf("Writable with room again: %v", err)
		}
		if err := update(e, insert("x")); err != nil {
			t.Errorf("Update with room again: %v", err)
		}
	})
}

// TestQueueIsBounded has more Updates wait than may, and some leave.
func TestQueueIsBounded(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		full := 0
		e := open(t, engine.Options{
			Path: engine.Memory, MaxQueue: 2, Metrics: engine.Metrics{QueueFull: func() { full++ }},
		}, hooks())
		ctx, cancel := context.WithCancel(t.Context())
		got := queued(t, e,
			func() error { return update(e, insert("a")) },
			func() error { return e.Update(ctx, time.Now(), insert("left")) },
			func() error { defer cancel(); return update(e, insert("refused")) },
		)
		if got[0] != nil || !errors.Is(got[1], context.Canceled) {
			t.Errorf("outcomes %v", got)
		}
		if _, code := fault.Of(got[2]); code != sqlconn.CodeBusy || full != 1 {
			t.Errorf("one too many: %v, noted %d times", got[2], full)
		}
		wantThings(t, e, "a")
		if err := e.Update(ctx, time.Now(), insert("b")); !errors.Is(err, context.Canceled) {
			t.Errorf("Update with a context that ended: %v", err)
		}
	})
}

// TestCloseWaits closes an engine while Updates wait: they are written, and later ones are refused.
func TestCloseWaits(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s := sqlconntest.New(t)
		e := onServer(t, s)
		got := queued(t, e, func() error { return update(e, insert("a")) }, func() error {
			var closing sync.WaitGroup
			closing.Go(func() { e.Close() })
			closing.Go(func() { e.Close() }) // waits for the first
			return nil
		})
		if got[0] != nil {
			t.Errorf("the Update that waited: %v", got[0])
		}
		synctest.Wait()
		wantUnavailable(t, "Update", update(e, insert("b")))
		wantUnavailable(t, "View", e.View(t.Context(), func(*sqlconn.Tx) error { return nil }))
		if n := s.Query(t, "SELECT COUNT(*) FROM things"); n != 1 {
			t.Errorf("%d things, want 1", n)
		}
	})
}

// TestReadingUpdatesCommitNothing has a service whose Updates that write say so.
func TestReadingUpdatesCommitNothing(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s := sqlconntest.New(t)
		kind := hooks()
		kind.WritesHaveEntries = true
		e := open(t, engine.Options{Server: s.Options()}, kind)
		err := update(e, func(t *engine.Tx[string]) error {
			_, err := t.Exists("SELECT 1 FROM things")
			return err
		})
		if err != nil {
			t.Fatal(err)
		}
		if n := s.Query(t, "SELECT COUNT(*) FROM berth_changes"); n != 0 {
			t.Errorf("%d entries of an Update that writes nothing", n)
		}
		called := false
		err = update(e, func(t *engine.Tx[string]) error {
			t.AfterCommit(func() { called = true })
			return insert("x")(t)
		})
		if n := s.Query(t, "SELECT COUNT(*) FROM berth_changes"); n != 1 || err != nil || !called {
			t.Errorf("%d entries of one that writes, %v; the function after it was called: %v", n, err, called)
		}
	})
}

// TestFiles opens files that are missing, in use and to be emptied.
func TestFiles(t *testing.T) {
	path := filepath.Join(t.TempDir(), "a.db")
	e := open(t, engine.Options{Path: path}, hooks())
	if err := update(e, insert("x")); err != nil {
		t.Fatal(err)
	}
	if e.Follow() != nil || e.ChangeLog().Shared() {
		t.Error("a file is shared")
	}
	if err := engine.New(engine.Options{Path: path}, hooks()).Open(t.Context()); !errors.Is(err, sqlconn.ErrInUse) {
		t.Errorf("opened twice: %v", err)
	}
	if err := e.Close(); err != nil {
		t.Fatal(err)
	}
	again := open(t, engine.Options{Path: path}, hooks())
	wantThings(t, again, "x")
	again.Close()
	empty := open(t, engine.Options{Path: path, Empty: true}, hooks())
	wantThings(t, empty)
	empty.Close()
	if err := os.WriteFile(path, []byte("no database at all"), 0o600); err != nil {
		t.Fatal(err)
	}
	if err := engine.New(engine.Options{Path: path}, hooks()).Open(t.Context()); err == nil {
		t.Error("something else is opened")
	}
	if err := engine.New(engine.Options{Path: filepath.Join(path, "b")}, hooks()).Open(t.Context()); err == nil {
		t.Error("a file in a file is opened")
	}
}
