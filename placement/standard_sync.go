package placement

import (
	"context"
	"fmt"
	"time"
)

// EnsureStandard adds the standard resource classes and traits that the store
// does not have, in one Update, and does nothing when it has them all. Others
// are left alone, also standard ones of a newer list. It is meant for the start
// of a program and may be called any number of times.
func EnsureStandard(ctx context.Context, store Store, now time.Time) error {
	var classes []Named
	var traits []string
	read := func(r Reader) (err error) {
		classes, traits, err = missingStandard(r)
		return err
	}
	if err := store.View(ctx, read); err != nil || len(classes)+len(traits) == 0 {
		return err // an ordinary start writes nothing
	}
	return store.Update(ctx, now, func(w Writer) error {
		// Another service may be starting at this moment.
		if err := read(w); err != nil || len(classes)+len(traits) == 0 {
			return err
		}
		if err := w.InsertCatalogs(classes, traits); err != nil {
			return fmt.Errorf("adding %d standard resource classes and %d traits: %w", len(classes), len(traits), err)
		}
		w.Changed(Changes{Catalogs: true})
		return nil
	})
}

// missingStandard returns the standard names that the store lacks. A class has its index as its id.
// The store numbers traits: their ids differ from database to database, as upstream's do, and only
// their names mean anything to clients.
func missingStandard(r Reader) (classes []Named, traits []string, err error) {
	haveClasses, err := r.Classes()
	if err != nil {
		return nil, nil, err
	}
	haveTraits, err := r.Traits()
	if err != nil {
		return nil, nil, err
	}
	for _, i := range absent(StandardClasses, haveClasses) {
		classes = append(classes, Named{ID: int32(i), Name: StandardClasses[i]})
	}
	for _, i := range absent(StandardTraits, haveTraits) {
		traits = append(traits, StandardTraits[i])
	}
	return classes, traits, nil
}

// absent returns the indexes of the names that are not in have. The result is in the order of
// names, which for classes is that of the ids.
func absent(names []string, have []Named) []int {
	known := make(map[string]bool, len(have))
	for _, n := range have {
		known[n.Name] = true
	}
	var deleted []int
	for i, name := range names {
		if !known[name] {
			deleted = append(deleted, i)
		}
	}
	return deleted
}
