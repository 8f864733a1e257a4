package placement

import (
	"context"
	"fmt"
	"slices"
)

// Sweep compares the world with the store and takes over what differs: what
// programs wrote that do not keep the change log, such as upstream's service
// beside this one, or a hand-typed UPDATE. It returns how many trees it read
// again; some of them may be those that this service wrote meanwhile. It fails
// as World does.
func (s *Service) Sweep(ctx context.Context) (trees int, err error) {
	s.sweeping.Lock()
	defer s.sweeping.Unlock()
	defer recovered(&err)
	if _, err := s.World(ctx); err != nil {
		return 0, err
	}
	var found Changes
	var odd oddities
	err = s.store.View(ctx, func(r Reader) (err error) {
		found, odd, err = s.differences(r)
		return err
	})
	if err != nil {
		return 0, fmt.Errorf("comparing the world with the store: %w", err)
	}
	if !found.Empty() {
		err = s.refresh(ctx, found)
	}
	if err == nil {
		s.odd = odd
	}
	return len(found.Roots), err
}

// differences says what of the world is not as in the store, but for what was
// not either when it was read the last time. What is written while it looks may
// be among them, which does no harm.
func (s *Service) differences(r Reader) (Changes, oddities, error) {
	var found Changes
	classes, traits, err := catalogs(r)
	if err != nil {
		return found, nil, err
	}
	rows, err := r.Digests()
	if err != nil {
		return found, nil, err
	}
	w := s.world.Load()
	found.Catalogs = !w.classes.same(classes) || !w.traits.same(traits)
	differ, odd := s.odd.news(rows, w.Digests())
	for first := range differ {
		roots, err := r.RootsBetween(first, first+DigestSize)
		if err != nil {
			return found, nil, err
		}
		for _, root := range roots {
			found.Tree(root)
		}
	}
	if len(differ) > 0 {
		w.rootsIn(differ, &found)
	}
	return found, odd, nil
}

// An oddity is a digest of the store and one of the world that differ.
type oddity struct{ store, world Digest }

// oddities are those that the last sweep found, by the first id. Some do not go
// away by reading again: rows without a provider, which nothing shows, and what
// databases round or count in another way.
type oddities map[int64]oddity

// news returns the digests that differ and did not differ in just this way
// before, and all that do.
func (o oddities) news(store []Digest, world map[int64]Digest) (news map[int64]bool, found oddities) {
	news, found = make(map[int64]bool), make(oddities)
	note := func(now oddity, first int64) {
		if found[first] = now; o[first] != now {
			news[first] = true
		}
	}
	for _, d := range store {
		if world[d.First] != d {
			note(oddity{d, world[d.First]}, d.First)
		}
		delete(world, d.First)
	}
	for first, d := range world { // all of their providers are gone
		note(oddity{world: d}, first)
	}
	return news, found
}

// rootsIn adds the roots of the providers in some digests.
func (w *World) rootsIn(digests map[int64]bool, found *Changes) {
	for t := range w.Trees() {
		if slices.ContainsFunc(t.Providers, func(p *Provider) bool { return digests[p.ID-p.ID%DigestSize] }) {
			found.Tree(t.Root().ID)
		}
	}
}
