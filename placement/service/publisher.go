package service

import (
	"context"
	"errors"
	"fmt"
	"runtime/debug"
	"sync"
	"sync/atomic"
	"time"

	"github.com/berthcloud/berth/fault"
	"github.com/berthcloud/berth/placement"
	"github.com/berthcloud/berth/placement/snapshot"
)

// A source is what a publisher reads: that of placement.Store.
type source interface {
	View(ctx context.Context, fn func(placement.Reader) error) error
	Follow() placement.Follower
	Others(ctx context.Context) (mark int64, known bool, err error)
	Shared() bool
	Usable() error
}

// A publisher keeps the snapshot that reads are answered from. Each refresh replaces it by one that
// has what was committed since: what this service wrote, as writers add it, and on a shared store
// what the change log has of others. Readers go on with the old snapshot until the new one is
// complete.
//
//	add        a commit, or what may have changed, waits for the next refresh
//	refresh    brings in all that waits; callers that come meanwhile share the next one
//	catchUp    reads what the change log has since the last time, and applies it
//	stale      a refresh failed: what it was to bring in waits again, and reads refresh first
//	reconcile  finds by checksums what is in no change log (reconcile.go)
//
// Trees that claims have committed and no refresh has published are unpublished: the rules of the
// next claims look at these.
type publisher struct {
	store         source
	now           func() time.Time
	failed        func(error)             // Settings.RefreshFailed
	observeOthers func(placement.Changes) // Settings.ObserveOthers

	current atomic.Pointer[snapshot.Snapshot]
	stale   atomic.Bool // the last refresh failed: the snapshot may lack a commit

	// pending is what the next refresh brings in, under its own lock: writers add to it while a
	// refresh runs.
	pending struct {
		sync.Mutex
		changes    placement.Changes
		version    uint64             // counts the changes
		concurrent *placement.Changes // what came since reconcile began to compare, nil while none does
	}
	refreshing chan struct{}      // a lock of what follows: full while a refresh runs
	attempted  uint64             // the version of pending up to which a refresh was tried
	outcome    error              // of the last one
	follower   placement.Follower // of what other stores wrote

	// unpublished has what claims made of trees that the snapshot may show: the tree after each of
	// these. It belongs to the writing goroutine of the store.
	unpublished map[*snapshot.Tree]*snapshot.Tree
	backlog     atomic.Bool // unpublished has grown too long: the snapshot is to be brought up to date

	reconciling sync.Mutex // guards what follows
	drifts      drifts
	reconciled  dataVersion // of the store, when it was compared the last time
}

// newPublisher returns a publisher without a snapshot, which load reads.
func newPublisher(store source, settings Settings) *publisher {
	return &publisher{
		store: store, now: settings.Now, failed: settings.RefreshFailed, observeOthers: settings.ObserveOthers,
		refreshing: make(chan struct{}, 1), unpublished: make(map[*snapshot.Tree]*snapshot.Tree),
	}
}

// load reads everything in the store.
func (p *publisher) load(ctx context.Context) error {
	// Where the log is, and who wrote, comes first: what is written meanwhile is
	// read twice.
	p.follower = p.store.Follow()
	if _, err := p.follower.Next(ctx); err != nil {
		return err
	}
	version, err := p.dataVersion(ctx)
	if err != nil {
		return err
	}
	if err := p.reload(ctx); err != nil {
		return err
	}
	p.reconciled = version
	return nil
}

// fresh is Service.Snapshot.
func (p *publisher) fresh(ctx context.Context) (*snapshot.Snapshot, error) {
	if err := p.store.Usable(); err != nil {
		return nil, err
	}
	if p.store.Shared() || p.stale.Load() {
		if err := p.follow(ctx); err != nil {
			return nil, err
		}
	}
	return p.current.Load(), nil
}

// ready is Service.Ready.
func (p *publisher) ready() (*snapshot.Snapshot, error) {
	if err := p.store.Usable(); err != nil {
		return p.current.Load(), err
	}
	if p.stale.Load() {
		return p.current.Load(), errStale
	}
	return p.current.Load(), nil
}

// errStale is why ready says no after a refresh failed. The cause is in the error of that refresh.
var errStale = errors.New("the database cannot be read")

