package service

import (
	"context"
	"errors"
	"fmt"
	"maps"
	"slices"
	"strings"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/berthcloud/berth/fault"
	"github.com/berthcloud/berth/placement"
	"github.com/berthcloud/berth/placement/snapshot"
)

// A fakeStore is a source whose trees have one provider each.
type fakeStore struct {
	placement.Reader // nil: methods that a publisher does not use

	// beforeView, when not nil, is called at the beginning of each View, and may fail it.
	beforeView func(context.Context) error

	mu          sync.Mutex
	generations map[int64]placement.Generation // of the providers, by id
	log         []int64                        // what other stores changed: roots
	all         bool                           // the change log does not know what changed
	shared      bool
	unusable    error
	logFails    error
	version     int64 // of the data, as external programs change it
	views       int
	read        []int64 // roots that were read; -1 for everything
}

func newFakeStore() *fakeStore {
	return &fakeStore{generations: map[int64]placement.Generation{1: 0, 2: 0, 200: 0}}
}

// change changes the tree of a root.
func (f *fakeStore) change(root int64) placement.Changes {
	f.mu.Lock()
	defer f.mu.Unlock()
	f.generations[root]++
	var c placement.Changes
	c.Tree(root)
	return c
}

// changeElsewhere changes it as another service on the same database does.
func (f *fakeStore) changeElsewhere(root int64) {
	f.change(root)
	f.mu.Lock()
	defer f.mu.Unlock()
	f.log = append(f.log, root)
}

// changeExternally changes it as a program without a change log does.
func (f *fakeStore) changeExternally(root int64) {
	f.change(root)
	f.mu.Lock()
	defer f.mu.Unlock()
	f.version++
}

func (f *fakeStore) View(ctx context.Context, fn func(placement.Reader) error) error {
	f.mu.Lock()
	f.views++
	f.mu.Unlock()
	if f.beforeView != nil {
		if err := f.beforeView(ctx); err != nil {
			return err
		}
	}
	return fn(f)
}

func (f *fakeStore) Follow() placement.Follower { return &fakeFollower{store: f} }

// A fakeFollower reads the log of a fakeStore.
type fakeFollower struct {
	store *fakeStore
	at    int
}

func (r *fakeFollower) Next(context.Context) (c placement.Changes, err error) {
	f := r.store
	f.mu.Lock()
	defer f.mu.Unlock()
	if f.logFails != nil {
		return c, f.logFails
	}
	for _, root := range f.log[r.at:] {
		c.Tree(root)
	}
	c.All, r.at = f.all, len(f.log)
	return c, nil
}

func (f *fakeStore) Others(context.Context) (int64, bool, error) {
	f.mu.Lock()
	defer f.mu.Unlock()
	return f.version, true, nil
}

func (f *fakeStore) Shared() bool { return f.shared }

func (f *fakeStore) Usable() error { return f.unusable }

func (f *fakeStore) Classes() ([]placement.Named, error) { return nil, nil }

func (f *fakeStore) Traits() ([]placement.Named, error) { return nil, nil }

func (f *fakeStore) TreeRows(roots []int64) (rows placement.TreeRows, err error) {
	f.mu.Lock()
	defer f.mu.Unlock()
	if roots == nil {
		f.read = append(f.read, -1)
		roots = slices.Sorted(maps.Keys(f.generations))
	} else {
		f.read = append(f.read, roots...)
	}
	for _, id := range roots {
		if generation, exists := f.generations[id]; exists {
			rows.Providers = append(rows.Providers, placement.ProviderRow{
				ID: id, Root: id, UUID: placement.UUID(fmt.Sprint("u", id)), Name: fmt.Sprint("n", id), Generation: generation,
			})
		}
	}
	return rows, nil
}

func (f *fakeStore) Checksums() (list []placement.Checksum, err error) {
	rows, err := f.TreeRows(nil)
	for _, sum := range snapshot.New(nil, nil, rows, time.Time{}).Checksums() {
		list = append(list, sum)
	}
	return list, err
}

func (f *fakeStore) RootsBetween(from, to int64) (roots []int64, err error) {
	f.mu.Lock()
	defer f.mu.Unlock()
	for id := range f.generations {
		if from <= id && id < to {
			roots = append(roots, id)
		}
	}
	return roots, nil
}

