package sqlstore_test

import (
	"bytes"
	"context"
	"database/sql"
	"errors"
	"fmt"
	"math/rand/v2"
	"net"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/berthcloud/berth/fault"
	"github.com/berthcloud/berth/internal/dbtest"
	"github.com/berthcloud/berth/placement"
	"github.com/berthcloud/berth/placement/service"
	"github.com/berthcloud/berth/sqlstore"
)

// A counter forwards connections and counts requests: pieces of data, or several
// in a row, that a client sends after the server sent something.
type counter struct {
	listener net.Listener
	target   string
	requests atomic.Int64
	several  atomic.Int64 // of MySQL's that have more than one statement
}

func newCounter(t *testing.T, target string) *counter {
	t.Helper()
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	c := &counter{listener: l, target: target}
	t.Cleanup(func() { _ = l.Close() })
	go c.serve()
	return c
}

func (c *counter) serve() {
	for {
		client, err := c.listener.Accept()
		if err != nil {
			return
		}
		server, err := net.Dial("tcp", c.target)
		if err != nil {
			_ = client.Close()
			continue
		}
		var answered atomic.Bool
		go forward(client, server, func(piece []byte) {
			if answered.Swap(false) {
				c.requests.Add(1)
				if isQuery(piece) && bytes.ContainsRune(piece, ';') {
					c.several.Add(1)
				}
			}
		})
		go forward(server, client, func([]byte) { answered.Store(true) })
	}
}

// isQuery reports whether MySQL's protocol has statements in a request: behind its
// length and number, which is 0 but while the client logs in.
func isQuery(request []byte) bool {
	const text = 3
	return len(request) > 5 && request[3] == 0 && request[4] == text
}

// forward passes data on until either side closes, and reports each piece before.
func forward(from, to net.Conn, heard func([]byte)) {
	defer from.Close()
	defer to.Close()
	buffer := make([]byte, 64<<10)
	for {
		n, err := from.Read(buffer)
		if n > 0 {
			heard(buffer[:n])
			if _, err := to.Write(buffer[:n]); err != nil {
				return
			}
		}
		if err != nil {
			return
		}
	}
}

// TestClaimsTakeFewRoundTrips counts the requests of claims and releases to a server: to read
// the consumer unless the client says that there is none, to write, to commit; and of reads: to see
// what others have committed, and of allocations, which no snapshot has, to read them. On Galera
// each statement of a claim is one.
func TestClaimsTakeFewRoundTrips(t *testing.T) {
	needServers(t)
	for _, c := range []struct {
		name        string
		where       func(*testing.T) *sqlstore.Server
		made, known int64 // round trips of a claim that makes a consumer, and of what comes after
		statement   int64 // round trips of one that reads: 2 where it is refused to be prepared
	}{
		{"MariaDB", func(t *testing.T) *sqlstore.Server { return server(t, kinds[0].URL(t)) }, 2, 3, 1},
		{"MariaDBThatPreparesNothing", func(t *testing.T) *sqlstore.Server {
			one := dbtest.NewMariaDB(t, dbtest.Fast(), dbtest.Setting("max_prepared_stmt_count", "1"))
			where := server(t, one.NewDatabase(t))
			do(t, open(t, sqlstore.Options{Server: where}), `PREPARE another FROM 'SELECT 1'`)
			return where
		}, 2, 3, 2},
		{"PostgreSQL", func(t *testing.T) *sqlstore.Server { return server(t, kinds[1].URL(t)) }, 2, 3, 1},
	} {
		t.Run(c.name, func(t *testing.T) { countRoundTrips(t, c.where(t), c.made, c.known, c.statement) })
	}
}

