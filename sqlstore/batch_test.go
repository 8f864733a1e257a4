package sqlstore_test

import (
	"context"
	"database/sql"
	"errors"
	"fmt"
	"math"
	"path/filepath"
	"runtime"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"modernc.org/sqlite"

	"github.com/berthcloud/berth/fault"
	"github.com/berthcloud/berth/placement"
	"github.com/berthcloud/berth/sqlstore"
	"github.com/berthcloud/berth/sqlstore/sqlconn"
)

// commits notes what a store says of its commits.
type commits struct {
	sync.Mutex
	sizes  []int
	failed []int
	full   int
}

func (c *commits) metrics() sqlstore.Metrics {
	return sqlstore.Metrics{
		Committed:    func(n int, _ time.Duration) { c.Lock(); c.sizes = append(c.sizes, n); c.Unlock() },
		CommitFailed: func(n int) { c.Lock(); c.failed = append(c.failed, n); c.Unlock() },
		QueueFull:    func() { c.Lock(); c.full++; c.Unlock() },
	}
}

// batch holds the writer in a first update until all others are queued, so that
// they are in one transaction with it. It returns what each update got.
func batch(s *sqlstore.Store, updates ...func(placement.Writer) error) []error {
	got := make([]error, len(updates))
	entered, release := make(chan struct{}), make(chan struct{})
	var once sync.Once
	var all sync.WaitGroup
	all.Go(func() {
		_ = s.Update(context.Background(), now, func(placement.Writer) error {
			once.Do(func() { close(entered) })
			<-release
			return nil
		})
	})
	<-entered
	for i, fn := range updates {
		all.Go(func() { got[i] = s.Update(context.Background(), now, fn) })
		for s.Waiting() <= i {
			runtime.Gosched()
		}
	}
	close(release)
	all.Wait()
	return got
}

func inserting(name string) func(placement.Writer) error {
	return func(w placement.Writer) error {
		_, err := w.InsertProvider(placement.ProviderRow{UUID: placement.UUID(name), Name: name})
		return err
	}
}

func openCounting(t *testing.T, opts sqlstore.Options) (*sqlstore.Store, *commits) {
	c := &commits{}
	opts.Metrics = c.metrics()
	if opts.Path == "" {
		opts.Path = filepath.Join(t.TempDir(), "placement.db")
	}
	if opts.MaxBatchTime == 0 {
		opts.MaxBatchTime = time.Hour
	}
	return open(t, opts), c
}

func TestUpdatesShareACommit(t *testing.T) {
	s, c := openCounting(t, sqlstore.Options{MaxBatch: 3})
	refused := errors.New("refused")
	got := batch(s,
		inserting("a"),
		func(w placement.Writer) error { return errors.Join(inserting("b")(w), refused) },
		inserting("c"),
		inserting("c"),
	)
	want := []error{nil, refused, nil, placement.ErrUUIDTaken}
	for i, err := range got {
		if !errors.Is(err, want[i]) {
			t.Errorf("update %d = %v, want %v", i, err, want[i])
		}
	}
	if diff := cmp.Diff([]string{"a", "c"}, providerNames(t, s)); diff != "" {
		t.Errorf("providers (-want +got):\n%s", diff)
	}
	if diff := cmp.Diff([]int{3, 2}, c.sizes); diff != "" {
		t.Errorf("commits (-want +got):\n%s", diff)
	}
}