// forget forgets what was read so far.
func (f *fakeStore) forget() {
	f.mu.Lock()
	defer f.mu.Unlock()
	f.views, f.read = 0, nil
}

// wantReads checks which roots were read since forget, in which order.
func (f *fakeStore) wantReads(t *testing.T, want ...int64) {
	t.Helper()
	f.mu.Lock()
	defer f.mu.Unlock()
	if !slices.Equal(f.read, want) {
		t.Errorf("the trees %v were read, want %v", f.read, want)
	}
}

// opened returns a publisher of a store that has read it.
func opened(t *testing.T, f *fakeStore, settings Settings) *publisher {
	t.Helper()
	settings.Now = time.Now
	p := newPublisher(f, settings)
	if err := p.load(t.Context()); err != nil {
		t.Fatal(err)
	}
	f.forget()
	return p
}

// wantGeneration checks the generation that the snapshot has of a provider.
func (p *publisher) wantGeneration(t *testing.T, id int64, want placement.Generation) {
	t.Helper()
	if got, _ := p.current.Load().Provider(placement.UUID(fmt.Sprint("u", id))); got == nil || got.Generation != want {
		t.Errorf("the snapshot has of provider %d %+v, want generation %d", id, got, want)
	}
}

// A refresh reads the trees that changed, and no others. Without changes it reads nothing.
func TestPublish(t *testing.T) {
	f := newFakeStore()
	p := opened(t, f, Settings{})
	p.publish(t.Context(), f.change(2))
	p.wantGeneration(t, 2, 1)
	p.publish(t.Context(), placement.Changes{})
	f.wantReads(t, 2)
	if s, err := p.fresh(t.Context()); err != nil || s != p.current.Load() {
		t.Errorf("fresh() = %p, %v, want the snapshot %p", s, err, p.current.Load())
	}
}

// Those whose changes come while a refresh runs are served together by the next one, and readers
// have the old snapshot meanwhile.
func TestChangesWhileARefreshRuns(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		f, proceed := newFakeStore(), make(chan struct{})
		p := opened(t, f, Settings{})
		f.beforeView = func(context.Context) error {
			<-proceed
			return nil
		}
		var writers sync.WaitGroup
		writers.Go(func() { p.publish(t.Context(), f.change(1)) })
		synctest.Wait() // it reads
		for range 3 {
			writers.Go(func() { p.publish(t.Context(), f.change(2)) })
			synctest.Wait()
		}
		p.wantGeneration(t, 1, 0)
		proceed <- struct{}{}
		synctest.Wait()
		p.wantGeneration(t, 1, 1)
		p.wantGeneration(t, 2, 0)
		proceed <- struct{}{}
		writers.Wait()
		p.wantGeneration(t, 2, 3)
		f.wantReads(t, 1, 2)
	})
}

// A refresh that fails leaves the snapshot stale: all who waited for it get the failure, reads fail
// until the store can be read, and what was to be read is not lost.
func TestFailedReads(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		broken := errors.New("the cable is broken")
		var reported []error
		f, proceed := newFakeStore(), make(chan error)
		p := opened(t, f, Settings{RefreshFailed: func(err error) { reported = append(reported, err) }})
		f.beforeView = func(context.Context) error { return <-proceed }
		var callers sync.WaitGroup
		refresh := func() {
			callers.Go(func() {
				err := p.refresh(t.Context(), f.change(1))
				if kind, _ := fault.Of(err); kind != fault.Unavailable || !strings.Contains(err.Error(), broken.Error()) {
					t.Errorf("a refresh fails with %v", err)
				}
			})
			synctest.Wait()
		}
		refresh()
		refresh() // these two share the second
		refresh()
		proceed <- broken
		synctest.Wait()
		proceed <- broken
		callers.Wait()
		if _, err := p.ready(); !errors.Is(err, errStale) {
			t.Errorf("ready() = %v", err)
		}
		p.wantGeneration(t, 1, 0)
		callers.Go(func() { p.publish(t.Context(), placement.Changes{}) })
		synctest.Wait()
		proceed <- broken
		callers.Wait()
		if len(reported) != 1 || !strings.Contains(reported[0].Error(), broken.Error()) {
			t.Errorf("%v were reported", reported)
		}
		callers.Go(func() {
			if _, err := p.fresh(t.Context()); err != nil {
				t.Errorf("fresh() = %v", err)
			}
		})
		synctest.Wait()
		proceed <- nil
		callers.Wait()
		p.wantGeneration(t, 1, 3)
		if _, err := p.ready(); err != nil {
			t.Errorf("ready() = %v", err)
		}
		f.wantReads(t, 1)
	})
}

