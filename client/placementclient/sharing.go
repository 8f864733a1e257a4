package placementclient

import (
	"context"
	"errors"
	"maps"
	"slices"

	"github.com/berthcloud/berth/allocations"
	"github.com/berthcloud/berth/compute"
	computerequest "github.com/berthcloud/berth/compute/request"
	"github.com/berthcloud/berth/placement"
	"github.com/berthcloud/berth/placement/providertree"
)

// Sharing is compute.Placement's.
func (c *Compute) Sharing(
	ctx context.Context, root compute.ID, allocated allocations.Amounts,
) (all []computerequest.Shared, err error) {
	outside := maps.Clone(allocated)
	if delete(outside, string(root)); len(outside) == 0 { // nothing to read
		return nil, nil
	}
	tree, err := c.list(ctx, "in_tree", string(root))
	if err != nil {
		return nil, err
	}
	if !slices.ContainsFunc(tree, func(p providertree.Provider) bool { return string(p.ID) == string(root) }) {
		return nil, nil // without the tree it is not known what is outside of it
	}
	for _, p := range tree {
		delete(outside, string(p.ID))
	}
	for _, provider := range slices.Sorted(maps.Keys(outside)) {
		shared, err := c.shared(ctx, placement.UUID(provider))
		switch {
		case errors.Is(err, allocations.ErrNoProvider), errors.Is(err, allocations.ErrGeneration): // it was deleted
		case err != nil:
			return nil, err
		case slices.Contains(shared.Traits, placement.SharesViaAggregate):
			shared.Amounts = maps.Clone(allocated[provider])
			all = append(all, shared)
		}
	}
	return all, nil
}

// shared reads a provider, of one that does not share its traits only.
func (c *Compute) shared(ctx context.Context, id placement.UUID) (s computerequest.Shared, err error) {
	var traits wireTraits
	if err := c.get(ctx, providerPath(string(id))+"/traits", &traits); err != nil {
		return s, asConcurrentChange(err)
	}
	s.Provider, s.Traits = id, traits.Traits
	if !slices.Contains(s.Traits, placement.SharesViaAggregate) {
		return s, nil
	}
	if s.Aggregates, err = c.Aggregates(ctx, compute.ID(id)); err == nil {
		s.Inventories, err = c.inventories(ctx, id)
	}
	if err == nil {
		s.Used, err = c.Used(ctx, id)
	}
	return s, err
}
