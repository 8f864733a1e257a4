// Package service is the placement service: it decides on writes, puts them into the store and
// keeps the snapshot that reads are answered from. It does not search for candidates.
//
// # Reading
//
// Service.Snapshot (this file) is what GET requests are answered from. On a shared database it
// first reads the change log, so that it has every write that was acknowledged before, by any
// service. Consumers and their allocations are not in the snapshot: view reads them in the store.
//
// # Writing
//
// Each noun has a file (providers.go, inventories.go, traits.go, aggregates.go, classes.go,
// reshape.go). Its methods run rules on rows in a transaction of the store, by update and transact,
// which run them again after a collision and then bring the snapshot up to date.
//
// Claims and releases (allocations.go) are written in groups, many in one transaction
// (claim_group.go). Their rules (claim_rules.go) read nothing: they decide on a state of providers
// and consumers, taken from the snapshot first, and from locked rows when the snapshot may be old.
//
// Programs that keep no change log, such as upstream's service on the same database, are noticed by
// comparing checksums of the rows with the snapshot (reconcile.go).
//
// # Freshness
//
// A request that starts after a write was answered sees that write. New reads the whole store once.
// After that,
//
//   - a transaction notes the roots of the trees that it touched, also of those that it only looked
//     up by UUID;
//   - after the commit, refresh adds them to the pending changes, whose version rises. One refresh
//     runs at a time and takes all pending changes; callers that arrive meanwhile wait for it, so
//     that concurrent writers share a read of the database. The answer to a write waits for the
//     refresh;
//   - a refusal waits for the refresh as well: it may be due to a write that is committed and not
//     in the snapshot yet, and a client that was refused must be able to see why;
//   - when the read fails, the changes remain pending and the snapshot is stale; the write, which
//     is durable, is acknowledged. Reads that need a stale snapshot try the refresh first, and
//     answer 503 when it fails again; so does /readyz.
package service

import (
	"context"
	"errors"
	"fmt"
	"runtime/debug"
	"sync"
	"sync/atomic"
	"time"

	"github.com/berthcloud/berth/changelog"
	"github.com/berthcloud/berth/fault"
	"github.com/berthcloud/berth/placement"
	"github.com/berthcloud/berth/placement/snapshot"
)

// A Service answers for the placement data: it applies the rules to writes,
// puts them into the store, and keeps the snapshot that reads are answered from.
// It is safe for concurrent use.
type Service struct {
	store    placement.Store
	settings Settings
	snapshot atomic.Pointer[snapshot.Snapshot]
	stale    atomic.Bool // the last refresh failed: the snapshot may lack a commit

	// pending is what the next refresh brings in, under its own lock: writers add to it while a
	// refresh runs.
	pending struct {
		sync.Mutex
		changes   placement.Changes
		version   uint64             // counts the changes
		collected *placement.Changes // what came since Reconcile began to compare, nil while none does
	}
	refreshing chan struct{}      // a lock of what follows: full while a refresh runs
	attempted  uint64             // the version of pending up to which a refresh was tried
	outcome    error              // of the last one
	follower   placement.Follower // of what other stores wrote

	claims func(context.Context, time.Time, any) error // writes a *claimRequest
	// what its own commits made of trees that the snapshot may show; of the writing goroutine
	newer  map[*snapshot.Tree]*snapshot.Tree
	behind atomic.Bool // newer has grown too long: the snapshot is to be brought up to date

	reconciling sync.Mutex // guards what follows
	drifts      drifts
	reconciled  storeMark // of the store, when it was compared the last time
}

// Settings are the parts of placement.conf that are rules. The zero value is
// not useful: see DefaultSettings.
type Settings struct {
	// IncompleteProject and IncompleteUser own the consumers of clients that
	// do not say who owns them (microversions before 1.8).
	IncompleteProject string
	IncompleteUser    string
	// ConflictRetries is how often a claim is tried again when a provider's
	// generation changed under it.
	ConflictRetries int
	// Now is the clock.
	Now func() time.Time
	// Observe, when not nil, is called with what happens to claims.
	Observe func(ClaimEvent)
	// RefreshFailed, when not nil, is called with the reason why the snapshot could not be brought up
	// to date after something was committed. Requests that are answered from it fail until it can.
	RefreshFailed func(error)
	// Cause, when not nil, returns the request that a context belongs to, for the change log.
	Cause func(context.Context) placement.Cause
	// ObserveOthers, when not nil, is called with what other services on the same
	// store changed, before it is read.
	ObserveOthers func(placement.Changes)
}

// A ClaimEvent is something that happened to a claim.
type ClaimEvent string