func countRoundTrips(t *testing.T, where *sqlstore.Server, inserts, known, statement int64) {
	t.Helper()
	count := newCounter(t, where.Hosts[0])
	where.Hosts = []string{count.listener.Addr().String()}
	s := serve(t, open(t, sqlstore.Options{Server: where}))
	ctx := context.Background()
	prepare := host(t)
	prepare(s, 1)
	prepare(s, 2)
	claim := func(vm placement.UUID, seen *placement.ConsumerSeen, on ...placement.UUID) error {
		c := placement.Claim{Consumer: vm, Project: "p", User: "u", Seen: seen}
		for _, host := range on {
			c.Allocations = append(c.Allocations, placement.ProviderAllocation{
				Provider: host, Resources: []placement.ClassAmount{{Class: "VCPU", Amount: 1}},
			})
		}
		return s.SetAllocations(ctx, c)
	}
	steps := []struct {
		name string
		most int64
		do   func(vm placement.UUID) error
	}{
		{
			"a claim of a new consumer", inserts,
			func(vm placement.UUID) error { return claim(vm, &placement.ConsumerSeen{}, "h1") },
		},
		{
			"reading its allocations", 2 * statement,
			func(vm placement.UUID) error { _, err := s.AllocationsOf(ctx, vm); return err },
		},
		{
			"reading the allocations on a host", 2 * statement,
			func(placement.UUID) error { _, _, err := s.AllocationsOn(ctx, "h1"); return err },
		},
		{"a snapshot for a search", statement, func(placement.UUID) error { _, err := s.Snapshot(ctx); return err }},
		{"a claim that moves it", known, func(vm placement.UUID) error { return claim(vm, nil, "h2") }},
		{"its release", known, func(vm placement.UUID) error { return s.DeleteAllocations(ctx, vm) }},
		{
			"a claim of several hosts", inserts,
			func(vm placement.UUID) error { return claim(vm, &placement.ConsumerSeen{}, "h1", "h2") },
		},
		{"the release of those", known, func(vm placement.UUID) error { return s.DeleteAllocations(ctx, vm) }},
	}
	for round := range 4 {
		for _, step := range steps {
			before := count.requests.Load()
			if err := step.do(id(round, "vm")); err != nil {
				t.Fatal(err)
			}
			// Before, owners are made, and statements prepared.
			if n := count.requests.Load() - before; round > 1 && n > step.most {
				t.Errorf("%s takes %d round trips, want %d at most", step.name, n, step.most)
			}
		}
		if _, err := s.Snapshot(ctx); err != nil {
			t.Fatal(err)
		}
	}
}

