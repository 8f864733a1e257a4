package sqlstore_test

import (
	"bytes"
	"context"
	"database/sql"
	"fmt"
	"log/slog"
	"net"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"github.com/google/go-cmp/cmp/cmpopts"

	"github.com/berthcloud/berth/internal/dbtest"
	"github.com/berthcloud/berth/placement"
	"github.com/berthcloud/berth/sqlstore"
)

// two opens two stores on one database.
func two(t *testing.T, url string) (a, b *sqlstore.Store) {
	t.Helper()
	a = open(t, sqlstore.Options{Server: server(t, url)})
	return a, open(t, sqlstore.Options{Server: server(t, url)})
}

// touch makes a store append that it touched some trees.
func touch(t *testing.T, s *sqlstore.Store, roots ...int64) {
	t.Helper()
	var c placement.Changes
	for _, root := range roots {
		c.Tree(root)
	}
	err := s.Update(context.Background(), now, func(w placement.Writer) error {
		w.Changed(c)
		return nil
	})
	if err != nil {
		t.Fatalf("Update: %v", err)
	}
}

// follow returns what a follower reads next.
func follow(t *testing.T, f placement.Follower) placement.Changes {
	t.Helper()
	c, err := f.Next(context.Background())
	if err != nil {
		t.Fatalf("Next: %v", err)
	}
	return c
}

func sameChanges(t *testing.T, what string, got, want placement.Changes) {
	t.Helper()
	if diff := cmp.Diff(want, got, cmpopts.EquateEmpty()); diff != "" {
		t.Errorf("%s (-want +got):\n%s", what, diff)
	}
}

// trees are changes of some trees.
func trees(roots ...int64) (c placement.Changes) {
	for _, root := range roots {
		c.Tree(root)
	}
	return c
}

// do runs statements on the connection that a store writes with.
func do(t *testing.T, s *sqlstore.Store, statements ...string) {
	t.Helper()
	err := s.OnWriter(func(c *sql.Conn) error {
		for _, st := range statements {
			if _, err := c.ExecContext(context.Background(), st); err != nil {
				return fmt.Errorf("%s: %w", st, err)
			}
		}
		return nil
	})
	if err != nil {
		t.Fatal(err)
	}
}

func TestStoresFollowEachOther(t *testing.T) {
	onServers(t, func(t *testing.T, url string) {
		a, b := two(t, url)
		early, f := a.Follow(), b.Follow()
		sameChanges(t, "before anything", follow(t, early), placement.Changes{All: true})
		touch(t, a, 1)
		sameChanges(t, "from the beginning", follow(t, f), placement.Changes{All: true})
		touch(t, a, 5, 6)
		touch(t, a)
		touch(t, a, 7)
		sameChanges(t, "after three updates", follow(t, f), trees(5, 6, 7))
		touch(t, b, 8)
		sameChanges(t, "after one's own update", follow(t, f), trees(8))
		sameChanges(t, "of writers that were not known", follow(t, early), trees(1, 5, 6, 7, 8))
		sameChanges(t, "when nothing is new", follow(t, early), placement.Changes{})
	})
}

func TestFollowersThatMissedEntriesReadEverything(t *testing.T) {
	onServers(t, func(t *testing.T, url string) {
		a, b := two(t, url)
		touch(t, a, 1)
		f := b.Follow()
		follow(t, f)
		for root := range int64(4) {
			touch(t, a, root)
		}
		do(t, b, `DELETE FROM berth_changes WHERE seq <= 3`)
		if c := follow(t, f); !c.All {
			t.Errorf("with entries pruned: %+v, want everything", c)
		}
		touch(t, a, 9)
		sameChanges(t, "after that", follow(t, f), trees(9))
	})
}

func TestWriterThatWasBelievedDeadGoesOn(t *testing.T) {
	onServers(t, func(t *testing.T, url string) {
		a, b := two(t, url)
		touch(t, a, 1)
		f := b.Follow()
		follow(t, f)
		do(t, b, `DELETE FROM berth_writers`)
		touch(t, a, 2)
		sameChanges(t, "under its new name", follow(t, f), trees(2))
	})
}

