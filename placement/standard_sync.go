package placement

import (
	"context"
	"errors"
	"fmt"
	"time"
)

// EnsureStandard adds the standard resource classes and traits that the store
// does not have, in one Update, and does nothing when it has them all. Others
// are left alone, also standard ones of a newer list. It is meant for the start
// of a program and may be called any number of times.
func EnsureStandard(ctx context.Context, store Store, now time.Time) error {
	missing, err := missingStandard(ctx, store)
	if err != nil || !missing {
		return err
	}
	return store.Update(ctx, now, func(w Writer) error {
		if err := ensureClasses(w); err != nil {
			return fmt.Errorf("adding the standard resource classes: %w", err)
		}
		if err := ensureTraits(w); err != nil {
			return fmt.Errorf("adding the standard traits: %w", err)
		}
		w.Changed(Changes{Catalogs: true})
		return nil
	})
}

// missingStandard reports whether any standard name is not in the store, so
// that an ordinary start writes nothing.
func missingStandard(ctx context.Context, store Store) (bool, error) {
	missing := false
	err := store.View(ctx, func(r Reader) error {
		classes, err := r.Classes()
		if err != nil {
			return err
		}
		traits, err := r.Traits()
		if err != nil {
			return err
		}
		missing = len(absent(StandardClasses, classes)) > 0 || len(absent(StandardTraits, traits)) > 0
		return nil
	})
	return missing, err
}

// ensureClasses adds each missing class with its index as its id.
func ensureClasses(w Writer) error {
	have, err := w.Classes()
	if err != nil {
		return err
	}
	for _, i := range absent(StandardClasses, have) {
		// Another service may be starting at this moment.
		if err := w.InsertClass(ClassID(i), StandardClasses[i]); err != nil && !errors.Is(err, ErrNameTaken) {
			return err
		}
	}
	return nil
}

// ensureTraits adds each missing trait; the store numbers them. Ids of traits differ from database
// to database, as upstream's do: only their names mean anything to clients.
func ensureTraits(w Writer) error {
	have, err := w.Traits()
	if err != nil {
		return err
	}
	for _, i := range absent(StandardTraits, have) {
		if _, err := w.InsertTrait(StandardTraits[i]); err != nil && !errors.Is(err, ErrNameTaken) {
			return err
		}
	}
	return nil
}

// absent returns the indexes of the names that are not in have. The result is in the order of
// names, which for classes is that of the ids.
func absent(names []string, have []Named) []int {
	known := make(map[string]bool, len(have))
	for _, n := range have {
		known[n.Name] = true
	}
	var gone []int
	for i, name := range names {
		if !known[name] {
			gone = append(gone, i)
		}
	}
	return gone
}
