package service

import (
	"context"
	"errors"
	"strings"

	"github.com/berthcloud/berth/fault"
	"github.com/berthcloud/berth/placement"
)

// customPrefix begins the names of traits and classes that are not standard.
const customPrefix = "CUSTOM_"

// EnsureTrait creates a trait unless it exists, and reports whether it did.
func (s *Service) EnsureTrait(ctx context.Context, name string) (created bool, err error) {
	snap, err := s.Snapshot(ctx)
	if err != nil {
		return false, err
	}
	if _, ok := snap.Trait(name); ok {
		return false, nil // the usual case: agents ensure their traits again and again
	}
	err = s.update(ctx, func(t *tx) error {
		t.changes.Catalogs = true
		_, err := t.InsertTrait(name)
		created = err == nil
		if errors.Is(err, placement.ErrNameTaken) {
			return nil
		}
		return err
	})
	return created, err
}

// DeleteTrait removes a custom trait. It fails as NotFound, as Invalid for a
// standard trait, and as Conflict when a provider has it.
func (s *Service) DeleteTrait(ctx context.Context, name string) error {
	return s.update(ctx, func(t *tx) error {
		t.changes.Catalogs = true
		ids, err := t.traitIDs()
		if err != nil {
			return err
		}
		id, ok := ids[name]
		if !ok {
			return placement.ErrNoTrait(name)
		}
		if !strings.HasPrefix(name, customPrefix) {
			return fault.New(fault.Invalid, "", "Cannot delete standard trait %s.", name)
		}
		if used, err := t.TraitInUse(id); err != nil {
			return err
		} else if used {
			return fault.New(fault.Conflict, "", "The trait %s is in use by a resource provider.", name)
		}
		return t.Writer.DeleteTrait(id)
	})
}

// SetTraits makes a provider have exactly the named traits and returns its
// generation, which rises only when that changes something. It fails as
// NotFound for the provider, as Conflict for another generation, and as Invalid
// for unknown traits.
func (s *Service) SetTraits(
	ctx context.Context, uuid placement.UUID, seen placement.Generation, names []string,
) (placement.Generation, error) {
	var after placement.Generation
	err := s.update(ctx, func(t *tx) error {
		p, err := t.provider(uuid)
		if err != nil {
			return orNoProvider(err, uuid)
		}
		if p.Generation != seen {
			return errGenerationChanged()
		}
		want, err := t.resolveTraits(names)
		if err != nil {
			return err
		}
		after, err = t.setTraits(p, want)
		return err
	})
	return after, err
}

// DeleteTraits takes all traits from a provider. It fails as NotFound.
func (s *Service) DeleteTraits(ctx context.Context, uuid placement.UUID) error {
	return s.update(ctx, func(t *tx) error {
		p, err := t.provider(uuid)
		if err != nil {
			return orNoProvider(err, uuid)
		}
		_, err = t.setTraits(p, nil)
		return err
	})
}

// resolveTraits returns the ids of the named traits, or a fault that lists the
// unknown ones. They are in the order of the names, and a name that comes twice gives its id twice.
func (t *tx) resolveTraits(names []string) ([]placement.TraitID, error) {
	ids, err := t.traitIDs()
	if err != nil {
		return nil, err
	}
	var found []placement.TraitID
	var unknown []string
	for _, name := range names {
		if id, ok := ids[name]; ok {
			found = append(found, id)
		} else {
			unknown = append(unknown, name)
		}
	}
	if len(unknown) > 0 {
		t.changes.Catalogs = true
		return nil, fault.New(fault.Invalid, "", "No such trait %s", strings.Join(unknown, ", "))
	}
	return found, nil
}

// traitIDs returns the ids of all traits by name, read in this transaction.
func (t *tx) traitIDs() (map[string]placement.TraitID, error) {
	list, err := t.Traits()
	ids := make(map[string]placement.TraitID, len(list))
	for _, n := range list {
		ids[n.Name] = placement.TraitID(n.ID)
	}
	return ids, err
}

// setTraits writes the difference and returns the provider's generation after
// it. When nothing differs it writes nothing and the generation stays, as in upstream's
// _set_traits.
func (t *tx) setTraits(p placement.ProviderRow, want []placement.TraitID) (placement.Generation, error) {
	have, err := t.ProviderTraits(p.ID)
	if err != nil {
		return 0, err
	}
	add, remove := difference(have, want)
	if len(add) == 0 && len(remove) == 0 {
		return p.Generation, nil
	}
	if err := t.RemoveProviderTraits(p.ID, remove...); err != nil {
		return 0, err
	}
	if err := t.AddProviderTraits(p.ID, add...); err != nil {
		return 0, err
	}
	return p.Generation + 1, t.bump(p)
}

// difference returns what must be added to have and removed from it to get
// want. Repetitions in want count once. The results are in the order of want and of have.
func difference[T comparable](have, want []T) (add, remove []T) {
	known := make(map[T]bool, len(have)) // and whether it is wanted
	for _, id := range have {
		known[id] = false
	}
	for _, id := range want {
		if _, ok := known[id]; !ok {
			add = append(add, id)
		}
		known[id] = true
	}
	for _, id := range have {
		if !known[id] {
			remove = append(remove, id)
		}
	}
	return add, remove
}
