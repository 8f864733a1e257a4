package sqlstore_test

import (
	"context"
	"database/sql"
	"fmt"
	"net/url"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"sync/atomic"
	"syscall"
	"testing"
	"time"

	"github.com/go-sql-driver/mysql"
	_ "github.com/jackc/pgx/v5/stdlib"

	"github.com/berthcloud/berth/internal/dbtest"
	"github.com/berthcloud/berth/placement"
	"github.com/berthcloud/berth/placement/service"
	"github.com/berthcloud/berth/sqlstore"
)

// A ground is a database that claims are timed on: durable, unlike those of the
// tests.
type ground struct {
	name string
	// open makes a store and a door to its database for others.
	open func(*testing.B) (*sqlstore.Store, *sql.DB)
	// shared says that the minimal transactions of several clients run side
	// by side; otherwise they share commits.
	shared bool
	marks  func(string) string
}

func unmarked(query string) string { return query }

func dollars(query string) string {
	for n := 1; strings.Contains(query, "?"); n++ {
		query = strings.Replace(query, "?", fmt.Sprintf("$%d", n), 1)
	}
	return query
}

// grounds are SQLite, and the servers when BERTH_BENCH_SERVERS is set.
func grounds() []ground {
	all := []ground{{"SQLite", openFileGround, false, unmarked}}
	if os.Getenv("BERTH_BENCH_SERVERS") != "" {
		all = append(all,
			ground{"MariaDB", func(b *testing.B) (*sqlstore.Store, *sql.DB) {
				return openServerGround(b, dbtest.NewMariaDB(b).NewDatabase(b))
			}, true, unmarked},
			ground{"PostgreSQL", func(b *testing.B) (*sqlstore.Store, *sql.DB) {
				return openServerGround(b, dbtest.NewPostgreSQL(b).NewDatabase(b))
			}, true, dollars})
	}
	return all
}

func openFileGround(b *testing.B) (*sqlstore.Store, *sql.DB) {
	path := filepath.Join(b.TempDir(), "placement.db")
	db, err := sql.Open("sqlite",
		"file:"+path+"?_pragma=journal_mode(WAL)&_pragma=synchronous(FULL)&_pragma=busy_timeout(5000)")
	if err != nil {
		b.Fatal(err)
	}
	b.Cleanup(func() { _ = db.Close() })
	return open(b, sqlstore.Options{Path: path}), db
}

func openServerGround(b *testing.B, where string) (*sqlstore.Store, *sql.DB) {
	s := server(b, where)
	driver, source := "mysql", ""
	if s.Dialect == sqlstore.PostgreSQL {
		u := url.URL{Scheme: "postgres", User: url.UserPassword(s.User, s.Password), Host: s.Hosts[0], Path: s.Database}
		driver, source = "pgx", u.String()
	} else {
		c := mysql.NewConfig()
		c.User, c.Passwd, c.DBName, c.Net, c.Addr = s.User, s.Password, s.Database, "tcp", s.Hosts[0]
		c.InterpolateParams = true
		source = c.FormatDSN()
	}
	db, err := sql.Open(driver, source)
	if err != nil {
		b.Fatal(err)
	}
	db.SetMaxIdleConns(64)
	b.Cleanup(func() { _ = db.Close() })
	return open(b, sqlstore.Options{Server: s}), db
}

// cpuTime is the CPU time of this process so far.
func cpuTime(b *testing.B) time.Duration {
	b.Helper()
	var u syscall.Rusage
	if err := syscall.Getrusage(syscall.RUSAGE_SELF, &u); err != nil {
		b.Fatal(err)
	}
	return time.Duration(u.Utime.Nano() + u.Stime.Nano())
}