// A panic over rows is a failed read.
func TestPanicWhileReading(t *testing.T) {
	f := newFakeStore()
	p := opened(t, f, Settings{})
	f.beforeView = func(context.Context) error { panic("a row without columns") }
	if err := p.refresh(t.Context(), f.change(1)); err == nil || !strings.Contains(err.Error(), "a row without columns") {
		t.Errorf("the refresh fails with %v", err)
	}
	f.beforeView = nil
	if _, err := p.fresh(t.Context()); err != nil {
		t.Errorf("fresh() = %v", err)
	}
	p.wantGeneration(t, 1, 1)
}

// Each read of a shared store is preceded by one of the change log, from where the last one ended.
// What is in it and cannot be read is not lost.
func TestFollow(t *testing.T) {
	f := newFakeStore()
	f.shared = true
	var others []int64
	p := opened(t, f, Settings{ObserveOthers: func(c placement.Changes) {
		others = slices.AppendSeq(others, maps.Keys(c.Roots))
	}})
	fresh := func(wantErr bool) {
		t.Helper()
		if _, err := p.fresh(t.Context()); (err != nil) != wantErr {
			t.Errorf("fresh() = %v", err)
		}
	}
	f.changeElsewhere(1)
	fresh(false)
	p.wantGeneration(t, 1, 1)
	fresh(false)
	f.wantReads(t, 1)

	f.changeElsewhere(2)
	f.logFails = errors.New("the log cannot be read")
	fresh(true)
	f.logFails = nil
	f.beforeView = func(context.Context) error { return errors.New("the tree cannot be read") }
	fresh(true)
	f.beforeView = nil
	p.wantGeneration(t, 2, 0)
	fresh(false)
	p.wantGeneration(t, 2, 1)
	f.wantReads(t, 1, 2)
	if want := []int64{1, 2}; !slices.Equal(others, want) {
		t.Errorf("changes of others %v, want %v", others, want)
	}
}

// When the change log cannot say what changed, everything is read.
func TestCatchUpWithoutALog(t *testing.T) {
	f := newFakeStore()
	f.shared = true
	p := opened(t, f, Settings{})
	f.change(1)
	f.change(200)
	f.all = true
	if _, err := p.fresh(t.Context()); err != nil {
		t.Fatal(err)
	}
	p.wantGeneration(t, 1, 1)
	p.wantGeneration(t, 200, 1)
	f.wantReads(t, -1)
}

// A request waits for a refresh up to its own end and followTimeout. The refresh goes on.
func TestRefreshOutlivesItsCaller(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		f, proceed := newFakeStore(), make(chan struct{})
		f.shared = true
		p := opened(t, f, Settings{})
		f.beforeView = func(ctx context.Context) error {
			<-proceed
			return ctx.Err()
		}
		f.changeElsewhere(1)
		ctx, cancel := context.WithCancel(t.Context())
		var callers sync.WaitGroup
		callers.Go(func() {
			if _, err := p.fresh(ctx); !errors.Is(err, context.Canceled) {
				t.Errorf("a request that has ended gets %v", err)
			}
		})
		synctest.Wait()
		cancel()
		callers.Wait()
		begin := time.Now()
		if _, err := p.fresh(t.Context()); !errors.Is(err, errStoreUnavailable) || time.Since(begin) != followTimeout {
			t.Errorf("a request gets %v after %v", err, time.Since(begin))
		}
		close(proceed)
		synctest.Wait()
		p.wantGeneration(t, 1, 1)
		f.wantReads(t, 1)
	})
}

// A store that is not usable is not read.
func TestUnusableStore(t *testing.T) {
	f := newFakeStore()
	f.shared = true
	p := opened(t, f, Settings{})
	f.unusable = errors.New("another program owns the file")
	if _, err := p.fresh(t.Context()); !errors.Is(err, f.unusable) {
		t.Errorf("fresh() = %v", err)
	}
	if s, err := p.ready(); !errors.Is(err, f.unusable) || s == nil {
		t.Errorf("ready() = %p, %v", s, err)
	}
	if _, err := p.reconcile(t.Context()); !errors.Is(err, f.unusable) || f.views > 0 {
		t.Errorf("reconcile() = %v with %d views", err, f.views)
	}
}

