package service

import (
	"context"
	"fmt"

	"github.com/berthcloud/berth/placement"
	"github.com/berthcloud/berth/placement/snapshot"
)

// reconcile is Service.Reconcile.
func (p *publisher) reconcile(ctx context.Context) (trees int, err error) {
	p.reconciling.Lock()
	defer p.reconciling.Unlock()
	defer recovered(&err)
	concurrent := p.startCollecting()
	defer p.stopCollecting()
	if _, err := p.fresh(ctx); err != nil {
		return 0, err
	}
	version, err := p.dataVersion(ctx) // before the comparison: what is written meanwhile counts the next time
	if err != nil || version.known && version == p.reconciled {
		return 0, err
	}
	var found differences
	err = p.store.View(ctx, func(r placement.Reader) (err error) {
		found, err = p.compare(r)
		return err
	})
	if err != nil {
		return 0, fmt.Errorf("comparing the snapshot with the store: %w", err)
	}
	// Before the refresh: it counts as a change itself.
	trees = found.external(concurrent())
	if c := found.changes(); !c.Empty() {
		err = p.refresh(ctx, c)
	}
	if err == nil {
		p.drifts, p.reconciled = found.drifts, version
	}
	return trees, err
}

// startCollecting begins to collect what this service writes and what it reads in the change log,
// and returns a function that returns what there was so far. Roots are collected and not trees:
// what is compared are the ids of trees. The caller holds the lock reconciling, so that there is
// one collection at a time.
func (p *publisher) startCollecting() (soFar func() placement.Changes) {
	p.pending.Lock()
	defer p.pending.Unlock()
	p.pending.concurrent = new(placement.Changes)
	return func() (c placement.Changes) {
		p.pending.Lock()
		defer p.pending.Unlock()
		c.Add(*p.pending.concurrent)
		return c
	}
}

// stopCollecting ends it.
func (p *publisher) stopCollecting() {
	p.pending.Lock()
	defer p.pending.Unlock()
	p.pending.concurrent = nil
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

// external counts the trees of checksums in which none of the given changes is. A checksum
// covers several trees: when this service wrote to one of them the difference may be its own, and
// none of them is counted.
func (d differences) external(known placement.Changes) (trees int) {
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
func (p *publisher) compare(r placement.Reader) (d differences, err error) {
	classes, traits, err := catalogs(r)
	if err != nil {
		return d, err
	}
	rows, err := r.Checksums()
	if err != nil {
		return d, err
	}
	snap := p.current.Load()
	d.catalogs = !snap.Classes().Same(classes) || !snap.Traits().Same(traits)
	changed, all := p.drifts.compare(rows, snap.Checksums())
	d.drifts, d.roots = all, make(map[int64]*placement.Changes, len(changed))
	for first := range changed {
		roots, err := r.RootsBetween(first, first+placement.ChecksumSize)
		if err != nil {
			return d, err
		}
		d.roots[first] = new(placement.Changes)
		for _, root := range roots {
			d.roots[first].Tree(root)
		}
	}
	if len(changed) > 0 {
		addRoots(d.roots, snap)
	}
	return d, nil
}

// compare returns the checksums that differ and did not differ in just this way
// before, and all that do. It consumes the map of the snapshot's checksums: what remains in it are
// providers that the store does not have.
func (o drifts) compare(
	store []placement.Checksum, snapshot map[int64]placement.Checksum,
) (changed map[int64]bool, found drifts) {
	changed, found = make(map[int64]bool), make(drifts)
	add := func(d drift, first int64) {
		if found[first] = d; o[first] != d {
			changed[first] = true
		}
	}
	for _, d := range store {
		if snapshot[d.First] != d {
			add(drift{d, snapshot[d.First]}, d.First)
		}
		delete(snapshot, d.First)
	}
	for first, d := range snapshot { // all of their providers are deleted
		add(drift{snapshot: d}, first)
	}
	return changed, found
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

// A drift is a checksum of the store and one of the snapshot that differ.
type drift struct{ store, snapshot placement.Checksum }

// drifts are those that the last comparison found, by the first id. Some do not go
// away by reading again: rows without a provider, which nothing shows, and what
// databases round or count in another way.
type drifts map[int64]drift

// A dataVersion is what Store.Others returns.
type dataVersion struct {
	number int64
	known  bool
}

// dataVersion reads who wrote to the database outside of this service. It is not known on a server,
// where reconcile then always compares.
func (p *publisher) dataVersion(ctx context.Context) (v dataVersion, err error) {
	v.number, v.known, err = p.store.Others(ctx)
	if err != nil {
		return dataVersion{}, fmt.Errorf("reading who wrote to the store: %w", err)
	}
	return v, nil
}