// side runs b.N operations from so many goroutines and reports their rate and
// the CPU time that each took.
func side(b *testing.B, clients int, one func(client, n int) error) {
	b.Helper()
	var next atomic.Int64
	var all sync.WaitGroup
	b.ResetTimer()
	cpu := cpuTime(b)
	for client := range clients {
		all.Go(func() {
			for n := next.Add(1); n <= int64(b.N); n = next.Add(1) {
				if err := one(client, int(n)); err != nil {
					b.Error(err)
					return
				}
			}
		})
	}
	all.Wait()
	b.ReportMetric(float64(b.N)/b.Elapsed().Seconds(), "/s")
	b.ReportMetric(float64((cpuTime(b)-cpu).Microseconds())/float64(b.N), "cpu-µs/op")
}

var clientCounts = []int{1, 16}

func vmName(n int) placement.UUID {
	return placement.UUID(fmt.Sprintf("00000000-0000-0000-0001-%012d", n))
}

// newVM is the claim of a new server on a host of fill.
func newVM(n, hosts int) placement.Claim {
	return placement.Claim{
		Consumer: vmName(n), Project: "blue", User: "ann", Type: "INSTANCE", Seen: &placement.ConsumerSeen{},
		Allocations: []placement.ProviderAllocation{{
			Provider: placement.UUID(fmt.Sprintf("00000000-0000-0000-0000-%012d", n%hosts)),
			Resources: []placement.ClassAmount{
				{Class: "VCPU", Amount: 1}, {Class: "MEMORY_MB", Amount: 1}, {Class: "DISK_GB", Amount: 1},
			},
		}},
	}
}

func benchService(b *testing.B, s *sqlstore.Store) *service.Service {
	b.Helper()
	svc, err := service.New(context.Background(), s, service.DefaultSettings())
	if err != nil {
		b.Fatal(err)
	}
	return svc
}

// BenchmarkClaim claims for new consumers, and BenchmarkRelease frees what they
// hold. BenchmarkMinimalTransaction is the limit that both are compared with.
func BenchmarkClaim(b *testing.B) {
	ctx := context.Background()
	onGrounds(b, func(b *testing.B, g ground, clients int) {
		store, _ := g.open(b)
		fill(b, store, 100, 0)
		s := benchService(b, store)
		side(b, clients, func(_, n int) error { return s.SetAllocations(ctx, newVM(n, 100)) })
	})
}

func BenchmarkRelease(b *testing.B) {
	ctx := context.Background()
	onGrounds(b, func(b *testing.B, g ground, clients int) {
		store, _ := g.open(b)
		fill(b, store, 100, 0)
		s := benchService(b, store)
		side(b, 16, func(_, n int) error { return s.SetAllocations(ctx, newVM(n, 100)) })
		side(b, clients, func(_, n int) error { return s.DeleteAllocations(ctx, vmName(n)) })
	})
}

func onGrounds(b *testing.B, run func(b *testing.B, g ground, clients int)) {
	for _, g := range grounds() {
		for _, clients := range clientCounts {
			b.Run(fmt.Sprintf("%s/clients=%d", g.name, clients), func(b *testing.B) { run(b, g, clients) })
		}
	}
}

// BenchmarkMinimalTransaction writes what a claim must write and nothing else: a
// compare-and-swap on the provider, the consumer, its allocations, the commit.
func BenchmarkMinimalTransaction(b *testing.B) {
	onGrounds(b, func(b *testing.B, g ground, clients int) {
		store, db := g.open(b)
		m := &minimal{hosts: fill(b, store, 1024, 0), generations: make([]atomic.Int64, 1024)}
		if !g.shared {
			side(b, clients, m.grouped(b, db))
			return
		}
		doors := make([]statements, clients)
		for i := range doors {
			doors[i] = newStatements(b, db, g.marks)
		}
		side(b, clients, func(client, n int) error { return m.alone(doors[client], n*clients+client) })
	})
}

// A minimal is the state of minimal transactions: each client has hosts of its
// own, so that no compare-and-swap misses.
type minimal struct {
	hosts       []placement.ProviderRow
	generations []atomic.Int64
}

// statements are those of a minimal transaction on one connection.
type statements struct {
	conn                         *sql.Conn
	bump, consumer, allocs       string
	bumpSt, consumerSt, allocsSt *sql.Stmt
}