// TestCutConnectionsLoseNothing cuts the connection at every place of a
// transaction, in both directions: it must take place exactly once.
func TestCutConnectionsLoseNothing(t *testing.T) {
	for _, k := range kinds[:2] {
		t.Run(k.Name, func(t *testing.T) {
			needServers(t)
			where := server(t, k.URL(t))
			proxy := dbtest.NewProxy(t, where.Hosts[0])
			where.Hosts = []string{proxy.Address()}
			var settled atomic.Int64
			s := open(t, sqlstore.Options{Server: where, Metrics: sqlstore.Metrics{
				Settled: func(bool) { settled.Add(1) },
			}})
			p := newProvider(t, s, "cn1")
			for _, dir := range []dbtest.Direction{dbtest.ToServer, dbtest.ToClient} {
				for n := 0; n < 700; n += 23 {
					bumpCut(t, s, &p, func() { proxy.CutAfter(dir, n) })
					proxy.Heal()
				}
			}
			for range 5 {
				bumpCut(t, s, &p, func() { proxy.LoseAnswer("COMMIT") })
				proxy.Heal()
			}
			if settled.Load() < 5 {
				t.Errorf("%d commits were settled, want at least 5", settled.Load())
			}
			t.Logf("%d commits settled, %d connections cut", settled.Load(), proxy.Lost())
		})
	}
}

// bumpCut raises a provider's generation while the connection is cut.
func bumpCut(t *testing.T, s *sqlstore.Store, p *placement.ProviderRow, cut func()) {
	t.Helper()
	first := true
	err := s.Update(context.Background(), now, func(w placement.Writer) error {
		if first {
			first = false
			cut()
		}
		if err := w.BumpProvider(p.ID, p.Generation); err != nil {
			return err
		}
		w.Changed(trees(p.ID))
		return nil
	})
	if err != nil {
		t.Fatalf("Update: %v", err)
	}
	p.Generation++
	got := readProvider(t, s, p.UUID)
	if got.Generation != p.Generation {
		t.Fatalf("the generation is %d, want %d", got.Generation, p.Generation)
	}
}

func newProvider(t *testing.T, s *sqlstore.Store, name string) placement.ProviderRow {
	t.Helper()
	row := placement.ProviderRow{UUID: placement.UUID(name), Name: name}
	err := s.Update(context.Background(), now, func(w placement.Writer) (err error) {
		row.ID, err = w.InsertProvider(row)
		return err
	})
	if err != nil {
		t.Fatal(err)
	}
	return row
}

func readProvider(t *testing.T, s *sqlstore.Store, uuid placement.UUID) (row placement.ProviderRow) {
	t.Helper()
	err := s.View(context.Background(), func(r placement.Reader) (err error) {
		row, err = r.Provider(uuid)
		return err
	})
	if err != nil {
		t.Fatal(err)
	}
	return row
}

// TestServerThatGoesAwayAndComesBack cuts the network: callers get an answer in
// bounded time, and the store recovers by itself.
func TestServerThatGoesAwayAndComesBack(t *testing.T) {
	needServers(t)
	for _, k := range kinds[:2] {
		t.Run(k.Name, func(t *testing.T) {
			where := server(t, k.URL(t))
			proxy := dbtest.NewProxy(t, where.Hosts[0])
			where.Hosts = []string{proxy.Address()}
			s := open(t, sqlstore.Options{Server: where, RetryTime: time.Second})
			p := newProvider(t, s, "cn1")
			proxy.Cut()
			if _, err := net.DialTimeout("tcp", proxy.Address(), time.Second); err == nil {
				t.Error("the proxy takes connections while it is cut")
			}
			write := s.Update(context.Background(), now, func(w placement.Writer) error {
				return w.BumpProvider(p.ID, 0)
			})
			wantAway(t, "Update", write)
			wantAway(t, "View", s.View(context.Background(), func(r placement.Reader) error {
				_, err := r.Provider(p.UUID)
				return err
			}))
			_, err := s.Follow().Next(context.Background())
			wantAway(t, "Next", err)
			proxy.Heal()
			bumpCut(t, s, &p, func() {})
		})
	}
}