// What can happen to a claim.
const (
	ClaimAccepted ClaimEvent = "accepted"
	ClaimRefused  ClaimEvent = "refused" // the rules say no
	ClaimConflict ClaimEvent = "conflict"
	ClaimRetried  ClaimEvent = "retried"
	ClaimFailed   ClaimEvent = "failed" // the store or Berth itself
)

// DefaultSettings returns upstream's defaults and the machine's clock.
func DefaultSettings() Settings {
	const nobody = "00000000-0000-0000-0000-000000000000"
	return Settings{IncompleteProject: nobody, IncompleteUser: nobody, ConflictRetries: 10, Now: time.Now}
}

// reload reads everything and publishes it. It is for the start, and for a store whose change log
// cannot say what changed. The caller owns refreshing, or is the only user of the service yet.
func (s *Service) reload(ctx context.Context) error {
	var (
		classes, traits []placement.Named
		rows            placement.TreeRows
	)
	err := s.store.View(ctx, func(r placement.Reader) (err error) {
		if classes, traits, err = catalogs(r); err != nil {
			return err
		}
		rows, err = r.TreeRows(nil)
		return err
	})
	if err != nil {
		return err
	}
	s.snapshot.Store(snapshot.New(classes, traits, rows, s.settings.Now()))
	return nil
}

// catalogs reads both catalogs from one state of the store.
func catalogs(r placement.Reader) (classes, traits []placement.Named, err error) {
	if classes, err = r.Classes(); err != nil {
		return nil, nil, err
	}
	traits, err = r.Traits()
	return classes, traits, err
}

// SnapshotWith is Snapshot for a request that looks for a provider. On a shared store a
// program that appends nothing to the change log may just have created it: one that the snapshot
// does not have is looked up in the store.
func (s *Service) SnapshotWith(ctx context.Context, uuid placement.UUID) (*snapshot.Snapshot, error) {
	snap, err := s.Snapshot(ctx)
	if err != nil || !s.store.Shared() {
		return snap, err
	}
	if p, _ := snap.Provider(uuid); p != nil {
		return snap, nil
	}
	var row placement.ProviderRow
	err = s.store.View(ctx, func(r placement.Reader) (err error) {
		row, err = r.Provider(uuid)
		return err
	})
	if errors.Is(err, placement.ErrNoRow) {
		return snap, nil
	}
	if err == nil {
		var found placement.Changes
		found.Tree(row.Root)
		s.note(found)
		snap, err = s.Snapshot(ctx)
	}
	return snap, err
}

// Snapshot returns a snapshot that has every write acknowledged before the call, by
// this or, on a shared store, any other service. It fails as unavailable when
// such a snapshot cannot be had.
func (s *Service) Snapshot(ctx context.Context) (*snapshot.Snapshot, error) {
	if err := s.store.Usable(); err != nil {
		return nil, err
	}
	if s.store.Shared() || s.stale.Load() {
		if err := s.follow(ctx); err != nil {
			return nil, err
		}
	}
	return s.snapshot.Load(), nil
}

// followTimeout is how long a request waits for a snapshot that is fresh. After it the request
// fails as unavailable, while the refresh goes on for those that come later.
const followTimeout = 20 * time.Second

// follow brings in what other services wrote, in bounded time. Its own time-out is a fault of kind
// Unavailable, the end of the caller's context that context's error.
func (s *Service) follow(ctx context.Context) error {
	bounded, cancel := context.WithTimeout(ctx, followTimeout)
	defer cancel()
	err := s.refresh(bounded, placement.Changes{})
	if err != nil && ctx.Err() == nil && bounded.Err() != nil {
		return errStoreUnavailable
	}
	return err
}

// ChangeLog is the change log of the store.
func (s *Service) ChangeLog() changelog.Log { return s.store.ChangeLog() }

// Ready returns the newest snapshot there is and why requests cannot be answered from it, nil
// when they can. It does not touch the store.
func (s *Service) Ready() (*snapshot.Snapshot, error) {
	if err := s.store.Usable(); err != nil {
		return s.snapshot.Load(), err
	}
	if s.stale.Load() {
		return s.snapshot.Load(), errStale
	}
	return s.snapshot.Load(), nil
}

// errStale is why Ready says no after a refresh failed. The cause is in the error of that refresh.
var errStale = errors.New("the database cannot be read")

// A tx is a store's transaction that notes what it touches.
type tx struct {
	placement.Writer
	changes  placement.Changes
	recorder recorder
}

// tree is provider for a change of the tree itself: the root is locked as well, so
// that no other transaction moves parts of the tree. How transactions that lock several providers
// avoid deadlocks is said in sqlstore/locks.go.
func (t *tx) tree(uuid placement.UUID) (placement.ProviderRow, error) {
	p, err := t.provider(uuid)
	if err == nil {
		err = t.LockProvider(p.Root)
	}
	return p, err
}