// TestConsumersThatOthersChange has one service make consumers, another change them, and
// the first go on with them: whatever the other did, what they hold in the end is what
// the last one said, and the snapshots have it.
func TestConsumersThatOthersChange(t *testing.T) {
	onServers(t, func(t *testing.T, url string) {
		one := serve(t, open(t, sqlstore.Options{Server: server(t, url)}))
		two := serve(t, open(t, sqlstore.Options{Server: server(t, url)}))
		door := open(t, sqlstore.Options{Server: server(t, url)})
		for n := range 3 {
			host(t)(one, n)
		}
		ctx := context.Background()
		move := func(s *service.Service, vm placement.UUID, to int) error { return claimVCPU(s, vm, id(to, "h"), 1) }
		// Or the snapshot would have nothing that could be freed by mistake.
		if err := move(two, "resident", 0); err != nil {
			t.Fatal(err)
		}
		others := []struct {
			name string
			do   func(vm placement.UUID) error
			gone bool
		}{
			{"nothing", func(placement.UUID) error { return nil }, false},
			{"another host", func(vm placement.UUID) error { return move(two, vm, 1) }, false},
			{"a release", func(vm placement.UUID) error { return two.DeleteAllocations(ctx, vm) }, true},
			{
				"a release and the same again",
				func(vm placement.UUID) error { return errors.Join(two.DeleteAllocations(ctx, vm), move(two, vm, 0)) }, false,
			},
			// Of the generation that it had before.
			{
				"a release and another host",
				func(vm placement.UUID) error { return errors.Join(two.DeleteAllocations(ctx, vm), move(two, vm, 1)) }, false,
			},
			{"an older database in which it got the same id elsewhere", func(vm placement.UUID) error {
				do(t, door, `DELETE FROM berth_changes`)
				do(t, door, `
UPDATE allocations
SET resource_provider_id = (SELECT id FROM resource_providers WHERE uuid = 'h1')
WHERE consumer_id = '`+string(vm)+`'`)
				states(t, one)
				return nil
			}, false},
			{"another tree", func(placement.UUID) error {
				_, err := two.UpdateProvider(ctx, "h0", placement.ProviderChange{Name: "h0", SetParent: true, Parent: "h2"})
				return err
			}, false},
		}
		for n, other := range others {
			released, moved := id(n, "released"), id(n, "moved")
			err := errors.Join(move(one, released, 0), move(one, moved, 0), other.do(released))
			if other.name != "another tree" {
				err = errors.Join(err, other.do(moved))
			}
			if err != nil {
				t.Fatal(err)
			}
			if err := one.DeleteAllocations(ctx, released); (err == nil) == other.gone {
				t.Errorf("after %s a release got %v", other.name, err)
			}
			if err := move(one, moved, 2); err != nil {
				t.Errorf("after %s a claim got %v", other.name, err)
			}
			want := states(t, serve(t, open(t, sqlstore.Options{Server: server(t, url)})))
			for i, s := range []*service.Service{one, two} {
				if diff := cmp.Diff(want, states(t, s)); diff != "" {
					t.Errorf("after %s service %d differs from the store (-store +service):\n%s", other.name, i, diff)
				}
			}
			used := [3]int64{want["h0"].Used[0], want["h1"].Used[0], want["h2"].Used[0]}
			if used != [3]int64{1, 0, int64(n) + 1} {
				t.Errorf("after %s %d are used", other.name, used)
			}
		}
		orphans(t, open(t, sqlstore.Options{Server: server(t, url)}), "allocations of no consumer", `
SELECT COUNT(*)
FROM allocations
WHERE consumer_id NOT IN (SELECT uuid FROM consumers)`)
	})
}

// A watchedStore calls a function within each transaction of a Group, behind what that does.
type watchedStore struct {
	*sqlstore.Store
	within func()
}

func (s *watchedStore) Group(write func(placement.Writer) []error) func(context.Context, time.Time, func()) error {
	return s.Store.Group(func(w placement.Writer) []error {
		errs := write(w)
		s.within()
		return errs
	})
}

// TestSnapshotsMayCatchUpAmongClaims brings the snapshot up to date while a claim is being
// written, to the claim before it. The next claim rests on both. No claim is tried twice.
func TestSnapshotsMayCatchUpAmongClaims(t *testing.T) {
	onServers(t, func(t *testing.T, url string) {
		var retried atomic.Int64
		set := service.DefaultSettings()
		set.Observe = func(e service.ClaimEvent) {
			if e == service.ClaimRetried {
				retried.Add(1)
			}
		}
		store := &watchedStore{open(t, sqlstore.Options{Server: server(t, url)}), func() {}}
		s, err := service.New(context.Background(), store, set)
		if err != nil {
			t.Fatal(err)
		}
		host(t)(s, 1)
		states(t, s)
		for n := range 100 { // the last ones without looking: more than are kept in mind
			store.within = func() {}
			if n < 20 && n%3 == 1 {
				store.within = func() { states(t, s) }
			}
			err := claimVCPU(s, id(n, "vm"), "h1", 1)
			if err == nil && n >= 6 {
				err = s.DeleteAllocations(context.Background(), id(n-6, "vm"))
			}
			if err != nil {
				t.Fatal(err)
			}
		}
		if got := states(t, s)["h1"]; retried.Load() != 0 || got.Used[0] != 6 {
			t.Errorf("%d claims were tried again and %d units are used, want none and 6", retried.Load(), got.Used[0])
		}
	})
}

