package service

import (
	"context"
	"fmt"

	"github.com/berthcloud/berth/placement"
	"github.com/berthcloud/berth/placement/snapshot"
)

// Sweep compares the snapshot with the store and takes over what differs: what
// programs wrote that do not keep the change log, such as upstream's service
// beside this one, or a hand-typed UPDATE. It returns how many trees it read
// again because of such, as far as it can tell: a digest covers many, and of
// those that services wrote to meanwhile it says nothing. Where the database tells
// that nobody else wrote since the last time, or since the start, nothing is
// compared. It fails as Snapshot does.
func (s *Service) Sweep(ctx context.Context) (trees int, err error) {
	s.sweeping.Lock()
	defer s.sweeping.Unlock()
	defer recovered(&err)
	meanwhile := s.watch()
	defer s.unwatch()
	if _, err := s.Snapshot(ctx); err != nil {
		return 0, err
	}
	now, err := s.mark(ctx) // before: who writes meanwhile counts
	if err != nil || now.told && now == s.swept {
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
		s.odd, s.swept = found.odd, now
	}
	return trees, err
}

// A storeMark is what Store.Others returns.
type storeMark struct {
	number int64
	told   bool
}

func (s *Service) mark(ctx context.Context) (m storeMark, err error) {
	m.number, m.told, err = s.store.Others(ctx)
	if err != nil {
		return storeMark{}, fmt.Errorf("asking the store who wrote: %w", err)
	}
	return m, nil
}

// watch begins to collect what this service writes and what it learns of others,
// and returns a function that tells what there was so far. Unwatch ends it.
func (s *Service) watch() (soFar func() placement.Changes) {
	s.pending.Lock()
	defer s.pending.Unlock()
	s.pending.watched = new(placement.Changes)
	return func() (c placement.Changes) {
		s.pending.Lock()
		defer s.pending.Unlock()
		c.Add(*s.pending.watched)
		return c
	}
}

func (s *Service) unwatch() {
	s.pending.Lock()
	defer s.pending.Unlock()
	s.pending.watched = nil
}

// saw adds to what a sweep collects. Its caller holds the lock.
func (s *Service) saw(c placement.Changes) {
	if s.pending.watched != nil {
		s.pending.watched.Add(c.Plain())
	}
}

// differences are where the snapshot is not as the store.
type differences struct {
	catalogs bool
	roots    map[int64]*placement.Changes // the trees behind each digest that differs
	odd      oddities
}

// changes are what to read again.
func (d differences) changes() placement.Changes {
	all := placement.Changes{Catalogs: d.catalogs}
	for _, c := range d.roots {
		all.Add(*c)
	}
	return all
}

// foreign counts the trees behind digests in which none of the given changes is.
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
	rows, err := r.Digests()
	if err != nil {
		return d, err
	}
	w := s.snapshot.Load()
	d.catalogs = !w.Classes().Same(classes) || !w.Traits().Same(traits)
	news, odd := s.odd.news(rows, w.Digests())
	d.odd, d.roots = odd, make(map[int64]*placement.Changes, len(news))
	for first := range news {
		roots, err := r.RootsBetween(first, first+placement.DigestSize)
		if err != nil {
			return d, err
		}
		d.roots[first] = new(placement.Changes)
		for _, root := range roots {
			d.roots[first].Tree(root)
		}
	}
	if len(news) > 0 {
		addRoots(d.roots, w)
	}
	return d, nil
}

// An oddity is a digest of the store and one of the snapshot that differ.
type oddity struct{ store, snapshot placement.Digest }

// oddities are those that the last sweep found, by the first id. Some do not go
// away by reading again: rows without a provider, which nothing shows, and what
// databases round or count in another way.
type oddities map[int64]oddity

// news returns the digests that differ and did not differ in just this way
// before, and all that do.
func (o oddities) news(store []placement.Digest, snapshot map[int64]placement.Digest) (news map[int64]bool, found oddities) {
	news, found = make(map[int64]bool), make(oddities)
	note := func(now oddity, first int64) {
		if found[first] = now; o[first] != now {
			news[first] = true
		}
	}
	for _, d := range store {
		if snapshot[d.First] != d {
			note(oddity{d, snapshot[d.First]}, d.First)
		}
		delete(snapshot, d.First)
	}
	for first, d := range snapshot { // all of their providers are gone
		note(oddity{snapshot: d}, first)
	}
	return news, found
}

// addRoots adds the roots of the providers that a snapshot has in some digests.
func addRoots(digests map[int64]*placement.Changes, w *snapshot.Snapshot) {
	for t := range w.Trees() {
		for _, p := range t.Providers {
			if c := digests[p.ID-p.ID%placement.DigestSize]; c != nil {
				c.Tree(t.Root().ID)
			}
		}
	}
}