// provider finds a provider and notes that its tree is about to change. The tree counts as changed
// even if the operation is refused later: reading a tree once more costs little, and a refusal may
// rest on a write that the snapshot lacks.
func (t *tx) provider(uuid placement.UUID) (placement.ProviderRow, error) {
	p, err := t.Writer.Provider(uuid)
	if err == nil {
		t.changes.Tree(p.Root)
		if t.recorder.rows == nil {
			t.recorder.rows = make(map[int64]placement.ProviderRow)
		}
		t.recorder.rows[p.ID] = p
	}
	return p, err
}

// update is transact, run again when a row went or changed between two of its
// statements: what comes of that is known only to a new run. fn must not keep anything from an
// earlier run.
func (s *Service) update(ctx context.Context, fn func(*tx) error) error {
	return s.retry(ctx, func(int) error { return s.transact(ctx, fn) })
}

// retry calls attempt again, with the number of tries before, while a row went or changed
// between two of its statements. It gives up after Settings.ConflictRetries tries, with a conflict
// that makes the client try again.
func (s *Service) retry(ctx context.Context, attempt func(try int) error) error {
	for try := 0; ; try++ {
		err := attempt(try)
		if !errors.Is(err, placement.ErrStale) && !errors.Is(err, placement.ErrNoRow) || ctx.Err() != nil {
			return err
		}
		if try+1 >= s.settings.ConflictRetries {
			return fault.New(fault.Conflict, placement.CodeConcurrentUpdate, "update conflict: %s", textProviderConcurrent)
		}
	}
}

// transact runs fn in a transaction and returns when the snapshot has what it
// wrote, or is known to lack it. A refusal waits as well: it may rest on a write
// that is committed and not in the snapshot yet, and a client that was refused must see
// why.
func (s *Service) transact(ctx context.Context, fn func(*tx) error) error {
	var done placement.Changes
	err := s.store.Update(ctx, s.settings.Now(), func(writer placement.Writer) error {
		t := &tx{Writer: writer, recorder: recorder{snapshot: s.snapshot.Load()}}
		err := fn(t)
		done = t.changes
		noted := done
		if err == nil {
			var events []placement.Event
			if events, err = t.collected(); len(events) > 0 {
				noted.Requests = []placement.RequestEvents{{Cause: s.cause(ctx), Events: events}}
			}
		}
		writer.Changed(noted)
		return err
	})
	// On a shared store Snapshot reads it in the change log before it answers,
	// with what others wrote: they may have seen it before it is known here.
	if !done.Empty() && !s.store.Shared() {
		// What is durable must be acknowledged even if it cannot be read
		// back now: Snapshot then fails until it can.
		s.refreshed(s.refreshHere(context.WithoutCancel(ctx), done))
	}
	return err
}

// cause returns the request that a context belongs to, as far as it is known.
func (s *Service) cause(ctx context.Context) placement.Cause {
	if s.settings.Cause == nil {
		return placement.Cause{}
	}
	return s.settings.Cause(ctx)
}

// refreshed reports the failure of a refresh whose caller is answered all the same. The end of a
// request is no failure: the refresh goes on.
func (s *Service) refreshed(err error) {
	if err != nil && !errors.Is(err, context.Canceled) && s.settings.RefreshFailed != nil {
		s.settings.RefreshFailed(err)
	}
}

// note adds changes that the next refresh is to bring in, and returns the version of pending
// that has them. A refresh that has attempted this version has brought the changes in, or failed
// to.
func (s *Service) note(done placement.Changes) (version uint64) {
	s.pending.Lock()
	defer s.pending.Unlock()
	s.pending.changes.Add(done)
	s.pending.version++
	s.collect(done)
	return s.pending.version
}

// errStoreUnavailable is what callers see when the snapshot cannot be brought up to date.
var errStoreUnavailable = fault.New(fault.Unavailable, "",
	"The database cannot be read at the moment. Please try again.")

// refreshTimeout bounds how long a refresh may wait for the store. Reading
// everything again takes as long as it takes: the store bounds its silence.
const refreshTimeout = 30 * time.Second

// refresh brings the changes into the snapshot, and those of other services on a
// shared store. Callers that come while another refresh runs are served together
// by the next one, and share its failure. It returns early when ctx ends; the
// refresh goes on for the others.
func (s *Service) refresh(ctx context.Context, done placement.Changes) error {
	mine := s.note(done)
	select {
	case s.refreshing <- struct{}{}:
	case <-ctx.Done():
		return ctx.Err()
	}
	if s.attempted >= mine {
		err := s.outcome
		<-s.refreshing
		return err
	}
	result := make(chan error, 1)
	go func() {
		err := s.refreshAll(context.WithoutCancel(ctx))
		<-s.refreshing
		result <- err
	}()
	select {
	case err := <-result:
		return err
	case <-ctx.Done():
		return ctx.Err()
	}
}