// What programs without a change log wrote is found by comparing, and read. As long as they write
// nothing, nothing is compared.
func TestReconcileReadsExternalWrites(t *testing.T) {
	f := newFakeStore()
	p := opened(t, f, Settings{})
	reconcile := func(want int, reads ...int64) {
		t.Helper()
		f.forget()
		if trees, err := p.reconcile(t.Context()); trees != want || err != nil {
			t.Errorf("reconcile() = %d, %v, want %d", trees, err, want)
		}
		f.wantReads(t, reads...)
	}
	reconcile(0)
	f.changeExternally(200)
	reconcile(1, -1, 200) // the checksums, and the tree
	p.wantGeneration(t, 200, 1)
	reconcile(0)
	f.changeExternally(1)
	f.mu.Lock()
	delete(f.generations, 2)
	f.generations[3] = 0
	f.mu.Unlock()
	f.forget()
	if trees, err := p.reconcile(t.Context()); trees != 3 || err != nil { // 1, 3, and 2 by the snapshot
		t.Errorf("reconcile() = %d, %v, want 3", trees, err)
	}
	p.wantGeneration(t, 1, 1)
	p.wantGeneration(t, 3, 0)
	if deleted, _ := p.current.Load().Provider("u2"); deleted != nil {
		t.Error("the snapshot has a provider that was deleted")
	}
}

// What this service writes while reconcile compares is not counted as external, and an external
// write that cannot be read is found again.
func TestReconcileWhileOthersWrite(t *testing.T) {
	f := newFakeStore()
	p := opened(t, f, Settings{})
	f.changeExternally(200)
	views := 0
	f.beforeView = func(context.Context) error {
		if views++; views == 1 {
			p.add(f.change(1))
		}
		return nil
	}
	if trees, err := p.reconcile(t.Context()); trees != 1 || err != nil {
		t.Errorf("reconcile() = %d, %v, want the tree of the other program", trees, err)
	}
	p.wantGeneration(t, 1, 1)
	p.wantGeneration(t, 200, 1)

	f.changeExternally(2)
	views = 0
	f.beforeView = func(context.Context) error {
		if views++; views > 1 {
			return errors.New("the tree cannot be read")
		}
		return nil
	}
	if _, err := p.reconcile(t.Context()); err == nil {
		t.Error("reconcile does not say that the tree could not be read")
	}
	f.beforeView = nil
	if _, err := p.reconcile(t.Context()); err != nil {
		t.Errorf("reconcile() = %v", err)
	}
	p.wantGeneration(t, 2, 1)
}

// What claims have made of trees is found from the tree that the snapshot shows, until a refresh
// has published it; then it is dropped, when there is much of it.
func TestUnpublishedTrees(t *testing.T) {
	for _, shared := range []bool{false, true} {
		f := newFakeStore()
		f.shared = shared
		p := opened(t, f, Settings{})
		pending := snapshot.NewPending()
		pending.Bumps[1] = 1
		commit := func(from *snapshot.Tree) *snapshot.Tree {
			r := snapshot.Replacement{From: from, To: from.After(pending, time.Time{})}
			if f.change(1); shared {
				f.log = append(f.log, 1)
			}
			p.committed(placement.Changes{TreeChanges: []placement.TreeChange{r}}, []snapshot.Replacement{r})
			return r.To
		}
		tree := p.current.Load().TreeOf(1)
		for range maxUnpublished {
			tree = commit(tree)
		}
		if p.backlog.Load() {
			t.Errorf("shared %v: there is a backlog with %d trees", shared, len(p.unpublished))
		}
		p.publish(t.Context(), placement.Changes{})
		p.wantGeneration(t, 1, maxUnpublished)
		if shown := p.current.Load().TreeOf(1); shared == (shown == tree) {
			t.Errorf("shared %v: the snapshot shows the very tree of the last claim: %v", shared, shown == tree)
		}
		tree = commit(p.current.Load().TreeOf(1))
		if len(p.unpublished) != 1 || p.backlog.Load() {
			t.Errorf("shared %v: %d trees are unpublished after one claim", shared, len(p.unpublished))
		}
		for range maxUnpublished {
			tree = commit(tree)
		}
		if !p.backlog.Load() {
			t.Errorf("shared %v: there is no backlog with %d trees", shared, len(p.unpublished))
		}
	}
}