func newStatements(b *testing.B, db *sql.DB, marks func(string) string) statements {
	b.Helper()
	conn, err := db.Conn(context.Background())
	if err != nil {
		b.Fatal(err)
	}
	b.Cleanup(func() { _ = conn.Close() })
	return statements{
		conn: conn,
		bump: marks(`UPDATE resource_providers SET generation = ?, updated_at = ? WHERE id = ? AND generation = ?`),
		consumer: marks(`INSERT INTO consumers (created_at, updated_at, uuid, project_id, user_id, generation, consumer_type_id)
VALUES (?, ?, ?, 1, 1, 1, NULL)`),
		allocs: marks(`INSERT INTO allocations (created_at, resource_provider_id, consumer_id, resource_class_id, used)
VALUES (?, ?, ?, 0, 1), (?, ?, ?, 1, 1), (?, ?, ?, 2, 1)`),
	}
}

func (s *statements) prepare(b *testing.B) {
	b.Helper()
	ctx := context.Background()
	var errs [3]error
	s.bumpSt, errs[0] = s.conn.PrepareContext(ctx, s.bump)
	s.consumerSt, errs[1] = s.conn.PrepareContext(ctx, s.consumer)
	s.allocsSt, errs[2] = s.conn.PrepareContext(ctx, s.allocs)
	for _, err := range errs {
		if err != nil {
			b.Fatal(err)
		}
	}
}

// write runs the statements of one claim on the n-th host.
func (m *minimal) write(n int, exec func(which int, args ...any) (sql.Result, error)) error {
	const at = "2026-01-02 03:04:05"
	host := n % len(m.hosts)
	id, vm := m.hosts[host].ID, string(vmName(n))
	g := m.generations[host].Add(1)
	result, err := exec(0, g, at, id, g-1)
	if err != nil {
		return err
	}
	if n, err := result.RowsAffected(); err != nil || n != 1 {
		return fmt.Errorf("%d rows, %w", n, err)
	}
	if _, err := exec(1, at, at, vm); err != nil {
		return err
	}
	_, err = exec(2, at, id, vm, at, id, vm, at, id, vm)
	return err
}

// alone is a transaction of its own.
func (m *minimal) alone(s statements, n int) error {
	ctx := context.Background()
	tx, err := s.conn.BeginTx(ctx, nil)
	if err != nil {
		return err
	}
	texts := []string{s.bump, s.consumer, s.allocs}
	if err := m.write(n, func(which int, args ...any) (sql.Result, error) {
		return tx.ExecContext(ctx, texts[which], args...)
	}); err != nil {
		return err
	}
	return tx.Commit()
}

// grouped returns what hands a transaction to the one connection that writes,
// which commits for all that wait.
func (m *minimal) grouped(b *testing.B, db *sql.DB) func(client, n int) error {
	b.Helper()
	ctx := context.Background()
	s := newStatements(b, db, unmarked)
	s.prepare(b)
	type request struct {
		n    int
		done chan error
	}
	queue := make(chan request, 64)
	prepared := []*sql.Stmt{s.bumpSt, s.consumerSt, s.allocsSt}
	exec := func(which int, args ...any) (sql.Result, error) { return prepared[which].ExecContext(ctx, args...) }
	b.Cleanup(func() { close(queue) })
	go func() {
		for first := range queue {
			_, err := s.conn.ExecContext(ctx, "BEGIN IMMEDIATE")
			members := []request{first}
			for i := 0; i < len(members); i++ {
				if err == nil {
					err = m.write(members[i].n, exec)
				}
				select {
				case r := <-queue:
					members = append(members, r)
				default:
				}
			}
			if err == nil {
				_, err = s.conn.ExecContext(ctx, "COMMIT")
			}
			for _, r := range members {
				r.done <- err
			}
		}
	}()
	return func(_, n int) error {
		r := request{n, make(chan error, 1)}
		queue <- r
		return <-r.done
	}
}