// TestLogIsTended lets a store look after the log: it shows itself, keeps its
// newest entries, and removes writers that have not been seen for long.
func TestLogIsTended(t *testing.T) {
	onServers(t, func(t *testing.T, url string) {
		a, b := two(t, url)
		touch(t, a, 1)
		touch(t, b, 2)
		do(t, a, `UPDATE berth_writers SET beat_at = '2026-01-02 03:04:05'`,
			`INSERT INTO berth_changes (writer, seq, created_at, body) SELECT id, -30000, created_at, '' FROM berth_writers`)
		a.CleanLog()
		count := func(statement string, want int64) {
			t.Helper()
			if n, err := a.Count(context.Background(), statement); n != want || err != nil {
				t.Errorf("%s = %d, %v; want %d", statement, n, err, want)
			}
		}
		count(`SELECT COUNT(*) FROM berth_writers`, 1)
		count(`SELECT COUNT(*) FROM berth_writers WHERE beat_at > '2026-01-02 03:04:05'`, 1)
		count(`SELECT COUNT(*) FROM berth_changes`, 1)
		touch(t, b, 3) // under a new name
		count(`SELECT COUNT(*) FROM berth_writers`, 2)
	})
}

// TestLogIsTendedAfterDeadlocks has the server report deadlocks while a store tends the log: the
// first ones are tried again without a word, and what does not end is a warning.
func TestLogIsTendedAfterDeadlocks(t *testing.T) {
	for _, c := range []struct {
		name              string
		deadlocks         int
		writers, warnings int64 // that are there afterwards
	}{
		{"Two", 2, 1, 0},
		{"NoEnd", 1000, 2, 1},
	} {
		for _, k := range kinds[:2] { // users of the Galera cluster may not make triggers
			t.Run(c.name+"/"+k.Name, func(t *testing.T) {
				needServers(t)
				t.Parallel()
				var log bytes.Buffer
				where := server(t, k.URL(t))
				s := open(t, sqlstore.Options{Server: where, Logger: slog.New(slog.NewTextHandler(&log, nil))})
				touch(t, s, 1)
				do(t, s,
					`INSERT INTO berth_writers (id, created_at, beat_at) VALUES (7, '2026-01-02 03:04:05', '2026-01-02 03:04:05')`)
				deadlock(t, s, where.Dialect == sqlstore.PostgreSQL, c.deadlocks)
				log.Reset()
				s.CleanLog()
				if n, err := s.Count(context.Background(), `SELECT COUNT(*) FROM berth_writers`); n != c.writers || err != nil {
					t.Errorf("%d writers, %v; want %d", n, err, c.writers)
				}
				if n := strings.Count(log.String(), "level=WARN"); n != int(c.warnings) {
					t.Errorf("%d warnings, want %d:\n%s", n, c.warnings, &log)
				}
			})
		}
	}
}

// deadlock has the next n attempts to remove a writer of the log fail as the victims of
// deadlocks. What counts them outlasts the transactions that are rolled back.
func deadlock(t *testing.T, s *sqlstore.Store, postgres bool, n int) {
	t.Helper()
	if postgres {
		do(t, s, `CREATE SEQUENCE attempts`, fmt.Sprintf(`
CREATE FUNCTION deadlock() RETURNS trigger LANGUAGE plpgsql AS $$
BEGIN
  IF nextval('attempts') <= %d THEN
    RAISE EXCEPTION 'deadlock detected' USING ERRCODE = '40P01';
  END IF;
  RETURN OLD;
END $$`, n), `CREATE TRIGGER deadlock BEFORE DELETE ON berth_writers FOR EACH ROW EXECUTE FUNCTION deadlock()`)
		return
	}
	do(t, s, `SET @attempts = 0`, fmt.Sprintf(`
CREATE TRIGGER deadlocks BEFORE DELETE ON berth_writers FOR EACH ROW
BEGIN
  SET @attempts = @attempts + 1;
  IF @attempts <= %d THEN
    SIGNAL SQLSTATE '40001' SET MYSQL_ERRNO = 1213, MESSAGE_TEXT = 'Deadlock found when trying to get lock';
  END IF;
END`, n))
}
