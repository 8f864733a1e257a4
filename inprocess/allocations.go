package inprocess

import (
	"context"
	"maps"
	"regexp"
	"slices"
	"unicode/utf8"

	"github.com/berthcloud/berth/allocations"
	"github.com/berthcloud/berth/guarantee"
	"github.com/berthcloud/berth/placement"
)

// Allocations is allocations.Placement's. The names of classes are those of a snapshot that is at
// least as new as the rows, since a class may have been created for them.
func (p *Placement) Allocations(ctx context.Context, consumer string) (allocations.Consumer, error) {
	h, err := p.service.AllocationsOf(ctx, placement.UUID(consumer))
	if err != nil || len(h.Allocations) == 0 {
		return allocations.Consumer{}, told(err, nil)
	}
	snapshot, err := p.service.Snapshot(ctx)
	if err != nil {
		return allocations.Consumer{}, told(err, nil)
	}
	generation := int64(h.Consumer.Generation)
	c := allocations.Consumer{
		Amounts: make(allocations.Amounts),
		Project: h.Consumer.Project, User: h.Consumer.User, Type: h.Consumer.Type, Generation: &generation,
	}
	for _, a := range h.Allocations {
		on := string(a.ProviderUUID)
		if c.Amounts[on] == nil {
			c.Amounts[on] = make(map[string]int64)
		}
		c.Amounts[on][snapshot.ClassName(a.Class)] = a.Used
	}
	return c, nil
}

// SetAllocations is allocations.Placement's.
func (p *Placement) SetAllocations(ctx context.Context, consumer string, c allocations.Consumer) error {
	claim, err := claimOf(consumer, c)
	if err != nil {
		return err
	}
	return told(p.service.SetAllocations(ctx, claim), allocations.ErrCapacity)
}

// SetManyAllocations is allocations.Placement's.
func (p *Placement) SetManyAllocations(ctx context.Context, consumers map[string]allocations.Consumer) error {
	var claims []placement.Claim
	for _, id := range slices.Sorted(maps.Keys(consumers)) {
		claim, err := claimOf(id, consumers[id])
		if err != nil {
			return err
		}
		claims = append(claims, claim)
	}
	return told(p.service.SetManyAllocations(ctx, claims), allocations.ErrCapacity)
}

// consumerType matches the type of a consumer, or an empty one.
var consumerType = regexp.MustCompile(`^[A-Z0-9_]{0,255}$`)

// maxOwner bounds the names of a consumer's project and user, in characters.
const maxOwner = 255

// claimOf is a claim for all allocations of a consumer, with the checks of the wire.
func claimOf(consumer string, a allocations.Consumer) (placement.Claim, error) {
	id, err := guarantee.ParseUUID(consumer)
	if err != nil {
		return placement.Claim{}, invalid("the consumer: %v", err)
	}
	for _, owner := range []string{a.Project, a.User} {
		if n := utf8.RuneCountInString(owner); n == 0 || n > maxOwner {
			return placement.Claim{}, invalid("the project and the user of a consumer have 1 to %d characters, not %d", maxOwner, n)
		}
	}
	if !consumerType.MatchString(a.Type) {
		return placement.Claim{}, invalid("%.50q cannot be the type of a consumer", a.Type)
	}
	c := placement.Claim{
		Consumer: placement.UUID(id.String()), Project: a.Project, User: a.User, Type: a.Type, Seen: &placement.ConsumerSeen{},
	}
	if a.Generation != nil {
		*c.Seen = placement.ConsumerSeen{Exists: true, Generation: placement.Generation(*a.Generation)}
	}
	for _, provider := range slices.Sorted(maps.Keys(a.Amounts)) {
		held := placement.ProviderAllocation{Provider: placement.UUID(provider)}
		if len(a.Amounts[provider]) == 0 {
			return c, invalid("nothing is to be allocated on the provider %s, which is to be left out then", provider)
		}
		for _, class := range slices.Sorted(maps.Keys(a.Amounts[provider])) {
			n := a.Amounts[provider][class]
			if n < 1 {
				return c, invalid("%d of %s on the provider %s cannot be allocated", n, class, provider)
			}
			held.Resources = append(held.Resources, placement.ClassAmount{Class: class, Amount: n})
		}
		c.Allocations = append(c.Allocations, held)
	}
	return c, nil
}
