package placement

import (
	"context"
	"errors"

	"github.com/berthcloud/berth/fault"
)

// A Claim is all that one consumer is to hold from now on; without allocations
// the consumer is to go.
type Claim struct {
	Consumer UUID
	// Project and User own the consumer. When Project is empty the
	// configured stand-ins do (clients before microversion 1.8).
	Project, User string
	// Type is the consumer type, empty to leave it as it is (clients before
	// microversion 1.38).
	Type string
	// Seen is what the client knows of the consumer, nil when it need not
	// say (before microversion 1.28).
	Seen        *ConsumerSeen
	Allocations []ProviderAllocation
}

// ConsumerSeen is what a client knows of a consumer: that it does not exist,
// or its generation.
type ConsumerSeen struct {
	Exists     bool
	Generation Generation
	// Spelled is how the client wrote the generation where that differs from
	// its digits; conflicts repeat it.
	Spelled string
}

// A ProviderAllocation is what a consumer holds on one provider.
type ProviderAllocation struct {
	Provider  UUID
	Resources []ClassAmount
}

// SetAllocations makes a consumer hold exactly what the claim says. Providers
// named in the claim rise by one generation, and so does the consumer. It fails
// as Invalid for unknown providers and classes, and as Conflict for another
// consumer generation and when a provider has no such inventory or not enough
// of it. A failed claim changes nothing.
func (s *Service) SetAllocations(ctx context.Context, c Claim) error {
	var a alone
	if c = s.owned(c); s.ordinary(c) {
		if err := s.together(ctx, &batchRequest{Claim: c}); !errors.As(err, &a) {
			s.observe(outcome(err))
			return err
		}
	}
	return s.claim(ctx, a.tries, func(t *tx) error {
		return s.describe(t.setAllocations(s, c), "Unable to allocate inventory for consumer "+string(c.Consumer)+": ")
	})
}

// SetManyAllocations is SetAllocations for several consumers at once: all of it
// or nothing, and capacity counts the sum.
func (s *Service) SetManyAllocations(ctx context.Context, cs []Claim) error {
	return s.claim(ctx, 0, func(t *tx) error {
		return s.describe(t.setAllocations(s, cs...), "Unable to allocate inventory ")
	})
}

// describe turns the rules' findings into faults; unknown classes are told
// after the given words.
func (s *Service) describe(err error, unknownPrefix string) error {
	var unknown unknownClass
	var refused refusedClaim
	switch {
	case errors.As(err, &unknown):
		return fault.New(fault.Invalid, "", "%s%s", unknownPrefix, unknown)
	case errors.As(err, &refused):
		return fault.New(fault.Conflict, "", "Unable to allocate inventory: %s", refused)
	}
	return err
}

// claim runs a transaction that allocates, again when a generation changed
// under it, and tells the observer. It has been tried so often before.
func (s *Service) claim(ctx context.Context, tries int, fn func(*tx) error) error {
	for try := tries; ; try++ {
		err := s.transact(ctx, fn)
		if !errors.Is(err, ErrStale) && !errors.Is(err, ErrNoRow) {
			s.observe(outcome(err))
			return err
		}
		if try+1 >= s.settings.ConflictRetries || ctx.Err() != nil {
			s.observe(ClaimConflict)
			return fault.New(fault.Conflict, CodeConcurrentUpdate,
				"Inventory and/or allocations changed while attempting to allocate: %s", textProviderConcurrent)
		}
		s.observe(ClaimRetried)
	}
}

func outcome(err error) ClaimEvent {
	switch kind, code := fault.Of(err); {
	case err == nil:
		return ClaimAccepted
	case code == CodeConcurrentUpdate:
		return ClaimConflict
	case kind == fault.Internal || kind == fault.Unavailable:
		return ClaimFailed
	}
	return ClaimRefused
}

func (s *Service) observe(e ClaimEvent) {
	if s.settings.Observe != nil {
		s.settings.Observe(e)
	}
}

// DeleteAllocations removes all that a consumer holds, and the consumer. No
// provider's generation rises. It fails as NotFound when it holds nothing.
func (s *Service) DeleteAllocations(ctx context.Context, consumer UUID) error {
	err := s.together(ctx, &batchRequest{Claim: Claim{Consumer: consumer}, release: true})
	if !errors.As(err, new(alone)) {
		return err
	}
	return s.update(ctx, func(t *tx) error {
		row, err := t.Consumer(consumer)
		if err != nil && !errors.Is(err, ErrNoRow) {
			return err
		}
		holds, err2 := t.AllocationsOf(consumer)
		if err2 != nil {
			return err2
		}
		if len(holds) == 0 || err != nil {
			return fault.New(fault.NotFound, "", "No allocations for consumer '%s'", consumer)
		}
		if err := t.touch(holds); err != nil {
			return err
		}
		if _, err := t.Writer.DeleteAllocations(consumer); err != nil {
			return err
		}
		return t.DeleteConsumer(row.ID, row.Generation)
	})
}

// A Holding is what one consumer holds, with the consumer itself. A consumer
// that does not exist holds nothing and is the zero ConsumerRow.
type Holding struct {
	Consumer    ConsumerRow
	Allocations []AllocationRow
}

// AllocationsOf returns what a consumer holds.
func (s *Service) AllocationsOf(ctx context.Context, consumer UUID) (Holding, error) {
	var h Holding
	err := s.view(ctx, func(r Reader) (err error) {
		h, err = r.Holding(consumer)
		return err
	})
	return h, err
}

// AllocationsOn returns what is held on a provider and the provider's
// generation at that moment. It fails as NotFound.
func (s *Service) AllocationsOn(ctx context.Context, uuid UUID) ([]AllocationRow, Generation, error) {
	var rows []AllocationRow
	var g Generation
	err := s.view(ctx, func(r Reader) (err error) {
		rows, g, err = r.HeldOn(uuid)
		return orNoProvider(err, uuid)
	})
	return rows, g, err
}

// ProjectUsage sums what the consumers of a project hold, of one of its users
// when user is not empty.
func (s *Service) ProjectUsage(ctx context.Context, project, user string) (ProjectUsage, error) {
	var u ProjectUsage
	err := s.view(ctx, func(r Reader) (err error) {
		u, err = r.ProjectUsage(project, user)
		return err
	})
	return u, err
}