// TestOwnStepsAreNotRead lets a service follow the log after its own claims: it
// requests news and reads nothing.
func TestOwnStepsAreNotRead(t *testing.T) {
	onServers(t, func(t *testing.T, url string) {
		var requested atomic.Int64
		trace := func(context.Context, string) func(error) { requested.Add(1); return func(error) {} }
		s := serve(t, open(t, sqlstore.Options{Server: server(t, url), Trace: trace}))
		host(t)(s, 1)
		states(t, s)
		for n := range 5 {
			if err := claimVCPU(s, id(n, "vm"), "h1", 1); err != nil {
				t.Fatal(err)
			}
			before := requested.Load()
			if got := states(t, s)["h1"]; got.Used[0] != int64(n)+1 {
				t.Fatalf("%d are used, want %d", got.Used[0], n+1)
			}
			if requested := requested.Load() - before; requested != 1 {
				t.Errorf("after claim %d the snapshot took %d questions, want 1", n, requested)
			}
		}
	})
}

// A row of this says all about a provider that claims may change.
type state struct {
	Generation placement.Generation
	Modified   time.Time
	Root       placement.UUID
	Used       map[placement.ClassID]int64
}

func states(t *testing.T, s *service.Service) map[placement.UUID]state {
	t.Helper()
	w, err := s.Snapshot(context.Background())
	if err != nil {
		t.Fatal(err)
	}
	all := make(map[placement.UUID]state)
	for tree := range w.Trees() {
		for _, p := range tree.Providers {
			info := tree.Info(p)
			st := state{info.Generation, info.Modified, info.Root, make(map[placement.ClassID]int64)}
			for _, inv := range p.Inventories {
				st.Used[inv.Class] = inv.Used
			}
			all[p.UUID] = st
		}
	}
	return all
}

// TestSnapshotsOfSeveralServicesAreTheStore lets three services claim, release and
// change the same few hosts at once. Whenever they pause,
// each has in its snapshot what a start reads, and nothing is overcommitted.
func TestSnapshotsOfSeveralServicesAreTheStore(t *testing.T) {
	onServers(t, func(t *testing.T, url string) {
		const hosts = 4
		var all []*service.Service
		for range 3 {
			all = append(all, serve(t, open(t, sqlstore.Options{Server: server(t, url)})))
		}
		for n := range hosts {
			host(t)(all[0], n)
		}
		for round := range 6 {
			var writers sync.WaitGroup
			for n, s := range all {
				for k := range 3 {
					writers.Go(func() { busy(t, s, rand.New(rand.NewPCG(uint64(round), uint64(n*3+k))), hosts) })
				}
			}
			writers.Wait()
			want := states(t, serve(t, open(t, sqlstore.Options{Server: server(t, url)})))
			for n, s := range all {
				if diff := cmp.Diff(want, states(t, s)); diff != "" {
					t.Fatalf("round %d: service %d differs from the store (-store +service):\n%s", round, n, diff)
				}
			}
			for uuid, st := range want {
				if st.Used[0] > 8 {
					t.Errorf("round %d: %d of 8 are used on %s", round, st.Used[0], uuid)
				}
			}
		}
	})
}

// busy does a few random things.
func busy(t *testing.T, s *service.Service, random *rand.Rand, hosts int) {
	ctx := context.Background()
	for range 12 {
		vm, on := id(random.IntN(12), "vm"), id(random.IntN(hosts), "h")
		var err error
		switch random.IntN(8) {
		case 0, 1:
			err = s.DeleteAllocations(ctx, vm)
		case 2:
			_, err = s.SetAggregates(ctx, on, nil, []placement.UUID{id(random.IntN(3), "rack")})
		case 3:
			parent := placement.UUID("")
			if to := id(random.IntN(hosts), "h"); to != on && random.IntN(2) == 0 {
				parent = to
			}
			_, err = s.UpdateProvider(ctx, on, placement.ProviderChange{
				Name: string(on), SetParent: true, Reparent: true, Parent: parent,
			})
		default:
			err = claimVCPU(s, vm, on, int64(1+random.IntN(3)))
		}
		if kind, _ := fault.Of(err); err != nil && kind != fault.Conflict && kind != fault.NotFound && kind != fault.Invalid {
			t.Error(fmt.Errorf("%s on %s: %w", vm, on, err))
		}
	}
}

