// Package service is the placement service: it decides on writes, puts them into the store and
// keeps the snapshot that reads are answered from. It does not search for candidates.
//
// # Reading
//
// Service.Snapshot is what GET requests are answered from. On a shared database it first reads the
// change log, so that it has every write that was acknowledged before, by any service
// (publisher.go). Consumers and their allocations are not in the snapshot: view reads them in the
// store.
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
	store     placement.Store
	settings  Settings
	publisher *publisher // of the snapshot
	claims    func(context.Context, time.Time, *claimRequest) error
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
	// RefreshFailed, when not nil, is called with the reason why the snapshot could not be brought
	// up to date after something was committed. Requests that are answered from it fail until it
	// can.
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
		s.publisher.add(found)
		snap, err = s.Snapshot(ctx)
	}
	return snap, err
}

// Snapshot returns a snapshot that has every write acknowledged before the call, by
// this or, on a shared store, any other service. It fails as unavailable when
// such a snapshot cannot be had.
func (s *Service) Snapshot(ctx context.Context) (*snapshot.Snapshot, error) {
	return s.publisher.fresh(ctx)
}

// ChangeLog is the change log of the store.
func (s *Service) ChangeLog() changelog.Log { return s.store.ChangeLog() }

// Ready returns the newest snapshot there is and why requests cannot be answered from it, nil
// when they can. It does not touch the store.
func (s *Service) Ready() (*snapshot.Snapshot, error) { return s.publisher.ready() }

// Reconcile compares the snapshot with the store and reads again what differs: what was written by
// programs that do not append to the change log, such as upstream's service on the same database,
// or by hand. It returns how many trees it read again because of these, as far as it is known: a
// checksum covers placement.ChecksumSize ids of providers, and those that services wrote to
// meanwhile are not counted. Where the database shows that no other program wrote since the last
// call, or since the start, nothing is compared (Store.Others). It fails as Snapshot does. Calls
// run one after the other.
func (s *Service) Reconcile(ctx context.Context) (trees int, err error) {
	return s.publisher.reconcile(ctx)
}

// A tx is a store's transaction that notes what it touches. Its Writer is the recorder.
type tx struct {
	placement.Writer
	changes  placement.Changes
	recorder *recordingWriter
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
	}
	return p, err
}

// bump raises a provider's generation from the one that was read. The row was locked when it was
// read, where the database has such locks; the comparison is what protects it where it was not.
func (t *tx) bump(p placement.ProviderRow) error {
	err := t.BumpProvider(p.ID, p.Generation)
	if errors.Is(err, placement.ErrStale) {
		return fault.New(fault.Conflict, placement.CodeConcurrentUpdate, "%s: %s", textUpdateConflict,
			textProviderConcurrent)
	}
	return err
}

// update is transact, run again when a row went or changed between two of its
// statements: what comes of that is known only to a new run. fn must not keep anything from an
// earlier run.
func (s *Service) update(ctx context.Context, fn func(*tx) error) error {
	return s.retry(ctx, textUpdateConflict, func(int) error { return s.transact(ctx, fn) })
}

// retry calls attempt again, with the number of tries before, while a row was deleted or changed
// between two of its statements. There are [placement]allocation_conflict_retry_count tries in all,
// fewer when ctx has ended; then the client gets a 409 with CodeConcurrentUpdate, whose text begins
// with conflict.
func (s *Service) retry(ctx context.Context, conflict string, attempt func(try int) error) error {
	for try := 0; ; try++ {
		err := attempt(try)
		if !errors.Is(err, placement.ErrStale) && !errors.Is(err, placement.ErrNoRow) {
			return err
		}
		if try+1 >= s.settings.ConflictRetries || ctx.Err() != nil {
			return fault.New(fault.Conflict, placement.CodeConcurrentUpdate, "%s: %s", conflict, textProviderConcurrent)
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
		recorder := newRecordingWriter(writer, s.publisher.current.Load())
		t := &tx{Writer: recorder, recorder: recorder}
		err := fn(t)
		done = t.changes
		noted := done
		if err == nil {
			var events []placement.Event
			if events, err = recorder.allEvents(); len(events) > 0 {
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
		s.publisher.publish(ctx, done)
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

// view runs fn on a consistent state of the store, for what the snapshot does
// not have: consumers and their allocations.
func (s *Service) view(ctx context.Context, fn func(placement.Reader) error) error {
	if err := s.follow(ctx); err != nil {
		return err
	}
	return s.store.View(ctx, fn)
}

// read is view for one call of the reader (placement.Store's Read).
func (s *Service) read(ctx context.Context, fn func(placement.Reader) error) error {
	if err := s.follow(ctx); err != nil {
		return err
	}
	return s.store.Read(ctx, fn)
}

// follow is what precedes reading the store: on a shared one it shows whether the server is still
// the primary.
func (s *Service) follow(ctx context.Context) error {
	if !s.store.Shared() {
		return nil
	}
	return s.publisher.follow(ctx)
}

// orNoProvider turns a missing row into the fault of a provider that does not
// exist.
func orNoProvider(err error, uuid placement.UUID) error {
	if errors.Is(err, placement.ErrNoRow) {
		return placement.ErrNoProvider(uuid)
	}
	return err
}
