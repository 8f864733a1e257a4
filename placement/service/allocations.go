package service

import (
	"context"
	"errors"
	"slices"

	"github.com/berthcloud/berth/fault"
	"github.com/berthcloud/berth/placement"
)

// SetAllocations replaces all allocations of a consumer by those of the claim. Providers
// named in the claim rise by one generation, and so does the consumer. It fails
// as Invalid for unknown providers and classes, and as Conflict for another
// consumer generation and when a provider has no such inventory or not enough
// of it. A failed claim changes nothing.
func (s *Service) SetAllocations(ctx context.Context, c placement.Claim) error {
	return s.claimTogether(ctx, "Unable to allocate inventory for consumer "+string(c.Consumer)+": ", c)
}

// SetManyAllocations is SetAllocations for several consumers at once: all of it
// or nothing, and capacity counts the sum.
func (s *Service) SetManyAllocations(ctx context.Context, cs []placement.Claim) error {
	return s.claimTogether(ctx, "Unable to allocate inventory ", cs...)
}

// claimTogether writes claims as one request. Unknown classes are reported behind the prefix. The
// first try decides on the snapshot where it can; after a conflict the next ones read rows under
// locks, since a snapshot that was stale once may be so again.
func (s *Service) claimTogether(ctx context.Context, unknownPrefix string, claims ...placement.Claim) error {
	r := &claimRequest{claims: s.owned(claims), cause: s.cause(ctx)}
	return s.claim(ctx, func(try int) error {
		r.rows = try > 0
		return s.describe(s.writeTogether(ctx, r), unknownPrefix)
	})
}

// owned fills in the stand-ins of claims that do not say who owns them.
func (s *Service) owned(claims []placement.Claim) []placement.Claim {
	claims = slices.Clone(claims)
	for i := range claims {
		if claims[i].Project == "" {
			claims[i].Project, claims[i].User = s.settings.IncompleteProject, s.settings.IncompleteUser
		}
	}
	return claims
}

// describe turns the rules' findings into faults; unknown classes are reported
// after the given words. Other errors, among them ErrStale and ErrNoRow, on which retry tries
// again, pass unchanged.
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

// claim is retry for an attempt that claims, and reports the tries and the outcome to the observer.
// There is no pause between tries, as in upstream's objects.allocation.replace_all.
func (s *Service) claim(ctx context.Context, attempt func(try int) error) error {
	const conflict = "Inventory and/or allocations changed while attempting to allocate"
	err := s.retry(ctx, conflict, func(try int) error {
		if try > 0 {
			s.observe(ClaimRetried)
		}
		return attempt(try)
	})
	s.observe(claimEvent(err))
	return err
}

// claimEvent is the event of a claim that ended with err. A generation that the client named and
// that was not the current one is a conflict as well, not a refusal.
func claimEvent(err error) ClaimEvent {
	switch kind, code := fault.Of(err); {
	case err == nil:
		return ClaimAccepted
	case code == placement.CodeConcurrentUpdate:
		return ClaimConflict
	case kind == fault.Internal || kind == fault.Unavailable:
		return ClaimFailed
	}
	return ClaimRefused
}

// observe calls Settings.Observe, on the goroutine of the request and outside of any transaction.
func (s *Service) observe(e ClaimEvent) {
	if s.settings.Observe != nil {
		s.settings.Observe(e)
	}
}

// DeleteAllocations removes all allocations of a consumer, and the consumer. No
// provider's generation rises. It fails as NotFound when there are none. Upstream does the same:
// delete_all in its objects.allocation increments nothing.
func (s *Service) DeleteAllocations(ctx context.Context, consumer placement.UUID) error {
	r := &claimRequest{claims: []placement.Claim{{Consumer: consumer}}, release: true, cause: s.cause(ctx)}
	return s.retry(ctx, textUpdateConflict, func(try int) error {
		r.rows = try > 0
		return s.writeTogether(ctx, r)
	})
}

// AllocationsOf returns the allocations of a consumer, with the consumer; without allocations the
// zero value. The consumer has only its UUID when there is no row of it
// (placement.AllocationReader).
func (s *Service) AllocationsOf(ctx context.Context, consumer placement.UUID) (placement.ConsumerAllocations, error) {
	var h placement.ConsumerAllocations
	err := s.read(ctx, func(r placement.Reader) (err error) {
		h, err = r.AllocationsOf(consumer)
		return err
	})
	if h.Consumer.ID == 0 {
		return placement.ConsumerAllocations{}, err
	}
	return h, err
}

// AllocationsIn returns the consumers that have allocations on providers of the tree with that
// root, with all that they have.
func (s *Service) AllocationsIn(ctx context.Context, root int64) ([]placement.ConsumerAllocations, error) {
	var list []placement.ConsumerAllocations
	err := s.read(ctx, func(r placement.Reader) (err error) {
		list, err = r.AllocationsIn(root)
		return err
	})
	return list, err
}

// Consumers returns those of some consumers that are kept, in no order.
func (s *Service) Consumers(ctx context.Context, uuids ...placement.UUID) ([]placement.ConsumerRow, error) {
	var rows []placement.ConsumerRow
	err := s.view(ctx, func(r placement.Reader) (err error) {
		rows, err = r.Consumers(uuids...)
		return err
	})
	return rows, err
}

// AllocationsOn returns the allocations on a provider and the provider's
// generation at that moment. It fails as NotFound.
func (s *Service) AllocationsOn(
	ctx context.Context, uuid placement.UUID,
) ([]placement.AllocationRow, placement.Generation, error) {
	var rows []placement.AllocationRow
	var g placement.Generation
	err := s.read(ctx, func(r placement.Reader) (err error) {
		rows, g, err = r.AllocationsOn(uuid)
		return orNoProvider(err, uuid)
	})
	return rows, g, err
}

// ProjectUsage sums the allocations of the consumers of a project, of one of its users
// when user is not empty.
func (s *Service) ProjectUsage(ctx context.Context, project, user string) (placement.ProjectUsage, error) {
	var u placement.ProjectUsage
	err := s.view(ctx, func(r placement.Reader) (err error) {
		u, err = r.ProjectUsage(project, user)
		return err
	})
	return u, err
}
