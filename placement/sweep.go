package placement

import (
	"context"
	"fmt"
	"slices"
)

// Sweep compares the world with the store and takes over what differs: what
// programs wrote that do not keep the change log, such as upstream's service
// beside this one, or a hand-typed UPDATE. It returns how many trees it read
// again. It fails as World does.
func (s *Service) Sweep(ctx context.Context) (trees int, err error) {
	if _, err := s.World(ctx); err != nil {
		return 0, err
	}
	var found Changes
	err = s.store.View(ctx, func(r Reader) (err error) {
		found, err = s.differences(r)
		return err
	})
	if err != nil {
		return 0, fmt.Errorf("comparing the world with the store: %w", err)
	}
	if found.Empty() {
		return 0, nil
	}
	return len(found.Roots), s.refresh(ctx, found)
}

// differences says what of the world is not as in the store. What is written
// while it looks may be among them, which does no harm.
func (s *Service) differences(r Reader) (Changes, error) {
	var found Changes
	classes, traits, err := catalogs(r)
	if err != nil {
		return found, err
	}
	rows, err := r.Digests()
	if err != nil {
		return found, err
	}
	w := s.world.Load()
	found.Catalogs = !w.classes.same(classes) || !w.traits.same(traits)
	mine := w.Digests()
	differ := make(map[int64]bool)
	for _, d := range rows {
		if mine[d.First] != d {
			differ[d.First] = true
		}
		delete(mine, d.First)
	}
	for first := range mine { // all of their providers are gone
		differ[first] = true
	}
	for first := range differ {
		roots, err := r.RootsBetween(first, first+DigestSize)
		if err != nil {
			return found, err
		}
		for _, root := range roots {
			found.Tree(root)
		}
	}
	if len(differ) > 0 {
		w.rootsIn(differ, &found)
	}
	return found, nil
}

// rootsIn adds the roots of the providers in some digests.
func (w *World) rootsIn(digests map[int64]bool, found *Changes) {
	for t := range w.Trees() {
		if slices.ContainsFunc(t.Providers, func(p *Provider) bool { return digests[p.ID-p.ID%DigestSize] }) {
			found.Tree(t.Root().ID)
		}
	}
}
