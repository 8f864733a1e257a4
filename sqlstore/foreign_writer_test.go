package sqlstore_test

import (
	"context"
	"database/sql"
	"fmt"
	"testing"

	"github.com/berthcloud/berth/placement/service"
	"github.com/berthcloud/berth/sqlstore"
)

// A stranger is another program on the database of a store, such as upstream's
// serve or a person with a client.
type stranger struct {
	t     *testing.T
	store *sqlstore.Store
	db    *sql.DB // of a file
	seen  int
}

func newStranger(t *testing.T, opts sqlstore.Options, store *sqlstore.Store) *stranger {
	t.Helper()
	x := &stranger{t: t, store: store}
	if opts.Server != nil {
		return x
	}
	db, err := sql.Open("sqlite", "file:"+opts.Path+"?_pragma=busy_timeout(5000)")
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { db.Close() })
	x.db = db
	return x
}

// do commits each statement by itself.
func (x *stranger) do(statements ...string) {
	x.t.Helper()
	if x.db == nil {
		do(x.t, x.store, statements...)
		return
	}
	for _, st := range statements {
		if _, err := x.db.Exec(st); err != nil {
			x.t.Fatalf("%s: %v", st, err)
		}
	}
}

// reconcile has a service compare everything, which it does not on a file that no other program
// has written to.
func (x *stranger) reconcile(s *service.Service) (trees int) {
	x.t.Helper()
	if x.db != nil {
		x.seen++
		x.do(fmt.Sprintf("PRAGMA user_version = %d", x.seen))
	}
	trees, err := s.Reconcile(context.Background())
	if err != nil {
		x.t.Fatalf("Reconcile: %v", err)
	}
	return trees
}

// What a store commits itself is no reason to look whether others did.
func TestOthers(t *testing.T) {
	onAll(t, func(t *testing.T, opts sqlstore.Options) {
		store := open(t, opts)
		mark := func() int64 {
			t.Helper()
			m, reported, err := store.Others(context.Background())
			if err != nil || reported != (opts.Server == nil) {
				t.Fatalf("Others = %d, %v, %v", m, reported, err)
			}
			return m
		}
		before := mark()
		touch(t, store, 1, 2)
		if after := mark(); after != before {
			t.Errorf("the mark goes from %d to %d by what the store writes", before, after)
		}
		x := newStranger(t, opts, store)
		x.do("INSERT INTO traits (created_at, name) VALUES ('2026-01-02 03:04:05', 'CUSTOM_X')")
		if after := mark(); opts.Server == nil && after == before {
			t.Errorf("the mark stays %d when another program writes", before)
		}
	})
}

// counted returns a store in a file that counts its statements, and a service with some
// hosts and a stranger on it.
func counted(t *testing.T) (store *sqlstore.Store, s *service.Service, x *stranger, statements *int) {
	t.Helper()
	statements = new(int)
	opts := sqlstore.Options{Path: t.TempDir() + "/placement.db"}
	opts.Trace = func(context.Context, string) func(error) {
		*statements++
		return func(error) {}
	}
	store = open(t, opts)
	s, x = serve(t, store), newStranger(t, opts, store)
	if err := populate(s, 3); err != nil {
		t.Fatal(err)
	}
	return store, s, x, statements
}

// A comparison of a file costs nothing while no other program writes to it.
func TestReconcileOfAFileReadsWhenOthersWrote(t *testing.T) {
	store, s, x, statements := counted(t)
	read := func() int {
		t.Helper()
		before := *statements
		if _, err := s.Reconcile(context.Background()); err != nil {
			t.Fatal(err)
		}
		return *statements - before
	}
	if n := read(); n > 0 {
		t.Errorf("after a start and its own writes Reconcile runs %d statements", n)
	}
	x.do("UPDATE inventories SET total = total + 1")
	if n := read(); n == 0 {
		t.Error("Reconcile does not look after another program wrote")
	}
	sameSnapshots(t, "after another program wrote", s, store)
}
