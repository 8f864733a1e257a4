package rowtable_test

import (
	"context"
	"database/sql"
	"sync/atomic"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/berthcloud/berth/network"
	"github.com/berthcloud/berth/network/networktest"
	"github.com/berthcloud/berth/rows"
	"github.com/berthcloud/berth/sqlstore"
	"github.com/berthcloud/berth/sqlstore/rowtable"
)

// note has a store write a policy and note a key, "" for none.
func note(t *testing.T, s *rowtable.NetworkStore, policy, key string) {
	t.Helper()
	err := s.Update(context.Background(), now, func(w network.Writer) error {
		var n rows.Notes
		n.Add(key)
		w.Note(n)
		return networktest.Insert(w, networktest.NewPolicy(policy))
	})
	if err != nil {
		t.Fatal(err)
	}
}

// notes are what a follower learns.
func notes(t *testing.T, f rows.Follower) rows.Notes {
	t.Helper()
	n, err := f.Notes(context.Background())
	if err != nil {
		t.Fatal(err)
	}
	return n
}

// TestNotesThatAreMissed: a follower that may have missed something looks at everything: entries
// that are removed, those and those of programs that note nothing or something else.
func TestNotesThatAreMissed(t *testing.T) {
	onNetworkServers(t, func(t *testing.T, urls []string) {
		a := openNetwork(t, sqlstore.Options{Server: server(t, urls[0])})
		b := openNetwork(t, sqlstore.Options{Server: server(t, urls[1])})
		f := b.Follow()
		notes(t, f)
		do := func(statement string) {
			t.Helper()
			err := a.OnWriter(func(c *sql.Conn) error {
				_, err := c.ExecContext(context.Background(), statement)
				return err
			})
			if err != nil {
				t.Fatalf("%s: %v", statement, err)
			}
		}
		for i, tc := range []struct {
			what, statement string
			all             bool
			keys            []string
		}{
			{"nothing else", "SELECT 1", false, []string{"key"}},
			{"an entry of an older program", "UPDATE berth_changes SET body = '' WHERE seq = 4", true, nil},
			{"an entry of a newer program", "UPDATE berth_changes SET body = '{\"rows\": 1}' WHERE seq = 6", true, nil},
			{"an entry that everything may follow from", "UPDATE berth_changes SET body = '*' WHERE seq = 8", true, nil},
			{"an entry that took no place", "UPDATE berth_changes SET body = '-' WHERE seq = 10", false, []string{"key"}},
			{"an entry without keys", "UPDATE berth_changes SET body = '[]' WHERE seq = 12", false, []string{"key"}},
			{"removed entries", "DELETE FROM berth_changes WHERE seq <= 13", true, nil},
		} {
			note(t, a, tc.what, "key")
			note(t, a, "after "+tc.what, "")
			do(tc.statement)
			n := notes(t, f)
			if n.All != tc.all || !tc.all && !cmp.Equal(n.Keys(), tc.keys) {
				t.Errorf("case %d, %s: all is %t, keys are %q", i, tc.what, n.All, n.Keys())
			}
		}
	})
}

// TestUpdatesThatOnlyReadAreNotCommitted: neither a commit nor an entry of the change log comes of
// them, also where they share a transaction, and those that share one with a writer see what it
// wrote.
func TestUpdatesThatOnlyReadAreNotCommitted(t *testing.T) {
	onAllForNetwork(t, func(t *testing.T, opts sqlstore.Options) {
		var commits atomic.Int64
		opts.Metrics.Committed = func(int, time.Duration) { commits.Add(1) }
		s := openNetwork(t, opts)
		read := func(want int) {
			t.Helper()
			err := s.Update(context.Background(), now, func(w network.Writer) error {
				all, err := network.Rows[network.PolicyRow](w)
				if len(all) != want {
					t.Errorf("an Update reads %d policies, want %d", len(all), want)
				}
				return err
			})
			if err != nil {
				t.Error(err)
			}
		}
		before := entries(t, s)
		read(0)
		ended := make(chan struct{})
		for range 20 {
			go func() {
				read(0)
				ended <- struct{}{}
			}()
		}
		for range 20 {
			<-ended
		}
		if n := commits.Load(); n != 0 || entries(t, s) != before {
			t.Errorf("%d commits, and %d entries in the change log, want none and %d", n, entries(t, s), before)
		}
		note(t, s, "p", "")
		read(1)
		if n := commits.Load(); n != 1 {
			t.Errorf("%d commits after one Update that wrote, want 1", n)
		}
	})
}

// entries returns the number of entries in the change log, 0 where there is none.
func entries(t *testing.T, s *rowtable.NetworkStore) (n int) {
	t.Helper()
	if !s.Dialect().Shared {
		return 0
	}
	err := s.OnWriter(func(c *sql.Conn) error {
		return c.QueryRowContext(context.Background(), "SELECT COUNT(*) FROM berth_changes").Scan(&n)
	})
	if err != nil {
		t.Fatal(err)
	}
	return n
}