// errStoreUnavailable is what callers see when the snapshot cannot be brought up to date.
var errStoreUnavailable = fault.New(fault.Unavailable, "",
	"The database cannot be read at the moment. Please try again.")

// publish brings changes into the snapshot that are committed. It returns when the snapshot has
// them, or is known to lack them: what is durable is acknowledged even if it cannot be read back
// now, and fresh then fails until it can.
func (p *publisher) publish(ctx context.Context, committed placement.Changes) {
	p.report(p.refresh(context.WithoutCancel(ctx), committed))
}

// report reports the failure of a refresh whose caller is answered all the same. The end of a
// request is no failure: the refresh goes on.
func (p *publisher) report(err error) {
	if err != nil && !errors.Is(err, context.Canceled) && p.failed != nil {
		p.failed(err)
	}
}

// followTimeout is how long a request waits for a snapshot that is fresh. After it the request
// fails as unavailable, while the refresh goes on for those that come later.
const followTimeout = 20 * time.Second

// follow brings in what other services wrote, in bounded time. Its own time-out is a fault of kind
// Unavailable, the end of the caller's context that context's error.
func (p *publisher) follow(ctx context.Context) error {
	bounded, cancel := context.WithTimeout(ctx, followTimeout)
	defer cancel()
	err := p.refresh(bounded, placement.Changes{})
	if err != nil && ctx.Err() == nil && bounded.Err() != nil {
		return errStoreUnavailable
	}
	return err
}

// add adds changes that the next refresh is to bring in, and returns the version of pending
// that has them. A refresh that has attempted this version has brought the changes in, or failed
// to.
func (p *publisher) add(c placement.Changes) (version uint64) {
	p.pending.Lock()
	defer p.pending.Unlock()
	p.pending.changes.Add(c)
	p.pending.version++
	p.collect(c)
	return p.pending.version
}

// collect adds to what comes while reconcile compares. Its caller has locked pending.
func (p *publisher) collect(c placement.Changes) {
	if p.pending.concurrent != nil {
		p.pending.concurrent.Add(c.AsRoots())
	}
}

// refreshTimeout bounds how long a refresh may wait for the store. Reading
// everything again takes as long as it takes: the store bounds its silence.
const refreshTimeout = 30 * time.Second

// refresh brings the changes into the snapshot, and those of other services on a
// shared store. Callers that come while another refresh runs are served together
// by the next one, and share its failure. It returns early when ctx ends; the
// refresh goes on for the others. For a context that does not end it runs on the caller's
// goroutine, which spares one on the path of each write.
func (p *publisher) refresh(ctx context.Context, c placement.Changes) error {
	version := p.add(c)
	select {
	case p.refreshing <- struct{}{}:
	case <-ctx.Done():
		return ctx.Err()
	}
	if p.attempted >= version {
		err := p.outcome
		<-p.refreshing
		return err
	}
	run := func() error {
		defer func() { <-p.refreshing }()
		return p.refreshPending(context.WithoutCancel(ctx))
	}
	if ctx.Done() == nil {
		return run()
	}
	result := make(chan error, 1)
	go func() { result <- run() }()
	select {
	case err := <-result:
		return err
	case <-ctx.Done():
		return ctx.Err()
	}
}

// refreshPending brings in all that is pending. Its caller owns refreshing. Changes that could not
// be read are pending again, with what other stores wrote, so that the next attempt has them. The
// versions up to upTo count as attempted either way: their callers get its error.
func (p *publisher) refreshPending(ctx context.Context) (err error) {
	p.pending.Lock()
	batch, upTo := p.pending.changes, p.pending.version
	p.pending.changes = placement.Changes{}
	p.pending.Unlock()

	err = p.catchUp(ctx, &batch)
	if err != nil {
		p.pending.Lock()
		p.pending.changes.Add(batch)
		p.pending.Unlock()
		// The cause is for the log; the caller sees the fault alone.
		err = fmt.Errorf("refreshing the snapshot: %w (%v)", errStoreUnavailable, err)
	}
	p.stale.Store(err != nil)
	p.attempted, p.outcome = upTo, err
	return err
}

