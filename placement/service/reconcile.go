package service

import (
	"context"
	"fmt"

	"github.com/berthcloud/berth/placement"
	"github.com/berthcloud/berth/placement/snapshot"
)

// Reconcile compares the snapshot with the store and reads again what differs: what was written by
// programs that do not append to the change log, such as upstream's service on the same database,
// or by hand. It returns how many trees it read again because of these, as far as it is known: a
// checksum covers placement.ChecksumSize ids of providers, and those that services wrote to
// meanwhile are not counted. Where the database shows that no other program wrote since the last
// call, or since the start, nothing is compared (Store.Others). It fails as Snapshot does. Calls
// run one after the other.
func (s *Service) Reconcile(ctx context.Context) (trees int, err error) {
	s.reconciling.Lock()
	defer s.reconciling.Unlock()
	defer recovered(&err)
	meanwhile := s.startCollecting()
	defer s.stopCollecting()
	if _, err := s.Snapshot(ctx); err != nil {
		return 0, err
	}
	now, err := s.mark(ctx) // before the comparison: what is written meanwhile counts the next time
	if err != nil || now.known && now == s.reconciled {
		return 0, err
	}
	var found differences
	err = s.store.View(ctx, func(r placement.Reader) (err error) {
		found, err = s.compare(r)
		return err
	})
	if err != nil {
		return 0, fmt.Errorf("comparing the snapshot with the store: %w", err)
	}
	// Before the refresh: it counts as a change itself.
	trees = found.foreign(meanwhile())
	if c := found.changes(); !c.Empty() {
		err = s.refresh(ctx, c)
	}
	if err == nil {
		s.drifts, s.reconciled = found.drifts, now
	}
	return trees, err
}

// startCollecting begins to collect what this service writes and what it reads in the change log,
// and returns a function that returns what there was so far. Roots are collected and not trees:
// what is compared are the ids of trees. The caller holds the lock reconciling, so that there is
// one collection at a time.
func (s *Service) startCollecting() (soFar func() placement.Changes) {
	s.pending.Lock()
	defer s.pending.Unlock()
	s.pending.collected = new(placement.Changes)
	return func() (c placement.Changes) {
		s.pending.Lock()
		defer s.pending.Unlock()
		c.Add(*s.pending.collected)
		return c
	}
}

// stopCollecting ends it.
func (s *Service) stopCollecting() {
	s.pending.Lock()
	defer s.pending.Unlock()
	s.pending.collected = nil
}

// differences are where the snapshot is not as the store.
type differences struct {
	catalogs bool
	roots    map[int64]*placement.Changes // the trees behind each checksum that differs
	drifts   drifts
}

// changes are what to read again.
func (d differences) changes() placement.Changes {
	all := placement.Changes{Catalogs: d.catalogs}
	for _, c := range d.roots {
		all.Add(*c)
	}
	return all
}

// foreign counts the trees behind checksums in which none of the given changes is. A checksum
// covers several trees: when this service wrote to one of them the difference may be its own, and
// none of them is counted.
func (d differences) foreign(known placement.Changes) (trees int) {
	for _, c := range d.roots {
		ours := known.All
		for root := range c.Roots {
			ours = ours || known.Roots[root]
		}
		if !ours {
			trees += len(c.Roots)
		}
	}
	return trees
}

// compare says what of the snapshot is not as in the store, but for what was not
// either when it was read the last time. What is written while it looks may be
// among them, which does no harm.
func (s *Service) compare(r placement.Reader) (d differences, err error) {
	classes, traits, err := catalogs(r)
	if err != nil {
		return d, err
	}
	rows, err := r.Checksums()
	if err != nil {
		return d, err
	}
	snap := s.snapshot.Load()
	d.catalogs = !snap.Classes().Same(classes) || !snap.Traits().Same(traits)
	news, all := s.drifts.compare(rows, snap.Checksums())
	d.drifts, d.roots = all, make(map[int64]*placement.Changes, len(news))
	for first := range news {
		roots, err := r.RootsBetween(first, first+placement.ChecksumSize)
		if err != nil {
			return d, err
		}
		d.roots[first] = new(placement.Changes)
		for _, root := range roots {
			d.roots[first].Tree(root)
		}
	}
	if len(news) > 0 {
		addRoots(d.roots, snap)
	}
	return d, nil
}

// compare returns the checksums that differ and did not differ in just this way
// before, and all that do. It consumes the map of the snapshot's checksums: what is left in it are
// providers that the store does not have.
func (o drifts) compare(
	store []placement.Checksum, snapshot map[int64]placement.Checksum,
) (news map[int64]bool, found drifts) {
	news, found = make(map[int64]bool), make(drifts)
	note := func(now drift, first int64) {
		if found[first] = now; o[first] != now {
			news[first] = true
		}
	}
	for _, d := range store {
		if snapshot[d.First] != d {
			note(drift{d, snapshot[d.First]}, d.First)
		}
		delete(snapshot, d.First)
	}
	for first, d := range snapshot { // all of their providers are deleted
		note(drift{snapshot: d}, first)
	}
	return news, found
}

// addRoots adds the roots of the providers that a snapshot has in some checksums. Providers
// that were deleted in the store are in the snapshot only: RootsBetween does not find their trees.
func addRoots(byChecksum map[int64]*placement.Changes, snap *snapshot.Snapshot) {
	for t := range snap.Trees() {
		for _, p := range t.Providers {
			if c := byChecksum[p.ID-p.ID%placement.ChecksumSize]; c != nil {
				c.Tree(t.Root().ID)
			}
		}
	}
}