// TestIdleConnectionsAreMadeAgain closes the connection that writes while no transaction
// uses it: the next transaction begins on a new one, and none is lost.
func TestIdleConnectionsAreMadeAgain(t *testing.T) {
	needServers(t)
	for n, k := range kinds {
		t.Run(k.Name, func(t *testing.T) {
			var failed, inserts atomic.Int64
			where := server(t, k.URL(t))
			store := open(t, sqlstore.Options{Server: where, Metrics: sqlstore.Metrics{
				CommitFailed: func(int) { failed.Add(1) },
				Reconnected:  func() { inserts.Add(1) },
			}})
			s := serve(t, store)
			host(t)(s, 1)
			whoami, kill := `SELECT CONNECTION_ID()`, `KILL %d`
			if n == 1 {
				whoami, kill = `SELECT pg_backend_pid()`, `SELECT pg_terminate_backend(%d)`
			}
			var id int64
			err := store.OnWriter(func(c *sql.Conn) error {
				return c.QueryRowContext(context.Background(), whoami).Scan(&id)
			})
			if err != nil {
				t.Fatal(err)
			}
			do(t, open(t, sqlstore.Options{Server: where}), fmt.Sprintf(kill, id))
			before := inserts.Load()
			if err := claimVCPU(s, "vm", "h1", 1); err != nil {
				t.Fatal(err)
			}
			if failed.Load() > 0 || inserts.Load() != before+1 {
				t.Errorf("%d transactions were lost and %d connections made, want none and one", failed.Load(),
					inserts.Load()-before)
			}
		})
	}
}

// TestCutConnectionsLoseNoClaim cuts the connection at many places of claims, and
// loses the answers to commits: each claim takes place once, and the snapshot is
// the store's.
func TestCutConnectionsLoseNoClaim(t *testing.T) {
	needServers(t)
	for _, k := range kinds[:2] {
		t.Run(k.Name, func(t *testing.T) {
			where := server(t, k.URL(t))
			direct := *where
			proxy := dbtest.NewProxy(t, where.Hosts[0])
			where.Hosts = []string{proxy.Address()}
			s := serve(t, open(t, sqlstore.Options{Server: where}))
			cut := func(n int, how func()) {
				t.Helper()
				host(t)(s, n)
				states(t, s)
				how()
				err := claimVCPU(s, id(n, "vm"), id(n, "h"), 1)
				proxy.Heal()
				if err != nil {
					t.Fatalf("claim %d: %v", n, err)
				}
			}
			n := 0
			for _, dir := range []dbtest.Direction{dbtest.ToServer, dbtest.ToClient} {
				for bytes := 0; bytes < 1300; bytes += 61 {
					n++
					cut(n, func() { proxy.CutAfter(dir, bytes) })
				}
			}
			for range 4 {
				n++
				cut(n, func() { proxy.LoseAnswer("COMMIT") })
			}
			want := states(t, serve(t, open(t, sqlstore.Options{Server: &direct})))
			if diff := cmp.Diff(want, states(t, s)); diff != "" {
				t.Errorf("the snapshot differs from the store (-store +snapshot):\n%s", diff)
			}
			for uuid, st := range want {
				if st.Used[0] != 1 {
					t.Errorf("%d units are used on %s, want 1", st.Used[0], uuid)
				}
			}
			t.Logf("%d connections were cut", proxy.Lost())
		})
	}
}