// TestRequestsOfAGroupAreWrittenTogether has requests of a group wait behind an Update: the
// requests are handed over at once, and each gets its own outcome.
func TestRequestsOfAGroupAreWrittenTogether(t *testing.T) {
	s, c := openCounting(t, sqlstore.Options{})
	refused := errors.New("refused")
	var runs [][]string
	committed := 0
	group := placement.Together(s, func(w placement.Writer, requests []string) []error {
		runs = append(runs, requests)
		w.OnCommit(func() { committed++ })
		errs := make([]error, len(requests))
		for i, r := range requests {
			switch r {
			case "refused":
				errs[i] = refused
			case "panic":
				panic("a planted panic")
			default:
				errs[i] = inserting(r)(w)
			}
		}
		return errs
	})
	// together has requests wait until release, and returns what each got.
	together := func(requests ...string) []error {
		got := make([]error, len(requests))
		entered, release := make(chan struct{}), make(chan struct{})
		var all sync.WaitGroup
		all.Go(func() {
			_ = s.Update(context.Background(), now, func(placement.Writer) error { close(entered); <-release; return nil })
		})
		<-entered
		for i, r := range requests {
			all.Go(func() { got[i] = group(context.Background(), now, r) })
			for s.Waiting() <= i {
				runtime.Gosched()
			}
		}
		close(release)
		all.Wait()
		return got
	}
	got := together("a", "refused", "b")
	if got[0] != nil || !errors.Is(got[1], refused) || got[2] != nil {
		t.Errorf("they got %v, want nil, %v and nil", got, refused)
	}
	for i, err := range together("c", "panic") {
		if err == nil || !strings.Contains(err.Error(), "a planted panic") {
			t.Errorf("request %d next to one that panics got %v, want its panic", i, err)
		}
	}
	refuseCommits(t, s, 1)
	if err := errors.Join(together("d", "e")...); err != nil {
		t.Errorf("after a commit that failed they got %v, want nil, from another run", err)
	}
	if diff := cmp.Diff([][]string{{"a", "refused", "b"}, {"c", "panic"}, {"d", "e"}, {"d", "e"}}, runs); diff != "" {
		t.Errorf("they were handed over as (-want +got):\n%s", diff)
	}
	if diff := cmp.Diff([]string{"a", "b", "d", "e"}, providerNames(t, s)); diff != "" || committed != 2 {
		t.Errorf("%d commits, want 2, and providers (-want +got):\n%s", committed, diff)
	}
	if diff := cmp.Diff([]int{4, 3, 1, 2}, c.sizes); diff != "" {
		t.Errorf("commits (-want +got):\n%s", diff)
	}
}

func TestPanickingMemberHarmsNobody(t *testing.T) {
	s, c := openCounting(t, sqlstore.Options{})
	got := batch(s,
		inserting("a"),
		func(w placement.Writer) error { _ = inserting("b")(w); panic("a planted panic") },
		func(w placement.Writer) error { _ = inserting("c")(w); runtime.Goexit(); return nil },
		inserting("d"),
	)
	if got[0] != nil || got[3] != nil {
		t.Errorf("the others got %v and %v, want nil", got[0], got[3])
	}
	if got[1] == nil || !strings.Contains(got[1].Error(), "a planted panic") {
		t.Errorf("the panicking update got %v, want its panic", got[1])
	}
	if diff := cmp.Diff([]string{"a", "d"}, providerNames(t, s)); diff != "" {
		t.Errorf("providers (-want +got):\n%s", diff)
	}
	if diff := cmp.Diff([]int{5}, c.sizes); diff != "" {
		t.Errorf("commits (-want +got):\n%s", diff)
	}
}

// refuseCommits makes the next n commits fail.
func refuseCommits(t *testing.T, s *sqlstore.Store, n int) {
	t.Helper()
	err := s.OnWriter(func(conn *sql.Conn) error {
		return conn.Raw(func(driver any) error {
			hooks, ok := driver.(sqlite.HookRegisterer)
			if !ok {
				return fmt.Errorf("%T has no hooks", driver)
			}
			hooks.RegisterCommitHook(func() int32 {
				n--
				if n >= 0 {
					return 1
				}
				return 0
			})
			return nil
		})
	})
	if err != nil {
		t.Fatal(err)
	}
}

func TestFailedCommitIsNoSuccessAndRunsMembersIndividually(t *testing.T) {
	s, c := openCounting(t, sqlstore.Options{})
	refuseCommits(t, s, 1)
	// The second refuses because of the first, whose row was never there at
	// the first attempt; its answer must rest on what is there at last.
	runs := 0
	got := batch(s,
		func(w placement.Writer) error {
			if runs++; runs == 1 {
				return inserting("a")(w)
			}
			return errors.New("changed its mind")
		},
		inserting("a"),
	)
	if got[0] == nil || got[1] != nil {
		t.Errorf("updates = %v, want an error and nil", got)
	}
	if diff := cmp.Diff([]string{"a"}, providerNames(t, s)); diff != "" {
		t.Errorf("providers (-want +got):\n%s", diff)
	}
	if diff := cmp.Diff([][]int{{3}, {1, 1, 1}}, [][]int{c.failed, c.sizes}); diff != "" {
		t.Errorf("failed and good commits (-want +got):\n%s", diff)
	}
}

func TestFailedCommitOfOneIsItsError(t *testing.T) {
	s, _ := openCounting(t, sqlstore.Options{})
	refuseCommits(t, s, 1)
	if err := addProvider(s, "a"); err == nil {
		t.Error("Update() = nil after a failed commit")
	}
	if err := addProvider(s, "b"); err != nil {
		t.Errorf("the next Update() = %v", err)
	}
	if diff := cmp.Diff([]string{"b"}, providerNames(t, s)); diff != "" {
		t.Errorf("providers (-want +got):\n%s", diff)
	}
}