// recovered turns a panic over unexpected rows into an error: the
// snapshot is stale then, and the program goes on.
func recovered(err *error) {
	if p := recover(); p != nil {
		*err = fmt.Errorf("panic while reading the snapshot: %v\n%s", p, debug.Stack())
	}
}

// catchUp applies changes together with what other stores wrote, which it adds to them.
func (p *publisher) catchUp(ctx context.Context, c *placement.Changes) (err error) {
	defer recovered(&err)
	bounded, cancel := context.WithTimeout(ctx, refreshTimeout)
	defer cancel()
	if p.store.Shared() {
		others, err := p.follower.Next(bounded)
		if err != nil {
			return err
		}
		p.pending.Lock()
		p.collect(others)
		p.pending.Unlock()
		if p.observeOthers != nil && !others.Empty() {
			p.observeOthers(others)
		}
		c.Add(others)
	}
	if c.All {
		return p.reload(ctx)
	}
	return p.apply(bounded, *c)
}

// reload reads everything and publishes it. It is for the start, and for a store whose change log
// cannot say what changed. The caller owns refreshing, or is the only user of the publisher yet.
func (p *publisher) reload(ctx context.Context) error {
	var (
		classes, traits []placement.Named
		rows            placement.TreeRows
	)
	err := p.store.View(ctx, func(r placement.Reader) (err error) {
		if classes, traits, err = catalogs(r); err != nil {
			return err
		}
		rows, err = r.TreeRows(nil)
		return err
	})
	if err != nil {
		return err
	}
	p.current.Store(snapshot.New(classes, traits, rows, p.now()))
	return nil
}

// apply publishes a new snapshot: with the changed trees that fit, and what else changed
// read from the store. The caller owns refreshing: no other refresh replaces the snapshot
// meanwhile.
func (p *publisher) apply(ctx context.Context, c placement.Changes) error {
	if c.Empty() {
		return nil
	}
	changed, roots := p.current.Load().WithChanges(c, p.now())
	if len(roots) == 0 && !c.Catalogs {
		p.current.Store(changed)
		return nil
	}
	var next *snapshot.Snapshot
	err := p.store.View(ctx, func(r placement.Reader) error {
		next = changed
		if c.Catalogs {
			classes, traits, err := catalogs(r)
			if err != nil {
				return err
			}
			next = next.WithCatalogs(classes, traits)
		}
		if len(roots) == 0 {
			return nil
		}
		rows, err := r.TreeRows(roots)
		if err == nil {
			next = next.WithTrees(roots, rows, p.now())
		}
		return err
	})
	if err == nil {
		p.current.Store(next)
	}
	return err
}

// catalogs reads both catalogs from one state of the store.
func catalogs(r placement.Reader) (classes, traits []placement.Named, err error) {
	if classes, err = r.Classes(); err != nil {
		return nil, nil, err
	}
	traits, err = r.Traits()
	return classes, traits, err
}

// maxUnpublished is how many trees may be ahead of the snapshot before it is brought up to date
// for their sake.
const maxUnpublished = 128

// committed is called on the writing goroutine of the store when what claims made of trees is
// durable. On a shared store the trees do not wait for the next refresh: the entry in the change
// log has them, and follow brings them in with what others wrote before.
func (p *publisher) committed(changes placement.Changes, replacements []snapshot.Replacement) {
	if !p.store.Shared() {
		p.add(changes)
	}
	for _, r := range replacements {
		p.unpublished[r.From] = r.To
	}
	if len(p.unpublished) > maxUnpublished {
		p.dropPublished(p.current.Load())
		p.backlog.Store(len(p.unpublished) > maxUnpublished)
	}
}

// dropPublished drops the trees that the snapshot no longer shows: it only goes on from one of
// them to the next, or reads another. It walks each chain from the tree that the snapshot shows, so
// that what is kept is the rest of the chains.
func (p *publisher) dropPublished(s *snapshot.Snapshot) {
	ahead := make(map[*snapshot.Tree]*snapshot.Tree)
	for t := range p.unpublished {
		tree := s.TreeOf(t.Root().ID)
		for next := p.unpublished[tree]; next != nil && ahead[tree] == nil; next = p.unpublished[tree] {
			ahead[tree] = next
			tree = next
		}
	}
	p.unpublished = ahead
}
