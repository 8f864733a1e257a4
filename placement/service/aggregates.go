package service

import (
	"context"

	"github.com/berthcloud/berth/placement"
)

// SetAggregates makes a provider a member of exactly the given aggregates,
// which need not exist. With a generation it must be the provider's, and the
// provider's rises (microversion 1.19); without, nothing of that. It returns
// the generation after. It fails as NotFound, and as Conflict for another
// generation.
func (s *Service) SetAggregates(
	ctx context.Context, uuid placement.UUID, seen *placement.Generation, aggregates []placement.UUID,
) (placement.Generation, error) {
	var after placement.Generation
	err := s.update(ctx, func(t *tx) error {
		p, err := t.provider(uuid)
		if err != nil {
			return orNoProvider(err, uuid)
		}
		if seen != nil && p.Generation != *seen {
			return errGenerationChanged()
		}
		if seen == nil {
			// No generation is compared: another transaction may be deleting it.
			if err := t.LockProvider(p.ID); err != nil {
				return err
			}
		}
		if err := t.setAggregates(p, aggregates); err != nil {
			return err
		}
		after = p.Generation
		if seen == nil {
			return nil
		}
		after++
		return t.bump(p)
	})
	return after, err
}

// setAggregates makes the links of a provider those that are wanted, in the fewest writes. An
// aggregate without members keeps its row as in upstream.
func (t *tx) setAggregates(p placement.ProviderRow, want []placement.UUID) error {
	rows, err := t.ProviderAggregates(p.ID)
	if err != nil {
		return err
	}
	var have []placement.UUID
	ids := make(map[placement.UUID]placement.AggregateID, len(rows))
	for _, r := range rows {
		have = append(have, r.UUID)
		ids[r.UUID] = r.ID
	}
	add, remove := difference(have, want)
	removed := make([]placement.AggregateID, 0, len(remove))
	for _, uuid := range remove {
		removed = append(removed, ids[uuid])
	}
	if err := t.RemoveProviderAggregates(p.ID, removed...); err != nil {
		return err
	}
	return t.AddProviderAggregates(p.ID, add...)
}