func TestFullDiskHitsOnlyWhoFillsIt(t *testing.T) {
	s, _ := openCounting(t, sqlstore.Options{})
	err := s.OnWriter(func(conn *sql.Conn) error {
		var pages int
		return errors.Join(
			conn.QueryRowContext(context.Background(), "PRAGMA page_count").Scan(&pages),
			conn.QueryRowContext(context.Background(), fmt.Sprintf("PRAGMA max_page_count = %d", pages+4)).Scan(&pages),
		)
	})
	if err != nil {
		t.Fatal(err)
	}
	got := batch(s,
		inserting("a"),
		func(w placement.Writer) error {
			_, err := w.InsertTrait("CUSTOM_" + strings.Repeat("X", 1<<20))
			return err
		},
		inserting("b"),
	)
	if got[0] != nil || got[2] != nil {
		t.Errorf("the others got %v and %v, want nil", got[0], got[2])
	}
	if kind, code := fault.Of(got[1]); kind != fault.Unavailable || code != sqlconn.CodeUnavailable {
		t.Errorf("the big one got %v, want it unavailable", got[1])
	}
	var driverError *sqlite.Error
	if errors.As(got[1], &driverError) {
		t.Errorf("%v shows the driver's type", got[1])
	}
	if diff := cmp.Diff([]string{"a", "b"}, providerNames(t, s)); diff != "" {
		t.Errorf("providers (-want +got):\n%s", diff)
	}
}

func TestOverlookedErrorIsNotCommitted(t *testing.T) {
	s, _ := openCounting(t, sqlstore.Options{})
	err := s.Update(context.Background(), now, func(w placement.Writer) error {
		_ = w.InsertInventory(1, 0, placement.Inventory{AllocationRatio: math.NaN()}) // no number, which is not declared
		return nil
	})
	if err == nil {
		t.Error("Update() = nil after an error that was overlooked")
	}
	ctx, cancel := context.WithCancel(context.Background())
	err = s.Update(ctx, now, func(w placement.Writer) error {
		cancel()
		_, err := w.InsertTrait("CUSTOM_A")
		return err
	})
	if !errors.Is(err, context.Canceled) {
		t.Errorf("Update() = %v, want %v", err, context.Canceled)
	}
}

func TestFullQueueRefuses(t *testing.T) {
	s, c := openCounting(t, sqlstore.Options{MaxQueue: 2, MaxBatch: 1})
	var refused error
	var once sync.Once
	got := batch(s, inserting("a"), func(w placement.Writer) error { return inserting("b")(w) })
	entered, release := make(chan struct{}), make(chan struct{})
	var all sync.WaitGroup
	all.Go(func() {
		_ = s.Update(context.Background(), now, func(placement.Writer) error {
			once.Do(func() { close(entered) })
			<-release
			return nil
		})
	})
	<-entered
	for _, name := range []string{"c", "d"} {
		all.Go(func() { _ = addProvider(s, name) })
	}
	for s.Waiting() < 2 {
		runtime.Gosched()
	}
	refused = addProvider(s, "e")
	close(release)
	all.Wait()
	if kind, code := fault.Of(refused); kind != fault.Unavailable || code != sqlconn.CodeBusy {
		t.Errorf("Update over a full queue = %v, want it unavailable", refused)
	}
	if err := errors.Join(got...); err != nil || c.full != 1 {
		t.Errorf("before: %v; refused %d times, want 1", err, c.full)
	}
}

func TestAnotherWriterIsWaitedForAndThenUnavailable(t *testing.T) {
	path := filepath.Join(t.TempDir(), "placement.db")
	s, _ := openCounting(t, sqlstore.Options{Path: path, BusyTimeout: 20 * time.Millisecond})
	other, err := sql.Open("sqlite", "file:"+path)
	if err != nil {
		t.Fatal(err)
	}
	defer other.Close()
	other.SetMaxOpenConns(1)
	exec := func(query string) {
		if _, err := other.Exec(query); err != nil {
			t.Fatalf("%s: %v", query, err)
		}
	}
	exec("BEGIN IMMEDIATE")
	exec("INSERT INTO traits (name) VALUES ('CUSTOM_OTHER')")
	if kind, _ := fault.Of(addProvider(s, "a")); kind != fault.Unavailable {
		t.Errorf("Update next to another writer is %v, want unavailable", kind)
	}
	exec("COMMIT")
	if err := addProvider(s, "a"); err != nil {
		t.Errorf("Update after it = %v", err)
	}
	var traits []placement.Named
	err = s.View(context.Background(), func(r placement.Reader) (err error) { traits, err = r.Traits(); return err })
	if err != nil || len(traits) != 1 || !traits[0].Modified.IsZero() {
		t.Errorf("Traits() = %v, %v; want the other's", traits, err)
	}
}
