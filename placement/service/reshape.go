package service

import (
	"context"
	"errors"

	"github.com/berthcloud/berth/fault"
	"github.com/berthcloud/berth/placement"
)

// Reshape applies r: all of it or nothing. Every listed provider rises by two
// generations (by one when it is to offer nothing), and by one more when the
// claims name it. It fails as Invalid for unknown providers and classes and for
// ratios that cannot be stored, and as Conflict for other generations, for claims
// that do not fit, and when inventory that stays in use would go.
func (s *Service) Reshape(ctx context.Context, r placement.Reshape) error {
	r.Claims = s.owned(r.Claims)
	return s.claim(ctx, func(int) error {
		err := s.transact(ctx, func(t *tx) error { return t.reshape(s, r) })
		var unknown unknownClass
		var used usedInventory
		switch {
		case errors.As(err, &unknown):
			return fault.New(fault.Invalid, "", "malformed reshaper data: %s", unknown)
		case errors.As(err, &used):
			return fault.New(fault.Conflict, placement.CodeInventoryInUse, "update conflict: %s", used)
		}
		return s.describe(err, "")
	})
}

// reshape runs in one transaction, in upstream's order: generations, consumers and providers of the
// claims, inventories, claims, inventories once more. It reads rows only, as the snapshot lacks
// what the transaction itself wrote.
func (t *tx) reshape(s *Service, r placement.Reshape) error {
	for _, pi := range r.Inventories {
		if err := t.reshapable(pi); err != nil {
			return err
		}
	}
	consumers, lines, err := t.claimLines(s, r.Claims)
	if err != nil {
		return err
	}
	ids, err := t.classIDs()
	if err != nil {
		return err
	}
	// Two passes: inventory in use cannot go before the allocations are off
	// it, and allocations cannot come before there is inventory. So first
	// each provider offers both what it had and what it will have.
	for _, pi := range r.Inventories {
		if len(pi.Inventories) == 0 {
			continue
		}
		if err := t.offerAlso(pi, ids); err != nil {
			return err
		}
	}
	if err := t.writeClaims(s, r.Claims, consumers, lines); err != nil {
		return err
	}
	for _, pi := range r.Inventories {
		p, err := t.provider(pi.Provider)
		if err != nil {
			return err
		}
		if err := t.setInventories(p, pi.Inventories, ids); err != nil {
			return err
		}
		if err := t.bump(p); err != nil {
			return err
		}
	}
	return nil
}

// claimLines reads the consumers of claims and looks up what the claims request. It comes before
// the inventories are written, so that a claim that makes no sense is refused for that, whatever
// the inventories.
func (t *tx) claimLines(s *Service, claims []placement.Claim) ([]placement.ConsumerState, []claimLine, error) {
	consumers := make([]placement.ConsumerState, len(claims))
	for i, c := range claims {
		consumers[i].UUID = c.Consumer
		if err := readConsumer(t, &consumers[i]); err != nil {
			return nil, nil, err
		}
	}
	state, err := s.readState(t, claims, consumers)
	if err != nil {
		return nil, nil, err
	}
	lines, err := state.lines(claims, consumers)
	return consumers, lines, err
}

// writeClaims decides claims on the inventories that the transaction wrote, and writes them. The
// state is read again, as offerAlso raised generations and changed inventories since claimLines.
func (t *tx) writeClaims(
	s *Service, claims []placement.Claim, consumers []placement.ConsumerState, lines []claimLine,
) error {
	state, err := s.readState(t, claims, consumers)
	if err == nil {
		err = state.claim(claims, consumers, lines)
	}
	if err != nil || state.empty() {
		return err
	}
	for _, tree := range state.trees {
		t.changes.Tree(tree.Root().ID)
	}
	t.recorder.events = append(t.recorder.events, state.events...)
	return t.WriteClaims(state.rows)
}

// reshapable checks that a provider is there and of the generation that the
// client saw, and that what it is to offer can be stored.
func (t *tx) reshapable(pi placement.ProviderInventories) error {
	p, err := t.provider(pi.Provider)
	if errors.Is(err, placement.ErrNoRow) {
		return fault.New(fault.Invalid, placement.CodeProviderNotFound,
			"Resource provider %s in inventories not found: %s", pi.Provider, placement.ProviderUnknown(pi.Provider))
	}
	if err != nil {
		return err
	}
	if p.Generation != pi.Generation {
		return fault.New(fault.Conflict, placement.CodeConcurrentUpdate,
			"resource provider generation conflict for provider %s: actual: %d, given: %s",
			pi.Provider, p.Generation, spelled(pi.Generation, pi.Spelled))
	}
	for _, inv := range pi.Inventories {
		if why := inv.Unstorable(pi.Provider); why != "" {
			return fault.New(fault.Invalid, "", "malformed reshaper data: %s", why)
		}
	}
	return nil
}

// offerAlso writes the new inventories of a provider and leaves the others. The ids are
// those of all classes. The generation rises by one for it, as upstream's does for its interim
// inventories; for a provider that is to offer nothing this step is left out.
func (t *tx) offerAlso(pi placement.ProviderInventories, ids map[string]placement.ClassID) error {
	p, err := t.provider(pi.Provider)
	if err != nil {
		return err
	}
	plan, err := t.planInventories(p, pi.Inventories, ids)
	if err != nil {
		return err
	}
	if err := t.writeInventories(p, plan); err != nil {
		return err
	}
	return t.bump(p)
}
