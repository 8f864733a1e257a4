package service

import (
	"context"
	"errors"

	"github.com/berthcloud/berth/fault"
	"github.com/berthcloud/berth/placement"
)

// CreateClass adds a custom resource class. It fails as Conflict when there is
// one of that name.
func (s *Service) CreateClass(ctx context.Context, name string) error {
	return s.update(ctx, func(t *tx) error {
		created, err := t.ensureClass(name)
		if err == nil && !created {
			return fault.New(fault.Conflict, "", "Conflicting resource class already exists: %s", name)
		}
		return err
	})
}

// EnsureClass creates a custom resource class unless it exists, and reports
// whether it did.
func (s *Service) EnsureClass(ctx context.Context, name string) (created bool, err error) {
	snap, err := s.Snapshot(ctx)
	if err != nil {
		return false, err
	}
	if _, ok := snap.Class(name); ok {
		return false, nil
	}
	err = s.update(ctx, func(t *tx) (err error) {
		created, err = t.ensureClass(name)
		return err
	})
	return created, err
}

// ensureClass gives a new class the number after the highest, as upstream does. A name that
// another service took since the transaction began is found when the row is inserted. Where two
// services choose the same number at once, the loser gets ErrStale from InsertClass and is run
// again by update.
func (t *tx) ensureClass(name string) (created bool, err error) {
	t.changes.Catalogs = true
	list, err := t.Classes()
	if err != nil {
		return false, err
	}
	id := placement.FirstCustomClass
	for _, c := range list {
		if c.Name == name {
			return false, nil
		}
		id = max(id, placement.ClassID(c.ID)+1)
	}
	err = t.InsertClass(id, name)
	if errors.Is(err, placement.ErrNameTaken) {
		return false, nil
	}
	return err == nil, err
}

// RenameClass gives a custom resource class another name (microversions 1.2 to
// 1.6). It fails as NotFound, as Invalid for a standard class, and as Conflict
// when the name is taken.
func (s *Service) RenameClass(ctx context.Context, name, to string) error {
	return s.update(ctx, func(t *tx) error {
		id, err := t.knownClass(name)
		if err != nil {
			return err
		}
		if id < placement.FirstCustomClass {
			return fault.New(fault.Invalid, "", "Cannot update standard resource class %s", name)
		}
		err = t.Writer.RenameClass(id, to)
		if errors.Is(err, placement.ErrNameTaken) {
			return fault.New(fault.Conflict, "", "Resource class already exists: %s", to)
		}
		return err
	})
}

// DeleteClass removes a custom resource class. It fails as NotFound, as Invalid
// for a standard class, and as Conflict when there is inventory of it.
func (s *Service) DeleteClass(ctx context.Context, name string) error {
	var id placement.ClassID
	err := s.update(ctx, func(t *tx) (err error) {
		if id, err = t.knownClass(name); err != nil {
			return err
		}
		if id < placement.FirstCustomClass {
			return fault.New(fault.Invalid, "",
				"Error in delete resource class: Cannot delete standard resource class %s.", name)
		}
		if used, err := t.ClassInUse(id); err != nil {
			return err
		} else if used {
			return classInUse(name)
		}
		return t.Writer.DeleteClass(id)
	})
	if err != nil || !s.store.Shared() {
		return err
	}
	restored := false
	err = s.update(ctx, func(t *tx) (err error) {
		restored, err = t.restoreClass(id, name)
		return err
	})
	if restored && err == nil {
		return classInUse(name)
	}
	return err
}

// classInUse is the fault of deleting a class that has inventory (409, with upstream's text for
// ResourceClassInUse).
func classInUse(name string) error {
	return fault.New(fault.Conflict, "",
		"Error in delete resource class: Cannot delete resource class %s. Class is in use in inventory.", name)
}

// restoreClass makes a class again that was deleted while another node of a
// cluster committed inventory of it: no lock is known to both, but all that was
// committed before the deletion can be seen after it.
func (t *tx) restoreClass(id placement.ClassID, name string) (restored bool, err error) {
	used, err := t.ClassInUse(id)
	if err != nil || !used {
		return false, err
	}
	t.changes.Catalogs = true
	err = t.InsertClass(id, name)
	if errors.Is(err, placement.ErrNameTaken) || errors.Is(err, placement.ErrStale) {
		return false, nil // by a new class of that name or id
	}
	return err == nil, err
}

// knownClass is classID with the fault of an operation on the class itself.
func (t *tx) knownClass(name string) (placement.ClassID, error) {
	t.changes.Catalogs = true
	id, err := t.classID(name)
	var unknown unknownClass
	if errors.As(err, &unknown) {
		return 0, placement.ErrNoClass(name)
	}
	return id, err
}