// refreshHere is refresh for a context that does not end. It runs the refresh on its own goroutine,
// which spares one on the path of each write.
func (s *Service) refreshHere(ctx context.Context, done placement.Changes) error {
	mine := s.note(done)
	s.refreshing <- struct{}{}
	defer func() { <-s.refreshing }()
	if s.attempted >= mine {
		return s.outcome
	}
	return s.refreshAll(ctx)
}

// refreshAll brings in all that is pending. Its caller owns refreshing. Changes that could not be
// read are pending again, with what other stores wrote, so that the next attempt has them. The
// versions up to upTo count as attempted either way: their callers get its error.
func (s *Service) refreshAll(ctx context.Context) (err error) {
	s.pending.Lock()
	batch, upTo := s.pending.changes, s.pending.version
	s.pending.changes = placement.Changes{}
	s.pending.Unlock()

	err = s.catchUp(ctx, &batch)
	if err != nil {
		s.pending.Lock()
		s.pending.changes.Add(batch)
		s.pending.Unlock()
		// The cause is for the log; the caller sees the fault alone.
		err = fmt.Errorf("refreshing the snapshot: %w (%v)", errStoreUnavailable, err)
	}
	s.stale.Store(err != nil)
	s.attempted, s.outcome = upTo, err
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
func (s *Service) catchUp(ctx context.Context, c *placement.Changes) (err error) {
	defer recovered(&err)
	bounded, cancel := context.WithTimeout(ctx, refreshTimeout)
	defer cancel()
	if s.store.Shared() {
		others, err := s.follower.Next(bounded)
		if err != nil {
			return err
		}
		s.pending.Lock()
		s.collect(others)
		s.pending.Unlock()
		if s.settings.ObserveOthers != nil && !others.Empty() {
			s.settings.ObserveOthers(others)
		}
		c.Add(others)
	}
	if c.All {
		return s.reload(ctx)
	}
	return s.apply(bounded, *c)
}

// apply publishes a new snapshot: with the changed trees that fit, and what else changed
// read from the store. Readers go on with the old snapshot until the new one is complete. The
// caller owns refreshing: no other refresh replaces the snapshot meanwhile.
func (s *Service) apply(ctx context.Context, c placement.Changes) error {
	if c.Empty() {
		return nil
	}
	changed, roots := s.snapshot.Load().WithChanges(c, s.settings.Now())
	if len(roots) == 0 && !c.Catalogs {
		s.snapshot.Store(changed)
		return nil
	}
	var next *snapshot.Snapshot
	err := s.store.View(ctx, func(r placement.Reader) error {
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
			next = next.WithTrees(roots, rows, s.settings.Now())
		}
		return err
	})
	if err == nil {
		s.snapshot.Store(next)
	}
	return err
}

// view runs fn on a consistent state of the store, for what the snapshot does
// not have: consumers and their allocations.
//
// On a shared store it follows first: that is when a server that is not the
// primary any more is noticed.
func (s *Service) view(ctx context.Context, fn func(placement.Reader) error) error {
	if s.store.Shared() {
		if err := s.follow(ctx); err != nil {
			return err
		}
	}
	return s.store.View(ctx, fn)
}

// orNoProvider turns a missing row into the fault of a provider that does not
// exist.
func orNoProvider(err error, uuid placement.UUID) error {
	if errors.Is(err, placement.ErrNoRow) {
		return placement.ErrNoProvider(uuid)
	}
	return err
}

// A storeMark is what Store.Others returns.
type storeMark struct {
	number int64
	known  bool
}

// mark reads who wrote to the database outside of this service. It is not known on a server, where
// Reconcile then always compares.
func (s *Service) mark(ctx context.Context) (m storeMark, err error) {
	m.number, m.known, err = s.store.Others(ctx)
	if err != nil {
		return storeMark{}, fmt.Errorf("reading who wrote to the store: %w", err)
	}
	return m, nil
}

// collect adds to what is collected. Its caller has locked pending.
func (s *Service) collect(c placement.Changes) {
	if s.pending.collected != nil {
		s.pending.collected.Add(c.AsRoots())
	}
}

// A drift is a checksum of the store and one of the snapshot that differ.
type drift struct{ store, snapshot placement.Checksum }

// drifts are those that the last comparison found, by the first id. Some do not go
// away by reading again: rows without a provider, which nothing shows, and what
// databases round or count in another way.
type drifts map[int64]drift
